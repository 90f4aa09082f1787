package testnet

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestMeasureScale(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it measures half a gigabyte of memory, several times that under the race detector")
	}
	for _, change := range []func(*ScaleOptions){
		func(*ScaleOptions) {}, func(o *ScaleOptions) { o.Private = true }, func(o *ScaleOptions) { o.Weather = true },
	} {
		o := ScaleOptions{Nodes: []int{50, 100}, Dimension: []int{5}, Neighbours: 4, Records: 3, Seed: 1}
		change(&o)
		calls := 0
		o.Progress = func(done, all int) {
			if calls++; done != calls || done > all {
				t.Errorf("step %d of %d after %d", done, all, calls)
			}
		}
		s, err := MeasureScale(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Rows) != 2 || calls != 2*(scaleWarm+3*scaleSteps) || !(s.Bandwidth[0] > 1e8) {
			t.Fatalf("%d rows, %d steps, bandwidth %v", len(s.Rows), calls, s.Bandwidth)
		}
		r := s.Rows[1]
		if r.Nodes != 100 || r.Touched != 8*5*(3+4+3) || !(r.One.Wakes > 0 && r.All.Wakes > 0 && r.Plain.Wakes > 0 && r.Ratio > 0 && r.Bound > 0 && r.Memory > 8*5*3) {
			t.Errorf("row %+v", r)
		}
	}
}

func TestMeasureScaleStops(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it measures half a gigabyte of memory, several times that under the race detector")
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := ScaleOptions{Nodes: []int{10, 20}, Dimension: []int{2}, Neighbours: 2, Records: 1}
	o.Progress = func(done, _ int) {
		if done == scaleWarm+3*scaleSteps+3 {
			cancel()
		}
	}
	s, err := MeasureScale(ctx, o)
	if !errors.Is(err, context.Canceled) || len(s.Rows) != 1 {
		t.Errorf("%d rows, %v", len(s.Rows), err)
	}
}

// Nothing is started, nor compared with the memory, for who has interrupted before.
func TestMeasureScaleStopsBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := ScaleOptions{Nodes: []int{10}, Dimension: []int{2}, Neighbours: 2, Records: 1}
	o.Progress = func(done, _ int) { t.Errorf("step %d was taken", done) }
	s, err := MeasureScale(ctx, o)
	var text strings.Builder
	if !errors.Is(err, context.Canceled) || s.Bandwidth != [2]float64{} || WriteScaleTable(&text, s) != nil || text.Len() > 0 {
		t.Errorf("%v, bandwidth %v: %s", err, s.Bandwidth, &text)
	}
}

func TestScaleIsChecked(t *testing.T) {
	good := ScaleOptions{Nodes: []int{10}, Dimension: []int{2}, Neighbours: 2, Records: 1}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*ScaleOptions){
		"nodes 1": func(o *ScaleOptions) { o.Nodes = []int{10, 1} }, "nodes is empty": func(o *ScaleOptions) { o.Nodes = nil },
		"dimension 0": func(o *ScaleOptions) { o.Dimension = []int{0} }, "neighbours 1": func(o *ScaleOptions) { o.Neighbours = 1 },
		"records 0": func(o *ScaleOptions) { o.Records = 0 },
	} {
		o := good
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
