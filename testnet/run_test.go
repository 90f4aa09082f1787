package testnet

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// simulatedConfig is a small configuration that runs in a fraction of a second.
func simulatedConfig() Config {
	return Config{
		Source:   func(seed uint64) (*Dataset, error) { return Linear(seed, 8) },
		Budget:   privacy.Budget{Epsilon: 1, Delta: 1e-6},
		Seed:     5,
		Simulate: true,
	}
}

func mustRun(t *testing.T, ctx context.Context, c Config) *Result {
	t.Helper()
	r, err := Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// withoutTimes clears what depends on the clock.
func withoutTimes(r *Result) *Result {
	r.Seconds = 0
	for i := range r.Rounds {
		for k := range r.Rounds[i].Trials {
			r.Rounds[i].Trials[k].Seconds = 0
		}
	}
	return r
}

func TestSimulationIsSeeded(t *testing.T) {
	c := simulatedConfig()
	first := withoutTimes(mustRun(t, t.Context(), c))
	if again := withoutTimes(mustRun(t, t.Context(), c)); !reflect.DeepEqual(first, again) {
		t.Error("the same seed gave two results")
	}
	c.Seed++
	if other := withoutTimes(mustRun(t, t.Context(), c)); reflect.DeepEqual(first.Rounds[0].Trials, other.Rounds[0].Trials) {
		t.Error("two seeds gave the same result")
	}
}

func TestSimulationUsesTheBudget(t *testing.T) {
	c := simulatedConfig()
	c.Methods = []Method{Private, Together, Broadcast, Open}
	r := mustRun(t, t.Context(), c)
	if !r.Complete || len(r.Rounds) != 1 || r.nodes() != 8 || r.Measure != learner.ErrorShare {
		t.Fatalf("result %+v", r)
	}
	for _, m := range []Method{Private, Broadcast} {
		for i, spent := range r.Rounds[0].trial(m).Spent {
			if spent < 0.99 || spent > 1 {
				t.Errorf("%s: person %d has spent %v of her budget", m, i+1, spent)
			}
		}
	}
	releases := float64(learner.Linear().Release.Releases)
	for _, m := range []Method{Broadcast, Open} {
		trial := r.Rounds[0].trial(m)
		if trial.Unfinished != 0 || trial.Delivered > trial.Expected || trial.Messages < releases {
			t.Errorf("%s: %d unfinished, %d of %d delivered, %v messages per node", m, trial.Unfinished, trial.Delivered, trial.Expected, trial.Messages)
		}
		last := trial.Curve[len(trial.Curve)-1]
		if last.Releases != releases || last.Error != mean(trial.Errors) {
			t.Errorf("%s: the learning curve ends at %+v, the trial with error %v after %v releases", m, last, mean(trial.Errors), releases)
		}
	}
	for _, m := range []Method{Together, Open} {
		if r.Rounds[0].trial(m).Spent != nil {
			t.Errorf("%s: learning without privacy has spent a budget", m)
		}
	}
}

// Learners in rounds send a model to each neighbour in each round, and with it an
// acknowledgement of one number, which is no copy of a model.
func TestSimulatedMessages(t *testing.T) {
	d := &Dataset{Task: learner.Linear()}
	neighbours, dimension := 11, d.Task.Dimension()
	copies := 12 * neighbours * 64
	sent := map[learner.Kind]int{learner.KindModel: copies, learner.KindAck: copies}
	var trial Trial
	trial.count(d, make([]sim.Participant, 12), &sim.Result{Sent: sent, Messages: 2 * copies})
	if want := float64(neighbours * 64); trial.Messages != want || trial.Bytes != 4*want*float64(dimension+1) {
		t.Errorf("%v messages and %v bytes of each, want %v and %v", trial.Messages, trial.Bytes, want, 4*want*float64(dimension+1))
	}
}

// Alone is what every person's device would have made without neighbours.
func TestAloneIsTheTunedLoneModel(t *testing.T) {
	c := simulatedConfig()
	r := mustRun(t, t.Context(), c)
	d, err := c.Source(c.Seed)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range d.People {
		model := learner.FitPersonal(d.Task, p.Records, make([]float64, d.Task.Dimension()))
		if want := d.Task.Error(model.Alone, p.Test); r.Rounds[0].trial(Alone).Errors[i] != want {
			t.Errorf("person %d: %v alone, want %v", i+1, r.Rounds[0].trial(Alone).Errors[i], want)
		}
	}
}

// Over several seeds a person of a real data set keeps her number, and made-up
// people are new each time.
func TestRunPoolsSeeds(t *testing.T) {
	c := simulatedConfig()
	c.Seeds = 2
	r := mustRun(t, t.Context(), c)
	if len(r.Pairs(Private)) != 16 || distinct(r.Pairs(Private)) != 16 {
		t.Errorf("%d results of %d made-up people, want 16 of 16", len(r.Pairs(Private)), distinct(r.Pairs(Private)))
	}
	if r.Rounds[1].Seed != c.Seed+1 || len(r.Rounds[1].trial(Broadcast).Curve) != 0 {
		t.Error("the second round has another seed than the next, or a learning curve")
	}

	all := mustRead(t, people(20, 21, 22, 23))
	c.Source = func(seed uint64) (*Dataset, error) { return all.Draw(seed, 3) }
	r = mustRun(t, t.Context(), c)
	train := make(map[int]int)
	for _, round := range r.Rounds {
		for _, p := range round.People {
			if before, known := train[p.Number]; known && before != p.Train {
				t.Errorf("number %d is two people", p.Number)
			}
			train[p.Number] = p.Train
		}
	}
	if len(train) > 4 {
		t.Errorf("4 people have %d numbers", len(train))
	}
}

func TestRunReportsProgress(t *testing.T) {
	c := simulatedConfig()
	var methods []Method
	c.Progress = func(p Progress) {
		methods = append(methods, p.Method)
		if p.Virtual == (p.Method == Alone) {
			t.Errorf("%s: virtual %v; models alone are fitted, others are simulated", p.Method, p.Virtual)
		}
	}
	mustRun(t, t.Context(), c)
	if want := []Method{Alone, Private, Together, Broadcast}; !reflect.DeepEqual(methods, want) {
		t.Errorf("progress of %v, want %v", methods, want)
	}
}

// Interrupted at any point, Run returns what there is, without an error.
func TestRunInterrupted(t *testing.T) {
	for _, stop := range []Method{Alone, Private, Together, Broadcast} {
		ctx, cancel := context.WithCancel(t.Context())
		c := simulatedConfig()
		c.Seeds = 3
		c.Progress = func(p Progress) {
			if p.Method == stop && p.Seed == c.Seed+1 {
				cancel()
			}
		}
		r := mustRun(t, ctx, c)
		if r.Complete || len(r.Rounds) != 2 {
			t.Errorf("interrupted in the second round: %d rounds, complete %v", len(r.Rounds), r.Complete)
		}
		if got := len(r.Pairs(Private)); got != 8 && got != 16 {
			t.Errorf("%d private results of 8 people", got)
		}
		table(t, r)
		cancel()
	}
}

func TestRunErrors(t *testing.T) {
	errSource := errors.New("no such data")
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no source":    {func(c *Config) { c.Source = nil }, "Source is required"},
		"bad source":   {func(c *Config) { c.Source = func(uint64) (*Dataset, error) { return nil, errSource } }, "no such data"},
		"no budget":    {func(c *Config) { c.Budget = privacy.Budget{} }, "epsilon"},
		"large budget": {func(c *Config) { c.Budget.Epsilon = 1e3 }, "allows at most epsilon"},
		"large delta":  {func(c *Config) { c.Budget.Delta = 0.1 }, "allows at most epsilon"},
		"no directory": {func(c *Config) { c.Simulate = false }, "Dir is required"},
		"no profiles": {func(c *Config) {
			c.Source = func(seed uint64) (*Dataset, error) {
				d, err := Linear(seed, 5)
				if err == nil {
					d.People[3].Profile = nil
				}
				return d, err
			}
		}, "joins people by public profiles of 2 numbers"},
	} {
		config := simulatedConfig()
		c.change(&config)
		r, err := Run(t.Context(), config)
		if err == nil || r != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

// A point of the curve is due every eighth of the releases, and once at the end.
func TestCurveIsEven(t *testing.T) {
	trial := &Trial{}
	for releases := 0.0; releases <= 12; releases += 0.25 {
		for range 3 { // asked again at the same place
			if trial.due(releases, 12) {
				trial.addPoint(releases, []float64{1})
			}
		}
	}
	if len(trial.Curve) != curveSteps || trial.Curve[0].Releases != 1.5 || trial.Curve[curveSteps-1].Releases != 12 {
		t.Errorf("points at %v", trial.Curve)
	}
}

// Of two classes a run has log loss and area under the curve beside the error, and the
// constant that all of them must beat.
func TestRunMeasuresClasses(t *testing.T) {
	r := mustRun(t, t.Context(), simulatedConfig())
	if r.Measure != learner.ErrorShare {
		t.Errorf("measured by %s, want %s", r.Measure, learner.ErrorShare)
	}
	for _, row := range r.rows() {
		if row.LogLoss == nil || row.AUC == nil || !(*row.LogLoss < math.Ln2) || !(*row.AUC > 0.7) || !(row.Error < r.base()) {
			t.Errorf("%s: %+v beside a base of %v; want better than chance in every measure", row.Method, row, r.base())
		}
	}
	if text := table(t, r); !strings.Contains(text, "AUC") || !strings.Contains(text, "most frequent class") {
		t.Errorf("table:\n%s", text)
	}
}

// Labels that are nearly all the same and say nothing of the features: only the majority
// class is predicted, and the verdict says so.
func TestRunSaysThatOnlyTheMajorityWasPredicted(t *testing.T) {
	c := simulatedConfig()
	source := c.Source
	c.Source = func(seed uint64) (*Dataset, error) {
		d, err := source(seed)
		if err != nil {
			return nil, err
		}
		for i := range d.People {
			for _, records := range [][]learner.Record{d.People[i].Records, d.People[i].Test} {
				for k := range records {
					records[k].Y = 1
					if k%10 == 9 {
						records[k].Y = -1
					}
					clear(records[k].X)
					records[k].X[0] = 1
				}
			}
		}
		return d, nil
	}
	r := mustRun(t, t.Context(), c)
	if got := r.verdict().String(); !strings.HasPrefix(got, NotWorthIt) || !strings.Contains(got, "only the majority class was predicted") {
		t.Errorf("verdict %q", got)
	}
}
