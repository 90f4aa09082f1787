package learner

import (
	"math"
	"reflect"
	"testing"
)

// bare is a task that says nothing but its features and its target.
func bare(target Target, columns int) *Task {
	t := &Task{Name: "bare", Target: target}
	for i := range columns {
		t.Features = append(t.Features, Feature{Name: string(rune('a' + i)), Kind: "number", Min: 0, Max: 10})
	}
	return t
}

var committeeOfFour = []string{"A", "B", "C", "D"}

// A task that says what is learned from what is whole, whatever its target.
func TestCompleteTaskIsValid(t *testing.T) {
	for name, target := range map[string]Target{
		"squared":     {Name: "y", Min: 10, Max: 20},
		"logistic":    {Name: "y"},
		"multinomial": {Name: "y", Classes: manyClasses(7)},
	} {
		for _, learner := range names() {
			task, said := bare(target, 3), Keys{"learner": true}
			task.Learner = learner
			if learner == "polar" {
				task.Polar.Servers, said["polar.servers"] = []string{"A", "B", "C"}, true
			}
			if learner == "sums" {
				task.Sums.Committee, said["sums.committee"] = committeeOfFour, true
			}
			whole := task.Complete(said, Expected{})
			if err := whole.Validate(); err != nil || whole.Loss != name {
				t.Errorf("%s, %s: %v, %+v", name, learner, err, whole)
			}
			if task.Mu != 0 {
				t.Fatal("the task itself has changed")
			}
		}
	}
}

// What a task leaves out follows from the rest.
func TestCompleteFollowsWhatIsSaid(t *testing.T) {
	numbers := bare(Target{Name: "y", Min: 10, Max: 20}, 3)
	whole := numbers.Complete(nil, Expected{})
	if whole.Learner != "diffusion" || whole.Target.Center != 15 || whole.Clip != 2 || whole.Radius != 150 || whole.Constant != 0.5 {
		t.Errorf("%+v", whole)
	}
	if again := whole.Complete(nil, Expected{}); !reflect.DeepEqual(again, whole) {
		t.Errorf("twice completed: %+v, once: %+v", again, whole)
	}
	zero := numbers.Complete(Keys{"constant": true, "target.center": true, "lambda": true}, Expected{})
	if zero.Constant != 0 || zero.Target.Center != 0 || zero.Lambda != 0 || zero.Clip != 8 {
		t.Errorf("zeros that are said: %+v", zero)
	}
	bold := *numbers
	bold.Release.Epsilon, bold.Release.MaxReleases = 50, 3
	whole = bold.Complete(Keys{"release.epsilon": true, "release.max_releases": true}, Expected{})
	if whole.Release.MaxEpsilon != 50 || whole.Release.Releases != 3 {
		t.Errorf("bounds %+v", whole.Release)
	}
	summed := *numbers
	summed.Sums.Committee = append(committeeOfFour, "E", "F", "G")
	whole = summed.Complete(Keys{"sums.committee": true}, Expected{})
	if s := whole.Sums; whole.Learner != "sums" || s.Colluding != 2 || s.Recipes[0] != (Recipe{Kind: "mean", Share: 1}) {
		t.Errorf("learner %s, sums %+v", whole.Learner, s)
	}
	summed.Learner, summed.Loss = "personal", "huber"
	whole = summed.Complete(Keys{"sums.committee": true, "learner": true, "loss": true}, Expected{})
	if s := whole.Sums; s.Recipes[0] != (Recipe{Kind: "gradient", Share: 0.5}) || whole.Validate() != nil {
		t.Errorf("%v, sums %+v", whole.Validate(), s)
	}
}

// Much noise shortens the step, and few nodes make much noise.
func TestStepFollowsTheNoise(t *testing.T) {
	task := bare(Target{Name: "y"}, 20)
	last := math.Inf(1)
	for _, e := range []Expected{{1000, 10_000}, {1000, 100}, {100, 100}, {10, 10}, {2, 1}} {
		whole := task.Complete(nil, e)
		if step := whole.Rounds.Step; !(step > 0) || step > last || step > whole.LongestStep() {
			t.Errorf("%+v: step %v after %v", e, step, last)
		}
		last = whole.Rounds.Step
	}
	if first := task.Complete(nil, Expected{1000, 10_000}); first.Rounds.Step != first.LongestStep() || last > first.Rounds.Step/100 {
		t.Errorf("steps from %v to %v, the longest %v", first.Rounds.Step, last, first.LongestStep())
	}
}
