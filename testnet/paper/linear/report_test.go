package linear

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// fake is what a finished experiment might look like: everybody's accuracy under a
// method is level, but for one person in ten.
func fake(s sizes, level func(key, name string) float64) paper.Done {
	done := paper.Done{}
	everybody := func(n int, key, name string) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = level(key, name)
			if i%10 == 0 {
				out[i] -= 0.01
			}
		}
		return out
	}
	for _, c := range s.cells() {
		n := paper.Numbers{}
		switch {
		case strings.HasPrefix(c.Key, "readings"):
			for _, m := range methods() {
				if m.key == readingsKey {
					n[m.numbers] = everybody(s.agents, c.Key, m.numbers)
				}
			}
			n[hidden] = everybody(s.agents, c.Key, hidden)
			for i := range s.agents {
				n[records] = append(n[records], float64(10+i*90/(s.agents-1)))
			}
		case strings.HasPrefix(c.Key, "private sum"):
			for _, name := range []string{accuracy, withoutNoise, newcomers} {
				n[name] = everybody(s.agents, c.Key, name)
			}
		case strings.HasPrefix(c.Key, "together"):
			n[together] = everybody(s.agents, c.Key, together)
		case strings.HasPrefix(c.Key, "figure 1"):
			for _, curve := range curves {
				for k := range 40 {
					for name, v := range map[string]float64{
						"iterations": 300 * float64(k), "vectors": 3000 + 1200*float64(k), "broadcasts": 100 + 300*float64(k),
						"gap": 2000 * math.Pow(0.5, float64(k)), accuracy: 0.8,
					} {
						n[curve.key+" "+name] = append(n[curve.key+" "+name], v)
					}
				}
			}
		case strings.HasPrefix(c.Key, "figure 2"):
			n[tradeOffReading], n[tradeOffShared] = make([]float64, len(tradeOffUpdates)), make([]float64, len(tradeOffUpdates))
			n[tradeOffSilent] = make([]float64, len(silentUpdates))
		case strings.HasPrefix(c.Key, "allocations"):
			for _, a := range allocationCases {
				n[a.name] = make([]float64, len(allocationsTried))
			}
		case strings.HasPrefix(c.Key, "warm"):
			n[warmReleased], n[warmSpread] = make([]float64, len(warmNoises)), make([]float64, len(warmNoises))
		default:
			n[accuracy] = everybody(s.agents, c.Key, accuracy)
		}
		done[c.Key] = n
	}
	return done
}

// flat is everybody alike: .9 with others, .8 alone.
func flat(key, _ string) float64 {
	if strings.HasPrefix(key, "alone") {
		return 0.8
	}
	return 0.9
}

func TestReportOfEverything(t *testing.T) {
	s := sizesOf(paper.Options{Seed: 1})
	r, err := s.report(fake(s, flat))
	if err != nil {
		t.Fatal(err)
	}
	// Every method in every dimension, and those that are valid or alone with more people.
	if want := len(s.dimensions)*len(methods()) + len(s.large)*(1+len(epsilons)+3); len(r.Rows) != want {
		t.Errorf("%d rows, want %d", len(r.Rows), want)
	}
	seen := map[string]bool{}
	for _, row := range r.Rows {
		id := fmt.Sprint(row.Setting, row.Epsilon != nil && *row.Epsilon == 0.15, row.Epsilon != nil && *row.Epsilon == 0.55)
		if seen[id] {
			t.Errorf("twice: %s", id)
		}
		seen[id] = true
		if row.Seeds != 5 || row.Accuracy == nil || row.Spread == nil || *row.Spread > 1e-9 {
			t.Errorf("%s: %d seeds, accuracy %v, spread %v", row.Setting, row.Seeds, row.Accuracy, row.Spread)
		}
		if alone := strings.Contains(row.Setting, "alone, tuned"); !alone {
			if row.GainLow == nil || math.Abs(*row.GainLow-0.1) > 1e-9 || math.Abs(*row.GainHigh-0.1) > 1e-9 {
				t.Errorf("%s: the gain is %v to %v, want .1", row.Setting, row.GainLow, row.GainHigh)
			}
		}
		if (row.TrueEps != nil) == row.Valid && row.Epsilon != nil {
			t.Errorf("%s: valid %v with a true epsilon %v", row.Setting, row.Valid, row.TrueEps)
		}
		if _, err := json.Marshal(row); err != nil {
			t.Errorf("%s: %v", row.Setting, err)
		}
	}
	titles := []string{"Figure 1", "Figure 2(b)", "Figure 2(a)", "Figure 2(c)", "The private warm start", "Local", "How to spread"}
	if len(r.Sections) != len(titles) {
		t.Fatalf("%d sections, want %d", len(r.Sections), len(titles))
	}
	for i, section := range r.Sections {
		if !strings.HasPrefix(section.Title, titles[i]) {
			t.Errorf("section %d is %q", i, section.Title)
		}
		for _, c := range section.Charts {
			checkChart(t, c)
		}
	}
	if !strings.Contains(r.Summary, "90.") && !strings.Contains(r.Summary, "89.9") {
		t.Errorf("summary %q", r.Summary)
	}
}

