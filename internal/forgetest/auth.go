package forgetest

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// principal is who makes a request: nobody, an App (by its JWT), an
// installation, or a person.
type principal struct {
	app   *App // the App itself
	token *token
	// client is the App by the secret of its sign-in, which may revoke a visitor's
	// token and nothing else.
	client *App
}

func (p principal) anonymous() bool { return p.app == nil && p.token == nil }

// actor is the account that a change is made by.
func (p principal) actor() *User {
	switch {
	case p.token == nil:
		return nil
	case p.token.user != nil:
		return p.token.user
	}
	return p.token.inst.App.bot
}

// via is the App that a change is made through.
func (p principal) via() *App {
	if p.token != nil && p.token.inst != nil {
		return p.token.inst.App
	}
	return nil
}

func (p principal) budgetKey() string {
	switch {
	case p.app != nil:
		return fmt.Sprintf("app ID %d", p.app.ID)
	case p.token != nil && p.token.inst != nil:
		return fmt.Sprintf("installation ID %d", p.token.inst.ID)
	case p.token != nil:
		return fmt.Sprintf("user ID %d", p.token.user.ID)
	}
	return "127.0.0.1"
}

// String is for the request log.
func (p principal) String() string {
	if p.anonymous() {
		return "anonymous"
	}
	return p.budgetKey()
}

type principalKey struct{}

func withPrincipal(ctx context.Context, p principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

func principalOf(ctx context.Context) principal {
	p, _ := ctx.Value(principalKey{}).(principal)
	return p
}

var errBadCredentials = fail(http.StatusUnauthorized, "Bad credentials")

// authenticate reads the Authorization header of a REST request.
func (s *Server) authenticate(r *http.Request) (principal, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return principal{}, nil
	}
	if user, password, ok := r.BasicAuth(); ok {
		if a := s.asClient(user, password); a != nil {
			return principal{client: a}, nil
		}
		return s.byToken(password)
	}
	scheme, value, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token") {
		return principal{}, errBadCredentials
	}
	if strings.Count(value, ".") == 2 {
		return s.byJWT(value, r.URL.Path)
	}
	return s.byToken(value)
}

func (s *Server) byToken(value string) (principal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tokens[value]
	if t == nil || t.revoked || (!t.expires.IsZero() && !s.now().Before(t.expires)) {
		return principal{}, errBadCredentials
	}
	if t.inst != nil && !t.inst.suspended.IsZero() {
		return principal{}, fail(http.StatusForbidden, "This installation has been suspended")
	}
	return principal{token: t}, nil
}

