package forgetest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func (c *call) getRoot() (answer, error) {
	return ok(object{"current_user_url": c.APIURL() + "/user", "rate_limit_url": c.APIURL() + "/rate_limit"})
}

func (c *call) getMeta() (answer, error) {
	return ok(object{"verifiable_password_authentication": true, "installed_version": "3.14.0"})
}

func (c *call) getRateLimit() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.budgets[c.who.budgetKey()]
	core := object{"limit": c.budgetSize, "used": b.used, "remaining": c.budgetSize - b.used, "reset": b.reset.Unix()}
	return ok(object{"resources": object{"core": core, "search": core}, "rate": core})
}

func (c *call) getUser() (answer, error) {
	if c.who.token == nil {
		return answer{}, fail(http.StatusUnauthorized, "Requires authentication")
	}
	if c.who.token.user == nil {
		return answer{}, fail(http.StatusForbidden, "Resource not accessible by integration")
	}
	return c.publicUser(c.who.token.user)
}

func (c *call) getUserByLogin() (answer, error) {
	c.mu.Lock()
	u := c.users[strings.ToLower(c.r.PathValue("login"))]
	c.mu.Unlock()
	if u == nil {
		return answer{}, notFound()
	}
	return c.publicUser(u)
}

func (c *call) publicUser(u *User) (answer, error) {
	out := c.userJSON(u).(object)
	for _, key := range []string{"name", "company", "location", "email", "hireable", "bio", "twitter_username"} {
		out[key] = nil
	}
	for _, key := range []string{"public_repos", "public_gists", "followers", "following"} {
		out[key] = 0
	}
	out["blog"], out["created_at"], out["updated_at"] = "", at(c.stamp()), at(c.stamp())
	return ok(out)
}

