package learner

import "math"

// Task is everything the nodes of one network must agree on, and it is public. Package
// node has its TOML form and the hash that names the network. The hash is that of the
// JSON form. A key that was added later is left out of the JSON while it is zero, so
// tasks that do not use it keep their name.
type Task struct {
	Name     string    `toml:"name"`     // for people
	Learner  string    `toml:"learner"`  // one of those that [New] makes
	Loss     string    `toml:"loss"`     // one of those in losses.go
	Features []Feature `toml:"features"` // in order; together they make x
	// Normalise scales the coordinates of each record to l2 norm 1. Without it they are
	// divided by UsualNorm, the norm of a usual row, and then scaled down to norm 1 if
	// they are longer.
	Normalise bool `toml:"normalise"`
	// UsualNorm is a public constant, > 0. 0 stands for the root of the sum of 1 for
	// each set and range and 1/3 for each number, and at least 1.
	UsualNorm float64 `toml:"usual_norm,omitempty" json:",omitzero"`
	// Constant is the value of one more coordinate, appended after scaling; 0: none. A
	// value below 1 leaves a larger part of the clipped gradient, and a larger public
	// step, to the features.
	Constant float64 `toml:"constant"`
	// Map appends a public function of the coordinates to them; the zero value appends
	// nothing.
	Map    Map    `toml:"map,omitempty" json:",omitzero"`
	Target Target `toml:"target"`
	// Threshold is the residual beyond which the huber loss is straight, in the units
	// of the target, 1e-30 or more; 0 for other losses.
	Threshold float64 `toml:"threshold,omitempty" json:",omitzero"`
	// Smoothing is the width, 1e-30 to 1, of the parabola that rounds off the kink
	// of the hinge loss; 0 for other losses.
	Smoothing float64 `toml:"smoothing,omitempty" json:",omitzero"`

	Mu           float64 `toml:"mu"`            // weight of the local data in the joint objective, > 0
	Lambda       float64 `toml:"lambda"`        // lambda_i = Lambda / m_i, >= 0
	Clip         float64 `toml:"clip"`          // l2 bound on each record's gradient, > 0
	ConfidenceAt int     `toml:"confidence_at"` // m_ref: c_i = min(1, m_i / m_ref)
	Radius       float64 `toml:"radius"`        // shared models lie in the l2 ball of this radius
	CohortSize   int     `toml:"cohort_size"`   // records that share one budget
	Graph        Graph   `toml:"graph"`
	Local        Local   `toml:"local"`
	Release      Release `toml:"release"`
	Sums         Sums    `toml:"sums,omitempty" json:",omitzero"`

	// Each of these is for one learner, Rounds for all learners in rounds; zero for all
	// others.
	Propagation Propagation `toml:"propagation,omitempty" json:",omitzero"`
	Rounds      Rounds      `toml:"rounds,omitempty" json:",omitzero"`
	Diffusion   Diffusion   `toml:"diffusion,omitempty" json:",omitzero"`
	KM          KM          `toml:"km,omitempty" json:",omitzero"`
	Polar       Polar       `toml:"polar,omitempty" json:",omitzero"`
}

// Feature describes one column of the user's data and how it becomes coordinates.
type Feature struct {
	Name string `toml:"name"`
	// Kind is "number" (one coordinate, [Min, Max] taken to [-1, 1]; with Bends one for each
	// of them and of the ends), "set" (one 0/1
	// coordinate for each of Values; the cell lists them with "|" between), "range" (a
	// number; one 0/1 coordinate for each interval between Edges), "text" (Buckets
	// coordinates, into which its words and their letters are hashed), "time" (a circle
	// or eight knots for each of Parts), "vector" (Length coordinates that something else
	// computed) or "key" (the name of the one thing that the record is about: no
	// coordinate, but what a private sum knows about the thing; see [Catalogue]). See
	// [Task.Encode].
	Kind   string    `toml:"kind"`
	Min    float64   `toml:"min,omitempty"`
	Max    float64   `toml:"max,omitempty"`
	Values []string  `toml:"values,omitempty"`
	Edges  []float64 `toml:"edges,omitempty"`
	// Catalogue is the SHA-256 of the public file that lists the keys, in hex. Without
	// such a file, keys are hashed into Buckets lists. A key has one of the two. For a
	// text, Buckets is the number of its coordinates; 0: 1024.
	Catalogue string `toml:"catalogue,omitempty" json:",omitzero"`
	Buckets   int    `toml:"buckets,omitempty" json:",omitzero"`
	// Words holds the shortest and the longest run of words of a text that are counted,
	// and Letters those of letters of a word; nil: none, or the usual lengths if both
	// are nil.
	Words   []int `toml:"words,omitempty" json:",omitzero"`
	Letters []int `toml:"letters,omitempty" json:",omitzero"`
	// Seed is hashed before each of them, so that another task can have other buckets.
	Seed uint32 `toml:"seed,omitempty" json:",omitzero"`
	// Bends are where a model may bend along a number, between Min and Max.
	Bends []float64 `toml:"bends,omitempty" json:",omitzero"`
	// Log takes the logarithm of a number, instead of the number, to [-1, 1].
	Log bool `toml:"log,omitempty" json:",omitzero"`
	// Parts are the parts of a time, from "day", "week" and "year", each a circle, and "hours",
	// the day with eight knots; nil: the first three.
	Parts []string `toml:"parts,omitempty" json:",omitzero"`
	// UTCOffset says how far the clocks of a time are ahead of UTC, for example
	// "+01:00"; "": not at all.
	UTCOffset string `toml:"utc_offset,omitempty" json:",omitzero"`
	// Length is how many numbers a vector has.
	Length int `toml:"length,omitempty" json:",omitzero"`
	// Scale is the l2 norm of a usual vector. A vector is divided by it, and shortened
	// to norm 1 if it is then longer. 0: every vector is divided by its own norm.
	Scale float64 `toml:"scale,omitempty" json:",omitzero"`
}

