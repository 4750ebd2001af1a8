package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// WebsocketHandler lets runners in over a websocket, behind the HTTPS address
// that webhooks use, at whatever path it is mounted. It needs an embedded server
// opened with Options.Websocket. Runners prove their key as on any connection.
func (q *Queue) WebsocketHandler() (http.Handler, error) {
	if q.embed == nil || !q.opts.Websocket {
		return nil, errors.New("websockets for runners: they need an embedded server with websockets on")
	}
	u, err := url.Parse(q.embed.server.WebsocketURL())
	if err != nil {
		return nil, fmt.Errorf("websockets for runners: %w", err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", u.Host
			r.Out.URL.Path, r.Out.URL.RawPath, r.Out.URL.RawQuery = "/", "", ""
			// A runner is no browser; the server would compare a browser's origin
			// with a host that it does not know itself by.
			r.Out.Host = u.Host
		},
		ErrorLog: slog.NewLogLogger(q.log.Handler(), slog.LevelDebug),
	}, nil
}
