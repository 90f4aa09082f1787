package nodes

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

func planned(t *testing.T, o paper.Options, trials ...Trial) *paper.Plan {
	t.Helper()
	p := &paper.Plan{Report: func(paper.Done) (*paper.Report, error) {
		return &paper.Report{Rows: []paper.Row{{Setting: "of the experiment"}}}, nil
	}}
	Add(p, o, trials...)
	return p
}

func reported(t *testing.T, p *paper.Plan, done paper.Done) *paper.Report {
	t.Helper()
	r, err := p.Report(done)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What was measured comes out as it is: errors, or accuracies the other way round.
func TestRows(t *testing.T) {
	n := paper.Numbers{"alone": {.5, .4}, "real": {.3, .4}, "nodes": {2, 1, 1, 7, 3}}
	for k := range simulations {
		n[simulation(k)] = []float64{.1, .2}
	}
	n[simulation(0)] = []float64{.6, .7} // the mean of all is .2 and .3
	for _, measure := range []learner.Measure{learner.RMSE, learner.Accuracy} {
		trial := Trial{Name: "a task", Cost: 1, Measure: measure, Of: "of y", LeftOut: "two are enough", Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}}
		p := planned(t, paper.Options{Real: true}, trial)
		r := reported(t, p, paper.Done{p.Cells[0].Key: n})
		if len(r.Rows) != 3 || len(r.Sections) != 1 || len(r.Sections[0].Tables[0].Rows) != 1 {
			t.Fatalf("%d rows, sections %v", len(r.Rows), r.Sections)
		}
		want := []float64{.35, .45, .25}
		difference := "+0.1000"
		if measure == learner.Accuracy {
			for i := range want {
				want[i] = 1 - want[i]
			}
			difference = "-0.1000"
		}
		over, simulated := r.Rows[1], r.Rows[2]
		for i, got := range []float64{trial.of(&over), *over.Alone, trial.of(&simulated)} {
			if math.Abs(got-want[i]) > 1e-12 {
				t.Errorf("%s: number %d is %v, want %v", measure, i, got, want[i])
			}
		}
		if !over.Valid || over.Seeds != 1 || simulated.Seeds != simulations || *simulated.Spread < 0.2 || !(*over.GainLow < 0) || !(*over.GainHigh > .2) || over.Measure != string(measure)+" of y" {
			t.Errorf("rows %+v, %+v", over, simulated)
		}
		if cells := r.Sections[0].Tables[0].Rows[0].Cells; cells[4] != difference || !strings.Contains(over.Note, "nodes that had not made all releases: 1;") {
			t.Errorf("cells %v, note %q", cells, over.Note)
		}
		text := strings.Join(r.Sections[0].Text, "\n")
		if !strings.Contains(text, "a task, over libp2p: cannot tell: 1 of 2 nodes better, 0 worse") || !strings.Contains(text, " 3 of 5 nodes were left out: two are enough.") ||
			!strings.HasSuffix(over.Note, "; 3 of 5 nodes were left out: two are enough") {
			t.Errorf("text %q; want the verdict, and who was left out", text)
		}
	}
}

func TestNothingWithoutTheOption(t *testing.T) {
	if p := planned(t, paper.Options{}, Trial{Name: "a task", Cost: 1}); len(p.Cells) != 0 {
		t.Errorf("%d cells", len(p.Cells))
	}
	p := planned(t, paper.Options{Real: true}, Trial{Name: "a task", Cost: 1})
	if r := reported(t, p, paper.Done{}); len(r.Rows) != 1 || len(r.Sections) != 0 || !p.Cells[0].Solo {
		t.Errorf("before anything is done: %+v", r)
	}
}

// The cell runs real nodes, gives what a report needs and leaves nothing behind.
func TestCell(t *testing.T) {
	scratch := t.TempDir()
	trial := Trial{
		Name: "a task", Cost: 1, Measure: learner.ErrorShare, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6},
		Data: func() (*testnet.Dataset, error) {
			task := learner.Linear()
			task.Release.Releases, task.Graph.Gamma = 1, 5 // everybody is like everybody
			return testnet.LinearFor(task, 1, 5)
		},
	}
	p := planned(t, paper.Options{Real: true, Scratch: scratch}, trial)
	n, err := p.Cells[0].Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := reported(t, p, paper.Done{p.Cells[0].Key: n})
	if len(r.Rows) != 3 || n["nodes"][0] != 5 || n["nodes"][1] != 0 {
		t.Errorf("rows %+v of %v", r.Rows, n)
	}
	if left, err := filepath.Glob(filepath.Join(scratch, "*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left", err, left)
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		trial Trial
		want  float64
	}{{Trial{}, 3}, {Trial{Measure: learner.RMSE, Unit: 2}, 6}, {Trial{Measure: learner.MSE}, 9}, {Trial{Measure: learner.MSE, Unit: 2}, 36}} {
		if got := c.trial.measured([]float64{3})[0]; got != c.want {
			t.Errorf("%+v: %v, want %v", c.trial, got, c.want)
		}
	}
}
