package privacy

import (
	"fmt"
	"strings"

	"p2pnode/privacy/accountant"
)

// Noise names the law of a mechanism's noise.
type Noise string

// The laws. Truncated and subsampled mechanisms have no price that a filter could add
// up: they need a committed plan.
const (
	Gaussian          Noise = "gaussian"           // discrete Gaussian, l2 clip
	Laplace           Noise = "laplace"            // discrete Laplace, l1 clip
	TruncatedGaussian Noise = "truncated-gaussian" // kept within a bound, l2 clip
	TruncatedLaplace  Noise = "truncated-laplace"  // kept within a bound, l1 clip
	Unprotected       Noise = "none"               // no noise and no guarantee
)

// everyLaw lists the laws of noise. To add a law, add a file that describes it and a
// line here; [Unprotected] is not a law. Nothing changes the list at run time.
var everyLaw = [...]law{
	gaussianLaw(),
	laplaceLaw(),
	truncatedGaussianLaw(),
	truncatedLaplaceLaw(),
}

// law describes a law of noise.
type law struct {
	name Noise
	l1   bool // clip and sensitivity are in the l1 norm, else in l2

	// draw draws exactly from the law before truncation, with a scale in grid units.
	draw func(words sampler, scale uint64) int64
	// std is the standard deviation of the continuous law of scale 1, within
	// [-bound, bound] if it is truncated.
	std func(bound float64) float64
	// bound is the bound at which a design truncates the noise, in units of the scale;
	// scale is in units of the clip. nil: not truncated.
	bound func(d Design, scale float64) float64

	// filters have a price for one release of all records; the first is used if a
	// design names none. A law without filters needs a plan.
	filters []filter
	// step returns the continuous step that dominates one release of at most dim
	// coordinates, apart from what a plan is charged for all releases together.
	step func(m Mechanism, dim int) (accountant.Step, error)
	// renyi is the Renyi divergence of the continuous law at a sensitivity in scales.
	renyi func(order, sensitivity float64) float64
	// squares means that releases on all records are together one Gaussian step, with
	// the squares of sensitivity over scale adding up, and that a plan is charged for
	// the discreteness of all draws together; see [charge].
	squares bool
	// tail, if set, is ln of a bound on the probability that a draw would have exceeded
	// the bound, in scales, for which a plan is charged; see [truncationCharge].
	tail func(bound float64) float64
}

// filter is an accounting that adds up prices, with the price of one release.
type filter struct {
	accounting Accounting
	price      func(t Terms, m Mechanism) float64 // rounded up
}

// law returns the row of a name, or nil if there is none.
func (n Noise) law() *law {
	for i := range everyLaw {
		if everyLaw[i].name == n {
			return &everyLaw[i]
		}
	}
	return nil
}

// Noises lists the laws.
func Noises() []Noise {
	list := make([]Noise, len(everyLaw))
	for i := range everyLaw {
		list[i] = everyLaw[i].name
	}
	return list
}

// L1 reports whether clip and sensitivity are in the l1 norm instead of l2.
func (n Noise) L1() bool {
	l := n.law()
	return l != nil && l.l1
}

// Filter is the accounting for this noise if a [Design] chooses none; "" if only a plan
// has a price.
func (n Noise) Filter() Accounting {
	if l := n.law(); l != nil && len(l.filters) > 0 {
		return l.filters[0].accounting
	}
	return ""
}

// price returns the price function of an accounting. It is nil unless the accounting is
// a filter with a price for releases of all records with this noise.
func (n Noise) price(a Accounting) func(Terms, Mechanism) float64 {
	if l := n.law(); l != nil {
		for _, f := range l.filters {
			if f.accounting == a {
				return f.price
			}
		}
	}
	return nil
}

// noPrice returns an error that says what to choose instead.
func (a Accounting) noPrice(noise Noise, subsampled bool) error {
	what := string(noise)
	if subsampled {
		what = "subsampled " + what
	}
	var choices []string
	for i := range everyLaw {
		var priced []string
		for _, f := range everyLaw[i].filters {
			priced = append(priced, fmt.Sprintf("%q", f.accounting))
		}
		if priced != nil {
			choices = append(choices, fmt.Sprintf("%s or %q for %s", strings.Join(priced, ", "), CommittedPlan, everyLaw[i].name))
		}
	}
	return fmt.Errorf("privacy: accounting %q has no price for %s noise: choose %s, %q for any other", a, what, strings.Join(choices, ", "), CommittedPlan)
}

// untruncated is the std of a law whose deviation at scale 1 is this.
func untruncated(std float64) func(float64) float64 { return func(float64) float64 { return std } }

// scales is the bound of the noise in units of its scale; 0: not truncated.
func (m Mechanism) scales() float64 { return float64(m.bound) / float64(m.sigma) }
