package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/prbench/prbench/runner/calibrate"
)

func TestCalibrateSaysWhatThisMachineSeesAndKeepsIt(t *testing.T) {
	t.Parallel()
	repo, file := local(t, "0"), filepath.Join(t.TempDir(), "calibration.json")
	code, out, errs := bot(t, "calibrate", "--repo", repo, "--ref", "faster", "--runs", "8", "--out", file)
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, words := range []string{"bench/sum.js n=1 [ops/s]", "This machine sees a change of ", " of 2 benchmarks, 0.1 to be expected (*)", "The two runs of a pair correlate by "} {
		if !strings.Contains(out, words) {
			t.Errorf("it does not say %q:\n%s", words, out)
		}
	}
	if !strings.Contains(errs, "measuring ") || !strings.Contains(errs, "(faster) against itself") {
		t.Errorf("standard error:\n%s", errs)
	}
	r, err := calibrate.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Benchmarks) != 2 || r.Benchmarks[0].Pairs != 8 || r.Sees() == nil || r.Sees().Suite != "main" || r.Host.CPU == "" || r.Commit.Ref != "faster" {
		t.Errorf("kept: %+v", r)
	}
	// Noise of 0 to 255 on 20,000 and on 50,000.
	if cv := *r.Benchmarks[0].CV; cv < .001 || cv > .01 {
		t.Errorf("the cv of a noise that varies by .37 %% is %v", cv)
	}
}

func TestCalibrateNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	repo := local(t, "0")
	broken := local(t, "0")
	put(t, broken, "build.sh", "echo no compiler here\nexit 9\n")
	git(t, broken, "commit", "-q", "-a", "-m", "broken")
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"an unknown ref":            {[]string{"--repo", repo, "--ref", "nowhere"}, exitFailed, "nowhere"},
		"the tree as it is":         {[]string{"--repo", repo, "--ref", "."}, exitUsage, "want a commit"},
		"an unknown suite":          {[]string{"--repo", repo, "mian"}, exitUsage, `"mian"`},
		"an unknown format":         {[]string{"--repo", repo, "--format", "html"}, exitUsage, "want text or json"},
		"a build that fails":        {[]string{"--repo", broken}, exitFailed, "no compiler here"},
		"a place that is not there": {[]string{"--repo", repo, "--runs", "5", "--out", filepath.Join(repo, "none", "x.json")}, exitFailed, "keep the calibration"},
	} {
		code, out, errs := bot(t, append([]string{"calibrate"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, want %d: %s%s", name, code, c.code, out, errs)
		}
	}
}
