package testnet

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"p2pnode/testnet/page"
)

// WriteTable writes the result for people.
func (r *GraphResult) WriteTable(w io.Writer) error {
	for _, verdict := range r.verdicts() {
		fmt.Fprintf(w, "%s.\n", verdict)
	}
	fmt.Fprintf(w, "\n%s\n\n", r.title())
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "groups\tgraph\twithin groups\tleast\tby weight\tdegree\terror\tless than over random\t95% interval\tseeds\t\n")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%d\t%s\t\n", row.Groups, strings.Join(row.cells(), "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nwithin groups: edges that join people of one group; least: in the worst seed. error: mean error share of the\n"+
		"personal models. random and oracle graphs are given, the oracle's inside the groups; the one by what was released was discovered.\n")
	fmt.Fprint(w, "\nPercent of the edges within groups / the same by weight, when everybody knows everybody. blind: the estimates\n"+
		"taken as if they had no noise. mixed: epsilon, people having from 25 to 800 records each.\n")
	for _, sweep := range graphSweeps {
		if err := r.writeSweep(w, sweep); err != nil {
			return err
		}
	}
	if !r.Complete {
		_, err := io.WriteString(w, "\nINTERRUPTED: runs are missing.\n")
		return err
	}
	return nil
}

func (row *GraphRow) sharesText() string {
	if row.Graph == "alone" {
		return "-\t-\t-\t-"
	}
	return fmt.Sprintf("%.1f%%\t%.1f%%\t%.1f%%\t%.1f", 100*row.Share, 100*row.Least, 100*row.Weighted, row.Degree)
}

// writeSweep writes a line for each setting of a sweep, a column for each graph.
func (r *GraphResult) writeSweep(w io.Writer, sweep string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\ngroups\t%s\taware\tblind\t\n", sweep)
	lines := 0
	for i, p := range r.Points {
		if p.Sweep != sweep || i > 0 && r.Points[i-1].setting() == p.setting() {
			continue
		}
		fmt.Fprintf(table, "%d\t%g", p.Groups, p.at())
		for _, q := range r.Points[i:] {
			if q.setting() == p.setting() {
				fmt.Fprintf(table, "\t%.1f/%.1f", 100*q.Share, 100*q.Weighted)
			}
		}
		fmt.Fprint(table, "\t\n")
		lines++
	}
	if lines == 0 {
		return nil
	}
	return table.Flush()
}

// setting is the point without what was found in it.
func (p GraphPoint) setting() GraphPoint {
	p.Blind, p.Share, p.Weighted, p.Seeds = false, 0, 0, 0
	return p
}

// at is where the point lies on the axis of its sweep.
func (p GraphPoint) at() float64 {
	switch p.Sweep {
	case "records":
		return float64(p.Records)
	case "nodes":
		return float64(p.Nodes)
	}
	return p.Epsilon
}

// WriteJSON writes the result as one object.
func (r *GraphResult) WriteJSON(w io.Writer) error {
	return WriteJSON(w, struct {
		Nodes    int          `json:"nodes"`
		Seeds    int          `json:"seeds"`
		Seed     uint64       `json:"seed"`
		Epsilon  float64      `json:"epsilon"`
		Delta    float64      `json:"delta"`
		Complete bool         `json:"complete"`
		Rows     []GraphRow   `json:"rows"`
		Points   []GraphPoint `json:"points"`
	}{r.Options.Nodes, r.Options.Seeds, r.Options.Seed, r.Options.Budget.Epsilon, r.Options.Budget.Delta, r.Complete, r.Rows, r.Points})
}

// graphSweeps are the sweeps in the order of the report.
var graphSweeps = []string{"epsilon", "records", "nodes", "mixed"}

func sweepLabel(sweep string) string {
	switch sweep {
	case "records":
		return "records a person learns from"
	case "nodes":
		return "people"
	case "mixed":
		return "epsilon, of people with 25 to 800 records"
	}
	return sweep
}

// graphRawFile is what [GraphResult.WriteFiles] writes beside the plots.
const graphRawFile = "graph.json"

// WriteFiles writes the page, the numbers and a plot for each sweep and number of
// groups to dir, which it makes, and returns the names. made says on the page how they
// were made.
func (r *GraphResult) WriteFiles(dir string, made ...page.Fact) ([]string, error) {
	files := []resultFile{{graphPageFile, func(w io.Writer) error { return r.writePage(w, made...) }}, {graphRawFile, r.WriteJSON}}
	for _, sweep := range graphSweeps {
		for _, groups := range graphGroups {
			files = append(files, resultFile{fmt.Sprintf("graph-%s-%d.svg", sweep, groups), r.chart(sweep, groups).WriteSVG})
		}
	}
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = file.name
	}
	return names, writeFiles(dir, files)
}

// chart draws the share, by weight, against a setting: solid lines know of the
// noise, dashed ones do not.
func (r *GraphResult) chart(sweep string, groups int) *page.Chart {
	c := &page.Chart{
		Title: fmt.Sprintf("Edges within %d hidden groups", groups),
		Alt:   "The share of edges within a group against " + sweepLabel(sweep) + ", aware of the noise and blind to it.",
		X:     page.Axis{Label: sweepLabel(sweep) + " (log scale)", Log: true},
		Y:     page.Axis{Label: "edges within a group, by weight (%)", Max: 100},
	}
	for _, blind := range []bool{false, true} {
		s := page.Series{Name: "aware of the noise", Colour: page.Blue}
		if blind {
			s.Name, s.Style = "blind to it", page.Variant
		}
		for _, p := range r.Points {
			if p.Sweep == sweep && p.Groups == groups && p.Blind == blind {
				s.X, s.Y = append(s.X, p.at()), append(s.Y, 100*p.Weighted)
			}
		}
		if len(s.X) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return c
}
