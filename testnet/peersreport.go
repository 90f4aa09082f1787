package testnet

import (
	"encoding/json"
	"fmt"
	"image/color"
	"io"
	"text/tabwriter"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(struct {
		Complete bool       `json:"complete"`
		Rows     []PeersRow `json:"rows"`
		Edges    []EdgesRow `json:"edges,omitempty"`
	}{complete, rows, edges})
}

// WritePeersPlot draws cycles against the number of nodes, on a log scale: a
// straight line there is O(log n). Runs that did not get there are left out.
func WritePeersPlot(w io.Writer, rows []PeersRow) error {
	f := newFigure("Exchanges until nodes know their nearest")
	f.X.Label.Text = "nodes (log scale)"
	f.Y.Label.Text = "cycles until " + percent(enoughFound) + " are known"
	f.X.Scale, f.X.Tick.Marker = plot.LogScale{}, countTicks{}
	curves := map[string]plotter.XYs{}
	var names []string
	add := func(name string, n int, s Search) {
		if s.Cycles < 0 {
			return
		}
		if curves[name] == nil {
			names = append(names, name)
		}
		curves[name] = append(curves[name], plotter.XY{X: float64(n), Y: float64(s.Cycles)})
	}
	for _, r := range rows {
		lost := percent(r.Loss) + " lost"
		add("start, "+lost, r.Nodes, r.Start)
		add("churn, "+lost, r.Nodes, r.Churned)
	}
	colours := []color.Color{colourOf(Private), colourOf(Alone), colourOf(Together), color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}}
	for k, name := range names {
		line, dots, err := plotter.NewLinePoints(curves[name])
		if err != nil {
			return fmt.Errorf("testnet: draw the search for peers: %w", err)
		}
		line.Width, line.Color = vg.Points(1.8), colours[k%len(colours)]
		dots.Shape, dots.Radius, dots.Color = draw.CircleGlyph{}, vg.Points(2.4), line.Color
		f.Add(line, dots)
		f.entry(name, line, dots)
	}
	f.Y.Min = 0
	switch {
	case len(names) == 0:
		f.X.Min, f.X.Max, f.Y.Max = 1, 10, 1
	case f.X.Min == f.X.Max:
		f.X.Min, f.X.Max = f.X.Min/2, f.X.Max*2
	}
	return f.writeSVG(w)
}
