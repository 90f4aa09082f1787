package learner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// At either end of what a target's range may be, a model is fitted and measured as it is between.
func TestTargetsOfAnySizeAreMeasured(t *testing.T) {
	for _, size := range []float64{narrowestRange, 1, LargestTarget} {
		task := (&Task{Name: "size", Features: []Feature{{Name: "x", Kind: "number", Min: 0, Max: 1}}, Target: Target{Name: "y", Max: size}}).
			Complete(Keys{"name": true, "features": true, "target": true}, Expected{})
		if err := task.Validate(); err != nil {
			t.Fatal(err)
		}
		chance := rand.New(rand.NewPCG(1, 2))
		var records []Record
		for range 60 {
			x := chance.Float64()
			r, err := task.EncodeExample([]float64{x}, size*(0.8*x+0.1*chance.Float64()))
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
		constant := task.ScoreConstant(slices.Values(records), slices.Values(records))
		best := task.Score(FitPersonal(task, records, nil).Theta, slices.Values(records))
		interval, gain := best.Interval(), best.Gain(constant)
		for _, v := range []float64{interval.Low, interval.High, gain.Low, gain.High} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("a range of %v: the error is %+v and the gain %+v", size, interval, gain)
			}
		}
		if share := best.Error / size; !(share > 0.01 && share < 0.1) || gain.Word() != Better {
			t.Errorf("a range of %v: the error is %v of it, and the gain %s", size, share, fmt.Sprint(gain))
		}
	}
}
