package node

import (
	"cmp"
	"context"
	"math"
	"slices"

	"p2pnode/privacy"
	"p2pnode/storage"
)

// Budget is the ledger in the operator's terms. Shares are of a cohort's budget,
// in [0, 1].
type Budget struct {
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Unbounded says that something was or will be released without a guarantee, and
	// Unprotected that the configuration says so now.
	Unbounded   bool `json:"unbounded"`
	Unprotected bool `json:"unprotected"`
	// Obfuscation: the learner hides gradients without a guarantee, which is
	// obfuscation and not differential privacy.
	Obfuscation bool   `json:"obfuscation"`
	Bare        int    `json:"unprotected_releases"` // released without a guarantee so far
	Noise       string `json:"noise"`
	Accounting  string `json:"accounting"`
	Pace        string `json:"pace"`
	Releases    int    `json:"releases"` // that the budget is made for
	// Left is how many more rounds the node can release with the records it has,
	// and Next the share of a cohort's budget that the next of them costs.
	Left int     `json:"releases_left"`
	Next float64 `json:"next_release_share"`
	// Plan is how far a committed plan has come; nil without one.
	Plan    *PlanBudget    `json:"plan"`
	Cohorts []CohortBudget `json:"cohorts"`
	Person  []PersonBudget `json:"person"` // for one record, then for somebody with several

	VisibleTo  string   `json:"visible_to"`  // who can see what was released
	NotCovered []string `json:"not_covered"` // what others can see or learn all the same
}

// PlanBudget counts the steps of a plan.
type PlanBudget struct {
	Steps int `json:"steps"`
	Done  int `json:"steps_done"`
	Left  int `json:"steps_left"`
}

// CohortBudget is what one group of records has paid.
type CohortBudget struct {
	Cohort   privacy.Cohort `json:"cohort"`
	Records  int            `json:"records"` // training slots, those of deleted records too
	Releases int            `json:"releases"`
	Left     int            `json:"releases_left"`
	Spent    float64        `json:"spent_share"`
	Next     float64        `json:"next_release_share"`
	Retired  bool           `json:"retired"` // by a restore: it pays for nothing any more
}

// PersonBudget is the guarantee for a person who owns that many records.
type PersonBudget struct {
	Records int     `json:"records"`
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
	// Belief is what an even belief, 1/2, in something about that person's records
	// can become at most for somebody who sees everything; 1 is certainty.
	Belief float64 `json:"belief_of_half_at_most"`
}

// BudgetSummary is the budget of the newest cohort, the one that goes on longest.
type BudgetSummary struct {
	Epsilon   float64 `json:"epsilon"`
	Delta     float64 `json:"delta"`
	Spent     float64 `json:"spent"` // share of the budget, in [0, 1]
	Left      int     `json:"left"`  // releases
	Unbounded bool    `json:"unbounded"`
	// Obfuscation is as in [Budget].
	Obfuscation bool `json:"obfuscation"`
	Planned     bool `json:"planned"` // by a plan, which new records do not prolong
}

// visibleTo and notCovered are true of every node.
const visibleTo = "Anyone who joins the network can receive what this node sends, and keep it. " +
	"What was sent is public for ever: deleting a record, stopping the node or changing the configuration does not call it back."

func notCovered() []string {
	return []string{
		"how many records you have, and how many of them came later than others",
		"when your node sends, and so when it is on",
		"that your node takes part, in which task, with which neighbours, and its network address",
		"what you make public yourself: a profile in the configuration, or a prediction you pass on",
	}
}

// Budget reads the ledger for the operator.
func (n *Node) Budget(context.Context) (Budget, error) {
	cohorts, err := n.cohorts()
	if err != nil {
		return Budget{}, err
	}
	c := n.files.config
	b := Budget{
		Epsilon: c.Epsilon, Delta: c.guarantee().Delta, Unbounded: n.unbounded(), Unprotected: !c.protected(),
		Obfuscation: obfuscated(n.files.task), Bare: n.ledger.Unprotected(),
		Noise: c.Noise, Accounting: c.Accounting, Pace: c.Pace, Releases: c.Releases,
		Cohorts: cohorts, Person: []PersonBudget{},
		VisibleTo: visibleTo, NotCovered: notCovered(),
	}
	if len(cohorts) == 0 {
		b.Left, b.Next = n.left(1)
	}
	for _, k := range cohorts {
		if k.Records > 0 && k.Left >= b.Left {
			b.Left, b.Next = k.Left, k.Next
		}
	}
	if steps := n.policy.Schedule.Releases(); c.protected() && c.planned() {
		done := n.ledger.Position()
		b.Plan = &PlanBudget{Steps: steps, Done: done, Left: max(0, steps-done)}
	}
	for _, k := range []int{1, 2, 5, 10} {
		b.Person = append(b.Person, c.person(k))
	}
	return b, nil
}

