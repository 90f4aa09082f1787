package tabular

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// stream is SplitMix64 (Steele, Lea, Flood 2014) from the hash of its name. All of
// this file is as in testdata/independent/madeup.py, where the constants are explained.
type stream struct{ state uint64 }

func streamOf(format string, args ...any) *stream {
	h := fnv.New64a()
	fmt.Fprintf(h, format, args...)
	return &stream{h.Sum64()}
}

func (s *stream) uniform() float64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return float64(z>>11) * 0x1p-53
}

func (s *stream) normal() float64 {
	u, v := s.uniform(), s.uniform()
	return math.Sqrt(-2*math.Log1p(-u)) * math.Cos(2*math.Pi*v)
}

func (s *stream) normals(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = s.normal()
	}
	return v
}

const (
	madeUpFactors  = 20
	madeUpOwnNoise = .3
	madeUpSpread   = 1. / 3
	madeUpOffset   = .5
	madeUpNumber   = .5
	madeUpNoise    = .5
	madeUpFewest   = 3
)

// population is people of one kind; see madeup.py.
type population struct {
	name        string
	target      string // "number", "two" or "six"
	p           int
	shared, own float64
	common      [][]float64 // one row a score
	loadings    [][]float64 // one row a column of the records; nil: these are independent
	columnNoise float64
	mean        []float64
}

func madeUp(people, target string, p int) *population {
	pop := &population{name: fmt.Sprintf("%s %s %d", people, target, p), target: target, p: p, mean: make([]float64, p)}
	switch people {
	case "alike":
		pop.shared, pop.own = 1, .3
	case "unlike":
		pop.shared, pop.own = 1, 1
	case "independent":
		pop.own = 1
	}
	pop.common = pop.normals("common")
	if people != "alike" {
		pop.correlate()
	}
	if people == "independent" {
		s := streamOf("%s means", pop.name)
		for k := range pop.mean {
			pop.mean[k] = madeUpOffset * (2*s.uniform() - 1)
		}
	}
	return pop
}

// correlate lets the columns share factors.
func (pop *population) correlate() {
	strength := make([]float64, min(pop.p, madeUpFactors))
	for f := range strength {
		strength[f] = 1 / float64(f+1)
	}
	unit := madeUpSpread / math.Sqrt(floats.Dot(strength, strength)+madeUpOwnNoise*madeUpOwnNoise)
	floats.Scale(unit, strength)
	s := streamOf("%s loadings", pop.name)
	for range pop.p {
		row := s.normals(len(strength))
		floats.Mul(row, strength)
		pop.loadings = append(pop.loadings, row)
	}
	pop.columnNoise = madeUpOwnNoise * unit
}

// normals is a row for each score.
func (pop *population) normals(format string, args ...any) [][]float64 {
	s, scores := streamOf(pop.name+" "+format, args...), 1
	if pop.target == "six" {
		scores = 6
	}
	rows := make([][]float64, scores)
	for k := range rows {
		rows[k] = s.normals(pop.p)
	}
	return rows
}

// model is the true one of person i, a row for each score.
func (pop *population) model(i int) [][]float64 {
	theta := pop.normals("person %d", i)
	for k, row := range theta {
		floats.Scale(pop.own, row)
		floats.AddScaled(row, pop.shared, pop.common[k])
		floats.Scale(1/math.Sqrt(pop.variance(row)), row)
	}
	return theta
}

// variance is that of a score, but for what is beyond [-1, 1].
func (pop *population) variance(theta []float64) float64 {
	if pop.loadings == nil {
		return floats.Dot(theta, theta) / 3
	}
	along := make([]float64, len(pop.loadings[0]))
	for k, row := range pop.loadings {
		floats.AddScaled(along, theta[k], row)
	}
	return floats.Dot(along, along) + pop.columnNoise*pop.columnNoise*floats.Dot(theta, theta)
}

// madeUpRecord is columns in [-1, 1], and a number or a class from 0.
type madeUpRecord struct {
	x []float64
	y float64
}

func (pop *population) record(s *stream, theta [][]float64) madeUpRecord {
	r := madeUpRecord{x: pop.columns(s)}
	centred := floats.SubTo(make([]float64, pop.p), r.x, pop.mean)
	z := make([]float64, len(theta))
	for k, row := range theta {
		z[k] = floats.Dot(centred, row) + madeUpNoise*s.normal()
	}
	switch pop.target {
	case "number":
		r.y = madeUpNumber + z[0]
	case "two":
		if z[0] > 0 {
			r.y = 1
		}
	default:
		r.y = float64(floats.MaxIdx(z))
	}
	return r
}

func (pop *population) columns(s *stream) []float64 {
	x := make([]float64, pop.p)
	if pop.loadings == nil {
		for k := range x {
			x[k] = 2*s.uniform() - 1
		}
		return x
	}
	factors := s.normals(len(pop.loadings[0]))
	for k, row := range pop.loadings {
		x[k] = min(max(pop.mean[k]+floats.Dot(row, factors)+pop.columnNoise*s.normal(), -1), 1)
	}
	return x
}

func (pop *population) records(s *stream, theta [][]float64, n int) []madeUpRecord {
	list := make([]madeUpRecord, n)
	for i := range list {
		list[i] = pop.record(s, theta)
	}
	return list
}

// training is m records of person i, drawn again until every class is there often
// enough.
func (pop *population) training(i int, theta [][]float64, m int) []madeUpRecord {
	for attempt := 1; ; attempt++ {
		list := pop.records(streamOf("%s person %d training %d %d", pop.name, i, m, attempt), theta, m)
		if pop.target == "number" || slices.Min(pop.counts(list)) >= madeUpFewest {
			return list
		}
	}
}

func (pop *population) counts(list []madeUpRecord) []int {
	n := make([]int, len(pop.classes()))
	for _, r := range list {
		n[int(r.y)]++
	}
	return n
}

func (pop *population) classes() []string {
	switch pop.target {
	case "two":
		return []string{"0", "1"}
	case "six":
		return []string{"0", "1", "2", "3", "4", "5"}
	}
	return nil
}

func (pop *population) test(i int, theta [][]float64, n int) []madeUpRecord {
	return pop.records(streamOf("%s person %d test", pop.name, i), theta, n)
}
