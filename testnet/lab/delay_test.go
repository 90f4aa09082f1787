package lab

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// pass sends packets "0", "1", ... through a line, pause apart, and gives them in
// the order they come out, with the time each took.
func pass(l *line, count int, pause time.Duration) (order []int, took []time.Duration) {
	start := time.Unix(0, 0)
	for i := range count {
		l.push(start.Add(time.Duration(i)*pause), []byte(strconv.Itoa(i)))
	}
	now := start
	for {
		data, wait, more := l.pop(now)
		if !more {
			return order, took
		}
		if data == nil {
			now = now.Add(wait)
			continue
		}
		i, _ := strconv.Atoi(string(data))
		order, took = append(order, i), append(took, now.Sub(start)-time.Duration(i)*pause)
	}
}

func TestLine(t *testing.T) {
	const ms = time.Millisecond
	zigzag := func() func(time.Duration) time.Duration { // 9 ms, 0, 9 ms, 0, ...
		high := false
		return func(n time.Duration) time.Duration {
			if high = !high; high {
				return n - ms
			}
			return 0
		}
	}
	for _, c := range []struct {
		name  string
		delay Delay
		order []int
		took  []time.Duration
	}{
		{"nothing", Delay{}, []int{0, 1, 2, 3}, []time.Duration{0, 0, 0, 0}},
		{"latency", Delay{Latency: 20 * ms}, []int{0, 1, 2, 3}, []time.Duration{20 * ms, 20 * ms, 20 * ms, 20 * ms}},
		{"jitter keeps the order", Delay{Latency: 20 * ms, Jitter: 10 * ms}, []int{0, 1, 2, 3}, []time.Duration{29 * ms, 28 * ms, 29 * ms, 28 * ms}},
		{"jitter reorders", Delay{Latency: 20 * ms, Jitter: 10 * ms, Reorder: true}, []int{1, 3, 0, 2}, []time.Duration{20 * ms, 20 * ms, 29 * ms, 29 * ms}},
		{"every second one comes twice", Delay{Duplicate: 0.5}, []int{0, 1, 1, 2, 3, 3}, make([]time.Duration, 6)},
		{"a byte takes 3 ms", Delay{Rate: 333}, []int{0, 1, 2, 3}, []time.Duration{3003003, 5006006, 7009009, 9012012}},
	} {
		l := newLine(c.delay)
		l.draw = zigzag()
		order, took := pass(l, 4, ms)
		if !slices.Equal(order, c.order) || !slices.Equal(took, c.took) {
			t.Errorf("%s: %v took %v, want %v %v", c.name, order, took, c.order, c.took)
		}
	}
}

func TestFullLineDrops(t *testing.T) {
	l := newLine(Delay{Latency: time.Hour})
	order, _ := pass(l, longest+5, 0)
	if len(order) != longest {
		t.Errorf("%d packets came through, want %d", len(order), longest)
	}
}
