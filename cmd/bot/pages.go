package main

import (
	"fmt"
	"time"

	"github.com/prbench/prbench/internal/forge"
	"github.com/prbench/prbench/report/pages"
)

// openPages makes the server of the result pages, with the App's sign-in where
// one is configured.
func (s *server) openPages() (*pages.Server, error) {
	cfg := s.cfg
	c := pages.Config{Store: s.queue, Reports: s.publish, Records: s.queue, Hub: func(id int64) pages.Hub { return s.forge.Installation(id) },
		PublicURL: cfg.PublicURL, Limits: limitsOf(cfg), Retention: cfg.Retention.Std(), Log: s.log, Now: time.Now}
	if g := cfg.GitHub; g.ClientID != "" {
		in, err := forge.NewSignIn(forge.Config{URL: g.URL}, g.ClientID, g.ClientSecret.Reveal(), cfg.PublicURL+forge.CallbackPath)
		if err != nil {
			return nil, err
		}
		c.SignIn, c.ClientSecret = in, g.ClientSecret.Reveal()
	}
	out, err := pages.New(c)
	if err != nil {
		return nil, fmt.Errorf("serve result pages: %w", err)
	}
	return out, nil
}
