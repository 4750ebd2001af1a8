package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prbench/prbench/report"
	"github.com/prbench/prbench/report/stats"
)

// The argument that a verdict ends: a benchmark varies by 7 %, somebody runs it
// 30 times, sees no star or a lone one, and runs it again, and again.

const (
	argumentRuns   = 30
	argumentMargin = .01
)

// flat is a benchmark that did not change, measured once.
func flat(rng *rand.Rand, cv float64) *report.Data {
	c := report.NewCollector()
	measured(c, rng, "process/next-tick-depth.js millions=12", "ops/s", 1e6, 1e6, cv, argumentRuns)
	return c.Data()
}

// argue measures the same comparison so many times, each attempt knowing the
// ones before it and a ledger of all.
func argue(t testing.TB, rng *rand.Rand, cv float64, attempts int) []*report.Report {
	t.Helper()
	var all []*report.Report
	var earlier []report.Attempt
	var ledger []report.LedgerEntry
	for j := range attempts {
		o := report.Options{Margin: argumentMargin, Runs: argumentRuns, Attempt: j + 1, Earlier: earlier}
		r, err := report.Analyse(flat(rng, cv), o)
		if err != nil {
			t.Fatal(err)
		}
		ledger = append(ledger, report.LedgerEntry{
			Attempt: j + 1, Runs: strconv.Itoa(argumentRuns), Headline: r.Headline(),
			Finished: time.Date(2024, 5, 6+j, 7, 8, 9, 0, time.UTC),
		})
		r.About.Ledger = ledger
		earlier = append(earlier, r.AsAttempt())
		all = append(all, r)
	}
	return all
}

var runsNeeded = regexp.MustCompile(`about (\d+) runs a side would settle ±1 %`)

func TestANoisyBenchmarkIsTooNoisyHoweverOftenItIsRunAgain(t *testing.T) {
	all := argue(t, rand.New(rand.NewPCG(1, 7)), .07, 3)
	for i, r := range all {
		t.Run(fmt.Sprintf("attempt %d", i+1), func(t *testing.T) {
			md := r.Markdown()
			checkHarmless(t, md)
			first, _, _ := strings.Cut(md, "\n")
			if first != "### 1 too noisy to tell" {
				t.Errorf("the first line is %q", first)
			}
			contains(t, md, "The variance leaves the benchmark open", "That does not mean unchanged")
			// 2·.07²·((1.96 + 1.28)/.01)² = 1,029; the cv of 60 runs is known to a tenth.
			said := runsNeeded.FindStringSubmatch(md)
			if said == nil {
				t.Fatalf("no number of runs in\n%s", md)
			}
			if n, _ := strconv.Atoi(said[1]); n < 700 || n > 1400 {
				t.Errorf("names %d runs, want about 1,000", n)
			}
			lacks(t, md, "no difference", "unchanged within", "roven unchanged", "regression", "improvement beyond", "NaN", "Inf")
		})
	}

	last := all[2]
	md := last.Markdown()
	contains(t, md, "3 attempts at this comparison", "| 1 | 2024-05-06 07:08 UTC | 30 |", "| 2 | 2024-05-07 07:08 UTC | 30 |", "| 3 | 2024-05-08 07:08 UTC | 30 |")
	if n := strings.Count(md, "| `1 too noisy to tell` |"); n != 3 {
		t.Errorf("the ledger says too noisy %d times, want 3:\n%s", n, md)
	}
	// .05·(1 + 1/2 + 1/4) = 8.75 %
	contains(t, md, "3 attempts; chance of any false star on an unchanged benchmark ≤ 8.8 %")
	if row := last.Rows[0]; row.Verdict != stats.Inconclusive || row.Stat.Stars != "" {
		t.Errorf("three attempts together: %s, stars %q", row.Verdict, row.Stat.Stars)
	}
}

func TestAQuietBenchmarkIsGrantedNoDifference(t *testing.T) {
	r := argue(t, rand.New(rand.NewPCG(1, 5)), .005, 1)[0]
	md := r.Markdown()
	checkHarmless(t, md)
	if first, _, _ := strings.Cut(md, "\n"); first != "### 1 unchanged within ±1 %" {
		t.Errorf("the first line is %q", first)
	}
	contains(t, md, "Proven unchanged: no difference beyond ±1 %", "process/next-tick-depth.js millions=12")
	lacks(t, md, "too noisy", "variance leaves", "more runs")
}

// falselyClaims tells whether a verdict on a flat benchmark says that it moved.
func falselyClaims(v stats.Verdict) bool {
	return v == stats.Faster || v == stats.Regression || v == stats.Slower || v == stats.SlowerWithin
}

// One seed may be lucky. Over many arguments, three attempts at the flat and
// noisy benchmark say that it moved no more often than the report states, they
// hardly ever grant more than they know, and a quiet one is granted nearly always.
func TestTheRiskThatTheLedgerStatesIsKept(t *testing.T) {
	const arguments = 400
	rng := rand.New(rand.NewPCG(1, 3))
	claimed, naive, unchanged, granted := 0, 0, 0, 0
	for range arguments {
		claim, star := false, false
		for _, r := range argue(t, rng, .07, 3) {
			row := r.Rows[0]
			claim = claim || row.Stat.Stars != "" || falselyClaims(row.Verdict)
			star = star || row.Stat.P < .05
			if row.Verdict == stats.Equivalent {
				unchanged++
			}
		}
		if claim {
			claimed++
		}
		if star {
			naive++
		}
		if argue(t, rng, .005, 1)[0].Rows[0].Verdict == stats.Equivalent {
			granted++
		}
	}
	atMost := func(what string, n int, share float64) {
		if most := share*arguments + 4*math.Sqrt(share*(1-share)*arguments); float64(n) > most {
			t.Errorf("%s in %d of %d arguments, want at most %.0f", what, n, arguments, most)
		}
	}
	atMost("a change claimed", claimed, stats.FalseStarRisk(3, .05))
	atMost("proven unchanged", unchanged, .01)
	atMost("a quiet benchmark not granted", arguments-granted, .05)
	// Attempts that know nothing of each other, each at 5 %: 1 − .95³ = 14.3 %.
	atMost("no star that compare.R would print", arguments-naive, 1-.143)
	t.Logf("of %d arguments, %d claim a change with the ledger, %d without", arguments, claimed, naive)
}
