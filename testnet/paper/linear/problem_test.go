package linear

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/testnet/sim"
)

// The graph is the paper's, written out: exp((cos - 1)/.1) from .01 up, both ways.
func TestGraph(t *testing.T) {
	d := draw(1, 60, 4)
	weights := sim.Weights(d.edges)
	for i := range d.people {
		for j := range d.people {
			a, b := d.people[i].target, d.people[j].target
			w := math.Exp((floats.Dot(a, b)/floats.Norm(a, 2)/floats.Norm(b, 2) - 1) / 0.1)
			if i == j || w < 0.01 {
				w = 0
			}
			if math.Abs(weights[i][j]-w) > 1e-12 {
				t.Fatalf("the weight of %d and %d is %v, want %v", i, j, weights[i][j], w)
			}
		}
	}
}

// Target models: the first two coordinates alone, and people of 10 to 100 records.
func TestPeople(t *testing.T) {
	d := draw(2, 50, 6)
	for i, a := range d.people {
		if m := len(a.train.x); m < 10 || m > 100 || len(a.train.y) != m {
			t.Errorf("person %d has %d records", i, m)
		}
		if a.target[0] == 0 || a.target[1] == 0 || floats.Norm(a.target[2:], 1) != 0 {
			t.Errorf("person %d has the target %v", i, a.target)
		}
		for _, x := range a.train.x {
			if slices.Max(x) > 1 || slices.Min(x) < -1 {
				t.Fatalf("features %v", x)
			}
		}
	}
	if again := draw(2, 50, 6); again.people[7].train.x[3][2] != d.people[7].train.x[3][2] {
		t.Error("the same seed made other people")
	}
}

func TestSpectrumIsTheLargestEigenvalue(t *testing.T) {
	for _, p := range []int{2, 7, 30} {
		for i := range draw(3, 8, p).people {
			e := &draw(3, 8, p).people[i].train
			gram := mat.NewSymDense(p, nil)
			for _, x := range e.x {
				gram.SymRankOne(gram, 1/float64(len(e.x)), mat.NewVecDense(p, x))
			}
			var eigen mat.EigenSym
			eigen.Factorize(gram, false)
			want := eigen.Values(nil)[p-1]
			if got := e.spectrum(); got < want || got > want*1.002 {
				t.Errorf("p %d, person %d: %v, want %v", p, i, got, want)
			}
		}
	}
}

// The gradient of the mean loss against differences of the loss itself.
func TestGradient(t *testing.T) {
	e := &draw(4, 3, 5).people[1].train
	loss := func(theta []float64) (sum float64) {
		for k, x := range e.x {
			sum += math.Log1p(math.Exp(-e.y[k]*floats.Dot(theta, x))) / float64(len(e.x))
		}
		return sum
	}
	theta, got := []float64{0.3, -1, 2, 0.1, -0.4}, make([]float64, 5)
	e.gradient(got, theta)
	for k := range theta {
		const h = 1e-5
		up, down := slices.Clone(theta), slices.Clone(theta)
		up[k] += h
		down[k] -= h
		if want := (loss(up) - loss(down)) / (2 * h); math.Abs(got[k]-want) > 1e-8 {
			t.Errorf("coordinate %d: %v, want %v", k, got[k], want)
		}
	}
}

// Local models are where the gradient of their objective vanishes.
func TestAloneIsTheLocalMinimum(t *testing.T) {
	d := draw(5, 20, 30)
	for i, theta := range d.alone() {
		e := &d.people[i].train
		gradient := make([]float64, d.p)
		e.gradient(gradient, theta)
		floats.AddScaled(gradient, 2/float64(len(e.x)), theta)
		if n := floats.Norm(gradient, 2); n > 1e-5 {
			t.Errorf("person %d: gradient %g", i, n)
		}
	}
}

func TestAccuracy(t *testing.T) {
	e := examples{x: [][]float64{{1, 0}, {0, 1}, {-2, 0}, {0, -3}}, y: []float64{1, 1, 1, -1}}
	for _, c := range []struct {
		theta []float64
		want  float64
	}{{[]float64{1, 1}, 0.75}, {[]float64{-1, 0}, 0.5}, {[]float64{0, 0}, 0.5}, {[]float64{0, 2}, 0.75}} {
		if got := e.accuracy(c.theta); got != c.want {
			t.Errorf("%v: %v, want %v", c.theta, got, c.want)
		}
	}
}

