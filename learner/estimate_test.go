package learner

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// comparing is an agent of two parameters under the graph rule "released", with one
// record along each axis: the squared loss is then isotropic, with the public
// curvature.
func comparing(t *testing.T, m privacy.Mechanism, resume *State) *personal {
	t.Helper()
	task := plainTask("squared", 2)
	task.Radius, task.Clip = 50, 100
	task.Graph = Graph{Rule: "released", Degree: 2, Gamma: 0.2}
	a := must(New(Config{Self: "a", Task: task, Policy: repeated(m), WakeMean: 1, Schedule: source(), Resume: resume}))
	if err := a.Records([]Record{{Seq: 1, Cohort: 1, X: []float64{1, 0}, Y: 3}, {Seq: 2, Cohort: 1, X: []float64{0, 1}, Y: -1}}, nil); err != nil {
		t.Fatal(err)
	}
	a.Neighbours(0, []Edge{{Peer: "b", Weight: 2, Live: true}})
	return a.(*personal)
}

// release lets the neighbour say something and the agent make one release.
func release(t *testing.T, p *personal, noise *privacy.SeededNoise, heard []float64) {
	t.Helper()
	if heard != nil {
		if _, err := p.Receive(p.next-1, Message{From: "b", Kind: KindModel, Round: p.round + 1, Real: heard}); err != nil {
			t.Fatal(err)
		}
	}
	for {
		if now, out := wake(p); out.Ask != nil {
			p.Released(now, noise.Answer(out.Ask.Mechanism, out.Ask.Sums))
			return
		}
	}
}

// Where the loss is a quadratic of the public curvature, the estimate is that
// curvature times the optimum, whatever the neighbours say, and the noise of the
// mean falls as one over the root of the number of releases.
func TestEstimateDoesNotDependOnNeighbours(t *testing.T) {
	p := comparing(t, must(privacy.NewUnprotected(100)), nil)
	r := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		release(t, p, privacy.NewSeededNoise(1), []float64{20 * r.Float64(), -20 * r.Float64()})
	}
	e := p.State().Estimate
	want := []float64{3 * p.task.meanCurvature(), -1 * p.task.meanCurvature()}
	if floats.Distance(e.Vector, want, 2) > 1e-6 || e.Std != 0 || e.Releases != 20 || e.Round != 20 {
		t.Errorf("estimate %+v, want %v", e, want)
	}
}

func TestEstimateNoise(t *testing.T) {
	m := must(privacy.NewGaussian(100, 300))
	const releases, nodes = 25, 200
	var square, std float64
	for k := range nodes {
		p, noise := comparing(t, m, nil), privacy.NewSeededNoise(uint64(k))
		for range releases {
			release(t, p, noise, []float64{20, 20})
		}
		e := p.State().Estimate
		std = e.Std
		want := []float64{3 * p.task.meanCurvature(), -1 * p.task.meanCurvature()}
		square += math.Pow(floats.Distance(e.Vector, want, 2), 2)
	}
	if want := m.NoiseStd() / 2 / math.Sqrt(releases); math.Abs(std-want) > 1e-12*want {
		t.Errorf("the noise is said to be %v, want %v", std, want)
	}
	// A mean of 400 squares of normal variables: standard deviation sqrt(2/400) = 7%,
	// the bound is 5 of them, false failure below 1e-6.
	if ratio := square / (2 * nodes) / (std * std); math.Abs(ratio-1) > 0.35 {
		t.Errorf("the true variance of the noise is %v of what is said", ratio)
	}
}

// The obvious twin: all releases at once, weighted by the inverse variances.
func TestIncludingIsTheWeightedMean(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var e *Estimate
	var precision float64
	sum := make([]float64, 3)
	for round := range 50 {
		v, std := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}, 0.1+r.Float64()
		e = e.including(uint64(round+1), v, std)
		precision += 1 / (std * std)
		floats.AddScaled(sum, 1/(std*std), v)
		mean := floats.ScaleTo(make([]float64, 3), 1/precision, sum)
		if floats.Distance(e.Vector, mean, 2) > 1e-12 || math.Abs(e.Std*e.Std*precision-1) > 1e-12 {
			t.Fatalf("after %d: %+v, want %v with std %v", round+1, e, mean, 1/math.Sqrt(precision))
		}
	}
	before := *e
	exact := e.including(51, []float64{1, 2, 3}, 0)
	if exact.Std != 0 || !slices.Equal(exact.Vector, []float64{1, 2, 3}) {
		t.Errorf("a release without noise among noisy ones: %+v", exact)
	}
	if next := exact.including(52, []float64{9, 9, 9}, 1); !reflect.DeepEqual(next.Vector, exact.Vector) || next.Round != 52 {
		t.Errorf("a noisy release after one without noise: %+v", next)
	}
	for i, v := range []float64{3, 100, 5} { // the second has noise
		exact = exact.including(uint64(53+i), []float64{v, v, v}, float64(i%2))
	}
	if want := []float64{3, 10. / 3, 11. / 3}; floats.Distance(exact.Vector, want, 2) > 1e-12 || exact.Std != 0 || exact.Releases != 3 || exact.Round != 55 {
		t.Errorf("three releases without noise among noisy ones: %+v, want %v", exact, want)
	}
	if !reflect.DeepEqual(before, *e) {
		t.Error("an estimate was changed in place")
	}
}

