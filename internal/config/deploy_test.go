package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// deploy is the folder of the sample files that operators start from.
const deploy = "../../deploy"

func sample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTheSampleServeConfigLoads(t *testing.T) {
	dir := folder(t, map[string]string{"serve.yaml": sample(t, "serve.yaml"), "app.pem": appKey(t), "webhook-secret": hookSecret, "client-secret": signInSecret})
	s, err := LoadServe(filepath.Join(dir, "serve.yaml"), noEnv, ServeFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Warnings) > 0 {
		t.Errorf("the sample is warned about: %q", s.Warnings)
	}
	if _, ok := s.Pool(DefaultPool); !ok {
		t.Error("the sample has no default pool")
	}
}

func TestWhatTheSampleServeConfigLeavesInCommentsLoadsToo(t *testing.T) {
	text := sample(t, "serve.yaml")
	for _, line := range []string{"installations:", "trusted_bots:", "duplicate_window:"} {
		if !strings.Contains(text, "# "+line) {
			t.Fatalf("the sample has no comment with %s", line)
		}
		text = strings.Replace(text, "# "+line, line, 1)
	}
	if _, err := ParseServe([]byte(text), "serve.yaml"); err != nil {
		t.Error(err)
	}
}

func TestTheSampleRunnerConfigLoads(t *testing.T) {
	text := sample(t, "runner.yaml")
	for _, line := range []string{"ca_file:", "expose:", "cpus:"} {
		if !strings.Contains(text, "# "+line) {
			t.Fatalf("the sample has no comment with %s", line)
		}
		text = strings.Replace(text, "# "+line, line, 1)
	}
	dir := folder(t, map[string]string{"runner.yaml": sample(t, "runner.yaml"), "all.yaml": text, "runner.nk": seed})
	for _, name := range []string{"runner.yaml", "all.yaml"} {
		r, err := LoadRunner(filepath.Join(dir, name), noEnv, RunnerFlags{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Warnings) > 0 {
			t.Errorf("the sample is warned about: %q", r.Warnings)
		}
		plain, err := ParseRunner([]byte("serve: wss://bench.example.org/runner\n"), "plain.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if r.Checkout != plain.Checkout || r.Cache != plain.Cache {
			t.Errorf("the sample's bounds are not the defaults: %+v, %+v", r.Checkout, r.Cache)
		}
	}
}

func TestTheConfigInTheKubernetesManifestIsRight(t *testing.T) {
	first, _, _ := strings.Cut(sample(t, "kubernetes/serve.yaml"), "\n---\n")
	var m struct {
		Data map[string]string `yaml:"data"`
	}
	if err := yaml.Unmarshal([]byte(first), &m); err != nil {
		t.Fatal(err)
	}
	s, err := ParseServe([]byte(m.Data["serve.yaml"]), "serve.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if s.State.Dir == "" || s.State.MaxSize == 0 || s.GitHub.AppID == 0 {
		t.Errorf("the manifest's configuration lacks something: %+v", s)
	}
}

// TestTheSampleNATSClusterIsReadByTheServer lets the server's own reader judge
// the files, with certificates where they name some.
func TestTheSampleNATSClusterIsReadByTheServer(t *testing.T) {
	cert, key := certificate(t)
	dir := folder(t, map[string]string{"tls.crt": cert, "tls.key": key, "route.crt": cert, "route.key": key, "route-ca.crt": cert,
		"authorization.conf": sample(t, "nats/authorization.conf"),
	})
	conf := strings.ReplaceAll(sample(t, "nats/server.conf"), "/etc/nats/", dir+"/")
	if err := os.WriteFile(filepath.Join(dir, "server.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PRBENCH_NATS_NAME", "nats-1")
	o, err := server.ProcessConfigFile(filepath.Join(dir, "server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if o.ServerName != "nats-1" || !o.JetStream || !o.SyncAlways || o.TLSConfig == nil || len(o.Routes) != 3 || o.Cluster.TLSConfig == nil {
		t.Errorf("the server reads something else than the comments say: %+v", o)
	}
	if len(o.Nkeys) != 2 {
		t.Fatalf("want serve and one runner, got %d users", len(o.Nkeys))
	}
	for i, u := range o.Nkeys {
		if !nkeys.IsValidPublicUserKey(u.Nkey) {
			t.Errorf("user %d: %q is no key", i, u.Nkey)
		}
	}
	p := o.Nkeys[1].Permissions
	if o.Nkeys[0].Permissions != nil || p == nil ||
		strings.Join(p.Publish.Allow, " ") != "R."+o.Nkeys[1].Nkey+".>" ||
		strings.Join(p.Subscribe.Allow, " ") != "_INBOX_"+o.Nkeys[1].Nkey+".>" {
		t.Errorf("the runner may do something else than ask and hear answers: %+v", p)
	}
}

func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "nats"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}
