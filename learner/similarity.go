package learner

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// minimumWeight is the similarity below which two agents should not be neighbours.
const minimumWeight = 0.01

// ProfileWeight is the similarity of two public profiles, exp((cos - 1) / gamma) with
// cos the cosine of the angle between them (Bellet et al. 2018, section 5.1). It is
// symmetric and lies in [0, 1]. It is 0, which means that the two should not be
// neighbours, if the similarity is below 0.01, if a profile is zero or not finite, or
// if their lengths differ.
func ProfileWeight(a, b []float64, gamma float64) float64 {
	if len(a) != len(b) {
		return 0
	}
	norms := floats.Norm(a, 2) * floats.Norm(b, 2)
	if !(norms > 0) || math.IsInf(norms, 0) {
		return 0
	}
	cos := min(floats.Dot(a, b)/norms, 1)
	if w := math.Exp((cos - 1) / gamma); w >= minimumWeight {
		return w
	}
	return 0
}
