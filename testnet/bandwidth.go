package testnet

import (
	"sync"
	"time"

	"gonum.org/v1/gonum/floats"
)

// bandwidth measures how many bytes a second this many goroutines together read from
// memory: the best of a few passes over an array larger than any cache. It counts
// processor time, because other work may interrupt it.
func bandwidth(goroutines int) float64 {
	const size, passes = 1 << 26, 6 // numbers of 8 bytes
	v := make([]float64, size)
	for i := range v {
		v[i] = 1
	}
	best := 0.0
	for range passes {
		_, _, cpu := process()
		began := time.Now()
		var all sync.WaitGroup
		share := size / goroutines
		for k := range goroutines {
			all.Go(func() { floats.Sum(v[k*share : (k+1)*share]) })
		}
		all.Wait()
		took := time.Since(began).Seconds()
		if _, _, now := process(); now > cpu {
			took = min(took, (now-cpu)/float64(goroutines))
		}
		best = max(best, float64(8*share*goroutines)/took)
	}
	return best
}
