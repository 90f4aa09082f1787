package testnet

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"p2pnode/learner"
)

// Pair is the test error of one person's model beside that of her tuned lone
// model: RMSE, or error share.
type Pair struct {
	Person int // the same number in every seed
	Train  int // records she learns from
	Alone  float64
	With   float64
}

// gain is the share of the lone model's error that the other model saves:
// (Alone - With) / Alone. Where the lone model makes no error the share is not
// defined; a model that makes one then counts as -1, a model that makes none as 0.
func (p Pair) gain() float64 {
	switch {
	case p.With == p.Alone:
		return 0
	case p.Alone == 0:
		return -1
	}
	return (p.Alone - p.With) / p.Alone
}

// Summary is what a method gave to a group of people.
type Summary struct {
	Error   float64 // mean over people
	Better  float64 // share of people with a smaller error than alone
	Worse   float64 // share with a larger one; equal is neither
	GainP10 float64 // 10th percentile of the gain: one person in ten gains less
	Gain    float64 // median of the gain
}

// Summarise returns the summary of the pairs; of none it is all NaN.
func Summarise(pairs []Pair) Summary {
	gains := make([]float64, len(pairs))
	var s Summary
	for i, p := range pairs {
		gains[i] = p.gain()
		s.Error += p.With
		switch {
		case p.With < p.Alone:
			s.Better++
		case p.With > p.Alone:
			s.Worse++
		}
	}
	n := float64(len(pairs))
	s.Error /= n
	s.Better /= n
	s.Worse /= n
	slices.Sort(gains)
	s.GainP10 = quantile(gains, 0.1)
	s.Gain = quantile(gains, 0.5)
	return s
}

// quantile interpolates linearly between the order statistics: q = 0 is the
// smallest, q = 1 the largest. It is NaN for no values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Bootstrap estimates the mean of Alone - With over all pairs, so that positive
// means the lone model is worse. The interval is the percentile bootstrap
// (Efron 1979): people are drawn with replacement, each with her pairs of all
// seeds, because the pairs of one person are not independent. With n people it is too
// narrow by sqrt((n-1)/n), and has the normal distribution's tails where Student's t
// has wider ones; so it is stretched about the mean by what both make up for
// (Hesterberg 2015, section 3.2): 2.7 times for 3 people, 2 % for 100. Of one person there
// is no interval: its ends are NaN, and of nobody all is.
func Bootstrap(pairs []Pair, resamples int, seed uint64) learner.Interval {
	people, total := byPerson(pairs)
	none := math.NaN()
	switch len(people) {
	case 0:
		return learner.Interval{Mean: none, Low: none, High: none}
	case 1:
		return learner.Interval{Mean: total.mean(), Low: none, High: none}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	means := make([]float64, resamples)
	for k := range means {
		var drawn difference
		for range people {
			drawn = drawn.plus(people[r.IntN(len(people))])
		}
		means[k] = drawn.mean()
	}
	slices.Sort(means)
	mean, stretch := total.mean(), stretch(len(people))
	return learner.Interval{Mean: mean, Low: mean + stretch*(quantile(means, 0.025)-mean), High: mean + stretch*(quantile(means, 0.975)-mean)}
}

// stretch is what a bootstrap interval of so many people lacks.
func stretch(people int) float64 {
	n := float64(people)
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return math.Sqrt(n/(n-1)) * t / distuv.UnitNormal.Quantile(0.975)
}

// difference adds up Alone - With over a number of pairs.
type difference struct{ sum, pairs float64 }

func (d difference) plus(e difference) difference {
	return difference{d.sum + e.sum, d.pairs + e.pairs}
}

func (d difference) mean() float64 { return d.sum / d.pairs }

// byPerson adds up the pairs of each person, in order of first appearance.
func byPerson(pairs []Pair) (people []difference, total difference) {
	index := make(map[int]int)
	for _, p := range pairs {
		d := difference{p.Alone - p.With, 1}
		i, known := index[p.Person]
		if !known {
			i = len(people)
			index[p.Person] = i
			people = append(people, difference{})
		}
		people[i] = people[i].plus(d)
		total = total.plus(d)
	}
	return people, total
}

// Bin is a range of training-set sizes: From <= m < To.
type Bin struct{ From, To int }

// holds reports whether a training set of m records is in the bin.
func (b Bin) holds(m int) bool { return b.From <= m && m < b.To }

// Bins are the ranges of the table of gain by number of records.
func Bins() []Bin {
	return []Bin{{0, 32}, {32, 64}, {64, 128}, {128, 256}, {256, math.MaxInt}}
}

// In returns the pairs whose training set is in the bin.
func (b Bin) In(pairs []Pair) []Pair {
	return slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return !b.holds(p.Train) })
}
