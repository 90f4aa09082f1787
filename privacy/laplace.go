package privacy

// NewLaplace returns a mechanism that clips each record's gradient to the l1 norm
// clip and adds Laplace noise of the given scale to each coordinate of the SUM
// (real units, not of the mean; the standard deviation is sqrt(2) times the
// scale). An l2 clip would not do: the Laplace density falls with the l1 norm, and
// a vector of l2 norm 1 can have the l1 norm sqrt(dim).
//
// Grid, rounding and errors are those of [NewGaussian]: they come from the grid,
// not from the law. The discreteness is charged with every release, as one grid
// unit of sensitivity for each coordinate; where the scale is near 2^29/dim times
// clip that is as much as the records themselves cost.
func NewLaplace(clip, scale float64) (Mechanism, error) { return newNoisy(Laplace, clip, scale) }

// l1 reports that the clip and the sensitivity are in the l1 norm, not in l2.
func (m Mechanism) l1() bool { return m.noise == Laplace || m.noise == TruncatedLaplace }
