package queue

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// requestPrefix and inboxPrefix begin the subjects on which a runner may
// publish and those on which it may listen; its key follows.
const (
	requestPrefix = "R."
	inboxPrefix   = "_INBOX_"
)

// runnerPermissions is all that a runner may do: ask on its own subjects, hear
// answers in its own inbox. It may not publish on a stream's subject even under
// its own key, because a stream acknowledges to whatever reply subject a
// message names, with the server's rights: a runner could have it overwrite any
// job's record.
func runnerPermissions(key string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{requestPrefix + key + ".>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{inboxPrefix + key + ".>"}},
	}
}

// ExternalConfig is the authorization block for an external server's
// configuration: serveKey, the public nkey of serve, has full rights, and each
// runner what it needs. Enroll the same runners in the queue too: the server
// lets them in, the queue knows their pools.
func ExternalConfig(serveKey string, runners []Runner) string {
	var b strings.Builder
	fmt.Fprintf(&b, "authorization {\n  users = [\n    { nkey: %s }  # serve\n", serveKey)
	for _, r := range runners {
		b.WriteString(runnerBlock(r))
	}
	b.WriteString("  ]\n}\n")
	return b.String()
}

func runnerBlock(r Runner) string {
	p := runnerPermissions(r.Key)
	return fmt.Sprintf(`    {
      nkey: %s  # %s, pool %s
      permissions: {
        publish: { allow: [%q] }
        subscribe: { allow: [%q] }
      }
    }
`, r.Key, r.Name, r.Pool, p.Publish.Allow[0], p.Subscribe.Allow[0])
}

// NewKey makes a key pair for a runner, or for serve on an external server. The
// seed is a secret; the public half is enrolled.
func NewKey() (seed, public string, err error) {
	kp, err := nkeys.CreateUser()
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	s, err := kp.Seed()
	if err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	if public, err = kp.PublicKey(); err != nil {
		return "", "", fmt.Errorf("make a key: %w", err)
	}
	return string(s), public, nil
}

// PublicKey gives the public half of a seed, which is never part of an error.
func PublicKey(seed string) (string, error) {
	kp, err := userKey(seed)
	if err != nil {
		return "", err
	}
	defer kp.Wipe()
	return kp.PublicKey()
}

func userKey(seed string) (nkeys.KeyPair, error) {
	kp, err := nkeys.FromSeed([]byte(strings.TrimSpace(seed)))
	if err != nil {
		return nil, fmt.Errorf("read a key: want a user nkey's seed (it begins with SU): %w", err)
	}
	pub, err := kp.PublicKey()
	if err != nil || !nkeys.IsValidPublicUserKey(pub) {
		return nil, fmt.Errorf("read a key: want a user nkey's seed (it begins with SU)")
	}
	return kp, nil
}

// credentials reads the file that opens an external server: a .creds file or a
// bare seed. No file means that the URL carries what is needed.
func credentials(path string) ([]nats.Option, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read NATS credentials: %w", err)
	}
	if bytes.Contains(b, []byte("BEGIN NATS USER JWT")) {
		return []nats.Option{nats.UserCredentials(path)}, nil
	}
	opt, err := nats.NkeyOptionFromSeed(path)
	if err != nil {
		return nil, fmt.Errorf("read NATS credentials in %s: want a .creds file or an nkey seed: %w", path, err)
	}
	return []nats.Option{opt}, nil
}

// connect dials as serve, to stay connected until closed.
func connect(o Options, url string, key nkeys.KeyPair, opt ...nats.Option) (*nats.Conn, error) {
	log := o.Logger
	all := []nats.Option{
		nats.Name("prbench serve"),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(500 * time.Millisecond),
		nats.ReconnectJitter(500*time.Millisecond, time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("NATS connection", "error", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("disconnected from NATS", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { log.Info("connected to NATS again") }),
	}
	if key != nil {
		all = append(all, nkeyOption(key))
	}
	return nats.Connect(url, append(all, opt...)...)
}

func nkeyOption(key nkeys.KeyPair) nats.Option {
	return func(o *nats.Options) error {
		pub, err := key.PublicKey()
		if err != nil {
			return fmt.Errorf("read the key: %w", err)
		}
		return nats.Nkey(pub, key.Sign)(o)
	}
}
