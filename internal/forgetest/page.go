package forgetest

import (
	"bytes"
	"html/template"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// pageRenderer shows a pull request's conversation as a person sees it.
type pageRenderer struct {
	markdown goldmark.Markdown
	page     *template.Template
}

func newPageRenderer() *pageRenderer {
	return &pageRenderer{
		markdown: goldmark.New(
			goldmark.WithExtensions(extension.GFM),
			goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(fewTags{}, 100))),
		),
		page: template.Must(template.New("pull").Parse(pageTemplate)),
	}
}

// render gives a comment's HTML. What raw HTML it has comes through fewTags.
func (p *pageRenderer) render(markdown string) template.HTML {
	var b bytes.Buffer
	if err := p.markdown.Convert([]byte(markdown), &b); err != nil {
		return template.HTML(template.HTMLEscapeString(markdown))
	}
	return template.HTML(alerts.ReplaceAllString(b.String(), `<blockquote class="alert $1"><p><strong>$1</strong></p>`+"\n<p>"))
}

// alerts are GitHub's: a quote whose first line is [!WARNING] or such.
var alerts = regexp.MustCompile(`<blockquote>\s*<p>\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\](?:<br />)?\s*`)

// fewTags renders the raw HTML of a comment: a short list of tags without
// attributes passes, comments vanish, and everything else is shown as text.
type fewTags struct{}

var (
	htmlComment = regexp.MustCompile(`(?s)<!--.*?-->`)
	allowedTag  = regexp.MustCompile(`^</?(details|summary|sub|sup|br|kbd)\s*/?>`)
)

// RegisterFuncs implements goldmark's NodeRenderer.
func (fewTags) RegisterFuncs(reg renderer.NodeRendererFuncRegisterer) {
	reg.Register(ast.KindHTMLBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			block := n.(*ast.HTMLBlock)
			text := string(block.Lines().Value(source))
			if block.HasClosure() {
				text += string(block.ClosureLine.Value(source))
			}
			w.WriteString(fewTagsOnly(text))
		}
		return ast.WalkContinue, nil
	})
	reg.Register(ast.KindRawHTML, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			w.WriteString(fewTagsOnly(string(n.(*ast.RawHTML).Segments.Value(source))))
		}
		return ast.WalkSkipChildren, nil
	})
}

func fewTagsOnly(s string) string {
	s = htmlComment.ReplaceAllString(s, "")
	var b strings.Builder
	for s != "" {
		if tag := allowedTag.FindString(s); tag != "" {
			b.WriteString(tag)
			s = s[len(tag):]
			continue
		}
		next := strings.IndexByte(s[1:], '<')
		if next < 0 {
			next = len(s) - 1
		}
		b.WriteString(template.HTMLEscapeString(s[:next+1]))
		s = s[next+1:]
	}
	return b.String()
}

type shownPage struct {
	Repo, Title, Author, State, Base, Head string
	Body                                   template.HTML
	Conversation                           Conversation
	Comments                               []shownBody
	Checks                                 []shownCheck
}

type shownCheck struct {
	ShownCheckRun
	Body template.HTML
}

type shownBody struct {
	ShownComment
	HTML template.HTML
}

// servePage serves /OWNER/NAME/pull/N, and a list of pull requests at the
// repository's own address and at the root.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'")
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if r.URL.Path == "/" || len(parts) == 2 {
		s.serveList(w, strings.Trim(r.URL.Path, "/"))
		return
	}
	p := s.pullAt(parts)
	if p == nil {
		http.NotFound(w, r)
		return
	}
	page := shownPage{Conversation: s.Conversation(p)}
	s.mu.Lock()
	page.Repo, page.Title, page.Author, page.State = p.Repo.fullName(), p.title, p.author.Login, state(p)
	page.Base, page.Head = p.baseRef, p.headOwner.Login+":"+p.headRef
	body := p.body
	s.mu.Unlock()
	page.Body = s.page.render(body)
	for _, c := range page.Conversation.Comments {
		page.Comments = append(page.Comments, shownBody{c, s.page.render(c.Body)})
	}
	for _, run := range page.Conversation.CheckRuns {
		page.Checks = append(page.Checks, shownCheck{run, s.page.render(run.Summary + "\n\n" + run.Text)})
	}
	var b bytes.Buffer
	if err := s.page.page.Execute(&b, page); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(b.Bytes())
}

