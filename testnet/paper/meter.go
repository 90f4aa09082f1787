package paper

import (
	"runtime"
	"sync"
	"time"
)

// Meter says how far [Run] is. Its methods may be called from any goroutine.
type Meter struct {
	mu        sync.Mutex
	cells     int
	done      int
	cost      float64 // of all cells
	doneCost  float64
	seconds   float64 // that the done cells took together
	under     map[*Cell]time.Time
	available int // processors
}

// Progress is how far a run is.
type Progress struct {
	Done, Cells int
	Left        time.Duration // estimated; below 0 while there is nothing to go by
}

// Now is how far the run is.
func (m *Meter) Now() Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := Progress{Done: m.done, Cells: m.cells, Left: -1}
	if m.doneCost == 0 {
		return p
	}
	each := m.seconds / m.doneCost // seconds for a unit of cost
	left := each * (m.cost - m.doneCost)
	longest := 0.0 // one cell runs on one processor
	for c, start := range m.under {
		expected := each * c.Cost
		spent := min(expected, time.Since(start).Seconds())
		left -= spent
		longest = max(longest, expected-spent)
	}
	left = max(longest, left/float64(min(m.available, max(1, m.cells-m.done))))
	p.Left = time.Duration(left * float64(time.Second))
	return p
}

// plan takes the cells of a run, and what is known of those that are done.
func (m *Meter) plan(cells []Cell, done map[string]kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cells, m.under, m.available = len(cells), make(map[*Cell]time.Time), runtime.GOMAXPROCS(0)
	for i := range cells {
		m.cost += cells[i].Cost
		if k, ok := done[cells[i].Key]; ok {
			m.done++
			m.doneCost += cells[i].Cost
			m.seconds += k.Seconds
		}
	}
}

func (m *Meter) begin(c *Cell) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.under[c] = now
	return now
}

// end returns how long the cell took, in seconds.
func (m *Meter) end(c *Cell, start time.Time, ok bool) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.under, c)
	seconds := time.Since(start).Seconds()
	if ok {
		m.done++
		m.doneCost += c.Cost
		m.seconds += seconds
	}
	return seconds
}
