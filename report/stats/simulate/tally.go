package simulate

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// Options say how much to simulate.
type Options struct {
	Replicates int    // of each scenario; 400,000 for the published figures
	Seed       uint64 // the same seed gives the same figures on any machine
	Workers    int    // zero means one a processor
	// Progress, where it is set, is called by WriteTable before each claim with
	// its number from 0.
	Progress func(claim int)
	// Tick, where it is set, is told of each number of replicates that is done,
	// by several goroutines. Where it returns false the rest is left out, and the
	// figures are of no use.
	Tick func(replicates int) bool
}

// chunk is the number of replicates that share a random stream.
const chunk = 500

// figure is a mean over replicates.
type figure struct {
	n            int
	sum, squares float64
}

func (f *figure) add(x float64) {
	f.n++
	f.sum += x
	f.squares += x * x
}

func (f *figure) count(event bool) {
	x := 0.0
	if event {
		x = 1
	}
	f.add(x)
}

func (f figure) mean() float64 { return f.sum / float64(f.n) }

// se is the Monte-Carlo standard error of the mean.
func (f figure) se() float64 {
	n := float64(f.n)
	return math.Sqrt(math.Max(0, f.squares/n-f.mean()*f.mean()) / n)
}

// tally runs replicates in parallel and returns the mean of each of the
// figures that a replicate adds to. The result depends on the seed and the
// scenario's name alone, not on the number of workers.
//
// worker is called once a worker and returns what runs one replicate, so that
// it can keep its buffers.
func tally(o Options, scenario uint64, figures int, worker func() func(rng *rand.Rand, into []figure)) []figure {
	chunks := (o.Replicates + chunk - 1) / chunk
	parts := make([][]figure, chunks)
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	todo := make(chan int)
	var stopped atomic.Bool
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			replicate := worker()
			for c := range todo {
				if stopped.Load() {
					continue
				}
				n := min(chunk, o.Replicates-c*chunk)
				rng := rand.New(rand.NewPCG(o.Seed^scenario*0x9e3779b97f4a7c15, uint64(c)))
				part := make([]figure, figures)
				for range n {
					replicate(rng, part)
				}
				parts[c] = part
				if o.Tick != nil && !o.Tick(n) {
					stopped.Store(true)
				}
			}
		})
	}
	for c := range chunks {
		todo <- c
	}
	close(todo)
	wait.Wait()
	total := make([]figure, figures)
	for _, part := range parts {
		for i, f := range part {
			total[i].n += f.n
			total[i].sum += f.sum
			total[i].squares += f.squares
		}
	}
	return total
}
