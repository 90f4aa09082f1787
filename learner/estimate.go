package learner

// Estimate is what a node's releases say of its own optimum: a public function
// of the door's answers and of its shared models, free of the neighbours'
// influence as far as that goes. The similarity graph compares estimates.
type Estimate struct {
	Round  uint64    // of the release it includes last
	Std    float64   // of the privacy noise in each coordinate
	Vector []float64 // length Task.Dimension; immutable
}
