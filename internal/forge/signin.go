package forge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/google/go-github/v60/github"
	"golang.org/x/oauth2"
)

// SignIn lets a person show who they are on GitHub and what they may read there,
// by the App's own OAuth web flow. It prints as its client's id.
type SignIn struct {
	forge *Forge
	oauth oauth2.Config
}

// NewSignIn checks the configuration and makes no request. Of cfg it uses what
// says where GitHub is and how to reach it, and no credential. callback is where
// GitHub sends the browser back, one of the App's callback URLs.
func NewSignIn(cfg Config, clientID, clientSecret, callback string) (*SignIn, error) {
	cfg.AppID, cfg.PrivateKey, cfg.Token = 0, nil, ""
	f, err := unsigned(cfg)
	if err != nil {
		return nil, err
	}
	web, _, err := Sites(f.URL())
	if err != nil {
		return nil, fmt.Errorf("forge: sign-in at %s: %w", f.URL(), err)
	}
	if u, err := url.Parse(callback); clientID == "" || clientSecret == "" || err != nil || u.Host == "" {
		return nil, errors.New("forge: a sign-in wants a client's id, its secret and the address to come back to")
	}
	return &SignIn{forge: f, oauth: oauth2.Config{ClientID: clientID, ClientSecret: clientSecret, RedirectURL: callback,
		Endpoint: oauth2.Endpoint{AuthURL: web + "/login/oauth/authorize", TokenURL: web + "/login/oauth/access_token", AuthStyle: oauth2.AuthStyleInParams}}}, nil
}

func (s *SignIn) String() string { return "sign-in of client " + s.oauth.ClientID }

// GoString keeps %#v from printing the secret.
func (s *SignIn) GoString() string { return s.String() }

// LogValue keeps slog from printing the secret.
func (s *SignIn) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Address is where the browser goes to sign in. GitHub sends it back with the
// state and a code, which only the holder of the verifier can use (PKCE).
func (s *SignIn) Address(state, verifier string) string {
	return s.oauth.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier))
}

// Visitor is what a sign-in found out.
type Visitor struct {
	ID      int64 // the account's
	MayRead bool  // the repository that was asked for
}

// Visit exchanges the code for a token of the person's, asks with it who they are
// and whether they may read the repository, and throws it away: it is revoked, kept
// nowhere and given to nobody.
func (s *SignIn) Visit(ctx context.Context, code, verifier string, repoID int64) (Visitor, error) {
	if !manifestCode.MatchString(code) {
		return Visitor{}, refuse("sign in: that is no code of GitHub's")
	}
	token, err := s.token(ctx, code, verifier)
	if err != nil {
		return Visitor{}, err
	}
	defer s.revoke(context.WithoutCancel(ctx), token)
	person := s.forge.client(&oauth2.Transport{Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token}), Base: s.forge.transport})
	var v Visitor
	err = person.read(ctx, "read who signed in", func(ctx context.Context, gh *github.Client) error {
		u, _, err := gh.Users.Get(ctx, "")
		v.ID = u.GetID()
		return err
	})
	if err != nil {
		return Visitor{}, err
	}
	if v.ID <= 0 {
		return Visitor{}, &Error{Op: "read who signed in", Class: Class{Kind: BadAnswer}, Message: "the account has no id"}
	}
	v.MayRead, err = person.mayRead(ctx, repoID)
	return v, err
}

// token exchanges the code. The library's error quotes the answer, which may
// hold the token: only GitHub's own word for the failure is kept.
func (s *SignIn) token(ctx context.Context, code, verifier string) (string, error) {
	const op = "sign in"
	limited, cancel := context.WithTimeout(ctx, s.forge.timeout)
	defer cancel()
	plain := &http.Client{Transport: s.forge.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t, err := s.oauth.Exchange(context.WithValue(limited, oauth2.HTTPClient, plain), code, oauth2.VerifierOption(verifier))
	if err == nil && t.AccessToken != "" {
		return t.AccessToken, nil
	}
	var answer *oauth2.RetrieveError
	if ended := limited.Err(); ended != nil {
		return "", &Error{Op: op, Class: Class{Kind: Cancelled}, Message: ended.Error(), cause: ended}
	}
	if errors.As(err, &answer) {
		out := &Error{Op: op, Class: Class{Kind: BadAnswer}, Message: cleanMessage(answer.ErrorCode)}
		if answer.Response != nil {
			out.Status = answer.Response.StatusCode
		}
		return "", out
	}
	return "", &Error{Op: op, Class: Class{Kind: BadAnswer}, Message: "GitHub gave no token"}
}

// mayRead tells whether the client's person sees the repository.
func (c *Client) mayRead(ctx context.Context, repoID int64) (bool, error) {
	may := false
	err := c.read(ctx, fmt.Sprintf("read repository %d as its visitor", repoID), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Repositories.GetByID(ctx, repoID)
		if err == nil {
			pull, told := got.GetPermissions()["pull"]
			may = got.GetID() == repoID && (pull || !told)
		}
		return err
	})
	switch Classify(err).Kind {
	case NotFound, NoPermission, Gone:
		return false, nil
	}
	return may, err
}

// revoke makes the token useless. One that cannot be revoked ends by itself
// after eight hours.
func (s *SignIn) revoke(ctx context.Context, token string) {
	auth := &github.BasicAuthTransport{Username: s.oauth.ClientID, Password: s.oauth.ClientSecret, Transport: s.forge.transport}
	_ = s.forge.client(auth).read(ctx, "revoke a visitor's token", func(ctx context.Context, gh *github.Client) error {
		_, err := gh.Authorizations.Revoke(ctx, s.oauth.ClientID, token)
		return err
	})
}

// RepositoryByID reads a repository's present state, whatever its name is now.
func (c *Client) RepositoryByID(ctx context.Context, id int64) (Repository, error) {
	var out Repository
	err := c.read(ctx, fmt.Sprintf("read repository %d", id), func(ctx context.Context, gh *github.Client) error {
		got, _, err := gh.Repositories.GetByID(ctx, id)
		if err == nil {
			out = repository(got)
		}
		return err
	})
	return out, err
}
