package simulate

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteTable simulates the claims one after the other and writes a Markdown
// table, a line as soon as it is known, and below it the claims' notes. It
// returns how many figures do not hold, apart from those of refuted claims.
// slack is as for Claim.Check.
func WriteTable(w io.Writer, claims []Claim, o Options, slack float64) (failed int, err error) {
	_, err = fmt.Fprintf(w, "%d replicates, seed %d\n\n| claim | figure to reach | reached | Monte-Carlo error | |\n|---|---|---|---|---|\n", o.Replicates, o.Seed)
	if err != nil {
		return 0, fmt.Errorf("write table of claims: %w", err)
	}
	var notes []string
	for i, c := range claims {
		if o.Progress != nil {
			o.Progress(i)
		}
		if c.Note != "" && !slices.Contains(notes, c.Note) {
			notes = append(notes, c.Note)
		}
		for _, m := range c.Check(o, slack) {
			if !m.Holds && !c.Refuted {
				failed++
			}
			if _, err := io.WriteString(w, m.line(slices.Index(notes, c.Note)+1)); err != nil {
				return failed, fmt.Errorf("write table of claims: %w", err)
			}
		}
	}
	var below strings.Builder
	for i, note := range notes {
		fmt.Fprintf(&below, "\n(%d) %s\n", i+1, note)
	}
	if _, err := io.WriteString(w, below.String()); err != nil {
		return failed, fmt.Errorf("write notes on the claims: %w", err)
	}
	return failed, nil
}

// line is the measure's line of the table. note is the number of its note, 0
// where it has none.
func (m Measure) line(note int) string {
	holds := "yes"
	if !m.Holds {
		holds = "**not reached**"
	}
	if note > 0 {
		holds += fmt.Sprintf(" (%d)", note)
	}
	reached, deviation := fmt.Sprintf("%.3f %%", 100*m.Reached), fmt.Sprintf("%.3f %%", 100*m.Error)
	if m.Number {
		reached, deviation = fmt.Sprintf("%.2f", m.Reached), fmt.Sprintf("%.2f", m.Error)
	}
	return fmt.Sprintf("| %s: %s | %s | %s | %s | %s |\n", m.Claim, m.What, m.Target, reached, deviation, holds)
}
