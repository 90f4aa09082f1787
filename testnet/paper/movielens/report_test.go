package movielens

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

func smallExperiment(seeds ...uint64) *experiment {
	e := &experiment{data: made(8, 15), seeds: seeds, quick: true, sets: map[string]func() (*testnet.Dataset, error){}}
	for _, s := range seeds {
		e.splits = append(e.splits, splitOf(e.data, s+10))
	}
	return e
}

// finished is what cells that all went well could have found: alone 0.9, together
// 0.8 for everybody.
func (e *experiment) finished() paper.Done {
	done := paper.Done{}
	same := func(n int, v float64) []float64 {
		list := make([]float64, n)
		for i := range list {
			list[i] = v
		}
		return list
	}
	for i := range e.seeds {
		for _, k := range kinds() {
			person := make([]float64, users)
			for u := range person {
				person[u] = float64(u + 1)
			}
			done[e.aloneKey(k, i)] = paper.Numbers{"error": same(users, 0.9), "person": person, "records": same(users, 40)}
			for _, g := range e.guarantees(k) {
				done[e.key(k, g, i)] = paper.Numbers{"error": same(users, 0.8), "updates": {1, 2}, "curve": {0.85, 0.8}}
			}
		}
		done[e.sumKey(i)] = paper.Numbers{privateSum: same(users, 0.8), freeSum: same(users, 0.8), newcomers: same(users, 0.8)}
		for _, r := range readings(e.quick) {
			n := paper.Numbers{"local": {1.3}, "norm": {5}}
			for _, eps := range append([]float64{0}, epsilons...) {
				n[level(eps)] = same(len(r.tried(eps)), 1)
				n[level(eps)][1] = 0.95
			}
			done[e.readingKey(r, i)] = n
		}
	}
	return done
}

func TestRowsSayWhatHolds(t *testing.T) {
	for _, quick := range []bool{true, false} {
		e := smallExperiment(1)
		e.quick = quick
		report, err := e.report(e.finished())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Rows {
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
			ofPaper := strings.HasPrefix(r.Setting, "paper, ")
			if r.Valid != (r.Epsilon != nil && !ofPaper) {
				t.Errorf("%s at %v: valid %v", r.Setting, r.Epsilon, r.Valid)
			}
			if ofPaper && r.Epsilon != nil && (r.TrueEps == nil || *r.TrueEps <= *r.Epsilon) {
				t.Errorf("%s: true epsilon %v", r.Setting, r.TrueEps)
			}
			if r.Valid && (math.Abs(*r.GainLow-0.1) > 1e-9 || math.Abs(*r.GainHigh-0.1) > 1e-9 || math.Abs(*r.Alone-0.9) > 1e-9) {
				t.Errorf("%s: alone %v, gain %v to %v", r.Setting, *r.Alone, *r.GainLow, *r.GainHigh)
			}
		}
		best := find(report.Rows, "paper, losses summed: together", guarantee{1, paperDelta})
		if best == nil || *best.Error != 0.95 || !strings.Contains(best.Note, "8 updates") {
			t.Errorf("the best number of updates: %+v", best)
		}
		if report.Summary == "" || len(report.Sections) != 4 {
			t.Errorf("summary %q, %d sections", report.Summary, len(report.Sections))
		}
	}
}

// Of an interrupted run the report has what is there, whatever that is.
func TestReportOfAnInterruptedRun(t *testing.T) {
	e := smallExperiment(1)
	if _, err := e.report(paper.Done{}); err != nil {
		t.Fatal(err)
	}
	whole := e.finished()
	for _, c := range e.cells() {
		numbers, known := whole[c.Key]
		if !known {
			t.Fatalf("the plan has a cell %q that no report reads", c.Key)
		}
		if _, err := e.report(paper.Done{c.Key: numbers}); err != nil {
			t.Errorf("only %s: %v", c.Key, err)
		}
	}
	if len(whole) != len(e.cells()) {
		t.Errorf("reports read %d cells, the plan has %d", len(whole), len(e.cells()))
	}
}

// The runner takes the dearest cells first: the lone models are to be among them, as
// an interrupted run has no gain without.
func TestLoneModelsComeFirst(t *testing.T) {
	e := smallExperiment(1)
	cost := map[string]float64{}
	for _, c := range e.cells() {
		cost[c.Key] = c.Cost
	}
	for _, k := range kinds() {
		for _, g := range e.guarantees(k) {
			if alone, together := e.aloneKey(k, 0), e.key(k, g, 0); cost[alone] <= cost[together] {
				t.Errorf("%s costs %g, %s %g: it comes too late", alone, cost[alone], together, cost[together])
			}
		}
	}
}

// The same cell gives the same numbers, whatever ran before it; who learns together
// spends her budget.
func TestLearningIsDeterministic(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it simulates 754 people twice")
	}
	var numbers [2]paper.Numbers
	for i := range numbers {
		e := smallExperiment(3)
		e.cells()
		n, err := e.learn(t.Context(), donated, guarantee{1, smallDelta}, 0)
		if err != nil {
			t.Fatal(err)
		}
		alone, err := e.alone(t.Context(), donated, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(n["error"]) != len(alone["person"]) || len(alone["records"]) != len(alone["error"]) {
			t.Fatalf("%d errors of %d people", len(n["error"]), len(alone["person"]))
		}
		numbers[i] = n
	}
	if !reflect.DeepEqual(numbers[0], numbers[1]) {
		t.Error("the same cell gave other numbers")
	}
}

func TestReadAgain(t *testing.T) {
	e := smallExperiment(1)
	r := reading{name: "losses summed", sum: true, quiet: []int{2, 3}, updates: []int{2, 3}}
	n, err := e.readAgain(t.Context(), r, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, eps := range append([]float64{0}, epsilons...) {
		if got := n[level(eps)]; len(got) != 2 || !(got[0] > 0) {
			t.Errorf("%s: %v", level(eps), got)
		}
	}
	if len(n["local"]) != 1 || !(n["norm"][0] > 0) {
		t.Errorf("%v", n)
	}
}
