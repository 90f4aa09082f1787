package population

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Votes is the recipe "items": what the population thinks of each of many things, the
// keys. A record with a key adds its label, clipped to Bound, to the key's sum and
// Bound to its count. The label may only have a public constant subtracted, and the
// caller must not merge or drop a record because of another one: otherwise one record
// would move the sum by more.
type Votes struct {
	Bound float64 // B, bound on a vote, in the units of the target, > 0
	// Spread is the variance of what people think of a key around what they think of
	// other keys with the same features. Noise is the variance of one vote around what
	// people think of its key.
	Spread, Noise float64
	Most          float64 // bound on the size of an offset
}

// Add adds a record's vote to the vector of a device. The vector has two coordinates
// for each key: first the sums of all keys, then their counts. label must be a number.
func (v Votes) Add(dst []float64, key int, label float64) {
	dst[key] += min(max(label, -v.Bound), v.Bound)
	dst[len(dst)/2+key] += v.Bound
}

// Items is what an opened sum says about each key. Several goroutines may read it.
type Items struct {
	votes  Votes
	sd     float64
	sum    []float64
	public *mat.Dense // one row for each key: its features and a 1
	counts *counts
	beta   []float64 // weights of the features, of 1, of the popularity and of its square
}

// Learn reads the opened sum of the vectors of so many people. public has one row of
// public features for each key, all of the same length; it is nil, or its rows are
// empty, if there are none. The caller must not change it afterwards.
func (v Votes) Learn(sum []float64, sd float64, people int, public [][]float64) (*Items, error) {
	keys := len(sum) / 2
	if keys == 0 || len(sum)%2 != 0 || public != nil && len(public) != keys {
		return nil, fmt.Errorf("population: a sum of votes with %d coordinates for %d keys: want two for each key", len(sum), len(public))
	}
	i := &Items{votes: v, sd: sd, sum: sum, public: withOne(public, keys)}
	noisy := make([]float64, keys)
	floats.ScaleTo(noisy, 1/v.Bound, sum[keys:])
	i.counts = newCounts(noisy, sd/v.Bound, people)
	return i, i.regress()
}

// withOne returns the public features, each row followed by a 1.
func withOne(public [][]float64, keys int) *mat.Dense {
	width := 0
	if public != nil {
		width = len(public[0])
	}
	x := mat.NewDense(keys, width+1, nil)
	for k := range keys {
		row := x.RawRowView(k)
		if public != nil {
			copy(row, public[k])
		}
		row[width] = 1
	}
	return x
}

// Keys is the number of keys.
func (i *Items) Keys() int { return len(i.sum) / 2 }

// Ridges of the regression: on the public features, and on what every key has.
const (
	featureRidge  = 5
	constantRidge = 0.01
)

// regress fits the mean vote of a key to its features and popularity: the sum of a key
// with n votes has mean n m and variance n^2 Spread + n Noise + sd^2.
func (i *Items) regress() error {
	_, width := i.public.Dims()
	p := width + 2
	normal, right := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
	for j := range p {
		ridge := float64(featureRidge)
		if j >= width-1 {
			ridge = constantRidge
		}
		normal.SetSym(j, j, ridge)
	}
	z := mat.NewVecDense(p, nil)
	for k := range i.Keys() {
		n, square := i.count(i.sum, k)
		i.describe(z.RawVector().Data, k, popularity(n))
		weight := 1 / (i.variance(n, square) + 1e-6)
		normal.SymRankOne(normal, weight*n*n, z)
		right.AddScaledVec(right, weight*n*i.sum[k], z)
	}
	var factor mat.Cholesky
	beta := mat.NewVecDense(p, nil)
	if !factor.Factorize(normal) || factor.SolveVecTo(beta, right) != nil {
		return errors.New("population: the sum of votes has numbers beyond float64")
	}
	i.beta = beta.RawVector().Data
	return nil
}

func (i *Items) describe(z []float64, key int, popularity float64) {
	row := i.public.RawRowView(key)
	copy(z, row)
	z[len(row)], z[len(row)+1] = popularity, popularity*popularity
}

// count returns the posterior mean of the number of a key's votes, and of its square.
func (i *Items) count(sum []float64, key int) (mean, square float64) {
	return i.counts.of(sum[len(sum)/2+key] / i.votes.Bound)
}

func (i *Items) variance(n, square float64) float64 {
	return square*i.votes.Spread + n*i.votes.Noise + i.sd*i.sd
}

// popularity is the logarithm of a count, about as large as an offset.
func popularity(n float64) float64 { return (math.Log1p(n) - 2) / 2 }

// Of returns what the population thinks of a key, as an offset from the constant that
// was subtracted from votes, and the logarithm of how popular the key is.
func (i *Items) Of(key int) (offset, popular float64) {
	return i.of(i.sum[key], i.sum[len(i.sum)/2+key], key)
}

// Without is Of with a device's own vector subtracted from the sum exactly as it was
// added. It is for the records from which the vector was made: a fit that found its own
// votes there would count them twice. The prior and the regression, which are of all
// keys, stay.
func (i *Items) Without(own []float64, key int) (offset, popular float64) {
	keys := i.Keys()
	return i.of(i.sum[key]-own[key], i.sum[keys+key]-own[keys+key], key)
}

func (i *Items) of(sum, count float64, key int) (offset, popular float64) {
	n, square := i.counts.of(count / i.votes.Bound)
	popular = popularity(n)
	z := make([]float64, len(i.beta))
	i.describe(z, key, popular)
	mean := floats.Dot(z, i.beta)
	offset = mean + n*i.votes.Spread*(sum-n*mean)/(i.variance(n, square)+1e-9)
	return min(max(offset, -i.votes.Most), i.votes.Most), popular
}
