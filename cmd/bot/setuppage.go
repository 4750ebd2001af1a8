package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/prbench/prbench/internal/forge"
)

// setupPage is a page on this machine alone that sends the browser to GitHub with
// the App's manifest, and to which GitHub sends it back with a code. Its address
// and its state are random; the page opens in one browser, the state works once.
type setupPage struct {
	listener net.Listener
	server   *http.Server
	path     string // of the page, with slashes around it
	state    string
	action   string // where the manifest is posted
	manifest forge.Manifest
	// create makes the App of a code, and says where it is.
	create func(ctx context.Context, code string) (string, error)
	done   chan error // gets what create said

	mu      sync.Mutex
	browser string // the cookie of the browser that has opened the page
	used    bool
}

const setupCookie = "prbench-setup"

// openSetupPage listens. action is GitHub's form, to which the state is added;
// manifest makes the manifest for the address to which GitHub is to return.
func openSetupPage(action string, manifest func(back string) forge.Manifest, create func(context.Context, string) (string, error)) (*setupPage, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	p := &setupPage{listener: l, path: "/" + rand.Text() + "/", state: rand.Text(), create: create, done: make(chan error, 1)}
	p.action = action + "?" + url.Values{"state": {p.state}}.Encode()
	p.manifest = manifest(p.address() + "created")
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+p.path+"{$}", p.show)
	mux.HandleFunc("GET "+p.path+"created", p.created)
	p.server = &http.Server{Handler: p.guarded(mux), ReadHeaderTimeout: 10 * time.Second}
	return p, nil
}

func (p *setupPage) address() string { return "http://" + p.listener.Addr().String() + p.path }

// run serves the page until the App is there, the context ends, or what create
// said is an error.
func (p *setupPage) run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(p.listener) }()
	var err error
	select {
	case err = <-p.done:
	case <-ctx.Done():
		p.mu.Lock()
		used := p.used
		p.used = true
		p.mu.Unlock()
		if err = ctx.Err(); used {
			err = <-p.done // GitHub gives the key but once: what has begun ends
		}
	case err = <-served:
		return fmt.Errorf("serve the page: %w", err)
	}
	// The browser still gets the last page.
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if p.server.Shutdown(drain) != nil {
		_ = p.server.Close()
	}
	<-served
	return err
}

// guarded refuses whoever came by another name than the address: a name of a
// stranger's that was made to lead here would let the stranger's page read ours.
func (p *setupPage) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != p.listener.Addr().String() {
			http.Error(w, "This page is for this machine alone.", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "origin") // GitHub learns where the form came from, not its address
		next.ServeHTTP(w, r)
	})
}

// claim lets the first browser have the page, and no other: on a shared machine
// the address may be seen in the list of processes.
func (p *setupPage) claim(w http.ResponseWriter, r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.browser == "" {
		p.browser = rand.Text()
		http.SetCookie(w, &http.Cookie{Name: setupCookie, Value: p.browser, Path: p.path, HttpOnly: true, SameSite: http.SameSiteLaxMode})
		return true
	}
	c, err := r.Cookie(setupCookie)
	return err == nil && same(c.Value, p.browser)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

func (p *setupPage) show(w http.ResponseWriter, r *http.Request) {
	if !p.claim(w, r) {
		p.say(w, http.StatusForbidden, "Another browser has this page", "Go on there, or start bot setup again.")
		return
	}
	text, err := json.Marshal(p.manifest)
	if err != nil {
		http.Error(w, "The manifest cannot be written.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = setupTemplate.ExecuteTemplate(w, "form", map[string]any{ // a browser that is gone is no error
		"Action": p.action, "Manifest": string(text), "App": p.manifest, "Permissions": slices.Sorted(maps.Keys(p.manifest.Permissions)),
	})
}

// created takes the code, once. Who knows the state has seen the page.
func (p *setupPage) created(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !same(q.Get("state"), p.state) {
		p.say(w, http.StatusForbidden, "This is not the answer to bot setup's question", "The state is another. Nothing was taken.")
		return
	}
	if q.Get("code") == "" {
		p.say(w, http.StatusBadRequest, "GitHub gave no code", "Nothing was taken; try again on the first page.")
		return
	}
	p.mu.Lock()
	again := p.used
	p.used = true
	p.mu.Unlock()
	if again {
		p.say(w, http.StatusGone, "This answer was taken already", "Look at the terminal.")
		return
	}
	// A browser that leaves does not undo what GitHub has done.
	where, err := p.create(context.WithoutCancel(r.Context()), q.Get("code"))
	if err != nil {
		p.say(w, http.StatusBadGateway, "The App could not be set up", err.Error())
	} else {
		p.say(w, http.StatusOK, "The App is there", "Its key and its secret are on this machine. The terminal says what comes next. The App: "+where)
	}
	p.done <- err
}

func (p *setupPage) say(w http.ResponseWriter, status int, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = setupTemplate.ExecuteTemplate(w, "words", map[string]string{"Title": title, "Text": text}) // as above
}

var errSetupTimeout = errors.New("GitHub did not send the browser back in time; start again, and delete an App that was created meanwhile")

var setupTemplate = template.Must(template.New("").Parse(`{{define "head"}}<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>prbench: the GitHub App</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 42rem; padding: 0 1rem; color: #1f2328; }
button { font: inherit; background: #1f883d; color: #fff; border: 0; border-radius: 6px; padding: .5rem 1rem; }
td { padding: .1rem 1rem .1rem 0; } code { font: 85% ui-monospace, monospace; overflow-wrap: anywhere; }</style></head><body>{{end}}
{{define "form"}}{{template "head"}}<h1>Create the GitHub App</h1>
<p>GitHub shows you this App next; you may give it another name there. It is private: nobody else can install it.</p>
<table><tr><td>name</td><td>{{.App.Name}}</td></tr><tr><td>webhooks go to</td><td><code>{{.App.Hook.URL}}</code></td></tr>
{{$app := .App}}{{range .Permissions}}<tr><td>{{.}}</td><td>{{index $app.Permissions .}}</td></tr>{{end}}
<tr><td>events</td><td>{{range .App.Events}}{{.}} {{end}}</td></tr></table>
<form method="post" action="{{.Action}}"><input type="hidden" name="manifest" value="{{.Manifest}}"><p><button>Continue on GitHub</button></p></form>
</body></html>{{end}}
{{define "words"}}{{template "head"}}<h1>{{.Title}}</h1><p>{{.Text}}</p></body></html>{{end}}`))
