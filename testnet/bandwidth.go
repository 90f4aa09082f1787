package testnet

import (
	"sync"
	"time"
)

// bandwidth measures how many bytes a second so many goroutines read together from
// memory: the best of a few passes over an array larger than any cache. When other
// work keeps the processors from it, it counts the time they were at it.
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
			all.Go(func() { total(v[k*share : (k+1)*share]) })
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

// total adds up in eight sums side by side, so that it waits for nothing but memory.
func total(v []float64) float64 {
	var s [8]float64
	for ; len(v) >= 8; v = v[8:] {
		s[0] += v[0]
		s[1] += v[1]
		s[2] += v[2]
		s[3] += v[3]
		s[4] += v[4]
		s[5] += v[5]
		s[6] += v[6]
		s[7] += v[7]
	}
	sum := 0.0
	for _, x := range s {
		sum += x
	}
	return sum
}
