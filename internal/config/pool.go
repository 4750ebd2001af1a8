package config

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Pool is a set of runners and who may use it. Who may install the App is not
// asked: a repository that no pool allows gets a reply and no job.
type Pool struct {
	Name string
	// Repositories are patterns of owner/name, such as acme/*; none: any.
	Repositories []string
	// Installations are ids of installations of the App; none: any.
	Installations []int64
	Limits        Limits
}

// Limits bound how many jobs of a pool may run at once for one person and for
// one repository, while the others wait, and how many may wait; what is beyond
// that is refused. 0 is no limit.
type Limits struct {
	PerPerson           int
	PerRepository       int
	QueuedPerPerson     int
	QueuedPerRepository int
}

// unset are limits of which a configuration says nothing.
var unset = Limits{PerPerson: -1, PerRepository: -1, QueuedPerPerson: -1, QueuedPerRepository: -1}

// DefaultLimits holds where a configuration says nothing.
var DefaultLimits = Limits{PerPerson: 2, PerRepository: 10, QueuedPerPerson: 50, QueuedPerRepository: 200}

// Allows tells whether a repository, by its owner/name and the installation
// through which it reached us, may use the pool. Where the pool names both
// repositories and installations, both must fit.
func (p Pool) Allows(repository string, installation int64) bool {
	if len(p.Repositories) == 0 && len(p.Installations) == 0 {
		return false
	}
	if len(p.Installations) > 0 && !slices.Contains(p.Installations, installation) {
		return false
	}
	return len(p.Repositories) == 0 || slices.ContainsFunc(p.Repositories, func(pattern string) bool {
		return matchRepository(pattern, repository)
	})
}

// matchRepository compares as GitHub does, without regard to case. A star stays
// on its side of the slash.
func matchRepository(pattern, repository string) bool {
	if strings.Count(repository, "/") != 1 {
		return false
	}
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(repository))
	return ok && err == nil
}

// An owner has an underscore where an enterprise manages its users.
var repositoryPattern = regexp.MustCompile(`^[A-Za-z0-9_*?-]{1,100}/[A-Za-z0-9._*?-]{1,100}$`)

func checkRepositoryPattern(s string) error {
	if !repositoryPattern.MatchString(s) {
		return fmt.Errorf("want owner/name or a pattern such as acme/*, got %s", quoted(s))
	}
	if owner, _, _ := strings.Cut(s, "/"); strings.Trim(owner, "*?") == "" {
		return errors.New("any owner at all could run code on the machine; want a pattern that names the owner, such as acme/*," +
			" or give the installations instead")
	}
	return nil
}

const maxPools = 100

func (d *document) pools(n ast.Node, path string) []Pool {
	m, ok := n.(*ast.MappingNode)
	if !ok || len(m.Values) == 0 || len(m.Values) > maxPools {
		d.at(n, path, "want 1 to %d pools, such as default: {repositories: [\"acme/*\"]}, got %s", maxPools, kindOf(n))
		return nil
	}
	var pools []Pool
	for _, v := range m.Values {
		name := keyName(v)
		at := join(path, showKey(name))
		p := Pool{Name: name, Limits: unset}
		if err := checkPool(name); err != nil {
			d.at(v.Key, at, "%v", err)
		}
		if slices.ContainsFunc(pools, func(p Pool) bool { return p.Name == name }) {
			d.at(v.Key, at, "the key stands here twice; remove one of them")
		}
		before := len(d.problems)
		d.mapping(v.Value, at, d.poolKeys(&p))
		if len(d.problems) == before && len(p.Repositories) == 0 && len(p.Installations) == 0 {
			d.at(v.Key, at, "want repositories or installations: nobody may use the pool otherwise")
		}
		pools = append(pools, p)
	}
	return pools
}

func (d *document) poolKeys(p *Pool) []key {
	return []key{
		d.textsKey("repositories", &p.Repositories, false, checkRepositoryPattern),
		d.idsKey("installations", &p.Installations),
		{name: "limits", read: func(n ast.Node, path string) { d.mapping(n, path, d.limitKeys(&p.Limits)) }},
	}
}

func (d *document) limitKeys(l *Limits) []key {
	return []key{
		d.intKey("per_person", &l.PerPerson, 0, 10_000),
		d.intKey("per_repository", &l.PerRepository, 0, 10_000),
		d.intKey("queued_per_person", &l.QueuedPerPerson, 0, 10_000),
		d.intKey("queued_per_repository", &l.QueuedPerRepository, 0, 10_000),
	}
}

// or fills in what is not set (-1) from other limits.
func (l Limits) or(other Limits) Limits {
	for _, one := range []struct {
		own   *int
		given int
	}{{&l.PerPerson, other.PerPerson}, {&l.PerRepository, other.PerRepository},
		{&l.QueuedPerPerson, other.QueuedPerPerson}, {&l.QueuedPerRepository, other.QueuedPerRepository}} {
		if *one.own < 0 {
			*one.own = one.given
		}
	}
	return l
}