func checkChart(t *testing.T, c page.Chart) {
	t.Helper()
	if c.Title == "" || c.Alt == "" || c.X.Label == "" || c.Y.Label == "" || len(c.Series) == 0 {
		t.Errorf("chart %+v lacks something", c)
	}
	for _, s := range c.Series {
		if s.Name == "" || len(s.X) != len(s.Y) || s.Low != nil && (len(s.Low) != len(s.X) || len(s.High) != len(s.X)) {
			t.Errorf("%s: series %q has %d, %d, %d, %d numbers", c.Title, s.Name, len(s.X), len(s.Y), len(s.Low), len(s.High))
		}
		if !slices.IsSorted(s.X) {
			t.Errorf("%s: series %q goes back and forth: %v", c.Title, s.Name, s.X)
		}
	}
}

// What is not private is drawn as such, everywhere.
func TestReadingsAreMarked(t *testing.T) {
	s := sizesOf(paper.Options{Seed: 1, Seeds: 1})
	r, err := s.report(fake(s, flat))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range r.Sections {
		for _, c := range section.Charts {
			for _, series := range c.Series {
				reading := strings.Contains(series.Name, "reading") || strings.Contains(series.Name, "letter")
				if (series.Style == page.Invalid) != (reading && series.Style != page.Published) {
					t.Errorf("%s: %q has style %d", c.Title, series.Name, series.Style)
				}
			}
		}
		for _, table := range section.Tables {
			for _, line := range table.Rows {
				reading := strings.Contains(line.Cells[0], "reading") || strings.Contains(line.Cells[0], "letter") || strings.Contains(line.Cells[0], "m squared")
				if line.Struck != reading {
					t.Errorf("%s: %q struck: %v", table.Caption, line.Cells[0], line.Struck)
				}
			}
		}
	}
}

// Groups by the number of records are told apart, and one that loses is enough for
// not all to gain.
func TestSizes(t *testing.T) {
	s := sizesOf(paper.Options{Seed: 1, Seeds: 2, Quick: true})
	done := fake(s, flat)
	key := fmt.Sprintf(silentKey, s.agents, 20, 0.55, uint64(2))
	worse := slices.Clone(done[key][accuracy])
	for i, m := range done[fmt.Sprintf(readingsKey, 20, uint64(2))][records] {
		if m <= 32 {
			worse[i] = 0.5 // .7 with those of the other seed
		}
	}
	done[key] = paper.Numbers{accuracy: worse}
	for _, m := range methods() {
		line, ok := s.sizeLine(done, m, 20)
		if !ok || len(line.Cells) != 2+len(bins) {
			t.Fatalf("%s: %v", m.name, line)
		}
		loses := m.key == silentKey && m.epsilon == 0.55
		if last := line.Cells[len(bins)+1]; m.key != loneKey && (last == "no") != loses {
			t.Errorf("%s, eps %v: all gain: %q", m.name, m.epsilon, last)
		}
		if loses && (line.Cells[1] != "0.699" && line.Cells[1] != "0.700" || !strings.HasPrefix(line.Cells[2], "0.89")) {
			t.Errorf("cells %v", line.Cells)
		}
	}
}

