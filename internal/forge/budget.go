package forge

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Budget is what is left of an hour's requests, as the forge last told it.
type Budget struct {
	// Installation is whose budget it is; 0: the App's own, or the plain token's.
	Installation int64
	Limit, Left  int
	Reset        time.Time
}

// told keeps what an answer says of the hour's requests. Other budgets than
// that of the common interface, such as search's, are not used here.
func (p *pacer) told(h http.Header) {
	limit, err1 := strconv.Atoi(h.Get("X-RateLimit-Limit"))
	left, err2 := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	reset, ok := resetTime(h)
	if of := h.Get("X-RateLimit-Resource"); err1 != nil || err2 != nil || !ok || of != "" && of != "core" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// Answers overtake each other; within an hour the budget only shrinks.
	if reset.Equal(p.budget.Reset) {
		left = min(left, p.budget.Left)
	} else if reset.Before(p.budget.Reset) {
		return
	}
	p.budget = Budget{Limit: limit, Left: left, Reset: reset}
}

// Budgets gives what was last told of each budget whose hour is not over.
func (f *Forge) Budgets() []Budget {
	f.mu.Lock()
	ids := slices.Sorted(maps.Keys(f.clients))
	clients := maps.Clone(f.clients)
	f.mu.Unlock()
	now := f.clock.Now()
	var out []Budget
	add := func(c *Client, id int64) {
		c.pace.mu.Lock()
		b := c.pace.budget
		c.pace.mu.Unlock()
		if b.Installation = id; now.Before(b.Reset) {
			out = append(out, b)
		}
	}
	add(f.top, 0)
	for _, id := range ids {
		add(clients[id], id)
	}
	return out
}
