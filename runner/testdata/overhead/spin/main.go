// Command spin measures itself at one kind of work and prints the rate as
// Node's benchmarks do. It is what the distortion of a sandbox is measured with.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"syscall"
	"time"
)

// kinds are the works by name. Each step is some microseconds long, but for
// getppid, which is nothing but the way into the kernel and back.
var kinds = map[string]func() (step func(), steps int, err error){
	"cpu": func() (func(), int, error) {
		block := make([]byte, 4096)
		return func() {
			sum := sha256.Sum256(block)
			copy(block, sum[:])
		}, 150_000, nil
	},
	"getppid": func() (func(), int, error) {
		return func() { syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0) }, 5_000_000, nil
	},
	"read": func() (func(), int, error) {
		f, err := os.Open("/proc/self/exe") // the same file for both sides, in the page cache
		if err != nil {
			return nil, 0, err
		}
		block := make([]byte, 64<<10)
		return func() { _, _ = f.ReadAt(block, 0) }, 100_000, nil
	},
	"files": func() (func(), int, error) {
		name := fmt.Sprintf("/dev/shm/spin-%d", os.Getpid()) // in memory, inside and outside
		block := make([]byte, 4096)
		return func() {
			if f, err := os.Create(name); err == nil {
				_, _ = f.Write(block)
				_ = f.Close()
				_ = os.Remove(name)
			}
		}, 30_000, nil
	},
}

func main() {
	if len(os.Args) != 2 || kinds[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "spin: want cpu, getppid, read or files")
		os.Exit(2)
	}
	step, steps, err := kinds[os.Args[1]]()
	if err != nil {
		fmt.Fprintln(os.Stderr, "spin:", err)
		os.Exit(1)
	}
	for range steps / 10 { // warm
		step()
	}
	began := time.Now()
	for range steps {
		step()
	}
	fmt.Printf("spin work=%s: %f\n", os.Args[1], float64(steps)/time.Since(began).Seconds())
}