// A curve is read between its points, gaps by their logarithms, and nowhere else.
func TestCurvesBetweenPoints(t *testing.T) {
	s := sizes{seeds: []uint64{1, 2}}
	done := paper.Done{
		fmt.Sprintf(figure1Key, 1): {"cd iterations": {10, 20}, "cd gap": {100, 1}, "cd accuracy": {.5, .7}},
		fmt.Sprintf(figure1Key, 2): {"cd iterations": {0, 16}, "cd gap": {4, 4}, "cd accuracy": {.6, .6}},
	}
	for _, c := range []struct {
		at   float64
		y    string
		want []float64
	}{
		{10, "gap", []float64{100, 4}}, {15, "gap", []float64{10, 4}}, {15, accuracy, []float64{.6, .6}},
		{20, "gap", []float64{1}}, {5, "gap", []float64{4}}, {21, "gap", nil}, {-1, accuracy, nil},
	} {
		got := s.at(done, byPaper, "iterations", c.y, c.at)
		if len(got) != len(c.want) {
			t.Errorf("%s at %v: %v, want %v", c.y, c.at, got, c.want)
			continue
		}
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-9 {
				t.Errorf("%s at %v: %v, want %v", c.y, c.at, got, c.want)
			}
		}
	}
}

func TestMeanOverSeeds(t *testing.T) {
	m := meanOf([][]float64{{0, 1}, {1, 1}, {0, 0}})
	if m.value != 0.5 || m.low != 0 || m.high != 1 || math.Abs(m.spread-0.5) > 1e-12 {
		t.Errorf("%+v", m)
	}
	if one := meanOf([][]float64{{0.25, 0.75}}); one.spread != 0 || one.low != one.high {
		t.Errorf("one seed: %+v", one)
	}
}

// Keys are what cells are kept under: each once, in every size of the experiment.
func TestKeysAreUnique(t *testing.T) {
	for _, o := range []paper.Options{{Seed: 1}, {Seed: 1, Quick: true}, {Seed: 7, Seeds: 3}} {
		plan, err := Experiment().Plan(o)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, c := range plan.Cells {
			if seen[c.Key] || !(c.Cost > 0) {
				t.Errorf("%s: twice, or of no cost", c.Key)
			}
			seen[c.Key] = true
		}
		if want := map[bool]int{true: 1, false: 5}[o.Quick]; o.Seeds == 0 && plan.Seeds != want {
			t.Errorf("%d seeds, want %d", plan.Seeds, want)
		}
	}
}

// The same cell gives the same numbers, whatever ran before.
func TestCellsAreRepeatable(t *testing.T) {
	cells := sizes{dimensions: []int{3}, agents: 12, figure1: 3, rounds: 3, seeds: []uint64{5}, warm: []int{3}}.cells()
	first := paper.Done{}
	for _, k := range rand.New(rand.NewPCG(1, 1)).Perm(len(cells)) {
		if strings.HasPrefix(cells[k].Key, "allocations") || strings.HasPrefix(cells[k].Key, "figure 2") {
			continue // the same code on larger problems
		}
		numbers, err := cells[k].Run(t.Context())
		if err != nil {
			t.Fatal(cells[k].Key, err)
		}
		first[cells[k].Key] = numbers
	}
	for _, c := range cells {
		if first[c.Key] == nil {
			continue
		}
		again, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range first[c.Key] {
			if !slices.Equal(v, again[name]) {
				t.Errorf("%s: %s differs the second time", c.Key, name)
			}
		}
	}
}
