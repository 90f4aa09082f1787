package population

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// golden holds cases worked out by an independent program.
type golden struct {
	Counts struct {
		SD         float64 `json:"sd"`
		Iterations int
		Grid       []float64
		Noisy      []float64
		Prior      []float64
		EN, EN2    []float64
		First      []float64 `json:"prior_after_1"`
		Evaluate   []struct{ X, EN, EN2 float64 }
		NoNoise    []struct{ X, EN, EN2 float64 } `json:"no_noise"`
	}
	Items         goldenItems
	ItemsNoNoise  goldenItems `json:"items_no_noise"`
	Own           struct{ Train, Test []goldenOwn }
	Second        goldenSecond
	Gram          goldenGram
	Sensitivities struct {
		GramRecordVector struct {
			Alpha, Y float64
			X        []float64
			Vector   []float64
		} `json:"gram_record_vector"`
	} `json:"sensitivity"`
}

type goldenItems struct {
	Tau2, Se2, SD, Bound, Clip float64
	F                          [][]float64
	S                          []float64
	Beta, M                    []float64
	Pop, Offset                []float64
	Features                   [][]float64
}

type goldenOwn struct {
	Item             int
	Y                float64
	Offset           float64
	X                []float64
	SWithout         float64 `json:"S_without"`
	NWithout         float64 `json:"N_without"`
	Clipped, EN, EN2 float64
}

type goldenSecond struct {
	C, Rmax, Kappa float64
	MMin           int `json:"m_min"`
	Devices        []struct {
		X            [][]float64
		Y            []float64
		W            float64
		Contribution []float64 `json:"contribution_svec"`
	}
	W      float64
	M      [][]float64
	Priors []struct {
		Name      string
		M         [][]float64
		SD        float64
		Precision [][]float64
	}
}

type goldenGram struct {
	R, C, Alpha float64
	Devices     []struct {
		X    [][]float64
		Y, B []float64
		A    []float64 `json:"A_svec"`
	}
	Mean  []float64 `json:"mean_without_noise"`
	Ridge float64   `json:"ridge_without_noise"`
	Noisy struct {
		SD     float64
		Lambda float64     `json:"lambda_"`
		A      [][]float64 `json:"A"`
		B      []float64   `json:"b"`
		Mean   []float64
	}
}

func readGolden(t *testing.T) (g golden) {
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

// near fails the test where a number is off by more than the two programs' rounding.
func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-9*math.Abs(want[i])+1e-12) {
			t.Errorf("%s[%d] = %v, want %v", what, i, got[i], want[i])
		}
	}
}

func TestGoldenCounts(t *testing.T) {
	g := readGolden(t).Counts
	c := &counts{sd: g.SD, grid: countGrid(fewPeople)}
	near(t, "grid", c.grid, g.Grid)
	c.learn(g.Noisy, 1)
	near(t, "prior after a step", c.prior, g.First)
	c.learn(g.Noisy, g.Iterations)
	near(t, "prior", c.prior, g.Prior)
	check := func(c *counts, x, en, en2 float64) {
		t.Helper()
		mean, square := c.of(x)
		near(t, "mean and square", []float64{mean, square}, []float64{en, en2})
	}
	for i, x := range g.Noisy {
		check(c, x, g.EN[i], g.EN2[i])
	}
	for _, e := range g.Evaluate {
		check(c, e.X, e.EN, e.EN2)
	}
	for _, e := range g.NoNoise {
		check(newCounts(nil, 0, 1), e.X, e.EN, e.EN2)
	}
}

// learned are the items of a case with its features, of which the last is 1. The prior
// has as many steps as the case's.
func (g *goldenItems) learned(t *testing.T, c *counts, f [][]float64, noisy []float64) *Items {
	t.Helper()
	votes := Votes{Bound: .75, Spread: .1, Noise: .8, Most: 1.5}
	public, sum := make([][]float64, len(f)), append([]float64(nil), g.S...)
	for i, row := range f {
		public[i] = row[:len(row)-1]
		sum = append(sum, noisy[i]*votes.Bound)
	}
	i := &Items{votes: votes, sd: g.SD, sum: sum, public: withOne(public, len(f)), counts: c}
	if err := i.regress(); err != nil {
		t.Fatal(err)
	}
	near(t, "beta", i.beta, g.Beta)
	for k := range f {
		offset, popular := i.Of(k)
		near(t, "offset and popularity", []float64{offset, popular}, []float64{g.Offset[k], g.Pop[k]})
	}
	return i
}