// Target is the column to predict. It is a number in the range; for the multinomial
// loss, one of Classes; for the logistic loss, one of two Classes. Without Classes, and
// for the hinge loss, it is 1 or -1 (0 is read as -1).
type Target struct {
	Name string `toml:"name"`
	// Classes are the labels as the data spells them. A record's Y is the position in
	// this list, from 0; for the logistic loss it is -1 for the first and 1 for the
	// second.
	Classes []string `toml:"classes,omitempty" json:",omitzero"`
	Min     float64  `toml:"min,omitempty"`
	Max     float64  `toml:"max,omitempty"`
	// Log says that the logarithm of the number is learned: log v if Min is above 0, and
	// log(1 + v) if Min is 0.
	Log    bool    `toml:"log,omitempty" json:",omitzero"`
	Center float64 `toml:"center"` // a public constant; it, or its logarithm, is subtracted
}

// Graph says how neighbours are chosen and weighed, using only public values.
type Graph struct {
	// Rule is "random" (weight 1), "profile" (by the owners' public profiles) or
	// "released" (by the nodes' estimates, see [Estimate]).
	Rule   string `toml:"rule"`
	Degree int    `toml:"degree"` // neighbours wanted
	// Gamma is the width of the kernel.
	Gamma float64 `toml:"gamma,omitempty"`
	// Kernel may be "cosine", which is how two estimates are compared anyway. It is
	// kept because it is part of the name of networks whose task has it.
	Kernel string `toml:"kernel,omitempty" json:",omitzero"`
	// Profile is the length of a public profile under the rule "profile".
	Profile int `toml:"profile,omitempty"`
}

// Local holds the public constants of the personal model's fit on the device.
type Local struct {
	// Eta is a guess at the pull of the weights toward the prior. The device finds its
	// own by looking at its records, near the guess and far from it; a good guess helps
	// devices with few records.
	Eta float64 `toml:"eta"`
	// EtaConstant is the pull of the constant's weight toward the prior if the fit is
	// Fixed. Otherwise the pull is weak: a handful of records decide the constant.
	EtaConstant float64 `toml:"eta_constant"`
	// Kappa is the usual trust in the neighbours' model: the device weighs 0, half,
	// once and twice this value. More than 1 makes up for shared models that a few
	// noisy releases have not moved all the way.
	Kappa float64 `toml:"kappa"`
	// Fixed takes Eta and Kappa as they are, instead of weighing other values by
	// leave-one-out. It is for features that were learned from the records themselves:
	// for those, leave-one-out looks better than prediction of new records is.
	Fixed bool `toml:"fixed,omitempty" json:",omitzero"`
}

// Release bounds what a node may choose for itself, and has the default choice.
type Release struct {
	Epsilon     float64 `toml:"epsilon"`  // default
	Delta       float64 `toml:"delta"`    // default
	Releases    int     `toml:"releases"` // default number of releases per cohort
	MaxEpsilon  float64 `toml:"max_epsilon"`
	MaxDelta    float64 `toml:"max_delta"`
	MaxReleases int     `toml:"max_releases"`
	WakeSeconds float64 `toml:"wake_seconds"` // default mean time between wakes
	MinWake     float64 `toml:"min_wake"`     // shortest mean time allowed, at least 0.01 seconds
}

// Dimension is the length of every model: K blocks of [Task.Width] parameters,
// one block for each class of the multinomial loss and a single one otherwise.
func (t *Task) Dimension() int { return t.loss().scores() * t.Width() }

// Width is p, the length of an encoded record.
func (t *Task) Width() int {
	n := t.coordinates() + t.Map.Features
	if t.Constant > 0 {
		n++
	}
	return n
}

// coordinates is the number of a row's coordinates before the map and the constant.
func (t *Task) coordinates() (n int) {
	for i := range t.Features {
		n += t.Features[i].width()
	}
	return n
}

// FeatureNorm is the public bound on the l2 norm of an encoded record.
func (t *Task) FeatureNorm() float64 {
	return math.Hypot(1, t.Constant)
}
