package learner

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ring joins n agents in a ring with chords.
func ring(n int) [][]float64 {
	w := make([][]float64, n)
	for i := range w {
		w[i] = make([]float64, n)
	}
	for i := range w {
		j, k := (i+1)%n, (i+2)%n
		w[i][j], w[j][i] = 1, 1
		w[i][k], w[k][i] = 0.3, 0.3
	}
	return w
}

// The slow twin for the squared loss: grad Q = 0 is one linear system in all
// models at once.
func TestMinimiseQSolvesTheLinearSystem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n, p = 7, 3
	task := plainTask("squared", p)
	weights := ring(n)
	records := make([][]Record, n)
	for i := range records {
		records[i] = draw(r, task, normals(r, p), 1+r.IntN(80), 0.5)
	}
	a, b := mat.NewDense(n*p, n*p, nil), mat.NewVecDense(n*p, nil)
	for i := range n {
		m, degree := len(records[i]), floats.Sum(weights[i])
		pull := task.Mu * degree * task.confidence(m)
		for k := range p {
			row := i*p + k
			a.Set(row, row, degree+2*pull*task.regularisation(m))
			for j, w := range weights[i] {
				if w != 0 {
					a.Set(row, j*p+k, -w)
				}
			}
			for _, rec := range records[i] {
				b.SetVec(row, b.AtVec(row)+2*pull/float64(m)*rec.X[k]*rec.Y)
				for l := range p {
					a.Set(row, i*p+l, a.At(row, i*p+l)+2*pull/float64(m)*rec.X[k]*rec.X[l])
				}
			}
		}
	}
	var want mat.VecDense
	if err := want.SolveVec(a, b); err != nil {
		t.Fatal(err)
	}
	models, err := MinimiseQ(task, records, weights)
	if err != nil {
		t.Fatal(err)
	}
	for i := range models {
		wantClose(t, "model", models[i], want.RawVector().Data[i*p:(i+1)*p], 1e-12)
	}
}

// Without a closed form: the gradient vanishes, and no nearby point is lower.
func TestMinimiseQFindsTheMinimum(t *testing.T) {
	for _, loss := range lossNames {
		t.Run(loss, func(t *testing.T) { testMinimiseQ(t, loss) })
	}
}

func testMinimiseQ(t *testing.T, loss string) {
	r := rand.New(rand.NewPCG(2, 2))
	const n = 9
	task := plainTask(loss, 4)
	p, weights := task.Dimension(), ring(n)
	records := make([][]Record, n)
	for i := range records {
		records[i] = draw(r, task, normals(r, p), 1+r.IntN(80), 0.5)
	}
	models, err := MinimiseQ(task, records, weights)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := newJoint(task, records, weights)
	gradient, flatModels := make([]float64, n*p), make([]float64, 0, n*p)
	for _, m := range models {
		flatModels = append(flatModels, m...)
	}
	q.gradient(gradient, flatModels)
	if norm := floats.Norm(gradient, 2); norm > 1e-12 {
		t.Errorf("the gradient at the minimum has norm %g", norm)
	}
	best := q.value(flatModels)
	for range 30 {
		nearby := normals(r, n*p)
		floats.Scale(1e-3, nearby)
		floats.Add(nearby, flatModels)
		if q.value(nearby) < best {
			t.Error("a nearby point is lower")
		}
	}
}

// Eq. 3, as the derivative of eq. 2: central differences, step 1e-5.
func TestEquation3IsTheGradientOfQ(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, loss := range lossNames {
		task := plainTask(loss, 2)
		p := task.Dimension()
		records := [][]Record{draw(r, task, normals(r, p), 5, 1), draw(r, task, normals(r, p), 9, 1), draw(r, task, normals(r, p), 2, 1)}
		q, err := newJoint(task, records, ring(3))
		if err != nil {
			t.Fatal(err)
		}
		at, gradient, curved, v := normals(r, 3*p), make([]float64, 3*p), make([]float64, 3*p), normals(r, 3*p)
		q.gradient(gradient, at)
		q.curve(curved, at, v)
		const h = 1e-5
		ahead, behind := make([]float64, 3*p), make([]float64, 3*p)
		for k := range at {
			up, down := append([]float64(nil), at...), append([]float64(nil), at...)
			up[k] += h
			down[k] -= h
			if d := (q.value(up) - q.value(down)) / (2 * h); !floats.EqualApprox([]float64{d}, gradient[k:k+1], 1e-7) {
				t.Errorf("%s: gradient[%d] = %v, difference quotient %v", loss, k, gradient[k], d)
			}
		}
		floats.AddScaledTo(ahead, at, h, v)
		floats.AddScaledTo(behind, at, -h, v)
		up, down := make([]float64, 3*p), make([]float64, 3*p)
		q.gradient(up, ahead)
		q.gradient(down, behind)
		floats.Sub(up, down)
		floats.Scale(1/(2*h), up)
		wantClose(t, loss+": Hessian times v", curved, up, 1e-7)
	}
}

func TestQRefusesWhatHasNoMinimum(t *testing.T) {
	task := plainTask("squared", 1)
	some := []Record{{Seq: 1, X: []float64{1}, Y: 1}}
	heldOut := []Record{{Seq: 5, X: []float64{1}, Y: 1}}
	joined := [][]float64{{0, 1}, {1, 0}}
	for name, c := range map[string]struct {
		records [][]Record
		weights [][]float64
	}{
		"no training record": {[][]Record{some, heldOut}, joined},
		"no neighbour":       {[][]Record{some, some}, [][]float64{{0, 0}, {0, 0}}},
		"not square":         {[][]Record{some, some}, [][]float64{{0, 1}, {1}}},
		"too few agents":     {[][]Record{some}, joined},
		"one way only":       {[][]Record{some, some}, [][]float64{{0, 1}, {2, 0}}},
		"itself":             {[][]Record{some, some}, [][]float64{{1, 1}, {1, 0}}},
		"negative":           {[][]Record{some, some, some}, [][]float64{{0, -1, 2}, {-1, 0, 2}, {2, 2, 0}}},
		"infinite":           {[][]Record{some, some}, [][]float64{{0, math.Inf(1)}, {math.Inf(1), 0}}},
		"no label":           {[][]Record{some, {{Seq: 1, X: []float64{1}, Y: math.NaN()}}}, joined},
		"a coordinate more":  {[][]Record{some, {{Seq: 1, X: []float64{1, 0}, Y: 1}}}, joined},
		"no coordinate":      {[][]Record{some, {{Seq: 1, Y: 1}}}, joined},
	} {
		if _, err := MinimiseQ(task, c.records, c.weights); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Q(task, [][]Record{some, some}, joined, [][]float64{{1}}); err == nil {
		t.Error("a model too few: no error")
	}
	if _, err := Q(task, [][]Record{some, some}, joined, [][]float64{{1}, {1, 2}}); err == nil {
		t.Error("a model too long: no error")
	}
}
