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
		x, class := wideExample(p, 1)
		features, row := encodeVector(x), encodeVector(append(x, class))
		for _, method := range []struct {
			name string
			call func(*Node) error
		}{
			{"Predict", func(n *Node) error { _, err := n.Predict(features); return err }},
			{"StatusJSON", func(n *Node) error { _, err := n.StatusJSON(); return err }},
			{"AddExamples", func(n *Node) error { return n.AddExamples(row) }},
			{"Train", func(n *Node) error { // one more example, and a model that knows it
				if err := n.AddExamples(row); err != nil {
					return err
				}
				_, err := n.Train(600_000)
				return err
			}},
			{"AddExample", func(n *Node) error { return n.AddExample(features, class) }},
		} {
			b.Run(fmt.Sprintf("%s/p=%d", method.name, p), func(b *testing.B) {
				n := openWide(b, p, 200) // of its own: others leave more examples
				b.ReportAllocs()
				for b.Loop() {
					if err := method.call(n); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