// pullAt finds the pull request of a page's address; those of private
// repositories are shown too, since the page is for whoever runs the server.
func (s *Server) pullAt(parts []string) *Pull {
	if len(parts) != 4 || parts[2] != "pull" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repoNames[strings.ToLower(parts[0]+"/"+parts[1])]
	n, err := strconv.Atoi(parts[3])
	if r == nil || err != nil || n < 1 || n > len(r.pulls) {
		return nil
	}
	return r.pulls[n-1]
}

func (s *Server) serveList(w http.ResponseWriter, repo string) {
	type line struct{ Address, Title string }
	var lines []line
	s.mu.Lock()
	for _, r := range s.sortedRepos() {
		if r.deleted || (repo != "" && !strings.EqualFold(repo, r.fullName())) {
			continue
		}
		for _, p := range r.pulls {
			lines = append(lines, line{"/" + r.fullName() + "/pull/" + strconv.Itoa(p.Number), r.fullName() + " #" + strconv.Itoa(p.Number) + " " + p.title})
		}
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	listTemplate.Execute(w, lines)
}

var listTemplate = template.Must(template.New("list").Parse(`<!doctype html><meta charset="utf-8"><title>Pull requests</title>
<h1>Pull requests</h1><ul>{{range .}}<li><a href="{{.Address}}">{{.Title}}</a></li>{{end}}</ul>`))

const pageTemplate = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}} · {{.Repo}} #{{.Conversation.Number}}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2328; margin: 0 auto; max-width: 58rem; padding: 1rem; }
h1 { font-weight: 400; margin-bottom: .2rem; } h1 span { color: #59636e; }
.state { border-radius: 2em; color: #fff; padding: .2em .8em; background: #1f883d; } .state.closed { background: #cf222e; }
.label { background: #ededed; border-radius: 2em; padding: .1em .7em; }
article { border: 1px solid #d1d9e0; border-radius: 6px; margin: 1rem 0; }
article > header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; border-radius: 6px 6px 0 0; padding: .5rem 1rem; }
article > div { padding: .2rem 1rem; overflow-x: auto; }
.reactions { color: #59636e; padding: 0 1rem .5rem; }
pre { background: #f6f8fa; border-radius: 6px; overflow-x: auto; padding: 1rem; } code { font: 85% ui-monospace, monospace; }
:not(pre) > code { background: #eff1f3; border-radius: 6px; padding: .2em .4em; }
table { border-collapse: collapse; } td, th { border: 1px solid #d1d9e0; padding: .3rem .8rem; }
blockquote { border-left: .25em solid #d1d9e0; color: #59636e; margin: 0 0 1rem; padding: 0 1rem; }
.alert { color: inherit; } .alert.WARNING { border-color: #9a6700; } .alert.CAUTION { border-color: #cf222e; } .alert.NOTE { border-color: #0969da; }
</style></head><body>
<h1>{{.Title}} <span>#{{.Conversation.Number}}</span></h1>
<p><span class="state {{.State}}">{{.State}}</span> {{.Author}} wants to merge <code>{{.Head}}</code> into <code>{{.Base}}</code> of {{.Repo}}
{{range .Conversation.Labels}} <span class="label">{{.}}</span>{{end}}</p>
<article><header><b>{{.Author}}</b></header><div>{{.Body}}</div></article>
{{range .Comments}}<article id="issuecomment-{{.ID}}"><header><b>{{.Author}}</b> {{.Created.Format "2006-01-02 15:04:05"}}{{if .Edits}} · edited{{end}}</header>
<div>{{.HTML}}</div>{{if .Reactions}}<p class="reactions">{{range .Reactions}}{{.}} {{end}}</p>{{end}}</article>
{{end}}<h2>Checks</h2>
{{range .Checks}}<article><header><b>{{.Name}}</b> {{.Status}}{{if .Conclusion}}: <b>{{.Conclusion}}</b>{{end}} · <code>{{printf "%.8s" .HeadSHA}}</code></header>
<div><details><summary>{{.Title}}</summary>{{.Body}}</details>
{{range .Actions}}<kbd>{{.}}</kbd> {{end}}</div></article>
{{else}}<p>No check runs.</p>{{end}}
{{range .Conversation.Statuses}}<p><b>{{.Context}}</b> {{.State}} {{.Description}}</p>{{end}}
</body></html>`
