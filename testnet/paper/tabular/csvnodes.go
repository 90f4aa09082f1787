package tabular

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"p2pnode/learner"
	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
)

// mostNodes is the largest number of nodes in the table of nodes.
const mostNodes = 500

// gains are the nodes' gains in a shuffle, each with the interval that its records
// allow.
func (e *csvRun) gains(cells []paper.Numbers) []*learner.Interval {
	with, alone := e.byNode(cells, "with"), e.byNode(cells, "alone")
	list := make([]*learner.Interval, len(with))
	for i := range list {
		m := e.coding.measure()
		list[i] = learner.ScoreOf(m, with[i]).Gain(learner.ScoreOf(m, alone[i]))
	}
	return list
}

// byNode are the losses of a model on each node's records.
func (e *csvRun) byNode(cells []paper.Numbers, model string) [][]float64 {
	nodes := make([][]float64, len(e.owners.list))
	for _, n := range cells {
		rest := n[model+losses]
		for i, tests := range n["tests"] {
			nodes[i] = append(nodes[i], rest[:int(tests)]...)
			rest = rest[int(tests):]
		}
	}
	return nodes
}

// nodeTable has a line for each node, from the largest gain to the smallest.
func (e *csvRun) nodeTable(together, private way, gains []float64) page.Table {
	order := make([]int, len(gains))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(gains[b], gains[a]) })
	t := page.Table{
		Caption: "Each node's " + e.loss() + ", the largest gain within the budget first",
		Head:    []string{e.node, "records", "constant", "alone", "together", "within the budget", "gain", "95%", "surely"},
	}
	if len(order) > mostNodes {
		t.Caption += fmt.Sprintf(": the first and last %d of %d", mostNodes/2, len(order))
		order = slices.Concat(order[:mostNodes/2], order[len(order)-mostNodes/2:])
	}
	mean := func(w [][]float64, i int) float64 {
		var sum float64
		for k := range w {
			sum += w[k][i]
		}
		return sum / float64(len(w))
	}
	decimals := 4 // so that the mean has four digits
	if size := meanOf(together.alone); size > 0 {
		decimals = max(3-int(math.Floor(math.Log10(size))), 0)
	}
	for _, i := range order {
		o := e.owners.list[i]
		between, surely := "", learner.CannotTell
		if v := private.gains[i]; v != nil {
			between, surely = fmt.Sprintf("%+.*f to %+.*f", decimals, v.Low, decimals, v.High), v.Word()
		}
		t.Rows = append(t.Rows, page.Line{Cells: []string{
			o.name, fmt.Sprint(len(o.records)), fmt.Sprintf("%.*f", decimals, mean(together.base.errors, i)), fmt.Sprintf("%.*f", decimals, mean(together.alone.errors, i)),
			fmt.Sprintf("%.*f", decimals, mean(together.with.errors, i)), fmt.Sprintf("%.*f", decimals, mean(private.with.errors, i)), fmt.Sprintf("%+.*f", decimals, gains[i]),
			between, surely,
		}})
	}
	return t
}
