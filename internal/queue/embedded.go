package queue

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Files of ours in the store directory, beside the server's own.
const (
	lockFile   = "lock"       // held while the store is open
	keyFile    = "serve.nk"   // the key with full rights; for its owner's eyes only
	socketFile = "serve.sock" // where Attach dials
)

// embedded is a NATS server in this process.
type embedded struct {
	opts   Options
	key    nkeys.KeyPair // full rights
	server *server.Server
	unlock func()

	usersMu sync.Mutex // one reload at a time
	users   []Runner

	socket net.Listener
	wg     sync.WaitGroup
}

func startEmbedded(o Options) (*embedded, error) {
	if err := refuseRoot(filepath.Join(o.Dir, keyFile)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := lockDir(filepath.Join(o.Dir, lockFile))
	if err != nil {
		return nil, err
	}
	e := &embedded{opts: o, unlock: unlock}
	if err := e.start(); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

// refuseRoot keeps a command that root runs from leaving files in another
// account's store, which serve could then not open.
func refuseRoot(path string) error {
	if uid, other := ownedByOther(path); other {
		return fmt.Errorf("the store belongs to another account (uid %d), which could not read what root writes into it: run this as that account (sudo -u '#%d' …)", uid, uid)
	}
	return nil
}

func (e *embedded) start() (err error) {
	if e.key, err = storeKey(filepath.Join(e.opts.Dir, keyFile)); err != nil {
		return err
	}
	so, err := e.serverOptions()
	if err != nil {
		return err
	}
	if e.server, err = server.NewServer(so); err != nil {
		return fmt.Errorf("prepare the embedded server: %w", err)
	}
	e.server.SetLoggerV2(serverLog{e.opts.Logger}, false, false, false)
	go e.server.Start()
	// A large store takes its time to be read, and reading it is what makes the
	// server ready; nobody is served before.
	if !e.server.ReadyForConnections(5 * time.Minute) {
		return fmt.Errorf("the embedded server did not start (address %q)", e.opts.Listen)
	}
	return nil
}

// serverOptions is made anew for each reload: the server keeps what it is given.
func (e *embedded) serverOptions() (*server.Options, error) {
	pub, err := e.key.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("read the store's key: %w", err)
	}
	so := &server.Options{
		ServerName:         "prbench",
		NoSigs:             true,
		DontListen:         e.opts.Listen == "",
		JetStream:          true,
		StoreDir:           e.opts.Dir,
		JetStreamMaxStore:  e.opts.MaxBytes,
		JetStreamMaxMemory: 64 << 20,
		SyncAlways:         true,
		MaxPayload:         maxMessage,
		Nkeys:              []*server.NkeyUser{{Nkey: pub}},
	}
	for _, r := range e.users {
		so.Nkeys = append(so.Nkeys, &server.NkeyUser{Nkey: r.Key, Permissions: runnerPermissions(r.Key)})
	}
	if e.opts.Listen != "" {
		host, port, err := net.SplitHostPort(e.opts.Listen)
		if err != nil {
			return nil, fmt.Errorf("want host:port to listen on, got %q", e.opts.Listen)
		}
		so.Host = host
		if so.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("want a port number to listen on, got %q", e.opts.Listen)
		}
		if so.Port == 0 {
			so.Port = server.RANDOM_PORT
		}
		if e.opts.TLS != nil {
			so.TLSConfig, so.TLS, so.TLSTimeout = e.opts.TLS.Clone(), true, 5
		}
	}
	if e.opts.Websocket {
		so.Websocket = server.WebsocketOpts{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoTLS: true}
	}
	return so, nil
}

// setUsers makes the given runners, and no others, the ones who may connect.
// Those who may no longer are disconnected.
func (e *embedded) setUsers(runners []Runner) error {
	e.usersMu.Lock()
	defer e.usersMu.Unlock()
	e.users = runners
	so, err := e.serverOptions()
	if err != nil {
		return err
	}
	if err := e.server.ReloadOptions(so); err != nil {
		return fmt.Errorf("tell the embedded server its runners: %w", err)
	}
	return nil
}

func (e *embedded) url() string {
	if e.opts.Listen == "" {
		return ""
	}
	u, err := url.Parse(e.server.ClientURL())
	if err != nil {
		return ""
	}
	return "nats://" + u.Host
}

func (e *embedded) stop() {
	if e.socket != nil {
		e.socket.Close()
	}
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	e.wg.Wait()
	if e.unlock != nil {
		e.unlock()
	}
}

