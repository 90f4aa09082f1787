package learner

import (
	"math"
	"math/bits"
	"strconv"
)

// Map is a public function of a row's coordinates whose values are appended to them, so
// that a linear model can learn what is not linear in the coordinates. The zero value
// appends nothing.
//
// The one kind, "fourier", is the random map of Rahimi and Recht, "Random features for
// large-scale kernel machines" (2007). Let u be the coordinates of a row, divided by
// the usual norm or scaled to norm 1 (see [Task.Normalise]), before longer ones are
// shortened to norm 1. With D features,
//
//	z(u) = sqrt(2/D) (cos w_1.u, sin w_1.u, ..., cos w_(D/2).u, sin w_(D/2).u).
//
// The entries of the w_j have mean 0 and deviation 1/Width, so that z(u).z(v) is nearly
// exp(-|u - v|^2 / (2 Width^2)): rows closer to each other than the width count as
// alike.
//
// A record has the coordinates (sqrt(3)/2 u, z(u)/2), with u shortened to norm 1 as it
// is without a map. Each pair of z adds (2/D)(cos^2 + sin^2) = 2/D to the square of its
// norm, and there are D/2 pairs: so z has norm 1 for every row. The square of the
// record's norm is therefore at most 3/4 + 1/4 = 1, which is what [Task.FeatureNorm]
// says of records without a map, and steps, sensitivities and guarantees that follow
// from it hold unchanged.
//
// The quarter was chosen by measurement. With a half, as much is gained where a linear
// model fails, and more is lost where it is right; with a tenth, sums within a budget
// do not find what is not linear.
type Map struct {
	Kind string `toml:"kind"` // "fourier"
	// Features is D, how many coordinates are appended, even.
	Features int `toml:"features,omitempty" json:",omitzero"`
	// Width is in units of a usual row's norm.
	Width float64 `toml:"width,omitempty" json:",omitzero"`
	// Seed of the random numbers, at most 2^53 - 1, which every language reads exactly.
	Seed int64 `toml:"seed,omitempty" json:",omitzero"`
}

const (
	mostMapSeed    = 1<<53 - 1
	mostMapWeights = 1 << 22 // with so many random numbers a device takes 10 ms for each row
)

// bends fills in the table "map" of a task that has one. The constants were chosen on
// made-up people with other seeds than those that docs/experiments.md reports.
func (u *filler) bends() {
	fill(u, "map.kind", &u.Map.Kind, "fourier")
	fill(u, "map.features", &u.Map.Features, 128)
	fill(u, "map.width", &u.Map.Width, 1)
}

// check checks the table "map" of a task whose rows have this many coordinates without
// it.
func (m *Map) check(c *checker, coordinates int) {
	if m.Kind == "" {
		c.check(*m == Map{}, "map.kind", "must be \"fourier\"; or leave out the table map")
		return
	}
	c.oneOf("map.kind", m.Kind, "fourier")
	d := m.Features
	c.check(d >= 2 && d%2 == 0, "map.features", "must be an even number, 2 or more, and not %d: half of them are cosines, half sines", d)
	c.check(d < 2 || d/2 <= mostMapWeights/max(1, coordinates), "map.features", "are %d of %d coordinates each, which takes %d random numbers for each row; at most %d are allowed",
		d, coordinates, d/2*coordinates, mostMapWeights)
	c.check(m.Width >= 0.1 && m.Width <= 100, "map.width", "must be between 0.1 and 100: it is in norms of a usual row")
	c.check(m.Seed >= 0 && m.Seed <= mostMapSeed, "map.seed", "must be a whole number between 0 and 2^53 - 1")
}

// appended returns the record's coordinates of a row: u, shortened to norm 1 in place,
// and the map of u.
func (m *Map) appended(u []float64) []float64 {
	n, d := len(u), m.Features
	size := math.Sqrt(2 / float64(d))
	for j := range d / 2 {
		sin, cos := math.Sincos(m.angle(j, u[:n]))
		u = append(u, size*cos/2, size*sin/2)
	}
	scaleToUnit(u[:n], false)
	for k := range u[:n] {
		u[k] *= math.Sqrt(3) / 2
	}
	return u
}

// angle is w_j.u, of the w_j with j from 0.
func (m *Map) angle(j int, u []float64) (angle float64) {
	for k, v := range u {
		if v != 0 { // most coordinates of a text are 0
			angle += m.weight(j*len(u)+k) * v
		}
	}
	return angle / m.Width
}

// weight is random number i, from 0, times Width: (the number of 1s among the 64 bits
// of output i of SplitMix64, minus 32) / 4. It is the sum of 64 fair coins, with mean 0
// and deviation 1, so close to normal that the kernel is cos(d/8)^64 instead of
// exp(-d^2/2) in each coordinate. It is a multiple of a quarter, and so the same in
// every language.
func (m *Map) weight(i int) float64 {
	return float64(bits.OnesCount64(splitMix64(uint64(m.Seed), uint64(i)))-32) / 4
}

// splitMix64 is output i, from 0, of the generator SplitMix64 with this seed (Steele,
// Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
func splitMix64(seed, i uint64) uint64 {
	z := seed + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// names are the names of the coordinates that the map appends.
func (m *Map) names() (names []string) {
	for j := range m.Features / 2 {
		n := strconv.Itoa(j + 1)
		names = append(names, "map cos "+n, "map sin "+n)
	}
	return names
}
