package runner

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/prbench/prbench/internal/job"
	"github.com/prbench/prbench/runner/fitness"
	"github.com/prbench/prbench/runner/sandbox"
)

// hostRoot is where the kernel's files are read from.
var hostRoot = os.DirFS("/")

// hostFacts describes the machine.
func hostFacts(root fs.FS, name string, f sandbox.Facts) job.Host {
	h := job.Host{
		Name:    name,
		CPU:     cpuModel(hostFile(root, "proc/cpuinfo")),
		Cores:   runtime.NumCPU(),
		Kernel:  strings.TrimSpace(hostFile(root, "proc/sys/kernel/osrelease")),
		OS:      osName(hostFile(root, "etc/os-release")),
		Sandbox: sandboxWords(f),
	}
	machine := fitness.Machine{Root: root, CPUs: f.Pinned}
	h.Setup = fmt.Sprintf("%s, %d cores; kernel %s; %s", h.CPU, h.Cores, h.Kernel, machine.Setup())
	return h
}

// hostFile gives a file of the machine, empty where there is none.
func hostFile(root fs.FS, name string) string {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(data)
}

func cpuModel(cpuinfo string) string {
	for _, key := range []string{"model name", "Model", "cpu model", "Hardware"} {
		for line := range strings.Lines(cpuinfo) {
			k, v, ok := strings.Cut(line, ":")
			if ok && strings.TrimSpace(k) == key {
				return strings.Join(strings.Fields(v), " ")
			}
		}
	}
	return runtime.GOARCH
}

func osName(release string) string {
	for line := range strings.Lines(release) {
		if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(v), `"`)
		}
	}
	return runtime.GOOS
}

func sandboxWords(f sandbox.Facts) string {
	if f.Kind == sandbox.None {
		return "none"
	}
	s := fmt.Sprintf("bubblewrap %s, uid %d", f.Version, f.UID)
	for _, l := range []struct{ what, how string }{{"memory", f.Memory}, {"processes", f.Pids}, {"CPUs", f.CPUs}} {
		if l.how != "none" && l.how != "" {
			s += fmt.Sprintf(", %s by %s", l.what, l.how)
		}
	}
	return s
}
