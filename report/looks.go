package report

import (
	"fmt"
	"slices"

	"github.com/prbench/prbench/report/stats"
)

// LookFound is what one completed look of an adaptive comparison found.
type LookFound struct {
	Number, Planned int // from 1, of so many
	Pairs           int // after which it was
	// Resolved and Futile are the rows that it resolved, or found not worth more
	// runs, and no look before it had; judged at that look.
	Resolved, Futile []*Row
	Open             int // rows that it left to the next look
}

// mostLooks bounds how many looks are told one by one; a plan has six.
const mostLooks = 20

// Looks tells what each look found that a benchmark has completed, with the same
// options as the report's. It is empty in a fixed design.
func Looks(d *Data, o Options) ([]LookFound, error) {
	var out []LookFound
	settled := map[string]bool{}
	for k, pairs := range o.Looks {
		if k == mostLooks || !slices.ContainsFunc(d.Series, func(s *Series) bool { return s.attempted() >= pairs }) {
			break
		}
		r, err := Analyse(d.before(pairs), o)
		if err != nil {
			return nil, err
		}
		found := LookFound{Number: k + 1, Planned: len(o.Looks), Pairs: pairs}
		for _, row := range r.Rows {
			switch {
			case row.Stat.Look != k+1 || row.OnlyOn != "" || row.Twin || settled[row.ID]:
			case row.Stat.Resolved && row.Verdict != stats.NoVerdict:
				found.Resolved = append(found.Resolved, row)
				settled[row.ID] = true
			case row.Stat.Futile:
				found.Futile = append(found.Futile, row)
				settled[row.ID] = true
			default:
				found.Open++
			}
		}
		out = append(out, found)
	}
	return out, nil
}

// before is the data as they were when so many pairs were begun.
func (d *Data) before(pairs int) *Data {
	out := *d
	out.Series = nil
	for _, s := range d.Series {
		cut := *s
		cut.Old, cut.New = s.Old.before(pairs), s.New.before(pairs)
		cut.Attempted = min(s.Attempted, pairs)
		out.Series = append(out.Series, &cut)
	}
	return &out
}

func (v Values) before(pairs int) Values {
	n := min(pairs, len(v.Value))
	if v.Pair != nil {
		n, _ = slices.BinarySearch(v.Pair, int32(pairs))
	}
	v.Value, v.Time = v.Value[:n:n], v.Time[:n:n]
	if v.Pair != nil {
		v.Pair = v.Pair[:n:n]
	}
	return v
}

// Title names the look in a line.
func (l LookFound) Title() string {
	return fmt.Sprintf("Look %d of %d, at %d pairs: %d resolved, %d futile, %d open", l.Number, l.Planned, l.Pairs, len(l.Resolved), len(l.Futile), l.Open)
}
