package learner

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// randomCells is a row as text and the same row as numbers.
func randomCells(task *Task, rng *rand.Rand) (cells []string, raw []float64) {
	for _, f := range task.Features {
		v := 40 * rng.NormFloat64()
		switch {
		case f.Kind == "set":
			var names []string
			for _, name := range f.Values {
				v := float64(rng.IntN(2))
				if raw = append(raw, v); v == 1 {
					names = append(names, name)
				}
			}
			cells = append(cells, f.Name, strings.Join(names, "|"))
			continue
		case f.Kind == "range" && rng.IntN(4) == 0:
			cells, raw = append(cells, f.Name, ""), append(raw, math.NaN())
			continue
		case f.Kind == "range" && rng.IntN(4) == 0:
			v = f.Edges[rng.IntN(len(f.Edges))]
		case f.Kind == "range":
			v += f.Edges[0]
		}
		cells, raw = append(cells, f.Name, strconv.FormatFloat(v, 'g', -1, 64)), append(raw, v)
	}
	return cells, raw
}

// Numbers and the text that says them make the same record.
func TestEncodeVectorIsEncode(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	classes := []string{"low", "2", "very high"}
	for _, loss := range []string{"squared", "logistic", "hinge", "multinomial"} {
		for range 300 {
			task := encodeTask()
			task.Loss, task.Normalise = loss, rng.IntN(2) == 0
			if rng.IntN(2) == 0 {
				task.Constant = 0
			}
			label := float64(rng.IntN(2))
			text := strconv.FormatFloat(label, 'g', -1, 64)
			switch loss {
			case "squared":
				label = 10 * rng.NormFloat64()
				text = strconv.FormatFloat(label, 'g', -1, 64)
			case "multinomial":
				task.Target = Target{Name: "y", Classes: classes}
				label = float64(rng.IntN(3))
				text = classes[int(label)]
			}
			cells, raw := randomCells(task, rng)
			want, err := task.Encode(row(append(cells, "y", text)...))
			if err != nil {
				t.Fatal(cells, err)
			}
			kept := slices.Clone(raw)
			coded, err := task.EncodeVector(raw)
			x := coded.X
			if err != nil {
				t.Fatal(raw, err)
			}
			r, err := task.EncodeExample(raw, label)
			if err != nil || !reflect.DeepEqual(r, want) || !slices.Equal(x, want.X) || task.Admit(&want) != nil {
				t.Fatalf("%s %v: %v, %v (%v), want %v", loss, raw, x, r, err, want)
			}
			x[0] = 17 // the caller's memory is the caller's
			if !slices.EqualFunc(raw, kept, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
				t.Fatalf("%v became %v", kept, raw)
			}
		}
	}
}

func TestEncodeVectorNamesTheColumn(t *testing.T) {
	task := encodeTask() // size, tags (red, blue), year
	if task.VectorLength() != 4 {
		t.Fatalf("a vector of %d numbers, want 4", task.VectorLength())
	}
	nan, inf := math.NaN(), math.Inf(-1)
	for _, c := range []struct {
		raw  []float64
		says string
	}{
		{nil, "0 numbers, want 4"},
		{[]float64{1, 0, 0}, `the first is of column "size", the last of column "year"`},
		{[]float64{1, 0, 0, 1990, 0}, "5 numbers"},
		{[]float64{inf, 0, 0, 1990}, `column "size"`},
		{[]float64{0, 0.5, 0, 1990}, `column "tags": 0.5 for "red"`},
		{[]float64{0, 0, nan, 1990}, `column "tags": NaN for "blue"`},
		{[]float64{0, 0, 1, inf}, `column "year"`},
	} {
		if r, err := task.EncodeVector(c.raw); r.X != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, %v, want %s", c.raw, r.X, err, c.says)
		}
	}
}

func TestEncodeLabelRefuses(t *testing.T) {
	for loss, labels := range map[string][]float64{
		"squared":     {math.NaN(), math.Inf(1)},
		"logistic":    {math.NaN(), 2, 0.5, -0.5},
		"hinge":       {math.Inf(-1), 3},
		"multinomial": {math.NaN(), -1, 3, 1.5},
	} {
		task := plainTask(loss, 1)
		for _, y := range labels {
			if got, err := task.EncodeExample(make([]float64, task.VectorLength()), y); err == nil || !strings.Contains(err.Error(), "column ") {
				t.Errorf("%s: label %v is %v, %v", loss, y, got, err)
			}
		}
	}
}

func BenchmarkEncodeVector(b *testing.B) {
	task := plainTask("logistic", 561)
	raw := make([]float64, task.VectorLength())
	for i := range raw {
		raw[i] = math.Sin(float64(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := task.EncodeVector(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeExample(b *testing.B) {
	task := plainTask("logistic", 561)
	raw := make([]float64, task.VectorLength())
	for i := range raw {
		raw[i] = math.Sin(float64(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := task.EncodeExample(raw, 1); err != nil {
			b.Fatal(err)
		}
	}
}
