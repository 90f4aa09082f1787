package learner

import "math"

// Task is everything the nodes of one network must agree on, and it is public.
// Its TOML form and the hash that names the network live in package node. The hash
// is of the JSON form, so a key that is added later is left out of that while it
// is zero: tasks that do not use it keep their name.
type Task struct {
	Name     string    `toml:"name"`     // for people
	Learner  string    `toml:"learner"`  // one of those that [New] makes
	Loss     string    `toml:"loss"`     // one of those in losses.go
	Features []Feature `toml:"features"` // in order; together they make x
	// Normalise scales the coordinates of each record to l2 norm 1. Without it they are
	// divided by the norm of a usual row, UsualNorm, and those of a row that still
	// exceeds 1 are scaled down to it.
	Normalise bool `toml:"normalise"`
	// UsualNorm is a public constant, > 0; 0: what the kinds of the features say, the
	// root of 1 for each set and range and 1/3 for each number, and at least 1.
	UsualNorm float64 `toml:"usual_norm,omitempty" json:",omitzero"`
	// Constant is the value of one more coordinate, appended after scaling; 0:
	// none. A value below 1 leaves more of the clipped gradient, and a larger
	// public step, to the features.
	Constant float64 `toml:"constant"`
	// Map appends a public function of the coordinates to them; the zero value: none.
	Map    Map    `toml:"map,omitempty" json:",omitzero"`
	Target Target `toml:"target"`
	// Threshold is the residual from which on the huber loss is straight, in the
	// units of the target, > 0; 0 for other losses.
	Threshold float64 `toml:"threshold,omitempty" json:",omitzero"`
	// Smoothing is the width, in (0, 1], of the parabola that rounds off the kink
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

	// Of one learner each, and of those in rounds; zero for all others.
	Propagation Propagation `toml:"propagation,omitempty" json:",omitzero"`
	Rounds      Rounds      `toml:"rounds,omitempty" json:",omitzero"`
	Diffusion   Diffusion   `toml:"diffusion,omitempty" json:",omitzero"`
	KM          KM          `toml:"km,omitempty" json:",omitzero"`
	Polar       Polar       `toml:"polar,omitempty" json:",omitzero"`
}

// Feature is one column of the user's data and how it becomes coordinates.
type Feature struct {
	Name string `toml:"name"`
	// Kind is "number" (one coordinate, [Min, Max] taken to [-1, 1]), "set" (one 0/1
	// coordinate for each of Values, the cell lists them with "|" between), "range" (a
	// number; one 0/1 coordinate for each interval between Edges), "text" (Buckets
	// coordinates, into which its words and their letters are hashed), "time" (a circle
	// for each of Parts), "vector" (Length coordinates that something else computed) or
	// "key" (the name of the one thing that the record is about: no coordinate, but what a
	// private sum knows about the thing; see [Catalogue]). See [Task.Encode].
	Kind   string    `toml:"kind"`
	Min    float64   `toml:"min,omitempty"`
	Max    float64   `toml:"max,omitempty"`
	Values []string  `toml:"values,omitempty"`
	Edges  []float64 `toml:"edges,omitempty"`
	// Catalogue is the SHA-256 of the public file that lists the keys, in hex; and
	// Buckets is how many lists keys are hashed into where there is no such file. A key
	// has one of the two. Of a text Buckets is how many coordinates it has, 0: 1024.
	Catalogue string `toml:"catalogue,omitempty" json:",omitzero"`
	Buckets   int    `toml:"buckets,omitempty" json:",omitzero"`
	// Words and Letters are the shortest and the longest run of words of a text, and of
	// letters of a word, that are counted; nil: none, or if both are nil as usual.
	Words   []int `toml:"words,omitempty" json:",omitzero"`
	Letters []int `toml:"letters,omitempty" json:",omitzero"`
	// Seed is hashed before each of them, so that a task can have other buckets.
	Seed uint32 `toml:"seed,omitempty" json:",omitzero"`
	// Log takes the logarithm of a number to [-1, 1].
	Log bool `toml:"log,omitempty" json:",omitzero"`
	// Parts are those of a time, of "day", "week" and "year"; nil: all three.
	Parts []string `toml:"parts,omitempty" json:",omitzero"`
	// UTCOffset says how far the clocks of a time are ahead of UTC, as "+01:00"; "":
	// they are not.
	UTCOffset string `toml:"utc_offset,omitempty" json:",omitzero"`
	// Length is how many numbers a vector has.
	Length int `toml:"length,omitempty" json:",omitzero"`
	// Scale is the l2 norm of a usual vector, by which it is divided; one that is longer
	// is shortened to it. 0: every vector is divided by its own norm.
	Scale float64 `toml:"scale,omitempty" json:",omitzero"`
}

