package paper

import (
	"testing"
	"testing/synctest"
	"time"
)

// The time left follows the cells' costs and what those that are done have taken,
// counts what runs, and is shared by the processors.
func TestTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cells := []Cell{{Key: "a", Cost: 4}, {Key: "b", Cost: 1}, {Key: "c", Cost: 1}, {Key: "d", Cost: 2}}
		m := new(Meter)
		want := func(done int, left time.Duration) {
			t.Helper()
			if p := m.Now(); p.Done != done || p.Left.Round(time.Second) != left {
				t.Errorf("%d done and %v left, want %d and %v", p.Done, p.Left, done, left)
			}
		}
		if p := m.Now(); p.Cells != 0 || p.Left >= 0 {
			t.Errorf("before the plan: %+v", p)
		}
		m.plan(cells, nil)
		m.processors = 2
		want(0, 0) // not known, a hair below 0
		start := m.begin(&cells[1])
		time.Sleep(10 * time.Second)
		if seconds := m.end(&cells[1], start, true); seconds != 10 {
			t.Errorf("it took %v s", seconds)
		}
		want(1, 40*time.Second) // 7 units of 10 s on two processors, but 4 of them are one cell
		start = m.begin(&cells[0])
		time.Sleep(30 * time.Second)
		want(1, 20*time.Second) // 10 s of the long one and 30 s of others, on two
		time.Sleep(30 * time.Second)
		want(1, 28*time.Second) // longer than expected: 70 s for 5 units, so the largest of the others takes 28 s
		m.end(&cells[0], start, false)
		want(1, 40*time.Second) // it failed
	})
}

func TestTimeLeftAfterAnInterruption(t *testing.T) {
	m := new(Meter)
	m.plan([]Cell{{Key: "a", Cost: 3}, {Key: "b", Cost: 1}}, map[string]kept{"a": {Key: "a", Seconds: 30}})
	if p := m.Now(); p.Done != 1 || p.Left != 10*time.Second {
		t.Errorf("%+v, want 10 s left", p)
	}
}
