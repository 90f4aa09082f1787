package accountant

// Step is one private release as an accountant sees it: the pair of laws that
// dominates what the release tells about one record. Make one with [Gaussian],
// [Laplace], [TruncatedLaplace], [TruncatedGaussian], [Pure], [ApproxPure] or
// [Subsampled]. Steps are values and can be compared with ==.
type Step interface {
	// Delta is the privacy profile: the smallest delta for which the step is
	// (epsilon, delta)-DP, for any real epsilon.
	Delta(epsilon float64) float64
}

// Gaussian is Gaussian noise of standard deviation 1 on a vector of l2
// sensitivity mu.
func Gaussian(mu float64) Step { panic("contract") }

// Laplace is Laplace noise of scale 1 on each coordinate of a vector of l1
// sensitivity a, which the scalar with shift a dominates.
func Laplace(a float64) Step { panic("contract") }

// TruncatedLaplace is Laplace noise of scale 1, truncated to [-bound, bound], on
// each coordinate of a vector of l1 sensitivity a.
func TruncatedLaplace(a, bound float64) Step { panic("contract") }

// TruncatedGaussian is Gaussian noise of parent standard deviation 1, truncated
// to [-bound, bound], on a SCALAR of sensitivity a. Truncation per coordinate
// destroys the rotation invariance that vectors need.
func TruncatedGaussian(a, bound float64) Step { panic("contract") }

// Pure is any epsilon-DP mechanism; randomised response dominates it.
func Pure(epsilon float64) Step { panic("contract") }

// ApproxPure is any (epsilon, delta)-DP mechanism.
func ApproxPure(epsilon, delta float64) Step { panic("contract") }

// Sampling says how the records of a subsampled step are chosen.
type Sampling uint8

// The ways of sampling. Each has its own adjacency, and steps of different
// adjacency are never composed.
const (
	WithoutReplacement Sampling = 1 // a batch of fixed size; replace-one
	Poisson            Sampling = 2 // each record by itself; add-or-remove-one; for evaluation only
)

// Subsampled is base on a random share q of the records, 0 < q <= 1, drawn
// afresh for the step. base is a step that is not itself subsampled.
func Subsampled(base Step, q float64, s Sampling) (Step, error) { panic("contract") }

// Group is Count identical steps.
type Group struct {
	Step  Step
	Count int
}

// Loss is the distribution of the privacy loss of a composition, rounded
// pessimistically onto a grid.
type Loss struct{}

// Compose returns the loss of all steps together, whatever their order. delta is
// where its epsilon will be asked for; a small one makes the computation precise
// there. Invalid arguments and steps of different adjacency are an error.
func Compose(delta float64, groups ...Group) (*Loss, error) { panic("contract") }

// Delta returns a delta for which the composition is (epsilon, delta)-DP.
func (l *Loss) Delta(epsilon float64) float64 { panic("contract") }

// Epsilon returns an epsilon >= 0 for which the composition is (epsilon,
// delta)-DP, +Inf when there is none.
func (l *Loss) Epsilon(delta float64) float64 { panic("contract") }
