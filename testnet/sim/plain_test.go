package sim

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
)

// ordered notes when an agent says that it wants to release.
type ordered struct {
	learner.Agent
	who   int
	order *[]int
}

func (o ordered) Tick(now time.Duration) learner.Output {
	out := o.Agent.Tick(now)
	if out.Ask != nil {
		*o.order = append(*o.order, o.who)
	}
	return out
}

// The plain loop computes what agents do, to the bit: the simulator is measured against
// the same arithmetic.
func TestPlainLoopIsWhatAgentsCompute(t *testing.T) {
	c, plain, err := Crowd{Agents: 12, Dimension: 7, Neighbours: 3, Records: 5, Seed: 3}.ConfigAndPlain()
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	c.Latency, c.Until = 0, 20*time.Second
	c.Wrap = func(i int, a learner.Agent) learner.Agent { return ordered{a, i, &order} }
	r := run(t, c)
	for _, i := range order {
		plain.wake(i)
	}
	for i, s := range r.States {
		if !slices.Equal(s.Model, plain.model(i)) {
			t.Errorf("after %d wakes agent %d has %v, the loop %v", len(order), i, s.Model, plain.model(i))
		}
	}
	if len(order) < 100 {
		t.Errorf("%d wakes only", len(order))
	}
}

// What a wake costs, beside the same arithmetic in a loop over arrays.
func BenchmarkWakes(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		c, plain, err := Crowd{Agents: n, Dimension: 50, Neighbours: 10, Records: 10, Seed: 1}.ConfigAndPlain()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("agents/%d", n), func(b *testing.B) { benchmarkAgents(b, c) })
		c.Away = Weather(n, 5*time.Second, time.Second, 5*time.Second, time.Minute, 1)
		b.Run(fmt.Sprintf("weather/%d", n), func(b *testing.B) { benchmarkAgents(b, c) })
		b.Run(fmt.Sprintf("plain/%d", n), func(b *testing.B) {
			start := processorTime()
			for b.Loop() {
				plain.Wakes(n)
			}
			b.ReportMetric(float64((processorTime()-start).Nanoseconds())/float64(b.N*n), "cpu-ns/wake")
		})
	}
}

func benchmarkAgents(b *testing.B, c Config) {
	s, err := Start(c)
	if err != nil {
		b.Fatal(err)
	}
	until, wakes := 10*time.Second, 0
	if err := s.Advance(until); err != nil {
		b.Fatal(err)
	}
	start := processorTime()
	for b.Loop() {
		before := s.Wakes()
		until += time.Second
		if err := s.Advance(until); err != nil {
			b.Fatal(err)
		}
		wakes += s.Wakes() - before
	}
	b.ReportMetric(float64((processorTime()-start).Nanoseconds())/float64(wakes), "cpu-ns/wake")
}
