package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/proxy"
	"github.com/prbench/prbench/runner/sandbox"
)

// network is the way of one build to the hosts that its configuration names.
type network struct {
	*proxy.Proxy
	dir string
}

// connect gives a build its way out, and changes its command so that it is
// taken. It is nil where the configuration names no host, and without a
// sandbox, where everything is open anyway.
func (e *execution) connect(ctx context.Context, cmd *sandbox.Command, side job.SideName) (*network, error) {
	if len(e.spec.Build.Network) == 0 || e.box.Facts().Kind == sandbox.None {
		return nil, nil
	}
	// The folder is closed to everybody else: the socket is for the build.
	dir, err := os.MkdirTemp(e.dir, "network-"+string(side)+"-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the build's network: %w", err)
	}
	o := e.reach
	o.Hosts, o.Dir, o.Logger = e.spec.Build.Network, dir, e.log.With("side", side)
	p, err := proxy.Start(o)
	if err != nil {
		return nil, errors.Join(err, removeTree(dir))
	}
	if err := e.box.Own(ctx, dir); err != nil {
		return nil, errors.Join(err, p.Close(), removeTree(dir))
	}
	cmd.Argv = proxy.Command(cmd.Argv...)
	cmd.Env = append(cmd.Env, proxy.Environment()...)
	cmd.ReadOnly = append(cmd.ReadOnly, sandbox.Bind{Host: dir, Inside: proxy.Inside})
	return &network{p, dir}, nil
}

// disconnect ends the way out, and tells the report what was asked for in vain.
func (e *execution) disconnect(n *network, side job.SideName) error {
	if n == nil {
		return nil
	}
	err := errors.Join(n.Close(), removeTree(n.dir))
	for _, note := range n.Notes("the build of " + side.The(e.line)) {
		if !slices.Contains(e.notes, note) { // a base may be built twice
			e.notes = append(e.notes, note)
		}
	}
	if err != nil {
		return fmt.Errorf("end the build's network: %w", err)
	}
	return nil
}
