package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/prbench/prbench/internal/queue"
)

func TestAnEnrollingThatFailsLeavesNoKeyAndNamesNone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "serve.yaml")
	if err := os.WriteFile(path, []byte("state: {dir: state}\npools: {default: {repositories: [\"acme/*\"]}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	first, second := filepath.Join(dir, "first.nk"), filepath.Join(dir, "second.nk")
	if code, out, errs := bot(t, "runner", "enroll", "box", "--config", path, "--key-file", first); code != exitOK || !strings.Contains(out, "Its key is in "+first) {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	code, out, errs := bot(t, "runner", "enroll", "box", "--config", path, "--key-file", second)
	if code != exitFailed || out != "" || !strings.Contains(errs, "revoke it first") {
		t.Errorf("a name that is taken: exit %d, said %q, %q", code, out, errs)
	}
	if _, err := os.Stat(second); !os.IsNotExist(err) {
		t.Errorf("the key of a runner that is not enrolled: %v", err)
	}
	// What the message asks for is enough.
	if code, _, errs := bot(t, "runner", "revoke", "box", "--config", path); code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if code, out, errs := bot(t, "runner", "enroll", "box", "--config", path, "--key-file", second); code != exitOK || !strings.Contains(out, "Its key is in "+second) {
		t.Errorf("again: exit %d: %s%s", code, out, errs)
	}
	if _, err := os.Stat(second); err != nil {
		t.Error(err)
	}
}

func TestAnExternalServersBlockIsPrintedWhoeverComesAndGoes(t *testing.T) {
	dir := t.TempDir()
	serveYAML(t, dir, externalServer(t, dir))
	path := filepath.Join(dir, "serve.yaml")
	keys := map[string]string{}
	for _, name := range []string{"box", "other"} {
		file := filepath.Join(dir, name+".nk")
		code, out, errs := bot(t, "runner", "enroll", name, "--config", path, "--key-file", file)
		seed, err := os.ReadFile(file)
		if code != exitOK || err != nil {
			t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
		}
		if keys[name], err = queue.PublicKey(strings.TrimSpace(string(seed))); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out, keys[name]) {
			t.Errorf("enrolled %s, and the block lacks its key:\n%s", name, out)
		}
	}
	code, out, errs := bot(t, "runner", "revoke", "box", "--config", path)
	if code != exitOK || !strings.Contains(out, "Revoked box.") || !strings.Contains(out, "authorization {") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	if strings.Contains(out, keys["box"]) || !strings.Contains(out, keys["other"]) {
		t.Errorf("the block has the wrong runners:\n%s", out)
	}
}

// externalServer is a NATS server that the product did not start.
func externalServer(t *testing.T, dir string) (url string) {
	t.Helper()
	seed, public, err := queue.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf("listen: 127.0.0.1:-1\njetstream { store_dir: %q }\n%s", filepath.Join(dir, "store"), queue.ExternalConfig(public, nil))
	for name, text := range map[string]string{"nats.conf": conf, "serve.creds": seed + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, err := natsserver.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	o.NoSigs, o.NoLog = true, true
	s, err := natsserver.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the external server did not start")
	}
	return s.ClientURL()
}

// serveYAML is a serve.yaml beside the external server's credentials.
func serveYAML(t *testing.T, dir, url string) {
	t.Helper()
	text := fmt.Sprintf("state: {nats: %q, credentials_file: serve.creds}\npools: {default: {repositories: [\"acme/*\"]}}\n", url)
	if err := os.WriteFile(filepath.Join(dir, "serve.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
