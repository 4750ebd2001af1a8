package config

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Env looks an environment variable up, as os.LookupEnv does.
type Env func(name string) (value string, found bool)

// The environment variables that hold secrets.
const (
	EnvWebhookSecret = "PRBENCH_WEBHOOK_SECRET"
	EnvPrivateKey    = "PRBENCH_PRIVATE_KEY"
	EnvToken         = "PRBENCH_TOKEN"
	EnvClientSecret  = "PRBENCH_CLIENT_SECRET"
	EnvRunnerKey     = "PRBENCH_RUNNER_KEY"
)

// Secret is text that must not be shown. Whatever prints it, by whatever verb or
// encoder, prints "[secret]"; Reveal gives the text to the one place that needs
// it. The zero value is no secret.
type Secret struct {
	// text is behind a pointer, so that a printer that walks into the struct
	// without calling its methods finds an address.
	text *string
}

// NewSecret wraps a text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal gives the text.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero tells whether there is no secret.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal compares the texts; it is for tests, not for checking what a stranger sent.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return "[secret]"
}

// Format answers every verb with String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText keeps the text out of JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue keeps the text out of the logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// secretSource is where a configuration file says that a secret is: in the file
// itself or in another one.
type secretSource struct {
	name   string // "github.private_key"
	env    string
	inline Secret
	given  bool // inline stands in the file, perhaps empty
	file   string
	line   int
	// flag is the file that a flag names; it beats all others.
	flag string
	// check looks at the content; its errors must not quote it.
	check func(string) error
}

// secretKeys are the two keys of a secret: the text itself, and the file that holds it.
func (d *document) secretKeys(name string, to *secretSource) []key {
	once := func(n ast.Node, path string) bool {
		if to.line != 0 {
			d.at(n, path, "%s and %s_file exclude each other", name, name)
			return false
		}
		to.line = lineOf(n)
		return true
	}
	return []key{
		{name: name, read: func(n ast.Node, path string) {
			// The text is not read by d.text, whose messages quote what they find.
			if !once(n, path) {
				return
			}
			s, ok := plainText(n)
			if !ok {
				d.at(n, path, "want text in quotes")
				return
			}
			to.inline, to.given = NewSecret(s), true
		}},
		{name: name + "_file", read: func(n ast.Node, path string) {
			s, ok := d.text(n, path)
			if !ok || !once(n, path) {
				return
			}
			if err := checkFile(s); err != nil {
				d.at(n, path, "%v", err)
				return
			}
			to.file = s
		}},
	}
}

// loading is what resolving the secrets of a file needs.
type loading struct {
	dir      string // of the configuration file: its paths are relative to it
	config   string
	env      Env
	warnings []string
}

// secret resolves one source: a flag beats the environment beats the file. No
// secret at all is the zero Secret.
func (l *loading) secret(s secretSource) (Secret, error) {
	value, set := l.variable(s)
	switch {
	case s.flag != "":
		return l.fromFile(s.name, s.flag, s.check)
	case set:
		return checked(value, "the environment variable "+s.env, s.check)
	case s.file != "":
		return l.fromFile(fmt.Sprintf("%s:%d: %s_file", l.config, s.line, s.name), l.secretFile(s), s.check)
	case s.given:
		l.openToOthers(l.config, "holds "+s.name)
		return checked(s.inline.Reveal(), fmt.Sprintf("%s:%d: %s", l.config, s.line, s.name), s.check)
	}
	return Secret{}, nil
}

func (l *loading) variable(s secretSource) (value string, set bool) {
	if l.env == nil {
		return "", false
	}
	return l.env(s.env)
}

// secretFile is the file that secret reads, empty where it reads none.
func (l *loading) secretFile(s secretSource) string {
	if s.flag != "" {
		return s.flag
	}
	if _, set := l.variable(s); set || s.file == "" {
		return ""
	}
	if filepath.IsAbs(s.file) {
		return s.file
	}
	return filepath.Join(l.dir, s.file)
}

func checked(text, where string, check func(string) error) (Secret, error) {
	text = strings.TrimRight(text, "\r\n")
	if strings.TrimSpace(text) == "" {
		return Secret{}, fmt.Errorf("%s: is empty", where)
	}
	if check != nil {
		if err := check(text); err != nil {
			return Secret{}, fmt.Errorf("%s: %w", where, err)
		}
	}
	return NewSecret(text), nil
}

// fromFile reads a secret's file: a regular one of a sensible size.
func (l *loading) fromFile(what, name string, check func(string) error) (Secret, error) {
	f, err := os.Open(name)
	if err != nil {
		return Secret{}, fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Secret{}, fmt.Errorf("%s: %w", what, err)
	}
	if !info.Mode().IsRegular() {
		return Secret{}, fmt.Errorf("%s: want a regular file, %s is none", what, name)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return Secret{}, fmt.Errorf("%s: read %s: %w", what, name, err)
	}
	if len(data) > MaxBytes {
		return Secret{}, fmt.Errorf("%s: want at most %d bytes in %s", what, MaxBytes, name)
	}
	l.openToOthers(name, "holds a secret")
	return checked(string(data), what+": "+name, check)
}

// openToOthers warns about a file that any user of the machine may read.
func (l *loading) openToOthers(name, why string) {
	info, err := os.Stat(name)
	if err == nil && info.Mode().Perm()&0o007 != 0 {
		l.warnings = append(l.warnings, fmt.Sprintf("%s %s and is open to every user of this machine (mode %04o); run: chmod o= %s",
			name, why, info.Mode().Perm(), name))
	}
}

// checkPEM accepts the private key of a GitHub App. A variable may hold it on
// one line with \n for the line ends.
func checkPEM(text string) error {
	block, _ := pem.Decode([]byte(unfolded(text)))
	if block == nil {
		return errors.New("want a private key in PEM form (-----BEGIN RSA PRIVATE KEY-----)")
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return errors.New("the PEM block holds no private key that can be read; want the file that GitHub gave for the App")
	}
	if _, ok := parsed.(*rsa.PrivateKey); !ok {
		return errors.New("want an RSA key, as GitHub gives for an App")
	}
	return nil
}

// unfolded gives a key that stands on one line its line ends back.
func unfolded(text string) string {
	if strings.Contains(text, "\n") {
		return text
	}
	return strings.ReplaceAll(text, `\n`, "\n")
}

// checkToken accepts a token as it may stand in a header.
func checkToken(text string) error {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("want a token without spaces, line breaks or other than ASCII characters")
	}
	return nil
}

// checkClientID accepts an id as GitHub gives one to an App's sign-in.
func checkClientID(s string) error {
	if s == "" || len(s) > 100 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
		return fmt.Errorf("want the client ID of the App's settings page, such as Iv23liAbCdEfGhIjKlMn, got %s", quoted(s))
	}
	return nil
}

// seedLength is the length of a user's nkey seed: a prefix, 32 bytes and a
// checksum in base 32.
const seedLength = 58

func checkSeed(text string) error {
	seed := strings.TrimSpace(text)
	if len(seed) != seedLength || !strings.HasPrefix(seed, "SU") ||
		strings.Trim(seed, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		return errors.New("want the runner's key that bot runner enroll wrote: one line that starts with SU")
	}
	return nil
}

func checkFile(s string) error {
	if s == "" || hasControl(s) {
		return fmt.Errorf("want the path of a file, got %s", quoted(s))
	}
	return nil
}
