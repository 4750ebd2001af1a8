package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/prbench/prbench/internal/job"
)

// ParseRepo reads a repository's configuration. The name stands in the error,
// which is of type Problems.
func ParseRepo(data []byte, name string) (*Repo, error) {
	r := &Repo{
		File:    name,
		Trigger: Trigger{Label: DefaultLabel, Permission: PermissionWrite},
		Pool:    DefaultPool,
		Build:   job.Build{Timeout: DefaultBuildTimeout},
		Compare: Compare{Runs: job.Adaptive, Looks: DefaultLooks(), Margin: job.DefaultMargin, Budget: DefaultBudget},
	}
	d := &document{file: name}
	root := d.parse(data)
	if root == nil {
		return nil, d.err()
	}
	d.mapping(root, "", d.repoKeys(r))
	if err := d.err(); err != nil {
		return nil, err
	}
	return r, nil
}

func (d *document) repoKeys(r *Repo) []key {
	return []key{
		d.version(),
		{name: "trigger", read: func(n ast.Node, path string) { d.mapping(n, path, d.triggerKeys(&r.Trigger)) }},
		d.textKey("pool", &r.Pool, checkPool),
		{name: "build", read: func(n ast.Node, path string) { d.mapping(n, path, d.buildKeys(&r.Build)) }},
		{name: "suites", required: true, read: func(n ast.Node, path string) { r.Suites = d.suites(n, path) }},
		{name: "compare", read: func(n ast.Node, path string) { d.mapping(n, path, d.compareKeys(&r.Compare)) }},
		d.textsKey("release_lines", &r.ReleaseLines, false, CheckRef),
		d.historyKey(&r.History),
		d.boolKey("lfs", &r.LFS),
		d.boolKey("keep_label", &r.Trigger.KeepLabel),
		d.textKey("backport_label", &r.BackportLabel, checkBackportLabel),
	}
}

func (d *document) triggerKeys(t *Trigger) []key {
	permission := oneOf(d, "permission", &t.Permission, Permissions())
	read := permission.read
	permission.read = func(n ast.Node, path string) {
		if s, ok := n.(*ast.StringNode); ok && (s.Value == "read" || s.Value == "none") {
			d.at(n, path, "%s would let anyone run code on the machine; want %s", s.Value, listed(permissionNames()))
			return
		}
		read(n, path)
	}
	return []key{d.textKey("label", &t.Label, checkLabel), permission}
}

func permissionNames() []string {
	var out []string
	for _, p := range Permissions() {
		out = append(out, string(p))
	}
	return out
}

// maxBuildLine bounds build.run, which becomes one argument of a shell.
const maxBuildLine = 16 << 10

func (d *document) buildKeys(b *job.Build) []key {
	return []key{
		d.textKey("run", &b.Run, func(s string) error {
			if len(s) > maxBuildLine {
				return fmt.Errorf("want at most %d bytes, got %d; put the steps into a script", maxBuildLine, len(s))
			}
			return nil
		}),
		d.textsKey("network", &b.Network, false, checkHost),
		d.timeKey("timeout", &b.Timeout, minTime, MaxTime),
	}
}

func (d *document) compareKeys(c *Compare) []key {
	return []key{
		{name: "runs", read: func(n ast.Node, path string) {
			runs, err := job.ParseRuns(scalar(n))
			if err != nil {
				d.at(n, path, "want adaptive or a whole number from %d to %d, got %s", job.MinRuns, job.MaxRuns, kindOf(n))
				return
			}
			c.Runs = runs
		}},
		{name: "looks", read: func(n ast.Node, path string) { d.looks(n, path, &c.Looks) }},
		{name: "margin", read: func(n ast.Node, path string) {
			margin, err := job.ParseMargin(scalar(n))
			if err != nil {
				d.at(n, path, "want a percentage such as 2%%, more than 0%% and at most 50%%, got %s", kindOf(n))
				return
			}
			c.Margin = margin
		}},
		d.timeKey("budget", &c.Budget, minBudget, MaxTime),
		d.boolKey("gate", &c.Gate),
	}
}

// scalar is a plain value as it is written in the file, or nothing.
func scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode:
		return n.GetToken().Value
	}
	return ""
}

// maxLooks bounds the planned looks: each costs error rate.
const maxLooks = 20

func (d *document) looks(n ast.Node, path string, to *[]int) {
	var looks []int
	for i, item := range d.items(n, path, false) {
		at := fmt.Sprintf("%s[%d]", path, i)
		v, ok := d.integer(item, at, 2, job.MaxRuns)
		if !ok {
			return
		}
		if len(looks) > 0 && int(v) <= looks[len(looks)-1] {
			d.at(item, at, "want increasing numbers, got %d after %d", v, looks[len(looks)-1])
			return
		}
		looks = append(looks, int(v))
	}
	if len(looks) == 0 || len(looks) > maxLooks {
		d.at(n, path, "want 1 to %d numbers of pairs such as [8, 15, 25], got %d", maxLooks, len(looks))
		return
	}
	*to = looks
}

func (d *document) historyKey(to *bool) key {
	return key{name: "history", read: func(n ast.Node, path string) {
		if scalar(n) != "full" {
			d.at(n, path, "want full, or leave the key out for the two commits alone, got %s", kindOf(n))
			return
		}
		*to = true
	}}
}

func checkLabel(s string) error {
	if strings.TrimSpace(s) != s || s == "" || len(s) > 100 || hasControl(s) {
		return fmt.Errorf("want a label's name of at most 100 bytes, got %s", quoted(s))
	}
	return nil
}

func checkBackportLabel(s string) error {
	if err := checkLabel(s); err != nil {
		return err
	}
	if strings.Count(s, "*") != 1 || s == "*" {
		return fmt.Errorf("want a label with one * for the release line, such as backport-requested-*, got %s", quoted(s))
	}
	return nil
}

// checkHost accepts a host's name and nothing that could stand for this
// machine or its network: no address, no port, no wildcard.
func checkHost(s string) error {
	labels := strings.Split(s, ".")
	last := labels[len(labels)-1]
	ok := len(s) <= 253 && len(labels) > 1 && strings.Trim(last, "0123456789") != "" &&
		!slices.Contains([]string{"localhost", "local", "internal"}, strings.ToLower(last)) &&
		!slices.ContainsFunc(labels, func(l string) bool {
			return l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' ||
				strings.Trim(strings.ToLower(l), "abcdefghijklmnopqrstuvwxyz0123456789-_") != ""
		})
	if !ok {
		return fmt.Errorf("want a public host's full name such as files.example.org (no address, port, scheme or wildcard), got %s", quoted(s))
	}
	return nil
}