func TestGoldenVotes(t *testing.T) {
	g := readGolden(t)
	c := &counts{sd: g.Counts.SD, grid: countGrid(fewPeople)}
	c.learn(g.Counts.Noisy, g.Counts.Iterations)
	items := g.Items.learned(t, c, g.Items.F, g.Counts.Noisy)
	own := make([]float64, 2*len(g.Items.F))
	for _, r := range g.Own.Train {
		items.votes.Add(own, r.Item, r.Y)
	}
	for _, r := range g.Own.Train {
		offset, popular := items.Without(own, r.Item)
		n := len(r.X)
		near(t, "own", []float64{offset, popular}, r.X[n-2:])
	}
	for _, r := range g.Own.Test {
		offset, popular := items.Of(r.Item)
		near(t, "test", []float64{offset, popular}, []float64{r.Offset, r.X[len(r.X)-1]})
	}
}

func TestGoldenVotesWithoutNoise(t *testing.T) {
	g := readGolden(t)
	n := g.ItemsNoNoise
	exact := make([]float64, len(n.Pop)) // of counts, from the popularity
	for i, p := range n.Pop {
		exact[i] = math.Round(math.Expm1(2*p + 2))
	}
	n.learned(t, newCounts(nil, 0, 1), g.Items.F, exact)
}

func TestGoldenMoments(t *testing.T) {
	g := readGolden(t).Second
	o := Moments{Clip: g.C, Longest: g.Rmax, Records: g.Kappa, Least: g.MMin, Gain: 100, Floor: 1. / 30}
	p := len(g.M)
	sum, weight := make([]float64, o.Dimension(p)), 0.
	for _, d := range g.Devices {
		var v [][]float64
		for j, x := range d.X {
			one := make([]float64, p)
			for i := range x {
				one[i] = d.Y[j] * x[i]
			}
			v = append(v, one)
		}
		got := o.Of(p, v)
		near(t, "contribution", got, d.Contribution)
		near(t, "weight", []float64{o.Weight(len(v))}, []float64{d.W})
		for i := range got {
			sum[i] += got[i]
		}
		weight += o.Weight(len(v))
	}
	near(t, "weights", []float64{weight}, []float64{g.W})
	nearMatrix(t, "moments", symmetric(p, sum, 1/weight), g.M)
	for _, c := range g.Priors {
		m := mat.NewSymDense(p, nil)
		for i := range c.M {
			for j := range c.M[i] {
				m.SetSym(i, j, c.M[i][j])
			}
		}
		got, err := o.precision(m, c.SD)
		if err != nil {
			t.Fatal(err)
		}
		nearMatrix(t, c.Name, got, c.Precision)
	}
}

func nearMatrix(t *testing.T, what string, got *mat.SymDense, want [][]float64) {
	t.Helper()
	for i, row := range want {
		near(t, what, mat.Row(nil, i, got), row)
	}
}

func TestGoldenRegression(t *testing.T) {
	all := readGolden(t)
	g := all.Gram
	r := Regression{Scale: g.Alpha, Length: g.R, Label: g.C, Least: g.Ridge}
	p := len(g.Mean)
	sum := make([]float64, r.Dimension(p))
	for _, d := range g.Devices {
		own := make([]float64, len(sum))
		for j, x := range d.X {
			r.Add(own, x, d.Y[j])
		}
		want := append([]float64(nil), d.B...)
		for i := len(d.A) - 1; i >= 0; i-- {
			want = append([]float64{r.Scale * d.A[i]}, want...)
		}
		near(t, "contribution", own, want)
		for i := range own {
			sum[i] += own[i]
		}
	}
	mean, err := r.Learn(p, sum, 0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean without noise", mean, g.Mean)
	var noisy []float64
	for i := range p {
		for j := i; j < p; j++ {
			noisy = append(noisy, r.Scale*g.Noisy.A[i][j]*unfolded(i, j))
		}
	}
	r.Ridge, r.Least = g.Noisy.Lambda, 0
	if mean, err = r.Learn(p, append(noisy, g.Noisy.B...), g.Noisy.SD); err != nil {
		t.Fatal(err)
	}
	near(t, "mean", mean, g.Noisy.Mean)
	one := all.Sensitivities.GramRecordVector
	wide := Regression{Scale: one.Alpha, Length: 10, Label: 10}
	got := make([]float64, len(one.Vector))
	wide.Add(got, one.X, one.Y)
	near(t, "record", got, one.Vector)
}
