package testnet

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"p2pnode/learner"
	"p2pnode/testnet/sim"
)

// EdgesRow describes the graph that the nodes of one network chose from the candidates
// they found, and how it developed.
type EdgesRow struct {
	Nodes int `json:"nodes"`
	// Changes is how many edges came or went per node in the first forty seconds, in the
	// second forty, and so on.
	Changes  []float64 `json:"changes"`
	Degree   float64   `json:"degree"`    // edges of a node in the mean
	OneGroup float64   `json:"one_group"` // share of the edges that join nodes of one group
	Parts    int       `json:"parts"`     // connected components
	Smallest int       `json:"smallest"`  // nodes in the smallest of them
}

// The number and the length of the periods in which nodes choose their neighbours. An
// edge is renewed every minute, and only then do some ends notice that the other one
// has given it up.
const (
	edgePeriods = 4
	edgePeriod  = 40 * time.Second
)

// MeasureEdges lets the nodes of each of the networks of [MeasurePeers] choose
// their neighbours, with o.Loss, and nobody being replaced. When ctx ends it
// returns the rows so far and the context's error.
func MeasureEdges(ctx context.Context, o PeersOptions) ([]EdgesRow, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("testnet: peers: %w", err)
	}
	var rows []EdgesRow
	for _, n := range o.Nodes {
		if err := ctx.Err(); err != nil {
			return rows, err
		}
		row, err := measureEdges(&o, n)
		if err != nil {
			return rows, fmt.Errorf("testnet: peers: %w", err)
		}
		rows = append(rows, row)
		if o.Progress != nil {
			o.Progress(len(rows), len(o.Nodes))
		}
	}
	return rows, nil
}

func measureEdges(o *PeersOptions, n int) (EdgesRow, error) {
	draw := drawVectors(o)
	people, groups := make([]sim.Participant, n), make([]int, n)
	for i := range people {
		people[i].ID = sim.Name(i)
		people[i].Profile, groups[i] = draw()
	}
	task := learner.Linear()
	task.Graph = o.rule()
	r, err := sim.Run(sim.Config{
		Task: task, Participants: people, Seed: o.Seed, WakeMean: time.Second, Latency: 20 * time.Millisecond,
		Loss: o.Loss, Until: edgePeriods * edgePeriod, Discovery: &sim.Discovery{Contacts: contacts},
	})
	if err != nil {
		return EdgesRow{}, err
	}
	row := EdgesRow{Nodes: n, Changes: make([]float64, edgePeriods)}
	for _, at := range r.EdgeChanges {
		row.Changes[min(int(at/edgePeriod), edgePeriods-1)] += 1 / float64(n)
	}
	row.describe(r.Edges, groups)
	return row, nil
}

// describe fills in the properties of the graph.
func (row *EdgesRow) describe(edges [][]learner.Edge, groups []int) {
	all, same := 0, 0
	for i := range edges {
		for _, e := range edges[i] {
			all++
			if groups[sim.Number(e.Peer)] == groups[i] {
				same++
			}
		}
	}
	row.Degree, row.OneGroup = float64(all)/float64(len(edges)), float64(same)/float64(max(1, all))
	sizes := parts(edges)
	row.Parts, row.Smallest = len(sizes), slices.Min(sizes)
}

// parts lists the sizes of the connected components.
func parts(edges [][]learner.Edge) []int {
	seen := make([]bool, len(edges))
	var sizes []int
	for first := range edges {
		if seen[first] {
			continue
		}
		seen[first] = true
		part := []int{first}
		for k := 0; k < len(part); k++ {
			for _, e := range edges[part[k]] {
				if j := sim.Number(e.Peer); !seen[j] {
					seen[j] = true
					part = append(part, j)
				}
			}
		}
		sizes = append(sizes, len(part))
	}
	return sizes
}

// WriteEdgesTable writes what [MeasureEdges] found, for people.
func WriteEdgesTable(w io.Writer, rows []EdgesRow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "nodes\t")
	for k := range edgePeriods {
		fmt.Fprintf(table, "until %v\t", time.Duration(k+1)*edgePeriod)
	}
	fmt.Fprint(table, "edges/node\tin one group\tparts\tsmallest\t\n")
	for _, r := range rows {
		fmt.Fprintf(table, "%d\t", r.Nodes)
		for _, c := range r.Changes {
			fmt.Fprintf(table, "%.4f\t", c)
		}
		fmt.Fprintf(table, "%.1f\t%s\t%d\t%d\t\n", r.Degree, percent(r.OneGroup), r.Parts, r.Smallest)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\nuntil 40s, until 1m20s, ...: edges that came or went per node in these forty seconds.\n"+
		"parts: connected components, with the nodes in the smallest.\n")
	return err
}
