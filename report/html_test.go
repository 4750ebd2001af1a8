package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/prbench/prbench/report"
)

func htmlOf(t *testing.T, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	anyTag  = regexp.MustCompile(`<[a-zA-Z/!][^>]*>`)
	ourTags = regexp.MustCompile(`^</?(html|head|body|main|h1|h2|h3|p|span|section|ul|ol|li|strong|code|pre|table|thead|tbody|tr|th|td|div|picture|style|title|dl|dt|dd)( (id|class|aria-labelledby|scope|lang|value)="[a-z0-9 ]+")*>$|` +
		`^<!DOCTYPE html>$|^<meta (charset|name)="[a-z0-9-]+"( content="[a-z0-9=,. -]+")?>$|` +
		`^<link rel="icon" href="data:,">$|^<progress value="[0-9]+" max="[0-9]+">$|^</progress>$|^<a href="1\.1\.1-abc/[a-z.]+">$|^<a href="https://bench\.test/r/[0-9.]+">$|` +
		`^<a href="https://forge\.test/acme/engine/commit/[0-9a-f]+">$|^</a>$|` +
		`^<source media="\(prefers-color-scheme: dark\)" srcset="data:image/svg(?:&#43;|\+)xml;base64,[A-Za-z0-9+/=&#;]+">$|` +
		`^<img src="data:image/svg(?:&#43;|\+)xml;base64,[A-Za-z0-9+/=&#;]+" alt="[a-z0-9&#,; ]+" width="864">$`)
	pictureData = regexp.MustCompile(`data:image/svg(?:&#43;|\+)xml;base64,([A-Za-z0-9+/=&#;]+)"`)
)

// decoded is the picture in an address of data.
func decoded(t *testing.T, data string) string {
	t.Helper()
	svg, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(data, "&#43;", "+"))
	if err != nil {
		t.Fatal(err)
	}
	return string(svg)
}

func checkPage(t *testing.T, page string) {
	t.Helper()
	for _, tag := range anyTag.FindAllString(page, -1) {
		if !ourTags.MatchString(tag) {
			t.Errorf("foreign tag: %.200s", tag)
		}
	}
	for _, m := range pictureData.FindAllStringSubmatch(page, -1) {
		d := xml.NewDecoder(strings.NewReader(decoded(t, m[1])))
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("a picture is no XML: %v", err)
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local != "svg" && e.Name.Local != "g" && e.Name.Local != "path" && e.Name.Local != "text" {
				t.Errorf("a picture holds <%s>", e.Name.Local)
			}
		}
	}
}

func TestThePageShowsTheSameWordsAndEveryRow(t *testing.T) {
	r := analyse(t, mixed(), report.Options{About: about()})
	page := htmlOf(t, r)
	checkPage(t, page)
	contains(t, page, "2 regressions beyond 2 %, 1 slower by an unclear amount, 1 improvement", "noindex", "prefers-color-scheme")
	for _, row := range r.Rows {
		if n := strings.Count(page, "<code>"+row.ID+"</code>"); n == 0 {
			t.Errorf("no %s on the page", row.ID)
		}
	}
	if n := strings.Count(page, "<picture>"); n != 1+11 {
		t.Errorf("%d pictures, want the forest and one for each of 11 benchmarks with a change", n)
	}
	if again := htmlOf(t, r); again != page {
		t.Error("the same report gives another page")
	}
}

func TestThePageWorksUnderItsContentPolicy(t *testing.T) {
	page := htmlOf(t, analyse(t, mixed(), report.Options{About: about()}))
	_, style, _ := strings.Cut(page, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	contains(t, report.ContentPolicy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'", "default-src 'none'", "img-src data:")
	lacks(t, page, "<script", " style=", "onload", "http://")
}

func TestForeignTextIsNoMarkupOnThePage(t *testing.T) {
	r, _, _ := hostileReport(t, hostile[0], hostile[1:]...)
	checkPage(t, htmlOf(t, r))
}

func TestAPageOfManyBenchmarksHasThemAll(t *testing.T) {
	page := htmlOf(t, analyse(t, manyBenchmarks(3), report.Options{}))
	checkPage(t, page)
	if n := strings.Count(page, "<th scope=\"row\">"); n != 900 {
		t.Errorf("%d rows", n)
	}
	if len(page) > 4<<20 {
		t.Errorf("%d bytes", len(page))
	}
}

func TestAPageOfNothingIsAPage(t *testing.T) {
	page := htmlOf(t, analyse(t, &report.Data{}, report.Options{}))
	checkPage(t, page)
	contains(t, page, "No benchmark could be compared")
}
