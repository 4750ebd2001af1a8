package simulate

import (
	"fmt"
	"io"
)

// WriteTable simulates the claims one after the other and writes a Markdown
// table, a line as soon as it is known. It returns how many figures do not
// hold. slack is as for Claim.Check.
func WriteTable(w io.Writer, claims []Claim, o Options, slack float64) (failed int, err error) {
	_, err = fmt.Fprintf(w, "%d replicates, seed %d\n\n| claim | figure to reach | reached | Monte-Carlo error | |\n|---|---|---|---|---|\n", o.Replicates, o.Seed)
	if err != nil {
		return 0, fmt.Errorf("write table of claims: %w", err)
	}
	for _, c := range claims {
		for _, m := range c.Check(o, slack) {
			holds := "yes"
			if !m.Holds {
				holds = "no"
				failed++
			}
			reached, deviation := fmt.Sprintf("%.3f %%", 100*m.Reached), fmt.Sprintf("%.3f %%", 100*m.Error)
			if m.Number {
				reached, deviation = fmt.Sprintf("%.2f", m.Reached), fmt.Sprintf("%.2f", m.Error)
			}
			if _, err := fmt.Fprintf(w, "| %s: %s | %s | %s | %s | %s |\n", m.Claim, m.What, m.Target, reached, deviation, holds); err != nil {
				return failed, fmt.Errorf("write table of claims: %w", err)
			}
		}
	}
	return failed, nil
}