// Target is the column to predict: a number in the range; for the multinomial loss one
// of Classes; for the logistic loss one of two Classes or, without them, as for the hinge
// loss, 1 or -1 (0 is read as -1).
type Target struct {
	Name string `toml:"name"`
	// Classes are the labels as the data spells them. A record's Y is the position
	// here, from 0; of the logistic loss -1 for the first and 1 for the second.
	Classes []string `toml:"classes,omitempty" json:",omitzero"`
	Min     float64  `toml:"min,omitempty"`
	Max     float64  `toml:"max,omitempty"`
	Center  float64  `toml:"center"` // a public constant, subtracted
}

// Graph says how neighbours are chosen and weighed, from public things only.
type Graph struct {
	// Rule is "random" (weight 1), "profile" (by the owners' public profiles) or
	// "released" (by the nodes' estimates, see [Estimate]).
	Rule   string `toml:"rule"`
	Degree int    `toml:"degree"` // neighbours wanted
	// Gamma is the width of the kernel.
	Gamma float64 `toml:"gamma,omitempty"`
	// Kernel may say "cosine", which is how two estimates are compared anyway. It is
	// part of what names the networks of tasks that say so.
	Kernel string `toml:"kernel,omitempty" json:",omitzero"`
	// Profile is the length of a public profile under the rule "profile".
	Profile int `toml:"profile,omitempty"`
}

// Local holds the public constants of the personal model's silent fit.
type Local struct {
	// Eta is a guess at the pull of the weights toward the prior. The device finds
	// its own by what its records say, near and far from it; a good guess helps those
	// with few records.
	Eta float64 `toml:"eta"`
	// EtaConstant is the pull of the constant's weight toward the prior when the fit
	// is Fixed. Else that is weak: a handful of records decide it.
	EtaConstant float64 `toml:"eta_constant"`
	// Kappa is the usual trust in the neighbours' model: the device weighs 0,
	// half, once and twice this. More than 1 makes up for shared models that a
	// few noisy releases have not moved all the way.
	Kappa float64 `toml:"kappa"`
	// Fixed takes Eta and Kappa as they are, in place of weighing others by
	// leave-one-out: for features that were learned from the records themselves, which
	// therefore predict records left out better than new ones.
	Fixed bool `toml:"fixed,omitempty" json:",omitzero"`
}

// Release bounds what a node may choose for itself, and gives the defaults.
type Release struct {
	Epsilon     float64 `toml:"epsilon"`  // default
	Delta       float64 `toml:"delta"`    // default
	Releases    int     `toml:"releases"` // default number of releases per cohort
	MaxEpsilon  float64 `toml:"max_epsilon"`
	MaxDelta    float64 `toml:"max_delta"`
	MaxReleases int     `toml:"max_releases"`
	WakeSeconds float64 `toml:"wake_seconds"` // default mean time between wakes
	MinWake     float64 `toml:"min_wake"`     // shortest mean time allowed, seconds
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

// coordinates is how many of them a row makes before the map and the constant.
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
