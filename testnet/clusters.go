package testnet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
)

// Sizes of the clustered problem.
const (
	clusterRecords = 200 // records of each person; every fifth is held out from training
	clusterTests   = 100 // fresh records to measure a person on
	// clusterSlope is the length of the groups' models. Labels come from the logistic
	// model, and 5% of them are not the likelier one.
	clusterSlope = 30
)

// Clusters makes n people in this many hidden groups: person i is in group i modulo
// groups, and all people of a group have the same model. The models of two groups are
// opposite. Those of more groups, at most one for each of the 10 features, are as far
// apart as possible, a regular simplex. The seed turns them at random. Each person has
// records records (0: 200), with x ~ U[-1, 1]^10 before the task scales it to norm 1,
// and labels of the logistic model, P(y = 1 | x) = 1 / (1 + exp(-30 w.x)) with |w| = 1,
// which flip 5% of them, most near the border. The same seed gives the same people.
func Clusters(seed uint64, n, groups, records int) (*Dataset, error) {
	task := learner.Clusters()
	if records == 0 {
		records = clusterRecords
	}
	switch {
	case groups < 2 || groups > task.Width():
		return nil, fmt.Errorf("testnet: %d groups: choose 2 to %d", groups, task.Width())
	case n < groups:
		return nil, fmt.Errorf("testnet: %w: %d groups need as many", errTooFew, groups)
	case records < minRecords:
		return nil, fmt.Errorf("testnet: %d records each: choose %d or more", records, minRecords)
	}
	set := &Dataset{
		Name:    fmt.Sprintf("people in %d hidden groups", groups),
		Task:    task,
		Columns: task.Columns(),
		People:  make([]Person, n),
	}
	models := spread(groups, task.Width(), rand.New(rand.NewPCG(seed, 1<<63)))
	for i := range set.People {
		p := &set.People[i]
		p.Name, p.Group = fmt.Sprintf("%d of seed %d", i+1, seed), i%groups
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		draw := func() []string { return set.clusterRow(models[p.Group], r) }
		if err := set.fill(p, records, clusterTests, draw); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// spread returns unit vectors that are as far apart as possible, turned at random: two
// opposite ones, or the corners of a regular simplex.
func spread(groups, width int, r *rand.Rand) [][]float64 {
	corners := make([][]float64, groups) // random axes minus their mean
	mean := make([]float64, width)
	for g := range corners {
		corners[g] = axis(corners[:g], width, r)
		floats.AddScaled(mean, 1/float64(groups), corners[g])
	}
	for _, c := range corners {
		floats.Sub(c, mean)
		floats.Scale(1/floats.Norm(c, 2), c)
	}
	return corners
}

// axis draws a unit vector at right angles to the others.
func axis(others [][]float64, width int, r *rand.Rand) []float64 {
	v := make([]float64, width)
	for k := range v {
		v[k] = r.NormFloat64()
	}
	for _, o := range others {
		floats.AddScaled(v, -floats.Dot(v, o), o)
	}
	floats.Scale(1/floats.Norm(v, 2), v)
	return v
}

// clusterRow draws one row: the features, then the label of the features as
// written.
func (d *Dataset) clusterRow(w []float64, r *rand.Rand) []string {
	row := make([]string, len(d.Columns))
	var product, square float64
	for i := range w {
		x := math.Round((2*r.Float64()-1)*1e6) / 1e6
		product += w[i] * x
		square += x * x
		row[i] = strconv.FormatFloat(x, 'g', -1, 64)
	}
	row[len(w)] = "-1"
	if r.Float64() < 1/(1+math.Exp(-clusterSlope*product/math.Sqrt(square))) {
		row[len(w)] = "1"
	}
	return row
}