// What the valid rows rest on: features at unit norm, so that the gradient of the
// logistic loss is at most 1 long in the norm of the noise.
func TestRecordsHaveUnitNorm(t *testing.T) {
	e := &draw(6, 2, 12).people[0].train
	for _, l := range []float64{1, 2} {
		records := e.records(byNorm(l))
		for k, r := range records {
			if math.Abs(floats.Norm(r.X, l)-1) > 1e-12 || r.Seq.HeldOut() || k > 0 && r.Seq <= records[k-1].Seq || r.Cohort != 1 {
				t.Fatalf("record %d: %+v", k, r)
			}
		}
		if n := len(records); n != len(e.x) {
			t.Errorf("%d records of %d", n, len(e.x))
		}
	}
	if byNorm(2)(make([]float64, 3)) != 0 {
		t.Error("a record of zeros has no direction")
	}
}

// A record hides itself: Laplace noise of scale 4p/eps on each feature, a label turned
// round with probability 1/(1+e^(eps/2)). Of about 5,500 labels .378 turn with a
// standard error of .0066, and the mean absolute noise of 55,000 numbers is right to
// .43%; the bounds, .033 and 2.2%, are five of them away.
func TestLocalDPHidesEveryRecord(t *testing.T) {
	d := draw(7, 100, 10)
	h := d.localDP(1)
	var turned, labels, noise, numbers float64
	for i := range d.people {
		a, b := &d.people[i].train, &h.people[i].train
		for k := range a.x {
			labels++
			if a.y[k] != b.y[k] {
				turned++
			}
			noise += floats.Distance(a.x[k], b.x[k], 1)
			numbers += 10
		}
		if &d.people[i].test.x[0] != &h.people[i].test.x[0] {
			t.Fatal("the tests changed")
		}
	}
	if share := turned / labels; math.Abs(share-1/(1+math.Exp(0.5))) > 0.033 {
		t.Errorf("%v of the labels turned", share)
	}
	if scale := noise / numbers; math.Abs(scale/40-1) > 0.022 {
		t.Errorf("noise of scale %v, want 40", scale)
	}
}

// Posing the problem in other units changes no value of Q.
func TestUnitsChangeNothing(t *testing.T) {
	d := draw(8, 10, 4)
	models := d.alone()
	for i := range models {
		for k := range models[i] {
			models[i][k] += 0.1 * float64(i*k%3)
		}
	}
	a, err := d.pose(2, 1).objective(models)
	if err != nil {
		t.Fatal(err)
	}
	for _, public := range []bool{false, true} {
		j := d.pose(2, d.unit(public))
		b, err := j.objective(models)
		if err != nil || math.Abs(a/b-1) > 1e-12 {
			t.Errorf("Q is %v and %v, %v", a, b, err)
		}
	}
	// Written out: half the edges' distances, and mu D_i c_i times the mean loss and the regulariser.
	var want float64
	for i := range d.people {
		var degree float64
		for _, e := range d.edges[i] {
			degree += e.Weight
			distance := floats.Distance(models[i], models[sim.Number(e.Peer)], 2)
			want += e.Weight * distance * distance / 4
		}
		e := &d.people[i].train
		m := float64(len(e.x))
		var loss float64
		for k, x := range e.x {
			loss += math.Log1p(math.Exp(-e.y[k]*floats.Dot(models[i], x))) / m
		}
		want += 2 * degree * m / 100 * (loss + floats.Dot(models[i], models[i])/m)
	}
	if math.Abs(a/want-1) > 1e-12 {
		t.Errorf("Q is %v, written out %v", a, want)
	}
}

// The less signal there is, the less the neighbours are trusted.
func TestSettings(t *testing.T) {
	for _, p := range []int{2, 20, 100} {
		var last setting
		for k, eps := range []float64{0.05, 0.15, 0.55, 1.05} {
			s := settingFor(100, p, gaussian(eps).Budget)
			if k > 0 && (s.kappa < last.kappa || s.eta < last.eta) || s.kappa <= 0 || s.eta < 0.12 || s.eta > 1.09 || s.kappa > 0.6*float64(p) {
				t.Errorf("p %d, eps %v: %+v after %+v", p, eps, s, last)
			}
			last = s
		}
		if a, b := settingFor(100, p, gaussian(0.55).Budget), settingFor(1000, p, gaussian(0.55).Budget); b.degree != 100 || b.kappa < a.kappa {
			t.Errorf("more people, less trust: %+v, %+v", a, b)
		}
	}
	r := draw(1, 12, 4).product(settingFor(12, 4, gaussian(1.05).Budget), 2)
	if err := r.task.Validate(); err != nil {
		t.Error(err)
	}
}
