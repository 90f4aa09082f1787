package privacy

import (
	"fmt"
	"math"
)

// Calibrate returns the mechanism with the least noise that lets a cohort take
// part in exactly releases releases of at most dim coordinates within b, each
// record clipped to the l2 norm clip: sigma = 2 clip sqrt(releases)/mu_B (Balle
// and Wang 2018), to about nine digits. An [Account] with the same b and dim
// admits it releases times and refuses it then.
func Calibrate(b Budget, clip float64, releases, dim int) (Mechanism, error) {
	limit, err := muSquaredLimit(b, dim)
	if err != nil {
		return Mechanism{}, err
	}
	if releases < 1 || releases > MaxReleases {
		return Mechanism{}, fmt.Errorf("privacy: %d releases, choose 1 to %d", releases, MaxReleases)
	}
	ratio := 2 * math.Sqrt(float64(releases)/limit) // sigma over clip
	m, err := NewGaussian(clip, ratio*clip)
	if err != nil {
		return Mechanism{}, err
	}
	// Rounding the clip down to the grid, by half at most, left room. Take the
	// least sigma for the clip as used, with the account's own arithmetic.
	m.sigma = max(minSigma, int64(ratio*float64(m.clip))) // not over the least
	for !m.affordable(releases, limit) {
		m.sigma++
	}
	return m, nil
}

// affordable reports whether an account of the given limit admits the releases.
func (m Mechanism) affordable(releases int, limit float64) bool {
	price := m.muSquared()
	var e expense
	for range releases {
		e = e.plus(price)
	}
	return e.muSquared <= limit
}
