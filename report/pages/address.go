package pages

import (
	"crypto/subtle"
	"regexp"
	"strings"

	"github.com/prbench/prbench/internal/job"
)

// Root is the path below which all pages are.
const Root = "/r/"

// address is the name of a job's page: its id, and the random part that only
// those know who may read the pull request.
func address(j job.Job) string { return string(j.ID) + "-" + j.Page }

// hasPage tells whether the job has a page at all: those made by older versions,
// and those that only explain a table, have none.
func hasPage(j job.Job) bool { return pageShape.MatchString(j.Page) && j.Explain == nil }

var pageShape = regexp.MustCompile(`^[0-9a-f]{32}$`)

// longestAddress is the length, in bytes, beyond which nothing is looked at.
const longestAddress = 100

// parseAddress takes the name of a page apart.
func parseAddress(name string) (id job.ID, page string, ok bool) {
	if len(name) > longestAddress {
		return "", "", false
	}
	before, page, found := strings.Cut(name, "-")
	id = job.ID(before)
	return id, page, found && id.Valid() && pageShape.MatchString(page)
}

// isPageOf compares the random part in constant time.
func isPageOf(j job.Job, page string) bool {
	return subtle.ConstantTimeCompare([]byte(j.Page), []byte(page)) == 1 && hasPage(j)
}
