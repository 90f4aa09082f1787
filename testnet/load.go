package testnet

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"

	"p2pnode/node/api"
)

// Load is what real nodes used of the process they share, all of them together. For
// quantities that rise and fall it is the largest value seen, with about two looks a
// second.
type Load struct {
	Memory      uint64  `json:"memory_bytes"` // resident; 0 where the system does not say
	Heap        uint64  `json:"heap_bytes"`   // of that objects, dead ones not yet collected included
	Goroutines  int     `json:"goroutines"`
	OpenFiles   int     `json:"open_files"`  // sockets and databases; 0 where the system does not say
	FileLimit   uint64  `json:"file_limit"`  // of the process
	Connections int     `json:"connections"` // counted at both ends
	CPU         float64 `json:"cpu_seconds"` // user and system; 0 where the system does not say
	Linking     float64 `json:"linking_seconds"`
}

// meter measures the load of a trial of nodes in this process.
type meter struct {
	load  Load
	cpu   float64 // of the process at the beginning of the trial
	start time.Time
}

func newMeter() *meter {
	_, _, cpu := process()
	return &meter{load: Load{FileLimit: openFiles()}, cpu: cpu, start: time.Now()}
}

// look notes the present values. A nil meter does nothing.
func (m *meter) look(all []api.Status) {
	if m == nil {
		return
	}
	memory, files, cpu := process()
	connections := 0
	for i := range all {
		connections += all[i].Connections
	}
	l := &m.load
	l.Memory = max(l.Memory, memory)
	l.Heap = max(l.Heap, heapInUse())
	l.Goroutines = max(l.Goroutines, runtime.NumGoroutine())
	l.OpenFiles = max(l.OpenFiles, files)
	l.Connections = max(l.Connections, connections)
	l.CPU = cpu - m.cpu
}

// linked notes that the graph is complete.
func (m *meter) linked() {
	if m != nil {
		m.load.Linking = time.Since(m.start).Seconds()
	}
}

// total is what was measured; nil for a nil meter.
func (m *meter) total() *Load {
	if m == nil {
		return nil
	}
	return &m.load
}

// heapInUse is cheap: it does not stop the program.
func heapInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// load is the largest of all trials with real nodes; nil if there was none.
func (r *Result) load() *Load {
	var most *Load
	for i := range r.Rounds {
		for _, t := range r.Rounds[i].Trials {
			if l := t.Load; l != nil && (most == nil || l.Memory > most.Memory) {
				most = l
			}
		}
	}
	return most
}

// text says, for people, what n nodes used.
func (l *Load) text(n int) string {
	each := func(all float64) float64 { return all / float64(n) }
	memory := ""
	if l.Memory > 0 {
		memory = byteText(each(float64(l.Memory))) + " of memory, "
	}
	files := ""
	if l.OpenFiles > 0 {
		files = fmt.Sprintf(" and %.1f open files", each(float64(l.OpenFiles)))
	}
	text := fmt.Sprintf("Each node took at most %s%s of heap, %.0f goroutines, %.1f connections%s; ",
		memory, byteText(each(float64(l.Heap))), each(float64(l.Goroutines)), each(float64(l.Connections)), files)
	if l.Memory > 0 {
		text += "in all " + byteText(float64(l.Memory))
		if l.OpenFiles > 0 {
			text += fmt.Sprintf(", %d of %d files", l.OpenFiles, l.FileLimit)
		}
		text += fmt.Sprintf(" and %.0f s of processor time. ", l.CPU)
	}
	return text + fmt.Sprintf("The graph stood after %.0f s.", l.Linking)
}
