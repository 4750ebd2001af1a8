package report

import "fmt"

// interimBytes bounds the table of a job that has not ended.
const interimBytes = 20_000

// InterimMarkdown is what a check run shows of a job that has not ended: what its
// last completed look found, and the confidence table as far as it goes. It is
// empty before the first look, as whoever judged there would see stars that are
// not there.
func (r *Report) InterimMarkdown(looks []LookFound) string {
	if len(looks) == 0 || len(r.Rows) == 0 {
		return ""
	}
	in := *r
	in.RollUp = nil // a gate is for the end
	return fmt.Sprintf("**Interim.** %s.\n\n%s.\n\n%s", interimSentence, looks[len(looks)-1].Title(), in.table(interimBytes))
}

// interimSentence is how figures are to be read before a job's end.
const interimSentence = "Each benchmark is judged at the last look that it has completed; what is not resolved there may still change"
