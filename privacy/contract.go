package privacy

// The contract of what is being built; each piece moves to the file of its
// subject, and this file goes.

// Accounting says in what an account adds up.
type Accounting string

// The ways of accounting. The filters hold for mechanisms chosen after seeing all
// earlier releases; a plan is fixed before the first one.
const (
	GaussianFilter Accounting = "gdp"   // sum of mu^2; Gaussian noise; loses nothing
	PureFilter     Accounting = "pure"  // sum of epsilon; Laplace noise
	RenyiFilter    Accounting = "renyi" // sum of Renyi divergences at one order; Gaussian and Laplace noise
	CommittedPlan  Accounting = "plan"  // the exact loss of a schedule whose hash the ledger holds; every noise
)

// Terms is what an account is kept for. It is comparable, durable and public: a
// ledger begun on some terms can be continued on those only.
type Terms struct {
	Budget     Budget
	Dimension  int // of a release, at most
	Accounting Accounting
	Order      float64  // of the Renyi filter; 0 otherwise
	Plan       [32]byte // hash of the committed schedule; zero otherwise
}

// Pace says how a budget is spread over the releases.
type Pace string

// The paces.
const (
	Uniform Pace = "uniform" // the same noise in all releases
	Growing Pace = "growing" // less noise, at a higher price, in each release than in the one before
	OneShot Pace = "one-shot"
)

// Design is what an owner chooses; [Design.Policy] works out the noise.
type Design struct {
	Budget     Budget
	Dimension  int
	Clip       float64    // bound on one record's gradient, in the norm of Noise
	Releases   int        // that share the budget; 1 for OneShot
	Noise      Noise      // "": Gaussian; Unprotected gives a schedule without terms, budget or guarantee
	Accounting Accounting // "": the filter that suits the noise
	Pace       Pace       // "": Uniform
	// Contraction is the factor C in (0, 1) by which an update shrinks the noise of
	// the one before; Growing only.
	Contraction  float64
	Batch, Slots int // of a subsampled mechanism; 0: all records
}

// Policy returns the policy of least noise that keeps the budget.
func (d Design) Policy() (Policy, error) {
	m, err := Calibrate(d.Budget, d.Clip, d.Releases, d.Dimension)
	if d.Noise == Unprotected {
		m, err := NewUnprotected(d.Clip)
		return Policy{Schedule: NewSchedule(Step{m, 1})}, err
	}
	if err != nil {
		return Policy{}, err
	}
	return Policy{
		Terms:    Terms{Budget: d.Budget, Dimension: d.Dimension, Accounting: GaussianFilter},
		Schedule: NewSchedule(Step{m, max(1, d.Releases)}),
	}, nil
}

// OpenAccount returns an account in which every cohort has the policy's budget.
func OpenAccount(p Policy) (*Account, error) { return NewAccount(p.Terms.Budget, p.Terms.Dimension) }

// Price is what one release of m costs a cohort under the account's terms, in
// what the account adds up; false when the terms know no price for it.
func (a *Account) Price(m Mechanism) (cost float64, ok bool) { return m.muSquared(), m.Protected() }

// Retire ends the account of all cohorts up to and including last: they can pay
// for nothing any more.
func (a *Account) Retire(last Cohort) { panic("contract") }

// Left is how many more releases of the policy the account was opened with the
// cohort can pay for, if it takes part in every one from here on. It changes
// nothing; the account remembers its policy for it.
func (a *Account) Left(c Cohort) int { panic("contract") }

// Share is what one release of m costs a cohort, as a share of its budget: by so
// much Spent grows. It is 0 for a mechanism the terms know no price for. Under a
// plan it is one step of all.
func (a *Account) Share(m Mechanism) float64 { panic("contract") }

// Position is how many releases the schedule has behind it: the number of the
// last planned step that was paid, or the releases of the cohort that has most.
func (a *Account) Position() int {
	most := 0
	for _, e := range a.spent {
		most = max(most, e.releases)
	}
	return most
}

// CarriedSensitivity is the conditional sensitivity of a learner whose private
// state keeps a share of its own unreleased past: D_i = Keep D_{i-1} + Step.
type CarriedSensitivity struct{ Keep, Step float64 }

// At returns D_i, i from 1.
func (s CarriedSensitivity) At(i int) float64 { panic("contract") }
