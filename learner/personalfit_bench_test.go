package learner

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// sensors is a task like those of phones, and records of it: p features of which a
// few hidden causes say most, and labels that follow from a linear model with
// noise; six classes for the multinomial loss. truth is the model.
func sensors(r *rand.Rand, loss string, p, m int) (t *Task, records []Record, truth []float64) {
	t = plainTask(loss, 0)
	for k := range p {
		t.Features = append(t.Features, Feature{Name: fmt.Sprint("x", k), Kind: "number", Min: -1, Max: 1})
	}
	if loss == "multinomial" {
		t.Target.Classes = []string{"a", "b", "c", "d", "e", "f"}
	}
	truth = normals(r, t.Dimension())
	floats.Scale(4, truth)
	mixing := make([][]float64, 20)
	for h := range mixing {
		mixing[h] = normals(r, p)
	}
	for i := range m {
		x := normals(r, p)
		floats.Scale(0.5, x)
		for h := range mixing {
			floats.AddScaled(x, r.NormFloat64()/float64(1+h), mixing[h])
		}
		scaleToUnit(x, true)
		records = append(records, labelled(r, t, truth, Seq(5*i+1), x, 1))
	}
	return t, records, truth
}

func BenchmarkPersonalFit(b *testing.B) {
	for _, loss := range []string{"squared", "logistic", "multinomial"} {
		for _, p := range []int{32, 561} {
			for _, m := range []int{50, 200, 1000} {
				b.Run(fmt.Sprintf("%s/p=%d/m=%d", loss, p, m), func(b *testing.B) {
					task, records, truth := sensors(rand.New(rand.NewPCG(7, 1)), loss, p, m)
					b.ReportAllocs()
					for b.Loop() {
						FitPersonal(task, records, truth)
					}
				})
			}
		}
	}
}

// A device with many records: what a fit takes of time and memory beside them.
func BenchmarkFitManyRecords(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 43))
	task := plainTask("squared", 10)
	truth := normals(r, task.Dimension())
	train := RowsOf(trainingRecords(draw(r, task, truth, 100_000, 0.5)))
	b.ReportAllocs()
	for b.Loop() {
		for range PersonalModels(task, train, truth, Noise{}) {
		}
	}
}
