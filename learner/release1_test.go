package learner

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// release1Task has ranges that today's coder scales.
func release1Task() *Task {
	t := encodeTask()
	t.Features = append(t.Features, Feature{Name: "outside", Kind: "number", Min: -20, Max: 40})
	return t
}

// release1Row is a row as somebody writes it: numbers with few digits.
func release1Row(t *Task, rng *rand.Rand) (raw []float64) {
	for _, f := range t.Features {
		v := math.Round(rng.NormFloat64()*20*100) / 100
		switch {
		case f.Kind == "set":
			for range f.Values {
				raw = append(raw, float64(rng.IntN(2)))
			}
			continue
		case f.Kind == "range" && rng.IntN(3) == 0:
			v = math.NaN()
		case f.Kind == "range":
			v += f.Edges[0]
		}
		raw = append(raw, v)
	}
	return raw
}

// A record of the first release becomes, bit for bit, what the coder makes of its row
// today, or is refused; and it is never refused where a set or a range says how it was
// scaled, or where it was not scaled.
func TestFromRelease1(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	taken, refused := 0, 0
	for range 5000 {
		task := release1Task()
		task.Normalise = rng.IntN(2) == 0
		if rng.IntN(2) == 0 {
			task.Constant = 0
		}
		raw := release1Row(task, rng)
		old := task.release1(raw)
		scaled := math.Abs(normOf(old)-1) < 1e-9 || task.Normalise && normOf(old) > 0
		says := slices.ContainsFunc(old[1:6], func(v float64) bool { return v != 0 }) // the set and the range
		if task.Constant > 0 {
			old = append(old, task.Constant)
		}
		coded, err := task.EncodeVector(raw)
		want := coded.X
		if err != nil {
			t.Fatal(err)
		}
		got, err := task.FromRelease1(old)
		switch {
		case scaled && !says:
			refused++
			if !errors.Is(err, errRelease1) {
				t.Fatalf("%v: %v, %v; want it refused", raw, got, err)
			}
		default:
			taken++
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%v: %v, %v; want %v", raw, got, err, want)
			}
		}
	}
	if taken < 2000 || refused < 100 {
		t.Errorf("%d taken over, %d refused: the test says little", taken, refused)
	}
}

// Of a row of any width the first release took the norm in one go, and its numbers come back
// to the bit all the same.
func TestFromRelease1OfAWideRow(t *testing.T) {
	rng, task := rand.New(rand.NewPCG(13, 3)), encodeTask()
	task.Features, task.Normalise = []Feature{{Name: "said", Kind: "set", Values: []string{"yes"}}}, false
	for i := range 3 * normBlock {
		task.Features = append(task.Features, Feature{Name: fmt.Sprint("n", i), Kind: "number", Min: -20, Max: 40})
	}
	for range 20 {
		raw, norm := []float64{1}, 1.
		for range 3 * normBlock {
			v := math.Round(rng.Float64()*4000) / 100
			raw, norm = append(raw, v), math.Hypot(norm, v)
		}
		var old []float64
		for _, v := range raw {
			old = append(old, v/norm)
		}
		got, err := task.FromRelease1(append(old, task.Constant))
		if want := must(task.EncodeVector(raw)).X; err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: %v, %v; want %v", raw, got, err, want)
		}
	}
}

func normOf(x []float64) float64 {
	var square float64
	for _, v := range x {
		square += v * v
	}
	return math.Sqrt(square)
}

// Numbers of full precision come back to within rounding.
func TestFromRelease1IsCloseForLongNumbers(t *testing.T) {
	rng, task := rand.New(rand.NewPCG(13, 2)), release1Task()
	for range 1000 {
		raw := []float64{1 + 4*rng.Float64(), 1, 0, 1995, 60*rng.Float64() - 20}
		got, err := task.FromRelease1(append(task.release1(raw), task.Constant))
		coded, wantErr := task.EncodeVector(raw)
		want := coded.X
		if err != nil || wantErr != nil {
			t.Fatal(err, wantErr)
		}
		wantClose(t, fmt.Sprint(raw), got, want, 1e-14)
	}
}

// Tasks whose records the first release coded as today.
func TestSameAsRelease1(t *testing.T) {
	small := encodeTask()
	small.Features = []Feature{{Name: "a", Kind: "number", Max: 1}, {Name: "b", Kind: "number", Min: -1, Max: 1}}
	for i, c := range []struct {
		task *Task
		want bool
	}{
		{Movies(), true}, {Linear(), true}, {Clusters(), true}, {small, true}, {encodeTask(), false},
		{&Task{Features: []Feature{{Kind: "set"}, {Kind: "range"}}}, false}, // today scaled by sqrt(2)
		{&Task{Features: []Feature{{Kind: "number", Min: 0, Max: 2}}, Normalise: true}, false},
	} {
		if got := c.task.SameAsRelease1(); got != c.want {
			t.Errorf("task %d: %v", i, got)
		}
	}
	x := []float64{0.1, 0.2, 0.5}
	if got, err := small.FromRelease1(x); err != nil || !slices.Equal(got, x) {
		t.Errorf("%v became %v, %v", x, got, err)
	}
	if _, err := small.FromRelease1(x[:2]); err == nil {
		t.Error("a record of the wrong length was taken")
	}
}
