package crowd

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"p2pnode/learner"
	"p2pnode/testnet/paper"
)

// job runs the experiment for a few hundred people, of whom a hundred are measured.
func job(dir string) paper.Job {
	j := paper.Job{Experiment: Experiment(), Dir: dir, Meter: new(paper.Meter), Log: func(string) {}, Program: "test"}
	j.Plan = func(paper.Options) (*paper.Plan, error) {
		return sizes{people: 400, sample: 100, seeds: []uint64{5}}.plan(), nil
	}
	return j
}

// An experiment that was interrupted goes on from the cells that are done, and comes to the
// numbers of one that was not. Together people err less than alone, and within a budget the
// rows claim what they guarantee.
func TestGoesOnAfterAnInterruption(t *testing.T) {
	whole, err := paper.Run(t.Context(), job(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	interrupted := job(dir)
	plan := interrupted.Plan
	interrupted.Plan = func(o paper.Options) (*paper.Plan, error) {
		p, err := plan(o)
		if err == nil {
			p.Cells[2].Run = func(ctx context.Context) (paper.Numbers, error) {
				stop()
				return nil, ctx.Err()
			}
		}
		return p, err
	}
	half, err := paper.Run(ctx, interrupted)
	if err == nil || half == nil || half.Complete || len(half.Rows) >= len(whole.Rows) {
		t.Fatalf("the interrupted run is %+v, %v", half, err)
	}
	again, err := paper.Run(t.Context(), job(dir))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Rows, whole.Rows) || again.Verdict != whole.Verdict || again.Summary != whole.Summary {
		t.Errorf("after an interruption %+v, without %+v", again, whole)
	}
	if len(whole.Rows) != len(methods) || whole.Verdict == "" {
		t.Fatalf("%d rows, verdict %q", len(whole.Rows), whole.Verdict)
	}
	for k, m := range methods {
		r := whole.Rows[k]
		if r.Valid != m.private || (r.Epsilon != nil) != m.private || m.private && (*r.Epsilon != 1 || *r.Delta != 1e-6) {
			t.Errorf("row %+v", r)
		}
	}
	lone, together, private := *whole.Rows[alone].Error, *whole.Rows[freeFits].Error, *whole.Rows[budgetFits].Error
	if together > lone/2 || private > lone+0.03 || *whole.Rows[freeFits].GainLow < 0 {
		t.Errorf("error %.3f alone, %.3f together, %.3f within the budget", lone, together, private)
	}
	if whole.Rows[budgetFits].Note == "" || whole.Rows[budgetFits].Note == whole.Verdict {
		t.Errorf("broadcasts are judged %q, the sum %q", whole.Rows[budgetFits].Note, whole.Verdict)
	}
	page, err := os.ReadFile(filepath.Join(dir, "crowd.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "wakes per person", "memory at the peak", "400 people", "per CPU s"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	checkCells(t, filepath.Join(dir, "crowd.cells"))
}

// checkCells checks what is measured beside errors: nobody makes more releases than the
// budget has, and the memory is that of this process.
func checkCells(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(text)) {
		var cell struct {
			Key     string
			Numbers paper.Numbers
		}
		if err := json.Unmarshal([]byte(line), &cell); err != nil {
			t.Fatal(err)
		}
		wakesEach := map[bool]float64{false: 80, true: releases}
		if n := cell.Numbers[made]; n != nil {
			// The last wake of a person asks and gets nothing.
			private := strings.HasPrefix(cell.Key, budget.key)
			if each := n[0] / 400; math.Abs(each-wakesEach[private]) > 2.5 {
				t.Errorf("%s: %v wakes of each person, want about %v", cell.Key, each, wakesEach[private])
			}
			if peak := cell.Numbers[memory][0]; runtime.GOOS == "linux" && (peak < 10e6 || peak > 1e11) {
				t.Errorf("%s: %v bytes at the peak", cell.Key, peak)
			}
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("%d cells of agents", seen)
	}
}

// A private sum of some thousand people finds the directions in which they differ, and who
// added nothing gains as much.
func TestPrivateSumFindsTheDirections(t *testing.T) {
	n, err := sizes{people: 4000, sample: 40}.bySum(t.Context(), problem{seed: 5, people: 4000})
	if err != nil {
		t.Fatal(err)
	}
	if known, newcomers := stat.Mean(n[fit], nil), stat.Mean(n[fresh], nil); known > 0.25 || newcomers > 0.25 {
		t.Errorf("people err in %.3f, newcomers in %.3f", known, newcomers)
	}
}

func TestPeopleOutOfRange(t *testing.T) {
	for _, n := range []int{-1, 99, 10_000_001} {
		if _, err := Experiment().Plan(paper.Options{Seed: 1, People: n}); err == nil || !strings.Contains(err.Error(), "--people") {
			t.Errorf("%d people: %v", n, err)
		}
	}
}

// A target model errs where labels are turned round, in one test of twenty, and its
// opposite everywhere else. Tolerance: five standard errors of 20,000 tests.
func TestTargetModelsErrWhereLabelsAreTurned(t *testing.T) {
	d := problem{seed: 4, people: 200}
	var right, wrong []float64
	for i := range d.people {
		target := make([]float64, features)
		target[1], target[0] = math.Sincos(d.angle(i))
		right = append(right, d.error(i, target))
		floats.Scale(-1, target)
		wrong = append(wrong, d.error(i, target))
	}
	const tolerance = 5 * 0.00154
	if r, w := stat.Mean(right, nil), stat.Mean(wrong, nil); math.Abs(r-turned) > tolerance || math.Abs(w-1+turned) > tolerance {
		t.Errorf("target models err in %.4f, their opposites in %.4f", r, w)
	}
	if e := d.error(0, make([]float64, features)); e != 0.5 {
		t.Errorf("a model that cannot decide errs in %v", e)
	}
}

// The records that are drawn again are those of the agents, and what the agents are given
// is what the task makes of rows.
func TestRecordsAreOfTheTask(t *testing.T) {
	tk := free.task()
	if err := tk.Validate(); err != nil {
		t.Fatal(err)
	}
	d := problem{seed: 4, people: 200}
	for _, r := range d.recordsOf(3) {
		if math.Abs(floats.Norm(r.X, 2)-1) > 1e-9 || r.Seq.HeldOut() || r.Y != 1 && r.Y != -1 || len(r.X) != tk.Dimension() {
			t.Errorf("record %+v", r)
		}
	}
	if !reflect.DeepEqual(d.recordsOf(3), d.recordsOf(3)) || learner.RowsOf(d.recordsOf(3)).Len() != records {
		t.Error("records drawn again are others")
	}
}
