package benchfmt

import (
	"fmt"
	"io"

	"github.com/prbench/prbench/internal/job"
)

// newSource makes the reader of a format. r is UTF-8.
func newSource(r io.Reader, e *env) (source, error) {
	switch e.opt.Format {
	case job.FormatNode:
		return newNode(r, e), nil
	case job.FormatGo:
		return newGo(r, e), nil
	case job.FormatNodeCSV, job.FormatCSV:
		return newCSV(r, e), nil
	}
	return nil, fmt.Errorf("read benchmarks: unknown format %q", e.opt.Format)
}