// listenLocal lets other processes of the same user reach the server over a
// socket in the store directory, whether or not it listens for runners.
func (e *embedded) listenLocal() error {
	path, err := socketPath(e.opts.Dir)
	if err != nil {
		return err
	}
	// The lock is ours, so that a socket that is there is a dead process's.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the old socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("listen for local commands: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return fmt.Errorf("protect the local socket: %w", err)
	}
	e.socket = l
	e.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed by stop
			}
			in, err := e.server.InProcessConn()
			if err != nil {
				c.Close()
				continue
			}
			e.wg.Go(func() { join(c, in) })
		}
	})
	return nil
}

// join copies both ways until one end closes; the server closes its end when
// it shuts down.
func join(a, b net.Conn) {
	var wg sync.WaitGroup
	pass := func(dst, src net.Conn) {
		_, _ = io.Copy(dst, src) // the end of a connection is no error
		a.Close()
		b.Close()
	}
	wg.Go(func() { pass(a, b) })
	wg.Go(func() { pass(b, a) })
	wg.Wait()
}

// socketDialer makes a connection to another process's embedded server look
// like one inside this process, which is what nats.go has a hook for.
type socketDialer string

func (d socketDialer) InProcessConn() (net.Conn, error) { return net.Dial("unix", string(d)) }

func localAccess(dir string) (nkeys.KeyPair, socketDialer, error) {
	path, err := socketPath(dir)
	if err != nil {
		return nil, "", err
	}
	seed, err := os.ReadFile(filepath.Join(dir, keyFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", ErrNotRunning
	}
	if err != nil {
		return nil, "", fmt.Errorf("read the store's key: %w", err)
	}
	key, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	if err != nil {
		return nil, "", fmt.Errorf("read the store's key: %w", err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		return nil, "", ErrNotRunning
	}
	c.Close()
	return key, socketDialer(path), nil
}

// socketPath is relative to the working directory where the absolute path would
// be longer than a socket's address may be.
func socketPath(dir string) (string, error) {
	abs, err := filepath.Abs(filepath.Join(dir, socketFile))
	if err != nil {
		return "", fmt.Errorf("find the local socket: %w", err)
	}
	const limit = 100
	if len(abs) <= limit {
		return abs, nil
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the local socket: %w", err)
	}
	if rel, err := filepath.Rel(wd, abs); err == nil && len(rel) <= limit {
		return rel, nil
	}
	return "", fmt.Errorf("the path of the store directory is too long for a socket in it (%d bytes, %d fit)", len(abs), limit)
}

// storeKey reads the key with full rights, or makes it on first use.
func storeKey(path string) (nkeys.KeyPair, error) {
	seed, err := os.ReadFile(path)
	if err == nil {
		kp, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
		if err != nil {
			return nil, fmt.Errorf("read the key in %s: %w", path, err)
		}
		return kp, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the store's key: %w", err)
	}
	kp, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make the store's key: %w", err)
	}
	if seed, err = kp.Seed(); err != nil {
		return nil, fmt.Errorf("make the store's key: %w", err)
	}
	// Renamed into place, so that a crash leaves no half a key behind.
	if err := os.WriteFile(path+".new", append(seed, '\n'), 0o600); err != nil {
		return nil, fmt.Errorf("write the store's key: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, fmt.Errorf("write the store's key: %w", err)
	}
	return kp, nil
}

// serverLog hands the embedded server's log lines to slog, its routine ones as
// debug lines.
type serverLog struct{ l *slog.Logger }

func (s serverLog) Noticef(f string, v ...any) { s.l.Debug("nats: " + fmt.Sprintf(f, v...)) }

// Warnf leaves out one warning: the websocket is on loopback, behind the HTTPS
// address that the operator's proxy gives it.
func (s serverLog) Warnf(f string, v ...any) {
	if said := fmt.Sprintf(f, v...); !strings.HasPrefix(said, "Websocket not configured with TLS") {
		s.l.Warn("nats: " + said)
	}
}

func (s serverLog) Errorf(f string, v ...any) { s.l.Error("nats: " + fmt.Sprintf(f, v...)) }
func (s serverLog) Fatalf(f string, v ...any) { s.l.Error("nats: " + fmt.Sprintf(f, v...)) }
func (s serverLog) Debugf(string, ...any)     {}
func (s serverLog) Tracef(string, ...any)     {}
