package forgetest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// LogVariable is the environment variable that names a folder to which every
// REST exchange and every webhook of the process is written, one JSON object a
// line, in a file of the process's own. `make contract` reads them.
const LogVariable = "PRBENCH_FORGE_LOG"

// The bounds of the log: of one body, and of one process's file.
const (
	maxLoggedBody = 4 << 20
	maxLogFile    = 512 << 20
)

// exchange is one line of the log: a request with its answer, or a webhook.
type exchange struct {
	Kind    string `json:"kind"`    // "rest" or "webhook"
	Program string `json:"program"` // whose log it is
	Method  string `json:"method,omitempty"`
	Path    string `json:"path,omitempty"` // below /api/v3, escaped as it was sent
	Query   string `json:"query,omitempty"`
	Type    string `json:"type,omitempty"` // the request's Content-Type
	Request string `json:"request,omitempty"`
	// Status is 0 where the connection was cut. MadeUp: a fault's words, not
	// the server's.
	Status int    `json:"status,omitempty"`
	MadeUp bool   `json:"made_up,omitempty"`
	Answer string `json:"answer,omitempty"`
	Event  string `json:"event,omitempty"`
	Body   string `json:"body,omitempty"` // of the webhook
	// Cut: a body was too long, and is left out.
	Cut bool `json:"cut,omitempty"`
}

var exchangeLog struct {
	sync.Mutex
	opened  bool
	file    *os.File
	written int
}

var secretShape = regexp.MustCompile(`gh[a-z]_[0-9A-Za-z]+`)

// logExchange writes a line where a log is asked for. A log that cannot be
// written is an error of whoever asked for it, and ends the process.
func logExchange(x exchange) {
	dir := os.Getenv(LogVariable)
	if dir == "" {
		return
	}
	x.Program = filepath.Base(os.Args[0])
	for _, body := range []*string{&x.Request, &x.Answer, &x.Body} {
		if len(*body) > maxLoggedBody {
			*body, x.Cut = "", true
		}
		*body = secretShape.ReplaceAllString(*body, "ghx_0")
	}
	line, err := json.Marshal(x)
	if err != nil {
		panic(err) // it has only strings and numbers
	}
	l := &exchangeLog
	l.Lock()
	defer l.Unlock()
	if !l.opened {
		l.opened = true
		name := filepath.Join(dir, fmt.Sprintf("%s-%d.jsonl", x.Program, os.Getpid()))
		if l.file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			panic(fmt.Errorf("%s: %w", LogVariable, err))
		}
	}
	if l.written += len(line) + 1; l.written > maxLogFile {
		panic(fmt.Sprintf("%s: over %d bytes from one process", LogVariable, maxLogFile))
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		panic(fmt.Errorf("%s: %w", LogVariable, err))
	}
}

// logRequest writes a finished REST exchange.
func logRequest(r Request, escaped string, madeUp bool) {
	if r.API {
		logExchange(exchange{
			Kind: "rest", Method: r.Method, Path: escaped, Query: r.Query, Type: r.Header.Get("Content-Type"),
			Request: string(r.Body), Status: r.Status, MadeUp: madeUp, Answer: string(r.Response),
		})
	}
}
