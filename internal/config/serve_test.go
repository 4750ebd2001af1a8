package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/prbench/prbench/internal/job"
)

// documented is the configuration of the documentation.
const documented = `listen: 127.0.0.1:8080
public_url: https://bench.example.org/
github: {url: https://api.github.com, app_id: 123, private_key_file: app.pem, webhook_secret_file: secret}
state: {dir: /var/lib/prbench, listen: 127.0.0.1:4222}
pools: {default: {repositories: ["acme/*"], limits: {per_person: 2, per_repository: 10}}}
`

const hookSecret = "a-webhook-secret-of-some-length"

func noEnv(string) (string, bool) { return "", false }

func env(pairs ...string) Env {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// appKey is a private key as GitHub gives one. It is made once: that takes long.
func appKey(t *testing.T) string {
	t.Helper()
	text, err := madeKey()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var madeKey = sync.OnceValues(func() (string, error) {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k)})), nil
})

// folder writes files of mode 0600 and gives their folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTheDocumentedServeConfigIsReadAsWritten(t *testing.T) {
	key := appKey(t)
	dir := folder(t, map[string]string{"serve.yaml": documented, "app.pem": key, "secret": hookSecret + "\n"})
	s, err := LoadServe(filepath.Join(dir, "serve.yaml"), noEnv, ServeFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != "127.0.0.1:8080" || s.PublicURL != "https://bench.example.org" || s.GitHub.URL != PublicAPI || s.GitHub.AppID != 123 {
		t.Errorf("got %+v", s)
	}
	if s.GitHub.PrivateKey.Reveal() != strings.TrimSpace(key) || s.GitHub.WebhookSecret.Reveal() != hookSecret || !s.GitHub.Token.IsZero() {
		t.Error("the secrets are not what the files hold")
	}
	want := []Pool{{Name: "default", Repositories: []string{"acme/*"}, Limits: DefaultLimits}}
	if diff := cmp.Diff(want, s.Pools); diff != "" {
		t.Errorf("pools: want - got +\n%s", diff)
	}
	if s.State.Dir != "/var/lib/prbench" || s.State.Listen != "127.0.0.1:4222" || s.State.MaxSize != DefaultStateSize {
		t.Errorf("state: got %+v", s.State)
	}
	if s.DuplicateWindow != job.Duration(72*time.Hour) {
		t.Errorf("duplicate window: want 72h, got %v", s.DuplicateWindow)
	}
	if len(s.Warnings) > 0 {
		t.Errorf("want no warnings, got %q", s.Warnings)
	}
}

func TestEveryServeKeyHasItsEffect(t *testing.T) {
	s, err := ParseServe([]byte(`version: 1
listen: ":80"
public_url: https://x.example.org/bench
github: {url: "https://ghe.example.org/api/v3/", token: t0ken, webhook_secret: "`+hookSecret+`"}
state: {nats: "tls://a:4222,tls://b:4222", credentials_file: serve.creds}
pools:
  default: {repositories: ["acme/*"]}
  big: {installations: [17], limits: {per_person: 0}}
limits: {per_person: 3, per_repository: 30, queued_per_person: 4, queued_per_repository: 40}
retention: 30d
duplicate_window: 168h
trusted_bots: [49699333]
`), "serve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != ":80" || s.PublicURL != "https://x.example.org/bench" || s.GitHub.URL != "https://ghe.example.org/api/v3" {
		t.Errorf("got %+v", s)
	}
	if s.State.NATS != "tls://a:4222,tls://b:4222" || s.State.Credentials != "serve.creds" {
		t.Errorf("state: got %+v", s.State)
	}
	if s.Retention != job.Duration(720*time.Hour) || s.DuplicateWindow != job.Duration(168*time.Hour) {
		t.Errorf("got %v and %v", s.Retention, s.DuplicateWindow)
	}
	if diff := cmp.Diff([]int64{49699333}, s.TrustedBots); diff != "" {
		t.Error(diff)
	}
	want := []Pool{
		{Name: "default", Repositories: []string{"acme/*"}, Limits: Limits{PerPerson: 3, PerRepository: 30, QueuedPerPerson: 4, QueuedPerRepository: 40}},
		{Name: "big", Installations: []int64{17}, Limits: Limits{PerPerson: 0, PerRepository: 30, QueuedPerPerson: 4, QueuedPerRepository: 40}},
	}
	if diff := cmp.Diff(want, s.Pools); diff != "" {
		t.Errorf("pools: want - got +\n%s", diff)
	}
}

