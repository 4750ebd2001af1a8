package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/prbench/prbench/internal/config"
	"github.com/prbench/prbench/runner/sandbox"
	"github.com/prbench/prbench/runner/source"
)

// localFlags are those of every command that measures a local repository.
type localFlags struct {
	repo, config  string
	format, out   string
	sandbox, user string
	expose        []string
}

// register adds the flags but for format, which each command has its own kinds of.
func (f *localFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.repo, "repo", ".", "the repository, any folder in it")
	set.StringVar(&f.config, "config", "", "the configuration (default "+config.RepoPath+" in --repo)")
	set.StringVar(&f.out, "out", "", "write the report to a file")
	set.StringVar(&f.sandbox, "sandbox", "bwrap", "bwrap, or none: what is measured then runs with your own rights")
	set.StringVar(&f.user, "sandbox-user", "", "the account that root drops to, a name or UID:GID")
	set.StringSliceVar(&f.expose, "expose", nil, "further folders that builds and benchmarks may read")
}

// repoConfig reads the configuration that is named, else the work tree's, else,
// of a repository that has no work tree, that of a commit.
func (f *localFlags) repoConfig(ctx context.Context, ref string) (*config.Repo, error) {
	if f.config != "" {
		return config.LoadRepo(f.config)
	}
	path := filepath.Join(f.repo, config.RepoPath)
	cfg, err := config.LoadRepo(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return cfg, err
	}
	data, fileErr := source.File(ctx, f.repo, ref, config.RepoPath)
	if fileErr != nil {
		return nil, fmt.Errorf("%w, nor in %s; --config names another file", err, ref)
	}
	return config.ParseRepo(data, ref+":"+config.RepoPath)
}

// localUser is who a root user's own comparison runs as: an account that no
// file of the machine belongs to.
const localUser = "63636:63636"

// localKeepFree is what a comparison of one's own leaves of the disk: enough for
// the machine to go on.
const localKeepFree = 256 << 20

func (f *localFlags) box(ctx context.Context) (*sandbox.Sandbox, error) {
	cfg := sandbox.Config{Kind: sandbox.Kind(f.sandbox), User: f.user, Expose: f.expose,
		FileSize: config.DefaultFileSize, KeepFree: localKeepFree}
	switch cfg.Kind {
	case sandbox.Bubblewrap:
		if os.Geteuid() == 0 && cfg.User == "" {
			cfg.User = localUser
		}
	case sandbox.None:
		cfg.User = ""
	default:
		return nil, usageError("--sandbox: want bwrap or none, got %q", f.sandbox)
	}
	box, err := sandbox.New(ctx, cfg)
	var setup *sandbox.SetupError
	if errors.As(err, &setup) {
		return nil, fmt.Errorf("%w; or, for code that you trust, --sandbox none", setup)
	}
	return box, err
}
