package privacy

import (
	"errors"
	"fmt"
	"math"

	"p2pnode/privacy/accountant"
)

// checkPlan returns an error unless the terms are those of the schedule and the
// whole schedule is within the budget.
func (p Policy) checkPlan() error {
	if err := p.Terms.validate(); err != nil {
		return err
	}
	if p.Terms.Plan != p.Schedule.Hash() {
		return errors.New("privacy: the schedule is not the one the plan was committed to: go on with that one, a plan cannot be changed")
	}
	cost, err := p.Schedule.cost(p.Terms.Budget, p.Terms.Dimension)
	if err != nil {
		return err
	}
	if !(cost <= 1) {
		return fmt.Errorf("privacy: the schedule of %d releases costs more than epsilon %v at delta %v", p.Schedule.Releases(), p.Terms.Budget.Epsilon, p.Terms.Budget.Delta)
	}
	return nil
}

// maxPlanEpsilon is far beyond any protection; above it, a composition takes minutes.
const maxPlanEpsilon = 1000

// cost is what all releases of s, of at most dim coordinates each, cost together: the
// delta they have at the epsilon of the budget over the delta of the budget, both after
// the charges; +Inf if the charges alone cost more. It returns an error if a mechanism
// in s has no known cost.
func (s Schedule) cost(b Budget, dim int) (float64, error) {
	loss, left, err := s.loss(b, dim)
	if err != nil {
		return 0, err
	}
	if loss == nil {
		return math.Inf(1), nil
	}
	return loss.Delta(left.Epsilon) * (1 + composeMargin) / left.Delta, nil
}

// loss is the loss of all releases of s together with continuous noise, and the budget
// that the charges leave for it; loss is nil if they leave nothing.
func (s Schedule) loss(b Budget, dim int) (loss *accountant.Loss, left Budget, err error) {
	if n := s.Releases(); n < 1 || n > MaxReleases {
		return nil, left, fmt.Errorf("privacy: a plan of %d releases, choose 1 to %d", n, MaxReleases)
	}
	if b.Epsilon > maxPlanEpsilon {
		return nil, left, fmt.Errorf("privacy: a plan for epsilon %v, choose %d at most, or a filter", b.Epsilon, maxPlanEpsilon)
	}
	groups, err := s.groups(dim)
	if err != nil {
		return nil, left, err
	}
	left = truncationCharge(b, s.truncationTails(dim))
	if n := s.gaussianCoordinates(dim); n > 0 {
		left = charge(left, n, minSigma, 1)
	}
	if left.Validate() != nil {
		return nil, left, nil
	}
	if loss, err = accountant.Compose(left.Delta, groups...); err != nil {
		return nil, left, fmt.Errorf("privacy: compose the plan: %w", err)
	}
	return loss, left, nil
}

// composeMargin covers the rounding errors of a composition.
const composeMargin = 1e-12

// groups returns the continuous steps that dominate the releases. All Gaussian releases
// on all records are one Gaussian step, because squares of mu add up.
func (s Schedule) groups(dim int) ([]accountant.Group, error) {
	var groups []accountant.Group
	var muSquared float64
	for _, step := range s.steps {
		m := step.Mechanism
		if l := m.noise.law(); l != nil && l.squares && m.slots == 0 && m.dim <= dim {
			square := up(m.gaussianStep() * m.gaussianStep())
			muSquared = up(muSquared + up(float64(step.Count)*square))
			continue
		}
		dominating, err := m.step(dim)
		if err != nil {
			return nil, err
		}
		groups = append(groups, accountant.Group{Step: dominating, Count: step.Count})
	}
	if muSquared > 0 {
		groups = append(groups, accountant.Group{Step: accountant.Gaussian(up(math.Sqrt(muSquared))), Count: 1})
	}
	return groups, nil
}

// step returns the continuous step that dominates one release of m, apart from
// what [charge] and [truncationCharge] take for all of them at once.
func (m Mechanism) step(dim int) (accountant.Step, error) {
	if m.dim > dim {
		return nil, fmt.Errorf("privacy: a mechanism is for %d coordinates, the terms are for %d at most", m.dim, dim)
	}
	l := m.noise.law()
	if l == nil {
		return nil, fmt.Errorf("privacy: a plan has no price for noise %q, choose one of %q", m.noise, Noises())
	}
	base, err := l.step(m, dim)
	if err != nil {
		return nil, err
	}
	if m.slots == 0 {
		return base, nil
	}
	share := min(1, up(float64(m.batch)/float64(m.slots)))
	sampled, err := accountant.Subsampled(base, share, accountant.WithoutReplacement)
	if err != nil {
		return nil, fmt.Errorf("privacy: a batch of %d in %d: %w", m.batch, m.slots, err)
	}
	return sampled, nil
}

// gaussianCoordinates is the number of Gaussian numbers drawn for all releases.
func (s Schedule) gaussianCoordinates(dim int) float64 {
	n := 0.0
	for _, step := range s.steps {
		if l := step.Mechanism.noise.law(); l != nil && l.squares {
			n += float64(step.Count) * float64(dim)
		}
	}
	return n
}

// truncationTails is ln tau, tau a bound on the probability that any coordinate
// of any truncated Gaussian release would exceed its bound had it not been
// truncated; -Inf if there are none. A discrete Gaussian of scale t has P[|D| >
// N] <= P[|N(0, t^2)| > N] (Canonne, Kamath, Steinke 2020, proposition 25) <=
// e^{-N^2/2t^2}, and the union bound adds these up.
func (s Schedule) truncationTails(dim int) float64 {
	logs := math.Inf(-1)
	for _, step := range s.steps {
		m := step.Mechanism
		if l := m.noise.law(); l != nil && l.tail != nil {
			tail := math.Log(float64(step.Count)*float64(dim)) + l.tail(m.scales())
			top := max(logs, tail)
			logs = top + math.Log(math.Exp(logs-top)+math.Exp(tail-top))
		}
	}
	return logs
}

// truncationCharge returns the budget that Gaussian noise must keep so that the
// same noise, conditioned on no coordinate exceeding its bound, keeps b. That
// event has probability 1 - tau or more, release by release and so in all.
//
// Let P, Q be the two worlds without truncation and P', Q' with it. A truncated
// law is at most 1/(1 - its own tail) times the other, whatever the transcript
// says so far, and Q' differs from Q only when a bound is exceeded:
//
//	P'[S] <= P[S]/(1-tau),   Q[S] <= Q'[S] + tau.
//
// If P[S] <= e^x Q[S] + d with x = eps + ln(1-tau), then
//
//	P'[S] <= (e^x (Q'[S] + tau) + d)/(1-tau) <= e^eps Q'[S] + (e^eps tau + d)/(1-tau),
//
// so that d = (1-tau) delta - e^eps tau suffices. A random batch is part of
// both worlds and changes nothing.
//
// DP-dKM, theorem 6, takes the mass of one end as delta and the standard
// deviation sensitivity/sqrt(2 eps). That is wrong for every eps and every
// delta below a half: the loss exceeds eps also where both worlds have mass. At
// (0.5, 0.001) the true delta is 0.238.
func truncationCharge(b Budget, logTau float64) Budget {
	if math.IsInf(logTau, -1) {
		return b
	}
	// The margin is for the rounding of ln tau, which e^x makes relative.
	logTau += 1e-12 * (1 + math.Abs(logTau) + b.Epsilon)
	tau := math.Exp(logTau)
	return Budget{
		Epsilon: down(b.Epsilon + math.Log1p(-min(1, tau))),
		Delta:   down(b.Delta*(1-tau)) - up(math.Exp(b.Epsilon+logTau)),
	}
}
