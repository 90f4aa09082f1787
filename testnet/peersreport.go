package testnet

import (
	"fmt"
	"io"
	"text/tabwriter"

	"p2pnode/testnet/page"
)

// PeersFile is the plot of [WritePeersPlot].
const PeersFile = "peers.svg"

// WritePeersTable writes what [MeasurePeers] found, for people.
func WritePeersTable(w io.Writer, rows []PeersRow, churn float64) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "nodes\tlost\tcycles\tsent/node\tafter %s left\tsent/node\tmemory/node\ttime\t\n", percent(churn))
	for _, r := range rows {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%.1f KiB\t%.1f s\t\n", r.Nodes, percent(r.Loss), r.Start.cyclesText(), r.Start.bytesText(),
			r.Churned.cyclesText(), r.Churned.bytesText(), r.Memory/1024, r.Seconds)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\ncycles: until nodes know %s of their true nearest; in a cycle every node begins one exchange. sent: bytes of all\n"+
		"exchanges meanwhile, of %d bytes an entry and 8 for each coordinate. left: replaced at once by newcomers.\n", percent(enoughFound), entryBytes)
	return err
}

func (s Search) cyclesText() string {
	if s.Cycles < 0 {
		return fmt.Sprintf(">%d", mostCycles)
	}
	return fmt.Sprint(s.Cycles)
}

func (s Search) bytesText() string {
	if s.Cycles < 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f KiB", s.Bytes/1024)
}

// WritePeersJSON writes the rows as one object; complete is false after an
// interruption.
func WritePeersJSON(w io.Writer, rows []PeersRow, edges []EdgesRow, complete bool) error {
	return WriteJSON(w, struct {
		Complete bool       `json:"complete"`
		Rows     []PeersRow `json:"rows"`
		Edges    []EdgesRow `json:"edges,omitempty"`
	}{complete, rows, edges})
}

// WritePeersPlot draws cycles against the number of nodes, on a log scale: O(log n) is
// a straight line. Runs that did not finish are left out.
func WritePeersPlot(w io.Writer, rows []PeersRow) error { return peersChart(rows).WriteSVG(w) }

func peersChart(rows []PeersRow) *page.Chart {
	c := &page.Chart{
		Title: "Exchanges until nodes know their nearest",
		Alt:   "Cycles against the number of nodes on a log scale, at the start and after churn, without and with loss.",
		X:     page.Axis{Label: "nodes (log scale)", Log: true},
		Y:     page.Axis{Label: "cycles until " + percent(enoughFound) + " are known"},
	}
	at := make(map[string]int)
	most := 1.0
	add := func(name string, n int, s Search) {
		if s.Cycles < 0 {
			return
		}
		i, known := at[name]
		if !known {
			i = len(c.Series)
			at[name] = i
			c.Series = append(c.Series, page.Series{Name: name})
		}
		c.Series[i].X, c.Series[i].Y = append(c.Series[i].X, float64(n)), append(c.Series[i].Y, float64(s.Cycles))
		most = max(most, float64(s.Cycles))
	}
	for _, r := range rows {
		lost := percent(r.Loss) + " lost"
		add("start, "+lost, r.Nodes, r.Start)
		add("churn, "+lost, r.Nodes, r.Churned)
	}
	c.Y.Max = 1.06 * most
	return c
}
