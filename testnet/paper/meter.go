package paper

import (
	"runtime"
	"sync"
	"time"
)

// Meter shows the progress of [Run]. Its methods may be called from any goroutine.
type Meter struct {
	mu         sync.Mutex
	done       int
	cost       float64              // of the finished cells
	seconds    float64              // that these took together
	waiting    map[string]float64   // cost of the cells that are not finished
	under      map[string]time.Time // when those of them that are running began
	processors int
}

// Progress is how far a run is.
type Progress struct {
	Done, Cells int
	Left        time.Duration // estimated; negative while nothing is known yet
}

// Now is how far the run is.
func (m *Meter) Now() Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := Progress{Done: m.done, Cells: m.done + len(m.waiting), Left: -1}
	if m.cost == 0 {
		return p
	}
	each := m.each()
	var left, longest float64 // one cell runs on one processor
	for key, cost := range m.waiting {
		expected := each * cost
		if start, ok := m.under[key]; ok {
			expected = max(0, expected-time.Since(start).Seconds())
		}
		left, longest = left+expected, max(longest, expected)
	}
	p.Left = time.Duration(max(longest, left/float64(m.processors)) * float64(time.Second))
	return p
}

// each is how many seconds a unit of cost takes, from the finished cells and from those
// that have run for longer than these predict.
func (m *Meter) each() float64 {
	cost, seconds := m.cost, m.seconds
	for key, start := range m.under {
		if ran := time.Since(start).Seconds(); ran > m.waiting[key]*m.seconds/m.cost {
			cost, seconds = cost+m.waiting[key], seconds+ran
		}
	}
	return seconds / cost
}

// plan notes the cells of a run, and what is known of those that are finished.
func (m *Meter) plan(cells []Cell, done map[string]kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting, m.under, m.processors = make(map[string]float64), make(map[string]time.Time), runtime.GOMAXPROCS(0)
	for _, c := range cells {
		if k, ok := done[c.Key]; ok {
			m.done++
			m.cost += c.Cost
			m.seconds += k.Seconds
		} else {
			m.waiting[c.Key] = c.Cost
		}
	}
}

func (m *Meter) begin(c *Cell) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.under[c.Key] = now
	return now
}

// end returns how long the cell took, in seconds.
func (m *Meter) end(c *Cell, start time.Time, ok bool) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.under, c.Key)
	seconds := time.Since(start).Seconds()
	if ok {
		delete(m.waiting, c.Key)
		m.done++
		m.cost += c.Cost
		m.seconds += seconds
	}
	return seconds
}
