package queue

import (
	"context"
	"log/slog"
	"time"

	"github.com/prbench/prbench/internal/job"
)

// lent names a try: one for which tokens have been made, or that sends samples.
type lent struct {
	id  job.ID
	key string
	try int
}

// mostTokens is how many tokens a try may have: a fetch that fails may ask
// again, not for ever.
const mostTokens = 8

// token answers with a clone token for the asker's job.
func (d *desk) token(ctx context.Context, who Runner, r request) answer {
	j, err := d.held(ctx, who, r)
	if err != nil {
		return d.fault(askToken, r, err)
	}
	key := lent{j.ID, j.Runner, j.Try}
	d.mu.Lock()
	n := len(d.tokens[key])
	d.mu.Unlock()
	if n >= mostTokens {
		return failed(codeToken, "this try has had too many tokens")
	}
	t, err := d.Desk.Token(ctx, j)
	if err != nil {
		d.q.log.With(j.About()...).Warn("no clone token", "error", err)
		return failed(codeToken, "the forge gave none")
	}
	if t.Value != "" {
		d.mu.Lock()
		d.tokens[key] = append(d.tokens[key], t)
		d.mu.Unlock()
	}
	return answer{Token: &wireToken{t.Value, t.Username, t.Expires}}
}

// fetched revokes what the try was lent. The runner names its tokens, which
// another serve may have made.
func (d *desk) fetched(ctx context.Context, who Runner, r request) answer {
	if _, err := d.held(ctx, who, r); err != nil {
		return d.fault(askFetched, r, err)
	}
	ours := d.forget(lent{r.ID, who.Key, r.Try})
	for _, v := range r.Tokens {
		known := false
		for _, t := range ours {
			known = known || t.Value == v
		}
		if !known && v != "" && len(ours) < 2*mostTokens {
			ours = append(ours, Token{Value: v})
		}
	}
	d.revoke(ctx, d.about(r), ours)
	return answer{}
}

// recall revokes the tokens of tries that have ended without saying so.
func (d *desk) recall(ctx context.Context, j job.Job) {
	var gone []Token
	d.mu.Lock()
	for k, ts := range d.tokens {
		// A record of an earlier try is only late: it says nothing of this one.
		if k.id == j.ID && j.Try >= k.try && !holds(j, k.key, k.try) {
			gone = append(gone, ts...)
			delete(d.tokens, k)
		}
	}
	for k := range d.kept {
		if k.id == j.ID && j.Try >= k.try && !holds(j, k.key, k.try) {
			delete(d.kept, k)
		}
	}
	d.mu.Unlock()
	if len(gone) > 0 {
		d.wg.Go(func() { d.revoke(ctx, d.q.log.With(j.About()...), gone) })
	}
}

func (d *desk) forget(k lent) []Token {
	d.mu.Lock()
	defer d.mu.Unlock()
	ts := d.tokens[k]
	delete(d.tokens, k)
	return ts
}

func (d *desk) revoke(ctx context.Context, log *slog.Logger, ts []Token) {
	// At shutdown too: a token that is left alive is worse than a moment's wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, t := range ts {
		if err := d.Desk.Revoke(ctx, t); err != nil {
			log.Warn("a clone token could not be revoked; it ends by itself", "expires", t.Expires.Format(time.RFC3339), "error", err)
		}
	}
}
