package privacy

import (
	"fmt"
	"math"

	"p2pnode/privacy/accountant"
)

// Accounting says in which unit an account adds up.
type Accounting string

// The ways of accounting. The filters hold for mechanisms chosen after seeing
// all earlier releases; a plan is fixed before the first one.
const (
	GaussianFilter Accounting = "gdp"   // sum of mu^2; Gaussian noise; loses nothing
	PureFilter     Accounting = "pure"  // sum of epsilon; Laplace noise
	RenyiFilter    Accounting = "renyi" // sum of Renyi divergences at one order; Gaussian and Laplace noise
	CommittedPlan  Accounting = "plan"  // the exact loss of a schedule whose hash the ledger holds; every noise
)

// Terms are the conditions on which an account is kept. They are comparable, durable
// and public: a ledger begun on some terms can only be continued on the same terms.
type Terms struct {
	Budget     Budget
	Dimension  int // the largest of a release
	Accounting Accounting
	Order      float64  // of the Renyi filter, over 1; 0 otherwise
	Plan       PlanHash // hash of the committed schedule; zero otherwise
}

// validate returns an error that names the invalid field.
func (t Terms) validate() error {
	if err := t.Budget.Validate(); err != nil {
		return err
	}
	switch t.Accounting {
	case GaussianFilter, PureFilter, RenyiFilter, CommittedPlan:
	default:
		return fmt.Errorf("privacy: accounting is %q, choose %q, %q, %q or %q", t.Accounting, GaussianFilter, PureFilter, RenyiFilter, CommittedPlan)
	}
	if t.Dimension < 1 {
		return fmt.Errorf("privacy: dimension is %d, it must be at least 1", t.Dimension)
	}
	if t.Accounting == RenyiFilter && !(t.Order > 1 && !math.IsInf(t.Order, 1)) || t.Accounting != RenyiFilter && t.Order != 0 {
		return fmt.Errorf("privacy: order is %v, choose a number over 1 for accounting %q and 0 for others", t.Order, RenyiFilter)
	}
	if t.Accounting != CommittedPlan && t.Plan != (PlanHash{}) {
		return fmt.Errorf("privacy: accounting %q has no plan, choose %q or leave its hash out", t.Accounting, CommittedPlan)
	}
	return nil
}

// limit is the most that a cohort's prices under a filter may add up to,
// rounded down:
//
//   - Gaussian: mu_B^2, with mu_B the largest mu that keeps what [charge]
//     leaves;
//   - pure: epsilon. The guarantee is (epsilon, 0), stronger than was asked;
//   - Renyi: the largest divergence of the order that implies the budget.
//     Nothing else is charged: the prices are those of the discrete noise.
func (t Terms) limit() (float64, error) {
	if err := t.validate(); err != nil {
		return 0, err
	}
	switch t.Accounting {
	case GaussianFilter:
		mu := charge(t.Budget, float64(t.Dimension)*MaxReleases, minSigma, maxParts).Mu()
		if mu == 0 {
			return 0, fmt.Errorf("privacy: epsilon %v is less than the discreteness of %d coordinates costs, choose a larger one", t.Budget.Epsilon, t.Dimension)
		}
		return down(mu * mu), nil
	case RenyiFilter:
		most := accountant.RenyiBudget(t.Order, t.Budget.Epsilon, t.Budget.Delta)
		if !(most > 0) {
			return 0, fmt.Errorf("privacy: a Renyi divergence of order %v says nothing about epsilon %v and delta %v, choose another order", t.Order, t.Budget.Epsilon, t.Budget.Delta)
		}
		return most, nil
	}
	return t.Budget.Epsilon, nil
}
