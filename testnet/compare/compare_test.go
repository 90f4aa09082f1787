package compare

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func constant(setting string, run func(seed uint64) ([]float64, error)) trial {
	return trial{rows: []Row{{Setting: setting, Measure: "first"}, {Setting: setting, Measure: "second"}}, run: run}
}

func TestRowsAreSummariesOverSeeds(t *testing.T) {
	var done []int
	o := Options{Seed: 5, Seeds: 3, Progress: func(d, all int) {
		if done = append(done, d); all != 6 {
			t.Errorf("%d runs in all, want 6", all)
		}
	}}
	seeds := func(seed uint64) ([]float64, error) { return []float64{float64(seed), 1}, nil }
	rows, err := o.run(t.Context(), []trial{constant("a", seeds), constant("b", seeds)})
	if err != nil || !reflect.DeepEqual(done, []int{1, 2, 3, 4, 5, 6}) {
		t.Fatalf("%v, progress %v", err, done)
	}
	want := []Row{
		{Setting: "a", Measure: "first", Mean: 6, Spread: 1, Seeds: 3}, {Setting: "a", Measure: "second", Mean: 1, Seeds: 3},
		{Setting: "b", Measure: "first", Mean: 6, Spread: 1, Seeds: 3}, {Setting: "b", Measure: "second", Mean: 1, Seeds: 3},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("%+v", rows)
	}
}

// What was run before an interruption is in the table.
func TestInterruptedRunsKeepWhatTheyHave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Seeds: 50, Progress: func(int, int) { cancel() }}
	rows, err := o.run(ctx, []trial{constant("a", func(uint64) ([]float64, error) { return []float64{2, 3}, nil })})
	if !errors.Is(err, context.Canceled) || len(rows) != 2 || rows[0].Mean != 2 || rows[0].Seeds < 1 || rows[0].Seeds == 50 {
		t.Errorf("%v: %+v", err, rows)
	}
}

func TestFailedRunIsNamed(t *testing.T) {
	failed := errors.New("no luck")
	_, err := Options{}.run(t.Context(), []trial{constant("a", func(uint64) ([]float64, error) { return nil, failed })})
	if !errors.Is(err, failed) || !strings.Contains(err.Error(), "compare: a:") {
		t.Errorf("%v", err)
	}
}

// The same seed gives the same rows, on any number of processors.
func TestComparisonsAreDeterministic(t *testing.T) {
	for name, s := range map[string]trial{
		"diffusion": diffusionSetting{horizon{1, 5}, "graph-homomorphic", equalEpsilon}.trial(),
		"polar":     polarTrial(10, 50),
	} {
		first, second := measured(t, 2, s), measured(t, 2, s)
		if !reflect.DeepEqual(first, second) || first[0].Spread == 0 {
			t.Errorf("%s: %+v and %+v", name, first, second)
		}
	}
}
