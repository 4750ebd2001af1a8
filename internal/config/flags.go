package config

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/prbench/prbench/internal/job"
)

// JobFlags are the flags that say how a job is run, the same on the command line
// and in a comment. The zero value of a field means that the flag was not given.
type JobFlags struct {
	Filter  string          // a regular expression over case and benchmark names
	Runs    *job.Runs       // nil: as the configuration says
	Margin  float64         // a fraction; 0: as the configuration says
	Set     []string        // k=v
	Pool    string          // a pool's name
	Base    string          // a branch or tag of the base repository
	SHA     string          // one of the pull request's commits, 7 to 64 hex digits
	Budget  job.Duration    // 0: as the configuration says
	Harness job.HarnessFrom // empty: the base
	Gate    *bool           // nil: as the configuration says
}

// Register adds the flags to a flag set. Each value is checked when it is read.
func (f *JobFlags) Register(fs *pflag.FlagSet) {
	value := func(name, kind, usage string, set func(string) error) *pflag.Flag {
		return fs.VarPF(&flagValue{kind: kind, set: set}, name, "", usage)
	}
	value("filter", "RE", "run only the cases and benchmarks whose name matches", into(&f.Filter, checkFilter))
	value("runs", "N|adaptive", "runs a side; adaptive: as many as it takes, decided at planned looks (the default)", func(s string) error {
		n, err := job.ParseRuns(s)
		f.Runs = &n
		return unprefixed(err)
	})
	value("margin", "2%", "the change that matters, above 0% and at most 50%", func(s string) (err error) {
		f.Margin, err = job.ParseMargin(s)
		return unprefixed(err)
	})
	value("set", "k=v", "a value for the benchmark's {set}; may be repeated", func(s string) error {
		if len(f.Set) == maxSets {
			return fmt.Errorf("want at most %d values", maxSets)
		}
		f.Set = append(f.Set, s)
		return CheckSet(s)
	})
	value("pool", "NAME", "the pool of runners", into(&f.Pool, checkPool))
	value("base", "REF", "a branch or tag of the base repository; its merge base with the head is the base", into(&f.Base, CheckRef))
	value("sha", "SHA", "the pull request's commit to measure, for a head that moved", into(&f.SHA, checkSHA))
	value("budget", "60m", "how long the job may take; adaptive runs end at the last look that fits", func(s string) (err error) {
		f.Budget, err = parseTime(s, minBudget, MaxTime)
		return err
	})
	value("harness", "base|head", "whose benchmark files both sides run", func(s string) error {
		f.Harness = job.HarnessFrom(s)
		if f.Harness != job.HarnessBase && f.Harness != job.HarnessHead {
			return fmt.Errorf("want base or head, got %s", quoted(s))
		}
		return nil
	})
	value("gate", "bool", "fail when the pull request regresses", func(s string) error {
		on := s == "true"
		f.Gate = &on
		if !on && s != "false" {
			return fmt.Errorf("want no value, true or false, got %s", quoted(s))
		}
		return nil
	}).NoOptDefVal = "true"
}

// flagValue is a flag that is nothing but a function of its text.
type flagValue struct {
	text, kind string
	set        func(string) error
}

func (v *flagValue) String() string { return v.text }
func (v *flagValue) Type() string   { return v.kind }
func (v *flagValue) Set(s string) error {
	v.text = s
	return v.set(s)
}

// IsBoolFlag lets the help show the flag without a value.
func (v *flagValue) IsBoolFlag() bool { return v.kind == "bool" }

func into(to *string, check func(string) error) func(string) error {
	return func(s string) error {
		*to = s
		return check(s)
	}
}

// unprefixed drops the key that job's parsers put before their errors: the
// flag's or the file's own key stands there already.
func unprefixed(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, key := range []string{"runs: ", "margin: "} {
		text = strings.TrimPrefix(text, key)
	}
	return errors.New(text)
}

// FlagNames lists the job flags with their dashes, in the order of the help.
func FlagNames() []string {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	new(JobFlags).Register(fs)
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}

// ParseJobArgs reads the words after /benchmark: names of suites and flags in
// any order. The error is a *FlagError, or pflag.ErrHelp where --help stands
// among the words.
func ParseJobArgs(words []string) (f JobFlags, suites []string, err error) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	f.Register(fs)
	if err := fs.Parse(words); err != nil {
		return JobFlags{}, nil, asFlagError(err)
	}
	return f, fs.Args(), nil
}

