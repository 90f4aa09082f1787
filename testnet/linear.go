package testnet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"p2pnode/learner"
)

// Sizes of the synthetic problem.
const (
	linearTests = 100  // fresh records to measure a person on
	linearFlip  = 0.05 // share of labels that are flipped, in training and test
)

// LinearPerson is one person of the synthetic problem in numbers, before a task encodes
// the records.
type LinearPerson struct {
	Target  []float64   // the person's target model, without the coordinates that are 0
	X       [][]float64 // in [-1, 1]; the person's records in order of arrival, then fresh ones for the test
	Y       []float64   // +1 or -1, one for each X
	Records int         // how many of X are the person's records
}

// DrawLinear makes person i of a seed of the synthetic classification problem of
// Bellet et al. 2018, section 5.1, with p features, at least 2: m ~ U{10, ..., 100}
// training records (and as many more as the splits hold out), x ~ U[-1, 1]^p, label
// sign(w.x) with 5% of the labels flipped. The first two coordinates of the target
// model w are N(0, 1/2) and the others 0. The same arguments give the same person.
func DrawLinear(seed uint64, i, p int) LinearPerson {
	r := rand.New(rand.NewPCG(seed, uint64(i)))
	w := []float64{r.NormFloat64() * math.Sqrt(0.5), r.NormFloat64() * math.Sqrt(0.5)}
	train := 10 + r.IntN(91)
	d := LinearPerson{Target: w, Records: train + (train-1)/4} // every fifth of all is held out
	for range d.Records + linearTests {
		x, y := drawExample(w, p, r)
		d.X, d.Y = append(d.X, x), append(d.Y, y)
	}
	return d
}

// drawExample draws features, with six decimals, and the label.
func drawExample(w []float64, p int, r *rand.Rand) (x []float64, y float64) {
	x, y = make([]float64, p), -1
	var side float64
	for i := range x {
		x[i] = math.Round((2*r.Float64()-1)*1e6) / 1e6
		if i < len(w) {
			side += w[i] * x[i]
		}
	}
	if side > 0 {
		y = 1
	}
	if r.Float64() < linearFlip {
		y = -y
	}
	return x, y
}

// Linear makes the people of [DrawLinear] with the built-in task. The direction of a
// person's target model is the person's public profile: the paper assumes that the
// similarity graph is known.
func Linear(seed uint64, n int) (*Dataset, error) {
	return LinearFor(learner.Linear(), seed, n)
}

// LinearFor is [Linear] with as many features as the task has. All must be numbers.
func LinearFor(task *learner.Task, seed uint64, n int) (*Dataset, error) {
	if n < 2 {
		return nil, fmt.Errorf("testnet: %w: learning together needs two", errTooFew)
	}
	set := &Dataset{
		Name:    "the synthetic problem of Bellet et al. 2018, section 5.1",
		Task:    task,
		Columns: task.Columns(),
		People:  make([]Person, n),
	}
	for i := range set.People {
		drawn := DrawLinear(seed, i, len(task.Features))
		if err := set.fill(&set.People[i], drawn.Records, linearTests, drawn.rows()); err != nil {
			return nil, err
		}
		norm := math.Hypot(drawn.Target[0], drawn.Target[1])
		set.People[i].Profile = []float64{drawn.Target[0] / norm, drawn.Target[1] / norm}
		set.People[i].Name = fmt.Sprintf("%d of seed %d", i+1, seed)
	}
	return set, nil
}

// rows returns a function that returns the records as text, one after the other.
func (d *LinearPerson) rows() func() []string {
	k := 0
	return func() []string {
		row := make([]string, 0, len(d.X[k])+1)
		for _, v := range d.X[k] {
			row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
		}
		row = append(row, strconv.FormatFloat(d.Y[k], 'g', -1, 64))
		k++
		return row
	}
}

// fill draws a person's records, then the test records.
func (d *Dataset) fill(p *Person, records, tests int, draw func() []string) error {
	for range records + tests {
		row := draw()
		record, err := d.Task.Encode(func(column string) (string, bool) {
			for i, c := range d.Columns {
				if c == column {
					return row[i], true
				}
			}
			return "", false
		})
		if err != nil {
			return fmt.Errorf("testnet: synthetic record: %w", err)
		}
		record.Cells = "" // the rows keep the cells
		if len(p.Records) < records {
			p.Records = append(p.Records, record)
			p.rows = append(p.rows, row)
		} else {
			p.Test = append(p.Test, record)
		}
	}
	number(p.Records)
	return nil
}
