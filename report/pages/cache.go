package pages

import (
	"context"
	"sync"
)

// cache keeps what was rendered, as long as there is room, and lets one reader
// at a time render the same thing: whoever else asks waits for it.
type cache struct {
	room int // bytes that may be kept
	// turns bounds how many things are rendered at once.
	turns chan struct{}

	mu      sync.Mutex
	kept    map[string]*rendered
	recent  []string // keys of what is kept, the one used last at the end
	used    int
	pending map[string]chan struct{}
}

type rendered struct{ body []byte }

func newCache(room, atOnce int) *cache {
	return &cache{room: room, turns: make(chan struct{}, atOnce), kept: map[string]*rendered{}, pending: map[string]chan struct{}{}}
}

// get gives what is kept under the key, or renders it. Nothing is kept of an error.
func (c *cache) get(ctx context.Context, key string, render func() ([]byte, error)) ([]byte, error) {
	for {
		c.mu.Lock()
		if r := c.kept[key]; r != nil {
			c.touch(key)
			c.mu.Unlock()
			return r.body, nil
		}
		wait, busy := c.pending[key]
		if !busy {
			c.pending[key] = make(chan struct{})
			c.mu.Unlock()
			return c.render(ctx, key, render)
		}
		c.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *cache) render(ctx context.Context, key string, render func() ([]byte, error)) (body []byte, err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.pending[key])
		delete(c.pending, key)
		if err == nil && body != nil {
			c.keep(key, body)
		}
	}()
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return render()
}

// touch; the caller holds mu.
func (c *cache) touch(key string) {
	for i, k := range c.recent {
		if k == key {
			c.recent = append(append(c.recent[:i:i], c.recent[i+1:]...), key)
			return
		}
	}
}

// keep drops what was not used for longest until there is room; the caller holds mu.
func (c *cache) keep(key string, body []byte) {
	if len(body) > c.room/2 {
		return
	}
	for c.used+len(body) > c.room && len(c.recent) > 0 {
		c.used -= len(c.kept[c.recent[0]].body)
		delete(c.kept, c.recent[0])
		c.recent = c.recent[1:]
	}
	c.kept[key] = &rendered{body}
	c.recent = append(c.recent, key)
	c.used += len(body)
}
