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
	case job.FormatGoogleBench:
		return newGoogleBench(r, e), nil
	case job.FormatHyperfine:
		return newHyperfine(r, e), nil
	case job.FormatJMH:
		return newJMH(r, e), nil
	case job.FormatPytest:
		return newPytest(r, e), nil
	case job.FormatCriterion:
		return newCriterion(r, e), nil
	case job.FormatNodeCSV, job.FormatCSV:
		return newCSV(r, e), nil
	}
	return nil, fmt.Errorf("read benchmarks: unknown format %q", e.opt.Format)
}