func TestEstimateOutlivesARestart(t *testing.T) {
	m := must(privacy.NewGaussian(100, 300))
	whole, noise := comparing(t, m, nil), privacy.NewSeededNoise(3)
	cut, again := comparing(t, m, nil), privacy.NewSeededNoise(3)
	for k := range 6 {
		release(t, whole, noise, nil)
		if k == 3 {
			s := cut.State()
			cut = comparing(t, m, &s)
		}
		release(t, cut, again, nil)
	}
	if a, b := whole.State(), cut.State(); !reflect.DeepEqual(a.Estimate, b.Estimate) {
		t.Errorf("%+v before, %+v after", a.Estimate, b.Estimate)
	}
	bad := whole.State()
	bad.Estimate.Vector = []float64{1}
	if _, err := New(Config{Self: "a", Task: whole.task, WakeMean: 1, Schedule: source(), Resume: &bad}); err == nil {
		t.Error("a saved estimate of the wrong length was taken")
	}
}

func TestPropagationEstimatesByItsFit(t *testing.T) {
	task := propagationTask("squared", 2)
	task.Graph = Graph{Rule: "released", Degree: 2, Gamma: 0.2}
	a := must(New(Config{Self: "a", Task: task, Policy: must(task.Design(privacy.Design{
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 1}).Policy()), WakeMean: 1, Schedule: source()}))
	if err := a.Records(testRecords(1, 1, 40), nil); err != nil {
		t.Fatal(err)
	}
	out := a.Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}})
	for out.Ask == nil {
		if e := a.State().Estimate; e != nil {
			t.Fatalf("an estimate before the release: %+v", e)
		}
		out = a.Tick(out.Next)
	}
	sent := a.Released(1, privacy.NewSeededNoise(1).Answer(out.Ask.Mechanism, out.Ask.Sums)).Send
	s := a.State()
	if e := s.Estimate; e == nil || e.Round != sent[0].Round || e.Std != s.Fit.NoiseStd || !reflect.DeepEqual(e.Vector, s.Fit.Model) {
		t.Fatalf("estimate %+v of the fit %+v, published in round %d", e, s.Fit, sent[0].Round)
	}
	resumed := must(New(Config{Self: "a", Task: task, WakeMean: 1, Schedule: source(), Resume: &s}))
	if !reflect.DeepEqual(resumed.State(), s) {
		t.Errorf("%+v before, %+v after a restart", s, resumed.State())
	}
}

func TestNoEstimateUnderOtherRules(t *testing.T) {
	p := testAgent(t, nil)
	if err := p.Records(testRecords(1, 1, 4), nil); err != nil {
		t.Fatal(err)
	}
	release(t, p, privacy.NewSeededNoise(1), nil)
	if e := p.State().Estimate; e != nil {
		t.Errorf("estimate %+v under the rule random", e)
	}
}

// A sketch keeps inner products and lengths in the mean, and the noise in it is what it
// says: over 40 pairs of vectors with a cosine of 0.6 the sketch's is off by 1/64 as a
// standard deviation, so the mean by 0.0025, and a deviation of 0.015 fails by chance
// less often than once in a million.
func TestSketchesCompareAsVectorsDo(t *testing.T) {
	const n, pairs = 20_000, 40
	r := rand.New(rand.NewPCG(2, 9))
	var cosine, length, noise float64
	for range pairs {
		a, b := normals(r, n), normals(r, n)
		floats.Scale(1/floats.Norm(a, 2), a)
		floats.AddScaled(b, -floats.Dot(a, b), a)
		floats.Scale(0.8/floats.Norm(b, 2), b)
		floats.AddScaled(b, 0.6, a)
		x, _ := sketched(a, 0)
		y, _ := sketched(b, 0)
		cosine += floats.Dot(x, y) / pairs
		length += floats.Dot(x, x) / pairs
		z, std := sketched(normals(r, n), 1)
		noise += floats.Dot(z, z) / float64(len(z)) / (std * std) / pairs
	}
	if math.Abs(cosine-0.6) > 0.015 || math.Abs(length-1) > 0.02 || math.Abs(noise-1) > 0.02 {
		t.Errorf("mean cosine %.4f, squared length %.4f, noise %.4f; want 0.6, 1 and 1", cosine, length, noise)
	}
	short := normals(r, maxCompared)
	if s, std := sketched(short, 0.5); !slices.Equal(s, short) || std != 0.5 {
		t.Error("a vector of 4,096 numbers is sketched")
	}
}

// Everybody has the same signs, for ever: entries of nodes of any version are compared.
func TestPublicSignsAreFixed(t *testing.T) {
	text, up := "", 0
	for i := range uint64(65_536) {
		if publicSign(i) > 0 {
			up++
		}
		if i < 16 {
			text += map[bool]string{true: "+", false: "-"}[publicSign(i) > 0]
		}
	}
	if text != "-++-+++-+-+-----" || up < 32_000 || up > 33_500 {
		t.Errorf("the first signs are %s, %d of 65,536 are +", text, up)
	}
}