// asApp is the App whose JWT the request carries.
func (c *call) asApp() (*App, error) {
	if c.who.app == nil {
		return nil, fail(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	return c.who.app, nil
}

func (c *call) getApp() (answer, error) {
	app, err := c.asApp()
	if err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok(c.appJSON(app))
}

func (c *call) listInstallations() (answer, error) {
	app, err := c.asApp()
	if err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine []*Installation
	for _, i := range c.sortedInstallations() {
		if i.App == app && !i.deleted {
			mine = append(mine, i)
		}
	}
	from, to := c.window(len(mine))
	out := []object{}
	for _, i := range mine[from:to] {
		out = append(out, c.installationJSON(i))
	}
	return ok(out)
}

// installation is the App's own installation of the path; the caller holds mu.
func (c *call) installation() (*Installation, error) {
	app, err := c.asApp()
	if err != nil {
		return nil, err
	}
	id, err := c.number("installation")
	if err != nil {
		return nil, err
	}
	i := c.installations[id]
	if i == nil || i.App != app || i.deleted {
		return nil, notFound()
	}
	return i, nil
}

func (c *call) getInstallation() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.installation()
	if err != nil {
		return answer{}, err
	}
	return ok(c.installationJSON(i))
}

func (c *call) getRepoInstallation() (answer, error) {
	app, err := c.asApp()
	if err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.repoNames[strings.ToLower(c.r.PathValue("owner")+"/"+c.r.PathValue("repo"))]
	if id, err := c.number("id"); err == nil {
		r = c.repos[id]
	}
	for _, i := range c.sortedInstallations() {
		if r != nil && i.App == app && i.covers(r) {
			return ok(c.installationJSON(i))
		}
	}
	return answer{}, notFound()
}

func (c *call) createToken() (answer, error) {
	var ask struct {
		IDs         []int64           `json:"repository_ids"`
		Names       []string          `json:"repositories"`
		Permissions map[string]string `json:"permissions"`
	}
	if err := c.decode(&ask); err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.installation()
	if err != nil {
		return answer{}, err
	}
	if !i.suspended.IsZero() {
		return answer{}, fail(http.StatusForbidden, "This installation has been suspended")
	}
	repos, chosen, err := c.chooseRepos(i, ask.IDs, ask.Names)
	if err != nil {
		return answer{}, err
	}
	granted := i.App.permissions
	if ask.Permissions != nil {
		for name, level := range ask.Permissions {
			if levels[level] < 1 || levels[level] > levels[i.App.permissions[name]] {
				return answer{}, fail(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			}
		}
		granted = ask.Permissions
	}
	t := c.mint(i, repos, granted)
	out := object{"token": t.value, "expires_at": at(t.expires), "permissions": t.permissions, "repository_selection": "all"}
	if repos != nil || !i.all {
		out["repository_selection"] = "selected"
	}
	if repos != nil {
		list := []object{}
		for _, r := range chosen {
			list = append(list, c.repoJSON(r))
		}
		out["repositories"] = list
	}
	return created(out)
}

// chooseRepos is the set of repositories that a token was asked for; nil for
// all. The caller holds mu.
func (c *call) chooseRepos(i *Installation, ids []int64, names []string) (map[int64]bool, []*Repo, error) {
	if len(ids) == 0 && len(names) == 0 {
		return nil, nil, nil
	}
	set := map[int64]bool{}
	var list []*Repo
	missing := 0
	add := func(r *Repo) {
		if r == nil || !i.covers(r) {
			missing++
			return
		}
		if !set[r.ID] {
			set[r.ID] = true
			list = append(list, r)
		}
	}
	for _, id := range ids {
		add(c.repos[id])
	}
	for _, name := range names {
		add(c.repoNames[strings.ToLower(i.Account.Login+"/"+name)])
	}
	if missing > 0 {
		return nil, nil, fail(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
	}
	return set, list, nil
}

func (c *call) revokeToken() (answer, error) {
	if c.who.token == nil || c.who.token.inst == nil {
		return answer{}, fail(http.StatusUnauthorized, "Requires authentication")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.who.token.revoked = true
	return noContent()
}

func (c *call) listInstallationRepos() (answer, error) {
	t := c.who.token
	if t == nil || t.inst == nil {
		return answer{}, fail(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var mine []*Repo
	for _, r := range c.sortedRepos() {
		if t.inst.covers(r) && (t.repos == nil || t.repos[r.ID]) {
			mine = append(mine, r)
		}
	}
	from, to := c.window(len(mine))
	list := []object{}
	for _, r := range mine[from:to] {
		list = append(list, c.repoJSON(r))
	}
	selection := "selected"
	if t.repos == nil && t.inst.all {
		selection = "all"
	}
	return ok(object{"total_count": len(mine), "repository_selection": selection, "repositories": list})
}

func (c *call) getHookConfig() (answer, error) {
	app, err := c.asApp()
	if err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok(object{"content_type": "json", "insecure_ssl": "0", "secret": "********", "url": app.hookURL})
}

func deliveryJSON(d *Delivery) object {
	out := object{
		"id": d.ID, "guid": d.GUID, "delivered_at": at(d.At), "redelivery": d.Redelivery, "duration": d.Duration.Seconds(),
		"status": d.Status, "status_code": d.StatusCode, "event": d.Event, "action": orNull(d.Action),
		"installation_id": nil, "repository_id": nil, "throttled_at": nil,
	}
	if d.InstallationID != 0 {
		out["installation_id"] = d.InstallationID
	}
	if d.RepositoryID != 0 {
		out["repository_id"] = d.RepositoryID
	}
	return out
}

// listDeliveries pages by cursor, newest first; what is still on its way is
// not listed.
func (c *call) listDeliveries() (answer, error) {
	app, err := c.asApp()
	if err != nil {
		return answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	q := c.r.URL.Query()
	size := 30
	if n, err := strconv.Atoi(q.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	before := int64(1) << 62
	if cursor := q.Get("cursor"); cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(cursor, "v1_"))
		if err == nil {
			before, err = strconv.ParseInt(string(raw), 10, 64)
		}
		if err != nil {
			return answer{}, fail(http.StatusUnprocessableEntity, "Invalid cursor")
		}
	}
	out, last := []object{}, int64(0)
	for _, d := range slices.Backward(c.deliveries) {
		if d.App != app || !d.Done || d.ID >= before {
			continue
		}
		if len(out) == size {
			q.Set("cursor", "v1_"+base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d", last)))
			c.w.Header().Set("Link", fmt.Sprintf(`<%s>; rel="next"`, c.here(q)))
			break
		}
		out, last = append(out, deliveryJSON(d)), d.ID
	}
	return ok(out)
}

// delivery is the App's own delivery of the path; the caller holds mu.
func (c *call) delivery() (*Delivery, error) {
	app, err := c.asApp()
	if err != nil {
		return nil, err
	}
	id, err := c.number("delivery")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.deliveries, func(d *Delivery) bool { return d.ID == id && d.App == app && d.Done })
	if i < 0 {
		return nil, notFound()
	}
	return c.deliveries[i], nil
}

func (c *call) getDelivery() (answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, err := c.delivery()
	if err != nil {
		return answer{}, err
	}
	out := deliveryJSON(d)
	headers := object{}
	for key := range d.Header {
		headers[key] = d.Header.Get(key)
	}
	out["url"] = d.App.hookURL
	out["request"] = object{"headers": headers, "payload": rawJSON(d.Payload)}
	out["response"] = object{"headers": object{}, "payload": string(d.Response)}
	return ok(out)
}

type rawJSON []byte

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

func (c *call) redeliver() (answer, error) {
	c.mu.Lock()
	d, err := c.delivery()
	c.mu.Unlock()
	if err != nil {
		return answer{}, err
	}
	c.hooks.add(c.again(d))
	return answer{http.StatusAccepted, object{}}, nil
}