// unbounded reports whether there is or will be no guarantee.
func (n *Node) unbounded() bool { return n.ledger.Unbounded() || !n.files.config.protected() }

// guarantee is what the ledger keeps: under pure accounting more than was asked for.
func (c *Config) guarantee() privacy.Budget {
	if c.Accounting == string(privacy.PureFilter) {
		return privacy.Budget{Epsilon: c.Epsilon}
	}
	return privacy.Budget{Epsilon: c.Epsilon, Delta: c.Delta}
}

// person is the guarantee for somebody with k records. Under the Gaussian filter
// it is exact and leaves delta as it is; else the group privacy lemma gives it
// (Vadhan 2017, "The Complexity of Differential Privacy", lemma 2.2).
func (c *Config) person(k int) PersonBudget {
	one := c.guarantee()
	several := privacy.Budget{Epsilon: float64(k) * one.Epsilon}
	if c.Accounting == string(privacy.GaussianFilter) {
		several = one.ForRecords(k)
	} else if one.Delta > 0 {
		several.Delta = min(1, one.Delta*math.Expm1(several.Epsilon)/math.Expm1(one.Epsilon))
	}
	return PersonBudget{
		Records: k, Epsilon: several.Epsilon, Delta: several.Delta,
		Belief: 1 / (1 + math.Exp(-several.Epsilon)), // even odds become odds of e^epsilon
	}
}

// cohorts lists the cohorts that hold training records or have paid.
func (n *Node) cohorts() ([]CohortBudget, error) {
	live, deleted, err := n.own.records(n.store)
	if err != nil {
		return nil, err
	}
	slots := make(map[privacy.Cohort]int)
	for _, r := range slices.Concat(live, deleted) {
		if !r.Seq.HeldOut() {
			slots[r.Cohort]++
		}
	}
	spending := make(map[privacy.Cohort]storage.Spending)
	for _, s := range n.ledger.Spending() {
		spending[s.Cohort] = s
		slots[s.Cohort] += 0 // listed even when it holds nothing
	}
	retired := n.ledger.Retired()
	out := make([]CohortBudget, 0, len(slots))
	for c, m := range slots {
		s := spending[c]
		k := CohortBudget{Cohort: c, Records: m, Releases: s.Releases, Spent: s.Share, Retired: c <= retired}
		k.Left, k.Next = n.left(c)
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b CohortBudget) int { return cmp.Compare(a.Cohort, b.Cohort) })
	return out, nil
}

// left is how many releases a cohort can still take part in, and what share of its
// budget the next one costs.
func (n *Node) left(c privacy.Cohort) (releases int, next float64) {
	if n.files.config.protected() {
		return n.ledger.Left(c)
	}
	return max(0, n.files.config.Releases-n.ledger.Unprotected()), 0
}

// done reports whether no cohort will be released any more. Without protection
// and without a limit there is always a next time.
func (n *Node) done(cohorts []CohortBudget) bool {
	c := n.files.config
	if !c.protected() && c.Releases == 0 {
		return false
	}
	return len(cohorts) > 0 && !slices.ContainsFunc(cohorts, func(c CohortBudget) bool { return c.Left > 0 && c.Records > 0 })
}

func (n *Node) summary(cohorts []CohortBudget) BudgetSummary {
	c := n.files.config
	s := BudgetSummary{Epsilon: c.Epsilon, Delta: c.guarantee().Delta, Left: c.Releases, Unbounded: n.unbounded(), Obfuscation: obfuscated(n.files.task), Planned: c.protected() && c.planned()}
	if len(cohorts) > 0 {
		newest := cohorts[len(cohorts)-1]
		s.Spent, s.Left = newest.Spent, newest.Left
	}
	return s
}