// FlagError is a job flag that is unknown or has a value that cannot be used.
// Its text is fit for a reply, where it stands as data.
type FlagError struct {
	Flag   string   // as written, with its dashes; hostile text
	Reason string   // what is wrong with it; may quote hostile text
	Valid  []string // the flags that exist, where this one does not
}

func (e *FlagError) Error() string {
	if e.Valid == nil {
		return e.Flag + ": " + e.Reason
	}
	return fmt.Sprintf("unknown flag %s; the flags are %s%s", quoted(e.Flag),
		strings.Join(e.Valid, ", "), didYouMean(e.Flag, e.Valid))
}

// asFlagError makes pflag's errors into one that a caller can show and decide on.
func asFlagError(err error) error {
	var (
		unknown  *pflag.NotExistError
		needs    *pflag.ValueRequiredError
		invalid  *pflag.InvalidValueError
		syntax   *pflag.InvalidSyntaxError
		asBefore *FlagError
	)
	switch {
	case errors.Is(err, pflag.ErrHelp), errors.As(err, &asBefore):
		return err
	case errors.As(err, &unknown):
		name := "--" + unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name = "-" + short
		}
		return &FlagError{Flag: name, Valid: FlagNames()}
	case errors.As(err, &needs):
		return &FlagError{Flag: "--" + needs.GetFlag().Name, Reason: "needs a value: " + needs.GetFlag().Value.Type()}
	case errors.As(err, &invalid):
		return &FlagError{Flag: "--" + invalid.GetFlag().Name, Reason: invalid.Unwrap().Error()}
	case errors.As(err, &syntax):
		return &FlagError{Flag: syntax.GetSpecifiedFlag(), Valid: FlagNames()}
	default:
		return &FlagError{Flag: "flags", Reason: err.Error()}
	}
}

// maxFilter bounds a filter. Go's expressions run in linear time, so that the
// length and the repeat limit of the syntax are bounds enough.
const maxFilter = 200

func checkFilter(s string) error {
	if len(s) > maxFilter {
		return fmt.Errorf("want at most %d bytes, got %d", maxFilter, len(s))
	}
	if hasControl(s) {
		return errors.New("want an expression without control characters")
	}
	if _, err := regexp.Compile(s); err != nil {
		return fmt.Errorf("want a regular expression (RE2): %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return nil
}

var (
	poolPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)
	shaPattern  = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

func checkPool(s string) error {
	if !poolPattern.MatchString(s) {
		return fmt.Errorf("want a pool's name (letters, digits, - and _; at most 63), got %s", quoted(s))
	}
	return nil
}

func checkSHA(s string) error {
	if !shaPattern.MatchString(s) {
		return fmt.Errorf("want a commit's hash of 7 to 64 hex digits, got %s", quoted(s))
	}
	return nil
}

// CheckRef says what is wrong with the name of a branch or tag, by git's own
// rules (git-check-ref-format). A name that starts with a dash is refused too.
func CheckRef(s string) error {
	bad := s == "" || len(s) > 255 || hasControl(s) || strings.ContainsAny(s, " ~^:?*[\\") ||
		strings.Contains(s, "..") || strings.Contains(s, "@{") || s == "@" ||
		strings.HasPrefix(s, "-") || strings.HasSuffix(s, ".") ||
		slices.ContainsFunc(strings.Split(s, "/"), func(part string) bool {
			return part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock")
		})
	if bad {
		return fmt.Errorf("want the name of a branch or tag, got %s", quoted(s))
	}
	return nil
}

// parseTime reads a duration such as 90s, 5m, 1h or 30d within bounds.
func parseTime(s string, least, most time.Duration) (job.Duration, error) {
	text := s
	if days, ok := strings.CutSuffix(s, "d"); ok && days != "" && strings.Trim(days, "0123456789") == "" && len(days) < 6 {
		var n int
		fmt.Sscan(days, &n)
		text = (time.Duration(n) * 24 * time.Hour).String()
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("want a duration such as 90s, 5m or 1h, got %s", quoted(s))
	}
	if d < least || d > most {
		return 0, fmt.Errorf("want a duration from %s to %s, got %s", short(least), short(most), quoted(s))
	}
	return job.Duration(d), nil
}

// short writes a duration without the zero parts that its String has.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
