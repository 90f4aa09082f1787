package mobile

import (
	"fmt"
	"testing"
)

// openWide is a node with m examples of p features that its model knows.
func openWide(b *testing.B, p, m int) *Node {
	c := testConfig(b)
	c.Task, c.QueueLimit, c.MaxExamples = wideTask(p), 1<<20, 1<<20
	n := open(b, c, nil)
	var rows []float64
	for k := range m {
		x, class := wideExample(p, uint64(k))
		rows = append(append(rows, x...), class)
	}
	check(b, n.AddExamples(encodeVector(rows)))
	_, err := n.ExportModel()
	check(b, err, n.models.glance())
	return n
}

func BenchmarkApp(b *testing.B) {
	for _, p := range []int{32, 561} {
		n := openWide(b, p, 200)
		x, class := wideExample(p, 1)
		features, row := encodeVector(x), encodeVector(append(x, class))
		for _, method := range []struct {
			name string
			call func() error
		}{
			{"Predict", func() error { _, err := n.Predict(features); return err }},
			{"StatusJSON", func() error { _, err := n.StatusJSON(); return err }},
			{"AddExamples", func() error { return n.AddExamples(row) }},
			{"Train", func() error { // one more example, and a model that knows it
				if err := n.AddExamples(row); err != nil {
					return err
				}
				_, err := n.Train(600_000)
				return err
			}},
			{"AddExample", func() error { return n.AddExample(features, class) }},
		} {
			b.Run(fmt.Sprintf("%s/p=%d", method.name, p), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := method.call(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
