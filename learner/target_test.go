package learner

import (
	"math"
	"testing"
)

// logTarget is a task whose target is a number of which the logarithm is learned.
func logTarget(least, most float64) *Task {
	t := &Task{
		Name: "prices", Features: []Feature{{Name: "area", Kind: "number", Min: 10, Max: 600, Log: true}},
		Target: Target{Name: "price", Min: least, Max: most, Log: true},
	}
	return t.Complete(Keys{}, Expected{})
}

// A target whose logarithm is learned comes back in its own units from a score that hits it,
// and what lies outside its range counts as the nearest end.
func TestLogTarget(t *testing.T) {
	for _, c := range []struct{ least, most, center float64 }{{1e4, 1e6, 1e5}, {0, 1e4, 99}, {2, 3, 2.45}} {
		task := logTarget(c.least, c.most)
		if err := task.Validate(); err != nil {
			t.Fatalf("%v to %v: %v", c.least, c.most, err)
		}
		if task.Target.Center != c.center {
			t.Errorf("%v to %v: the usual center is %v, not %v", c.least, c.most, task.Target.Center, c.center)
		}
		if task.Measure() != RMSLE {
			t.Errorf("its errors are of the measure %q", task.Measure())
		}
		for _, v := range []float64{-1, 0, c.least, c.least*0.9 + c.most*0.1, c.center, c.most, 2 * c.most} {
			r, err := task.EncodeExample([]float64{20}, v)
			if err != nil {
				t.Fatal(err)
			}
			if err := task.Admit(&r); err != nil {
				t.Errorf("%v in %v to %v is encoded and not admitted: %v", v, c.least, c.most, err)
			}
			theta := []float64{0, r.Y / task.Constant}
			want := min(max(v, c.least), c.most)
			if got := task.Predict(theta, r.X); math.Abs(got-want) > 1e-12*(1+want) {
				t.Errorf("%v in %v to %v comes back as %v", v, c.least, c.most, got)
			}
			if e := task.Error(theta, []Record{r}); e > 1e-12 {
				t.Errorf("a model that hits %v errs by %v", v, e)
			}
		}
	}
}

// An error of a logarithm is about a share of the target, wherever it lies.
func TestLogTargetErrs(t *testing.T) {
	task := logTarget(1e4, 1e6)
	for _, v := range []float64{2e4, 5e5} {
		r, err := task.EncodeExample([]float64{20}, v)
		if err != nil {
			t.Fatal(err)
		}
		theta := []float64{0, (r.Y + math.Log(1.1)) / task.Constant} // predicts a tenth more
		if got := task.Predict(theta, r.X); math.Abs(got/v-1.1) > 1e-12 {
			t.Errorf("predicted %v of %v", got, v)
		}
		if e := task.Error(theta, []Record{r}); math.Abs(e-math.Log(1.1)) > 1e-12 {
			t.Errorf("a tenth too much of %v is an error of %v", v, e)
		}
	}
}

// The unit of the constants of learning is that of the logarithm: the clip of a target from
// 1e4 to 1e6 is that of one from log 1e4 to log 1e6.
func TestLogTargetUnit(t *testing.T) {
	logs, plain := logTarget(1e4, 1e6), logTarget(1e4, 1e6)
	plain.Target = Target{Name: "price", Min: math.Log(1e4), Max: math.Log(1e6)}
	plain = plain.Complete(Keys{"features": true}, Expected{})
	if logs.Clip != plain.Clip || logs.Radius != plain.Radius || math.Abs(logs.labelBound()-plain.labelBound()) > 1e-12 {
		t.Errorf("clip %v, radius %v, labels of %v; of the logarithms themselves %v, %v, %v",
			logs.Clip, logs.Radius, logs.labelBound(), plain.Clip, plain.Radius, plain.labelBound())
	}
}
