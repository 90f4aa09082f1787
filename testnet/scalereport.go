package testnet

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// PeakMemory is the most memory in bytes that this process has used so far; 0 if the
// system does not say it.
func PeakMemory() float64 {
	text, _ := os.ReadFile("/proc/self/status") // it may be no system with such files
	return 1024 * stated(text, "VmHWM")
}

// WriteScaleTable writes what [MeasureScale] found, for people: nothing without rows.
func WriteScaleTable(w io.Writer, s Scale) error {
	if len(s.Rows) == 0 {
		return nil
	}
	fmt.Fprintf(w, "Memory bandwidth: %.1f GB/s read by one processor, %.1f GB/s by %d.\n\n", s.Bandwidth[0]/1e9, s.Bandwidth[1]/1e9, s.Processors)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "agents\tp\tset up\tmemory/agent\twakes/s on 1\tper CPU s\twakes/s on %d\tper CPU s\tplain loop\tratio\tbound on 1\tof it\tallocs/wake\tpeak RSS\t\n", s.Processors)
	for _, r := range s.Rows {
		fmt.Fprintf(table, "%d\t%d\t%.1f s\t%.0f B\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.2f\t%.0f\t%s\t%.4f\t%.2f GB\t\n", r.Nodes, r.Dimension, r.Setup, r.Memory,
			r.One.Wakes, r.One.PerCPU, r.All.Wakes, r.All.PerCPU, r.Plain.rate(), r.Ratio, r.Bound, percent(r.One.PerCPU/r.Bound), r.Allocated, r.Peak/1e9)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nwakes: of learner personal, each with its release, its message and the deliveries to its neighbours; the best of\n"+
		"%d steps. plain loop: the same arithmetic without privacy, on one processor, in a loop over arrays that sends and checks nothing; ratio: of\n"+
		"the agents' wakes to it, per CPU second. bound: the bytes a wake must touch (records, neighbours' models, its own twice and the new one) at the bandwidth of one\n"+
		"processor. of it: per CPU second on 1. memory: of the heap, records included.\n", scaleSteps)
	return err
}

// WriteScaleJSON writes the result as one object; complete is false after an
// interruption.
func WriteScaleJSON(w io.Writer, s Scale, complete bool) error {
	return WriteJSON(w, struct {
		Complete bool `json:"complete"`
		Scale
	}{complete, s})
}
