package sim

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// processorTime is what the process has used of its processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCrowd is what an agent's wake costs in a simulation, its ten deliveries
// included: of processor time, since that is what a busy machine leaves alone.
func BenchmarkCrowd(b *testing.B) {
	for _, private := range []bool{false, true} {
		for _, n := range []int{100, 10_000, 100_000} {
			for _, p := range []int{20, 50, 100} {
				b.Run(fmt.Sprintf("private=%t/n=%d/p=%d", private, n, p), func(b *testing.B) {
					benchmarkCrowd(b, Crowd{Agents: n, Dimension: p, Neighbours: 10, Records: 10, Private: private, Seed: 1})
				})
			}
		}
	}
}

func benchmarkCrowd(b *testing.B, c Crowd) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	config, err := c.Config()
	if err != nil {
		b.Fatal(err)
	}
	run, err := Start(config)
	if err != nil {
		b.Fatal(err)
	}
	until := 20 * config.WakeMean
	if err := run.Advance(until); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	bytes := float64(after.HeapAlloc-before.HeapAlloc) / float64(c.Agents)
	from, start := run.Wakes(), processorTime()
	b.ReportAllocs()
	for b.Loop() {
		until += config.WakeMean
		if err := run.Advance(until); err != nil {
			b.Fatal(err)
		}
	}
	used, wakes := processorTime()-start, float64(run.Wakes()-from)
	b.ReportMetric(wakes/used.Seconds(), "wakes/cpu-s")
	b.ReportMetric(wakes/b.Elapsed().Seconds(), "wakes/s")
	b.ReportMetric(bytes, "B/agent")
}
