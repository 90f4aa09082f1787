package learner

import (
	"slices"
	"strings"
	"testing"
)

// A task that leaves everything to the rule leaves no doubts in a network of the size that
// is expected, and each thing that may be said but should not is told by its key.
func TestDoubts(t *testing.T) {
	plain := func() *Task { return bare(Target{Name: "y", Min: 10, Max: 20}, 3) }
	usual := Expected{Nodes: 100, Records: 100}
	for name, target := range map[string]Target{"number": plain().Target, "sides": {Name: "y"}, "classes": {Name: "y", Classes: manyClasses(4)}} {
		if list := bare(target, 3).Complete(nil, usual).Doubts(usual); len(list) > 0 {
			t.Errorf("%s: %v", name, list[0])
		}
	}
	for key, c := range map[string]struct {
		change func(*Task)
		e      Expected
	}{
		"features[1].max":      {func(t *Task) { t.Features[1].Max = 1e6 }, usual},
		"target.center":        {func(t *Task) { t.Target.Center = 10 }, usual},
		"clip":                 {func(t *Task) { t.Clip = 0.01 }, usual},
		"clip ":                {func(t *Task) { t.Clip = 30 }, usual},
		"clip  ":               {func(t *Task) { t.Clip = 1e6 }, usual},
		"rounds.step":          {func(t *Task) { t.Rounds.Step = 2 }, usual},
		"release.epsilon":      {func(t *Task) { t.Release.Epsilon = 6 }, usual},
		"release.epsilon ":     {func(t *Task) { t.Release.Epsilon = 0.01 }, Expected{3, 10}},
		"release.delta":        {func(t *Task) { t.Release.Delta = 1e-3 }, usual},
		"features":             {func(*Task) {}, Expected{100, 2}},
		"features ":            {func(*Task) {}, Expected{2, 1}},
		"graph.degree":         {func(*Task) {}, Expected{Nodes: 10}},
		"cohort_size":          {func(t *Task) { t.CohortSize = 50 }, usual},
		"release.wake_seconds": {func(t *Task) { t.Release.WakeSeconds = 0.1 }, usual},
		"sums.recipes":         {func(t *Task) { summedBy(t, 4); t.Sums.Recipes[0].Share = 0.5 }, usual},
		"sums.recipes ":        {func(t *Task) { summedBy(t, 4) }, Expected{3, 8}},
		"sums.colluding":       {func(t *Task) { summedBy(t, 7); t.Sums.Colluding = 1 }, usual},
		"sums.close_seconds":   {func(t *Task) { summedBy(t, 4); t.Sums.CloseSeconds = 59 }, usual},
		"sums.close_seconds ":  {func(t *Task) { summedBy(t, 4) }, Expected{5, 100}},
		"sums.contributors":    {func(t *Task) { summedBy(t, 4) }, Expected{Nodes: 1e6}},
		"sums.records":         {func(t *Task) { summedBy(t, 4) }, Expected{Records: 1e5}},
	} {
		task := plain().Complete(nil, usual)
		c.change(task)
		if err := task.Validate(); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		found := false
		for _, f := range task.Doubts(c.e) {
			found = found || f.Key == strings.TrimSpace(key)
		}
		if !found {
			t.Errorf("%s: no doubt among %v", key, task.Doubts(c.e))
		}
	}
}

// Where a sum of two nodes is mostly noise, and few are expected, a week is given them to come.
func TestFewNodesDoubt(t *testing.T) {
	task := bare(Target{Name: "y", Min: 10, Max: 20}, 3).Complete(nil, Expected{})
	summedBy(task, 4)
	doubts := func(nodes int, records, seconds float64) bool {
		task.Sums.CloseSeconds = seconds
		return slices.ContainsFunc(task.Doubts(Expected{nodes, records}), func(f *Fault) bool { return f.Key == "sums.close_seconds" })
	}
	if !doubts(5, 100, 86_400) || doubts(5, 100, 604_800) || doubts(20, 100, 86_400) || doubts(0, 100, 86_400) || doubts(5, 10_000, 86_400) {
		t.Error("only few nodes with few records in less than a week are doubtful")
	}
}

// summedBy makes the task one of private sums, by a committee of so many.
func summedBy(t *Task, members int) {
	bare := bare(t.Target, 3)
	bare.Sums.Committee = manyClasses(members)
	*t = *bare.Complete(Keys{"sums.committee": true}, Expected{})
}
