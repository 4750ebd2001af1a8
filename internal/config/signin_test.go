package config

import (
	"path/filepath"
	"strings"
	"testing"
)

const signInSecret = "the-secret-of-the-sign-in"

// withSignIn is the documented configuration with keys more in github.
func withSignIn(keys string) string {
	return strings.Replace(documented, "app_id: 123,", "app_id: 123, "+keys, 1)
}

func TestTheSignInIsReadFromFileVariableAndFlag(t *testing.T) {
	dir := folder(t, map[string]string{
		"serve.yaml": withSignIn("client_id: Iv23liAbCd, client_secret_file: client,"), "bare.yaml": withSignIn("client_id: Iv23liAbCd,"),
		"app.pem": appKey(t), "secret": hookSecret, "client": signInSecret + "\n", "other": "of-the-flag"})
	for name, one := range map[string]struct {
		file  string
		env   Env
		flags ServeFlags
		want  string
	}{
		"file":     {"serve.yaml", noEnv, ServeFlags{}, signInSecret},
		"variable": {"bare.yaml", env(EnvClientSecret, "of-the-variable"), ServeFlags{}, "of-the-variable"},
		"flag":     {"serve.yaml", env(EnvClientSecret, "of-the-variable"), ServeFlags{ClientSecretFile: filepath.Join(dir, "other")}, "of-the-flag"},
	} {
		s, err := LoadServe(filepath.Join(dir, one.file), one.env, one.flags)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if s.GitHub.ClientID != "Iv23liAbCd" || s.GitHub.ClientSecret.Reveal() != one.want {
			t.Errorf("%s: client %q, secret %q", name, s.GitHub.ClientID, s.GitHub.ClientSecret.Reveal())
		}
	}
}

func TestHalfASignInIsRefusedByLineAndKey(t *testing.T) {
	for keys, want := range map[string]string{
		"client_id: Iv23liAbCd,":                                             "serve.yaml:3: github.client_secret_file: is missing",
		"client_secret_file: client,":                                        "serve.yaml:3: github.client_id: is missing",
		`client_id: "a b", client_secret_file: client,`:                      "serve.yaml:3:",
		"client_id: x, client_secret: y, client_secret_file: client,":        "exclude each other",
		"client_id: Iv23liAbCd, client_secret_file: nowhere,":                "nowhere",
		"client_id: Iv23liAbCd, client_secret_file: client, client_idea: x,": "client_idea",
	} {
		dir := folder(t, map[string]string{"serve.yaml": withSignIn(keys), "app.pem": appKey(t), "secret": hookSecret, "client": signInSecret})
		_, err := LoadServe(filepath.Join(dir, "serve.yaml"), noEnv, ServeFlags{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), signInSecret) {
			t.Errorf("%s: %v; want %q", keys, err, want)
		}
	}
}

func TestATokenHasNoSignIn(t *testing.T) {
	text := strings.Replace(withSignIn("client_id: Iv23liAbCd, client_secret_file: client,"), "app_id: 123, ", "", 1)
	text = strings.Replace(text, "private_key_file: app.pem", "token_file: token", 1)
	dir := folder(t, map[string]string{"serve.yaml": text, "token": "a-token-of-some-length", "secret": hookSecret, "client": signInSecret})
	_, err := LoadServe(filepath.Join(dir, "serve.yaml"), noEnv, ServeFlags{})
	if err == nil || !strings.Contains(err.Error(), "github.client_id") {
		t.Errorf("%v", err)
	}
}
