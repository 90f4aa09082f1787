package testnet

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"testing"
)

func smallPeers() PeersOptions {
	return PeersOptions{Nodes: []int{25, 400}, Degree: 5, Groups: 4, Dimension: 5, Spread: 0.5, Loss: 0.1, Churn: 0.2, Seed: 1}
}

// Sixteen times the nodes take a few cycles more: four doublings, and no more than
// four cycles for each.
func TestPeersGrowsLikeTheLogarithm(t *testing.T) {
	measure := func() []PeersRow {
		rows, err := MeasurePeers(t.Context(), smallPeers())
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			rows[i].Memory, rows[i].Seconds = 0, 0
		}
		return rows
	}
	rows := measure()
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		if r.Start.Cycles != len(r.Found) || r.Found[len(r.Found)-1] < 0.95 || r.Churned.Cycles < 1 || !(r.Start.Bytes > 0) {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	for i := range 2 {
		if small, large := rows[i].Start.Cycles, rows[i+2].Start.Cycles; large > small+16 {
			t.Errorf("%d cycles for 25 nodes, %d for 400", small, large)
		}
	}
	if again := measure(); !reflect.DeepEqual(rows, again) {
		t.Error("the same seed gives other rows")
	}
}

func TestPeersWriters(t *testing.T) {
	rows := []PeersRow{
		{Nodes: 100, Start: Search{8, 4000}, Churned: Search{-1, 0}},
		{Nodes: 1000, Loss: 0.1, Start: Search{12, 5000}, Churned: Search{9, 1000}},
	}
	for _, some := range [][]PeersRow{nil, rows[:1], rows} {
		var plot, table, raw bytes.Buffer
		if err := errors.Join(WritePeersPlot(&plot, some), WritePeersTable(&table, some, 0.2), WritePeersJSON(&raw, some, nil, true)); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(&plot); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("the plot is no XML: %v", err)
			}
		}
		var back struct{ Rows []PeersRow }
		if err := json.Unmarshal(raw.Bytes(), &back); err != nil || len(back.Rows) != len(some) {
			t.Errorf("%v: %s", err, raw.String())
		}
		if len(some) > 0 && !bytes.Contains(table.Bytes(), []byte(">300")) {
			t.Errorf("table:\n%s", table.String())
		}
	}
}

func TestPeersInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := smallPeers()
	o.Progress = func(done, all int) {
		if done == 1 && all == 4 {
			cancel()
		}
	}
	if rows, err := MeasurePeers(ctx, o); !errors.Is(err, context.Canceled) || len(rows) != 1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	o.Degree = 0
	if _, err := MeasurePeers(t.Context(), o); err == nil {
		t.Error("degree 0 is taken")
	}
}

// The graph settles, and its edges join nodes of one group, but for a few that have stood
// since before better ones were found.
func TestEdgesSettle(t *testing.T) {
	o := smallPeers()
	o.Nodes, o.Spread = []int{200}, 0.1
	rows, err := MeasureEdges(t.Context(), o)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	r := rows[0]
	if r.Changes[0] < 5 || r.Changes[3] > 0.1 {
		t.Errorf("changes %v", r.Changes)
	}
	if r.OneGroup < 0.975 || r.Parts > 4 || r.Smallest < 30 || r.Degree < 5 || r.Degree > 10 {
		t.Errorf("%+v", r)
	}
	var table bytes.Buffer
	if err := WriteEdgesTable(&table, rows); err != nil || !bytes.Contains(table.Bytes(), []byte("until 2m40s")) {
		t.Errorf("%v\n%s", err, table.String())
	}
}
