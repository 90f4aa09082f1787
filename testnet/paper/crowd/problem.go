package crowd

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/testnet/sim"
)

// Sizes of the problem.
const (
	features   = 50
	records    = 10 // of each person, all for training
	neighbours = 10
	tests      = 100 // fresh records to measure a person on
	turned     = 0.05
	// alike is the standard deviation of the angle between the target models of two
	// neighbours.
	alike = 0.1
)

// problem is the classification problem of Bellet et al. 2018, section 5.1, for so many
// people. All of a person follows from the seed and the person's number.
type problem struct {
	seed   uint64
	people int
}

// random is a source of person i.
func (d problem) random(i int, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(d.seed, purpose<<32+uint64(i)))
}

// Purposes of random numbers.
const (
	ofTarget = 1 + iota
	ofRecords
	ofTests
)

// angle is that of person i's target model: its first two coordinates are the cosine and
// the sine, the others 0.
func (d problem) angle(i int) float64 { return 2 * math.Pi * d.random(i, ofTarget).Float64() }

// draw draws features in [-1, 1] and the label for the target model of an angle.
func draw(r *rand.Rand, x []float64, cos, sin float64) (y float64) {
	for k := range x {
		x[k] = 2*r.Float64() - 1
	}
	y = -1
	if cos*x[0]+sin*x[1] > 0 {
		y = 1
	}
	if r.Float64() < turned {
		return -y
	}
	return y
}

// fill draws person i's records, scaled to unit norm as the task does.
func (d problem) fill(i int, own []learner.Record) {
	sin, cos := math.Sincos(d.angle(i))
	r := d.random(i, ofRecords)
	for k := range own {
		x := own[k].X
		own[k].Y = draw(r, x, cos, sin)
		floats.Scale(1/floats.Norm(x, 2), x)
	}
}

// recordsOf draws person i's records again.
func (d problem) recordsOf(i int) []learner.Record {
	own := make([]learner.Record, records)
	sim.NewRecords(own, make([]float64, records*features))
	d.fill(i, own)
	return own
}

// error is the share of person i's fresh records that a model gets wrong. A model that
// cannot decide is half wrong.
func (d problem) error(i int, theta []float64) float64 {
	sin, cos := math.Sincos(d.angle(i))
	r := d.random(i, ofTests)
	x, wrong := make([]float64, features), 0.
	for range tests {
		switch z := draw(r, x, cos, sin) * floats.Dot(theta, x); {
		case z < 0:
			wrong++
		case z == 0:
			wrong += 0.5
		}
	}
	return wrong / tests
}

// graph joins people whose target models are alike.
func (d problem) graph() [][]learner.Edge {
	angles := make([]float64, d.people)
	for i := range angles {
		angles[i] = d.angle(i)
	}
	return sim.AlikeGraph(angles, min(neighbours, d.people-1), alike, d.seed)
}

// task is the built-in task with these features.
func task() *learner.Task {
	t := learner.Linear()
	t.Features = learner.NumberFeatures(features)
	t.ConfidenceAt, t.Graph.Degree = records, neighbours
	return t
}