// byJWT checks an App's own signature: RS256, issued not in the future, and
// good for at most ten minutes.
func (s *Server) byJWT(value, path string) (principal, error) {
	undecodable := fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
	parts := strings.Split(value, ".")
	var head struct {
		Alg string `json:"alg"`
	}
	var claims struct {
		Issuer   any   `json:"iss"`
		IssuedAt int64 `json:"iat"`
		Expires  int64 `json:"exp"`
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || decodePart(parts[0], &head) != nil || decodePart(parts[1], &claims) != nil || head.Alg != "RS256" {
		return principal{}, undecodable
	}
	issuer := fmt.Sprint(claims.Issuer)
	if n, isNumber := claims.Issuer.(float64); isNumber {
		issuer = fmt.Sprintf("%.0f", n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var app *App
	for _, a := range s.apps {
		if fmt.Sprint(a.ID) == issuer {
			app = a
		}
	}
	if app == nil {
		return principal{}, fail(http.StatusNotFound, "Integration not found")
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(app.key, crypto.SHA256, digest[:], signature) != nil {
		return principal{}, undecodable
	}
	now, slack := s.now(), time.Minute
	switch issued, expires := time.Unix(claims.IssuedAt, 0), time.Unix(claims.Expires, 0); {
	case !now.Before(expires):
		return principal{}, fail(http.StatusUnauthorized, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case expires.After(now.Add(10*time.Minute + slack)):
		return principal{}, fail(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	case issued.After(now.Add(slack)):
		return principal{}, fail(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	}
	// A JWT opens the App's own addresses and nothing else.
	if !strings.HasPrefix(path, "/app") && !strings.HasSuffix(path, "/installation") && path != "/rate_limit" {
		return principal{}, fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	return principal{app: app}, nil
}

func decodePart(part string, v any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// Fingerprint names a token in the request log without giving it away.
func Fingerprint(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:6])
}

// enter finds the repository of the path and checks that the caller may do
// what the route does there: any one of the permissions at the level.
func (c *call) enter(level string, permissions []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := c.r.PathValue("id"); c.r.PathValue("repo") == "" {
		for _, r := range c.repos {
			if fmt.Sprint(r.ID) == id {
				c.repo = r
			}
		}
	} else {
		c.repo = c.repoNames[strings.ToLower(c.r.PathValue("owner")+"/"+c.r.PathValue("repo"))]
	}
	if c.repo == nil || c.repo.deleted {
		return notFound()
	}
	if err := c.allowed(c.repo, level, permissions); err != nil {
		return err
	}
	if level == "write" && c.repo.archived && !slices.Contains(permissions, "metadata") {
		return fail(http.StatusForbidden, "Repository was archived so is read-only.")
	}
	return nil
}

// allowed checks a caller's permission in a repository; the caller holds mu.
func (c *call) allowed(r *Repo, level string, permissions []string) error {
	write := level == "write"
	switch t := c.who.token; {
	case c.who.app != nil:
		return fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
	case t == nil && r.private:
		return notFound()
	case t == nil && write:
		return fail(http.StatusUnauthorized, "Requires authentication")
	case t == nil:
		return nil
	case t.user != nil && !t.reaches(r, c.installations):
		return notFound()
	case t.user != nil:
		return userAllowed(r, t.user, write, permissions)
	default:
		return installationAllowed(r, t, write, permissions)
	}
}

func userAllowed(r *Repo, u *User, write bool, permissions []string) error {
	rank := roleRank[r.role(u)]
	if rank < roleRank["read"] {
		return notFound()
	}
	if !write {
		return nil
	}
	if slices.Contains(permissions, "checks") {
		return fail(http.StatusForbidden, "You must authenticate via a GitHub App.")
	}
	// Anybody who can read may write comments and reactions.
	if rank < roleRank["write"] && slices.Contains(permissions, "statuses") {
		return notFound()
	}
	return nil
}

func installationAllowed(r *Repo, t *token, write bool, permissions []string) error {
	inScope := t.inst.covers(r) && (t.repos == nil || t.repos[r.ID])
	if !inScope && r.private {
		return notFound()
	}
	if !inScope && !write {
		return nil // public to everybody
	}
	level := "read"
	if write {
		level = "write"
	}
	for _, p := range permissions {
		if inScope && levels[t.permissions[p]] >= levels[level] {
			return nil
		}
	}
	if !write && !r.private {
		return nil
	}
	return fail(http.StatusForbidden, "Resource not accessible by integration")
}

// mint makes an installation token; the caller holds mu.
func (s *Server) mint(i *Installation, repos map[int64]bool, permissions map[string]string) *token {
	granted := maps.Clone(permissions)
	granted["metadata"] = "read"
	t := &token{value: "ghs_" + randomText(36), inst: i, repos: repos, permissions: granted, expires: s.stamp().Add(time.Hour)}
	s.tokens[t.value] = t
	return t
}

// RevokeTokens makes every token of an installation useless, as GitHub does
// when permissions change.
func (s *Server) RevokeTokens(i *Installation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tokens {
		if t.inst == i {
			t.revoked = true
		}
	}
}

// LiveTokens counts the installation tokens that could still be used.
func (s *Server) LiveTokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.tokens {
		if t.inst != nil && !t.revoked && s.now().Before(t.expires) {
			n++
		}
	}
	return n
}

// Secrets gives every token and private key that the server ever handed out,
// so that a test can look for them where they must not be.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for value := range s.tokens {
		all = append(all, value)
	}
	for _, a := range s.apps {
		all = append(all, string(a.PrivateKey), a.oauthSecret)
		if a.hookSecret != "" {
			all = append(all, a.hookSecret)
		}
	}
	for code := range s.pending {
		all = append(all, code)
	}
	return all
}
