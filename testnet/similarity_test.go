package testnet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/privacy"
	"p2pnode/testnet/page"
	"p2pnode/testnet/sim"
)

// What the graph of released estimates is for: at (1, 1e-6) most of the edges that nodes find
// by gossip join people of one group, all with two groups and nine in ten with five or ten. Of ten it would be
// 95 of 100 if nothing held up crowds of identities that claim to be alike, see
// [graph.Choose]. The seeds are fixed, so the test cannot fail by chance.
func TestPeopleFindTheirGroup(t *testing.T) {
	if os.Getenv("P2PNODE_PAPERS") != "yes" {
		t.Skip("runs nightly: a minute of processor time; set P2PNODE_PAPERS=yes")
	}
	for _, c := range []struct{ n, groups int }{{120, 2}, {120, 5}, {300, 10}} {
		d, err := Clusters(11, c.n, c.groups, 0)
		if err != nil {
			t.Fatal(err)
		}
		r, err := runOver(d, "released", c.groups, 11, privacy.Budget{Epsilon: 1, Delta: 1e-6})
		if err != nil {
			t.Fatal(err)
		}
		share := shareWithin(r.Edges, d)
		t.Logf("%d people in %d groups: %.4f of the edges, degree %.1f", c.n, c.groups, share.edges, share.degree)
		if !(share.edges > 0.85) || share.degree < 10 {
			t.Errorf("%d people in %d groups: %.4f of the edges join people of one group, degree %.1f", c.n, c.groups, share.edges, share.degree)
		}
	}
}

// The edges of the oracle's graph, and only those, are all within groups.
func TestOracleKnowsTheGroups(t *testing.T) {
	d, err := Clusters(1, 64, 10, 0)
	if err != nil {
		t.Fatal(err)
	}
	edges := within(64, 10, 5, 1)
	if s := shareWithin(edges, d); s.edges != 1 || s.weight != 1 || s.degree < 4 {
		t.Errorf("%+v", s)
	}
	for i := range edges {
		for _, e := range edges[i] {
			back := edges[sim.Number(e.Peer)]
			if !slices.ContainsFunc(back, func(b learner.Edge) bool { return sim.Number(b.Peer) == i && b.Weight == e.Weight }) {
				t.Fatalf("the edge of %d to %s is one-sided", i, e.Peer)
			}
		}
	}
}

// Nodes that settle hold symmetric edges, no more than they may, and between ends
// without noise only those that belong together.
func TestSettle(t *testing.T) {
	const n = 40
	ends := make([]graph.End, n)
	for i := range ends {
		side := float64(1 - 2*(i%2))
		ends[i] = graph.End{Round: 1, Vector: []float64{side, 0.01 * float64(i)}}
	}
	edges := settle(learner.Graph{Rule: "released", Degree: 4, Gamma: 0.2}, ends)
	for i := range edges {
		if len(edges[i]) < 4 || len(edges[i]) > 8 {
			t.Errorf("node %d has %d edges", i, len(edges[i]))
		}
		for _, e := range edges[i] {
			j := sim.Number(e.Peer)
			if !slices.ContainsFunc(edges[j], func(b learner.Edge) bool { return sim.Number(b.Peer) == i && b.Weight == e.Weight }) {
				t.Errorf("the edge of %d to %d is not the same from there", i, j)
			}
			if i%2 != j%2 {
				t.Errorf("nodes %d and %d are joined", i, j)
			}
		}
	}
}

func TestGraphOptions(t *testing.T) {
	good := GraphOptions{Nodes: 40, Seeds: 1, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []func(*GraphOptions){
		func(o *GraphOptions) { o.Nodes = 39 }, func(o *GraphOptions) { o.Seeds = 0 },
		func(o *GraphOptions) { o.Budget.Epsilon = 0 }, func(o *GraphOptions) { o.Nodes = 1 << 20 },
	} {
		o := good
		bad(&o)
		if _, err := MeasureGraph(t.Context(), o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := MeasureGraph(ctx, good)
	if !errors.Is(err, context.Canceled) || r == nil || r.Complete || len(r.Rows) > 0 {
		t.Errorf("interrupted: %+v, %v", r, err)
	}
}

// The reports of a result, also of one that was interrupted at once.
func TestGraphReport(t *testing.T) {
	point := GraphPoint{Sweep: "epsilon", Groups: 2, Epsilon: 0.5, Records: 160, Nodes: 40, Share: 0.5, Weighted: 0.75, Seeds: 1}
	full := &GraphResult{Complete: true, Rows: []GraphRow{{Groups: 2, Graph: "released", Share: 0.987, Degree: 12, Seeds: 1, Verdict: "worth it: all"}}}
	for _, blind := range []bool{false, true} {
		point.Blind = blind
		full.Points = append(full.Points, point)
	}
	for _, r := range []*GraphResult{full, {}} {
		var table, text bytes.Buffer
		if err := errors.Join(r.WriteTable(&table), r.WriteJSON(&text)); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text.Bytes()) {
			t.Errorf("not JSON: %s", text.String())
		}
		if r.Complete != strings.HasPrefix(table.String(), "2 groups, discovered graph beside a random one: worth it: all; 99% of its edges") {
			t.Errorf("the verdict is not the first line: %s", table.String())
		}
		if r.Complete != strings.Contains(table.String(), "98.7%") || r.Complete == strings.Contains(table.String(), "INTERRUPTED") ||
			r.Complete != strings.Contains(table.String(), "50.0/75.0") {
			t.Error(table.String())
		}
		dir := t.TempDir()
		names, err := r.WriteFiles(dir, page.Fact{Name: "Command", Value: "testnet graph", Code: true})
		if err != nil || len(names) != 2+2*len(graphSweeps) {
			t.Errorf("files %v: %v", names, err)
		}
		html, err := os.ReadFile(filepath.Join(dir, graphPageFile))
		if err != nil || r.Complete != strings.Contains(string(html), "98.7%") || r.Complete == strings.Contains(string(html), "INTERRUPTED") {
			t.Errorf("page (%v)\n%s", err, html)
		}
	}
}
