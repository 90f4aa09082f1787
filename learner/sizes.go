package learner

const (
	// usualSteps is how many steps lead to the usual size of numbers, and ownSteps to that of one.
	// A step goes a smaller part of the way where the size is small beside the noise: a usual size of
	// less than a tenth of it comes out too large, and stays so small that little is kept of a number.
	usualSteps = 300
	ownSteps   = 50
)

// sizes are the variances that numbers plausibly have without their noise, each of which is independent
// and has the given variance: the usual one of all, which makes the numbers most likely as they are
// (empirical Bayes, Efron and Morris 1973), and that of each, as if one more number of the usual size had
// been seen beside it. So noise does not pass for numbers where it explains all of them, and a single
// number that sticks out of it is not made as small as the others. The steps are those of expectation
// and maximisation (Dempster, Laird and Rubin 1977).
func sizes(numbers, noise []float64) []float64 {
	usual, own, n := 0., make([]float64, len(numbers)), float64(len(numbers))
	for _, c := range numbers {
		usual += c * c / n
	}
	for range usualSteps {
		var next float64
		for i, c := range numbers {
			next += expectedSquare(c, usual, noise[i]) / n
		}
		usual = next
	}
	for i, c := range numbers {
		own[i] = usual
		for range ownSteps {
			own[i] = (usual + expectedSquare(c, own[i], noise[i])) / 2
		}
	}
	return own
}

// expectedSquare is the expected square of a number that is seen as c with noise, and is normal around zero;
// size and noise are variances.
func expectedSquare(c, size, noise float64) float64 {
	if size == 0 {
		return 0
	}
	share := size / (size + noise)
	return share*noise + share*share*c*c
}