func TestAFlagBeatsTheEnvironmentBeatsTheFile(t *testing.T) {
	const first, second, third = "from-the-flag-000000", "from-the-environment", "from-the-file-000000"
	dir := folder(t, map[string]string{"serve.yaml": documented, "app.pem": appKey(t), "secret": third, "other": first})
	path := filepath.Join(dir, "serve.yaml")
	for _, tt := range []struct {
		env   Env
		flags ServeFlags
		want  string
	}{
		{noEnv, ServeFlags{}, third},
		{env(EnvWebhookSecret, second), ServeFlags{}, second},
		{env(EnvWebhookSecret, second), ServeFlags{WebhookSecretFile: filepath.Join(dir, "other")}, first},
	} {
		s, err := LoadServe(path, tt.env, tt.flags)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.GitHub.WebhookSecret.Reveal(); got != tt.want {
			t.Errorf("want %s, got %s", tt.want, got)
		}
	}
	s, err := LoadServe(path, noEnv, ServeFlags{Listen: "127.0.0.1:0", PublicURL: "http://127.0.0.1:9/", GitHubURL: "http://127.0.0.1:8/api/v3",
		NATS: "tls://n.example.org:4222"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Listen != "127.0.0.1:0" || s.PublicURL != "http://127.0.0.1:9" || s.GitHub.URL != "http://127.0.0.1:8/api/v3" ||
		s.State.NATS != "tls://n.example.org:4222" || s.State.Dir != "" {
		t.Errorf("the flags did not win: %+v", s)
	}
}

func TestAPrivateKeyInTheEnvironmentMayStandOnOneLine(t *testing.T) {
	key := strings.TrimSpace(appKey(t))
	dir := folder(t, map[string]string{"serve.yaml": documented, "secret": hookSecret})
	s, err := LoadServe(filepath.Join(dir, "serve.yaml"), env(EnvPrivateKey, strings.ReplaceAll(key, "\n", `\n`)), ServeFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if s.GitHub.PrivateKey.Reveal() != key {
		t.Error("the key's line ends are not back")
	}
}

func TestAWrongServeConfigIsTold(t *testing.T) {
	const hidden = "hunter2-do-not-show"
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	ecKey := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	good, key := documented, appKey(t)
	change := func(old, text string) string { return strings.Replace(good, old, text, 1) }
	tests := []struct {
		name, yaml string
		env        Env
		flags      ServeFlags
		want       string
	}{
		{"empty secret in a variable", good, env(EnvWebhookSecret, ""), ServeFlags{}, "environment variable PRBENCH_WEBHOOK_SECRET: is empty"},
		{"empty secret in the file", change("webhook_secret_file: secret", `webhook_secret: ""`), noEnv, ServeFlags{}, ":3: github.webhook_secret: is empty"},
		{"empty secret file", change("webhook_secret_file: secret", "webhook_secret_file: empty"), noEnv, ServeFlags{}, ":3: github.webhook_secret_file: "},
		{"no secret at all", change(", webhook_secret_file: secret", ""), noEnv, ServeFlags{}, "github.webhook_secret_file: is missing"},
		{"a secret's file that is not there", change("webhook_secret_file: secret", "webhook_secret_file: nowhere"), noEnv, ServeFlags{}, "no such file"},
		{"a secret's file that is a folder", change("webhook_secret_file: secret", "webhook_secret_file: /"), noEnv, ServeFlags{}, "want a regular file"},
		{"both a secret and its file", change("webhook_secret_file: secret", "webhook_secret_file: secret, webhook_secret: "+hidden), noEnv, ServeFlags{}, "exclude each other"},
		{"a secret that is a list", change("webhook_secret_file: secret", "webhook_secret: ["+hidden+"]"), noEnv, ServeFlags{}, "want text in quotes"},
		{"no key", change(", private_key_file: app.pem", ""), noEnv, ServeFlags{}, "want app_id and private_key_file"},
		{"no app", change("app_id: 123, ", ""), noEnv, ServeFlags{}, "github.app_id: is missing"},
		{"app and token", good, env(EnvToken, hidden), ServeFlags{}, "exclude each other"},
		{"app id and token", change("private_key_file: app.pem", "token: "+hidden), noEnv, ServeFlags{}, "app_id names an App"},
		{"a key that is none", good, env(EnvPrivateKey, hidden), ServeFlags{}, "want a private key in PEM form"},
		{"a broken key", good, env(EnvPrivateKey, "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----"), ServeFlags{}, "no private key that can be read"},
		{"a key of another kind", good, env(EnvPrivateKey, ecKey), ServeFlags{}, "want an RSA key"},
		{"no public address", change("public_url: https://bench.example.org/\n", ""), noEnv, ServeFlags{}, "public_url: is missing"},
		{"a public address in the clear", change("https://bench", "http://bench"), noEnv, ServeFlags{}, ":2: public_url: want https"},
		{"GitHub in the clear", change("https://api", "http://api"), noEnv, ServeFlags{}, ":3: github.url: want https"},
		{"a password in an address", change("https://bench", "https://u:"+hidden+"@bench"), noEnv, ServeFlags{}, "without a user or password"},
		{"no state", change("dir: /var/lib/prbench, ", ""), noEnv, ServeFlags{}, ":4: state: want dir"},
		{"two states", change("dir:", "nats: tls://a:4222, dir:"), noEnv, ServeFlags{}, ":4: state: dir (embedded) and nats (external) exclude"},
		{"credentials for the embedded state", change("dir:", "credentials_file: x, dir:"), noEnv, ServeFlags{}, "state.credentials_file: belongs to nats"},
		{"half of TLS", change("dir:", "tls_cert_file: x, dir:"), noEnv, ServeFlags{}, "belong together"},
		{"a password for NATS", change("dir: /var/lib/prbench", "nats: nats://u:"+hidden+"@a:4222"), noEnv, ServeFlags{}, "without a user or password"},
		{"an address without a port", change("127.0.0.1:8080", "127.0.0.1"), noEnv, ServeFlags{}, ":1: listen: want host:port"},
		{"no pools", change("pools:", "pool:"), noEnv, ServeFlags{}, `did you mean "pools"`},
		{"a pool for nobody", change(`repositories: ["acme/*"], `, ""), noEnv, ServeFlags{}, "pools.default: want repositories or installations"},
		{"a pool for everybody", change("acme/*", "*/*"), noEnv, ServeFlags{}, "pools.default.repositories[0]: any owner at all"},
		{"a pattern without an owner", change("acme/*", "acme"), noEnv, ServeFlags{}, "want owner/name"},
		{"a limit in words", change("per_person: 2", "per_person: two"), noEnv, ServeFlags{}, "pools.default.limits.per_person: want a whole number"},
		{"a flag's address", good, noEnv, ServeFlags{PublicURL: "ftp://x"}, "--public-url: want an address"},
		{"a flag's state", good, noEnv, ServeFlags{NATS: "http://x"}, "--nats: want nats://"},
		{"retention", good + "retention: forever\n", noEnv, ServeFlags{}, ":6: retention: want a duration"},
		{"bots by name", good + "trusted_bots: [dependabot]\n", noEnv, ServeFlags{}, "trusted_bots[0]: want a whole number"},
		{"another version", good + "version: 2\n", noEnv, ServeFlags{}, "version: want 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := folder(t, map[string]string{"serve.yaml": tt.yaml, "app.pem": key, "secret": hookSecret, "empty": "\n"})
			s, err := LoadServe(filepath.Join(dir, "serve.yaml"), tt.env, tt.flags)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("want an error with %q, got %v, %v", tt.want, s, err)
			}
			if strings.Contains(err.Error(), hidden) {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestFilesOpenToOthersAndWeakSecretsAreWarnedAbout(t *testing.T) {
	dir := folder(t, map[string]string{"app.pem": appKey(t), "secret": "short",
		"serve.yaml": strings.Replace(documented, "127.0.0.1:4222", "0.0.0.0:4222", 1)})
	if err := os.Chmod(filepath.Join(dir, "app.pem"), 0o604); err != nil {
		t.Fatal(err)
	}
	s, err := LoadServe(filepath.Join(dir, "serve.yaml"), noEnv, ServeFlags{})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(s.Warnings, "\n")
	for _, want := range []string{"app.pem holds a secret and is open to every user", "can be guessed", "without TLS"} {
		if !strings.Contains(all, want) {
			t.Errorf("want a warning with %q, got:\n%s", want, all)
		}
	}
	if strings.Contains(all, "/secret holds") {
		t.Errorf("a closed file was warned about:\n%s", all)
	}
}

func TestASecretInTheConfigItselfIsWarnedAboutWhereOthersMayReadIt(t *testing.T) {
	dir := folder(t, map[string]string{"app.pem": appKey(t),
		"serve.yaml": strings.Replace(documented, "webhook_secret_file: secret", "webhook_secret: "+hookSecret, 1)})
	path := filepath.Join(dir, "serve.yaml")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := LoadServe(path, noEnv, ServeFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "serve.yaml holds github.webhook_secret") {
		t.Errorf("got %q", s.Warnings)
	}
}

func TestGitHubEnterpriseServerKeepsDeliveriesForAWeek(t *testing.T) {
	dir := folder(t, map[string]string{"app.pem": appKey(t), "secret": hookSecret,
		"serve.yaml": strings.Replace(documented, "https://api.github.com", "https://ghe.example.org/api/v3", 1)})
	s, err := LoadServe(filepath.Join(dir, "serve.yaml"), noEnv, ServeFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if s.DuplicateWindow != job.Duration(168*time.Hour) {
		t.Errorf("want 168h, got %v", s.DuplicateWindow)
	}
}

func TestACommandThatNeedsTheStateAloneReadsNoSecret(t *testing.T) {
	dir := folder(t, map[string]string{"serve.yaml": documented}) // no app.pem, no secret
	path := filepath.Join(dir, "serve.yaml")
	s, err := LoadState(path, ServeFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Pool("default"); !ok || s.State.Dir != "/var/lib/prbench" || !s.GitHub.WebhookSecret.IsZero() {
		t.Errorf("got %+v", s)
	}
	if _, err := LoadState(path, ServeFlags{StateDir: dir, NATS: "tls://a:4222"}); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("want the two kinds of state refused, got %v", err)
	}
}

func TestASecretCannotBePrinted(t *testing.T) {
	const hidden = "hunter2-do-not-show"
	s := Serve{GitHub: GitHub{Token: NewSecret(hidden), token: secretSource{inline: NewSecret(hidden)}}}
	var b strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb+"\n", s)
		fmt.Fprintf(&b, verb+"\n", s.GitHub.Token)
		fmt.Fprintf(&b, verb+"\n", &s.GitHub)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	b.Write(text)
	slog.New(slog.NewTextHandler(&b, nil)).Info("x", "token", s.GitHub.Token, "all", s.GitHub)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "token", s.GitHub.Token, "all", s.GitHub)
	if strings.Contains(b.String(), hidden) || strings.Contains(b.String(), fmt.Sprintf("%x", hidden)) {
		t.Errorf("the secret is shown:\n%s", b.String())
	}
	if !strings.Contains(b.String(), "[secret]") {
		t.Errorf("want [secret] where a secret is, got:\n%s", b.String())
	}
}

func FuzzParseServe(f *testing.F) {
	f.Add([]byte(documented))
	f.Add([]byte("pools: {a: {installations: [1]}}\ngithub: {webhook_secret: x, webhook_secret_file: y}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseServe(data, "serve.yaml")
		if (s == nil) == (err == nil) {
			t.Fatalf("want a configuration or an error, got %v and %v", s, err)
		}
		var problems Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatalf("want Problems, got %v", err)
		}
		if err != nil {
			return
		}
		for _, p := range s.Pools {
			if p.Allows("an-owner-nobody-has-named/x", -1) {
				t.Fatalf("the pool %+v is open to everybody", p)
			}
		}
	})
}
