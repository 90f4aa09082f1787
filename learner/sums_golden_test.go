package learner

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// sumsGolden holds the personal fits that an independent program makes with what sums
// say; package population has the rest of the file.
type sumsGolden struct {
	Items struct{ F [][]float64 }
	Own   struct{ Train, Test []goldenVote }
	Fit   struct {
		Octaves  []int
		Rate     float64 `json:"evidence_rate"`
		Together goldenFit
		Alone    goldenFit
		Blend    struct {
			Together   []float64 `json:"weight_together"`
			Alone      []float64 `json:"weight_alone"`
			Prediction []float64
		}
		RMSE struct{ Together, Alone, Blend float64 } `json:"rmse"`
	}
	Edge struct {
		Penalty []float64
		Cases   []struct {
			Name  string
			Items []int
			Y     []float64
			goldenFit
			Mean []float64 `json:"mean_theta"`
		}
	} `json:"fit_edge"`
	Gram struct {
		Devices []struct {
			X [][]float64
			Y []float64
		}
		Mean   []float64 `json:"mean_without_noise"`
		Around struct {
			Device  int
			Penalty []float64
			Octaves []struct {
				Octave    int
				Theta     []float64
				LogWeight float64
			}
		} `json:"fit_around_mean"`
	}
}

type goldenVote struct {
	Item      int
	Y, Offset float64
	X         []float64
}

type goldenFit struct {
	Penalty    []float64
	Theta      [][]float64
	Left       [][]float64 `json:"loo_residuals"`
	LogWeight  []float64
	Weight     []float64
	Prediction []float64
}

func readSumsGolden(t *testing.T) (g sumsGolden) {
	t.Helper()
	shared := os.Getenv("P2PNODE_SHARED")
	if shared == "" {
		t.Skip("P2PNODE_SHARED is unset: it names the directory with reference/sums_golden.json")
	}
	data, err := os.ReadFile(filepath.Join(shared, "reference", "sums_golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func nearGolden(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-9*math.Abs(want[i])+1e-12) {
			t.Errorf("%s[%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

// fitOctaves makes the fits of one family as the golden file does: with its penalty in
// the place of the task's, and its tempering.
func (g *goldenFit) fitOctaves(t *testing.T, records []Record, octaves []int, rate float64, penalty, centre []float64) []candidate {
	t.Helper()
	f, list := newFitter(scalar{squared{1}}, RowsOf(records)), []candidate(nil)
	for i, octave := range octaves {
		weight := floats.ScaleTo(make([]float64, len(penalty)), math.Ldexp(1, octave), penalty)
		c := candidate{theta: make([]float64, len(penalty))}
		e, _ := f.fit(c.theta, weight, centre, func() {})
		c.logWeight = rate*e.leaveOneOut - math.Pow(float64(octave)*math.Ln2, 2)
		nearGolden(t, "theta", c.theta, g.Theta[i])
		nearGolden(t, "log weight", []float64{c.logWeight}, g.LogWeight[i:i+1])
		if g.Left != nil {
			left := floats.SubTo(make([]float64, len(records)), f.y, f.leaveOneOut())
			nearGolden(t, "residuals without the record", left, g.Left[i])
		}
		list = append(list, c)
	}
	return list
}

func TestGoldenFitsWithItems(t *testing.T) {
	g := readSumsGolden(t)
	var with, alone []Record
	for _, r := range g.Own.Train {
		with = append(with, Record{X: r.X, Y: r.Y - r.X[len(r.X)-2]})
		alone = append(alone, Record{X: g.Items.F[r.Item], Y: r.Y})
	}
	zero := make([]float64, len(with[0].X))
	together := g.Fit.Together.fitOctaves(t, with, g.Fit.Octaves, g.Fit.Rate, g.Fit.Together.Penalty, zero)
	lone := g.Fit.Alone.fitOctaves(t, alone, g.Fit.Octaves, g.Fit.Rate, g.Fit.Alone.Penalty, zero)
	share := 1 / (1 + math.Exp((&search{task: new(Task), alone: lone}).logWeight()-(&search{task: new(Task), alone: together}).logWeight()))
	nearGolden(t, "share", []float64{share}, []float64{floats.Sum(g.Fit.Blend.Together)})
	a, b := average(together), average(lone)
	for i, r := range g.Own.Test {
		around, own := r.Offset+floats.Dot(a, r.X), floats.Dot(b, g.Items.F[r.Item])
		nearGolden(t, "prediction", []float64{around, own, share*around + (1-share)*own},
			[]float64{g.Fit.Together.Prediction[i], g.Fit.Alone.Prediction[i], g.Fit.Blend.Prediction[i]})
	}
}

func TestGoldenFitsOfFewLabels(t *testing.T) {
	g := readSumsGolden(t)
	for _, c := range g.Edge.Cases {
		var records []Record
		for i, item := range c.Items {
			records = append(records, Record{X: g.Items.F[item], Y: c.Y[i]})
		}
		list := c.fitOctaves(t, records, g.Fit.Octaves, g.Fit.Rate, g.Edge.Penalty, make([]float64, len(g.Edge.Penalty)))
		nearGolden(t, c.Name, average(list), c.Mean)
	}
}

func TestGoldenFitAroundMean(t *testing.T) {
	g := readSumsGolden(t)
	around := g.Gram.Around
	var records []Record
	for i, x := range g.Gram.Devices[around.Device].X {
		records = append(records, Record{X: x, Y: g.Gram.Devices[around.Device].Y[i]})
	}
	var want goldenFit
	var octaves []int
	for _, o := range around.Octaves {
		octaves = append(octaves, o.Octave)
		want.Theta, want.LogWeight = append(want.Theta, o.Theta), append(want.LogWeight, o.LogWeight)
	}
	want.fitOctaves(t, records, octaves, g.Fit.Rate, around.Penalty, g.Gram.Mean)
}
