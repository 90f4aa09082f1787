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
	linearFlip  = 0.05 // share of labels turned round, in training and test
)

// Linear makes n people of the synthetic classification problem of Bellet et
// al. 2018, section 5.1: m ~ U{10, ..., 100} training records each (and as many
// more as the splits hold out), x ~ U[-1, 1]^p before the task scales it, label
// sign(w.x) with 5% of the labels flipped. Of a person's target model w the
// first two coordinates are N(0, 1/2) and the others 0; the direction of those
// two is her public profile: the paper assumes the similarity graph known.
// The same seed gives the same people.
func Linear(seed uint64, n int) (*Dataset, error) {
	if n < 2 {
		return nil, fmt.Errorf("testnet: %w: learning together needs two", ErrTooFew)
	}
	task := learner.Linear()
	set := &Dataset{
		Name:    "the synthetic problem of Bellet et al. 2018, section 5.1",
		Task:    task,
		Columns: columns(task),
		People:  make([]Person, n),
	}
	for i := range set.People {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		if err := set.synthesise(&set.People[i], r); err != nil {
			return nil, err
		}
		set.People[i].Name = fmt.Sprintf("%d of seed %d", i+1, seed)
	}
	return set, nil
}

func (d *Dataset) synthesise(p *Person, r *rand.Rand) error {
	w := []float64{r.NormFloat64() * math.Sqrt(0.5), r.NormFloat64() * math.Sqrt(0.5)}
	norm := math.Hypot(w[0], w[1])
	p.Profile = []float64{w[0] / norm, w[1] / norm}

	train := 10 + r.IntN(91)
	all := train + (train-1)/4 // every fifth of all is held out
	return d.fill(p, all, linearTests, func() []string { return d.example(w, r) })
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

// example draws one row: the features, then the label. The label is that of
// the numbers as written.
func (d *Dataset) example(w []float64, r *rand.Rand) []string {
	row := make([]string, len(d.Columns))
	var side float64
	label := len(row) - 1
	for i := range label {
		x := math.Round((2*r.Float64()-1)*1e6) / 1e6
		if i < len(w) {
			side += w[i] * x
		}
		row[i] = strconv.FormatFloat(x, 'g', -1, 64)
	}
	positive := side > 0
	if r.Float64() < linearFlip {
		positive = !positive
	}
	row[label] = "-1"
	if positive {
		row[label] = "1"
	}
	return row
}
