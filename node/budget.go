package node

import (
	"context"
	"maps"
	"slices"

	"p2pnode/node/api"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// VisibleTo says who can see what a node sends. It is true of every node.
const VisibleTo = "Anyone who joins the network can receive what this node sends, and keep it. " +
	"What was sent is public for ever: deleting a record, stopping the node or changing the configuration does not call it back."

// NotCovered lists what others can find out about any node despite the guarantee.
func NotCovered() []string {
	return []string{
		"how many records you have, and how many of them came later than others",
		"when your node sends, and so when it is on",
		"that your node takes part, in which task, with which neighbours, and its network address",
		"what you make public yourself: a profile in the configuration, or a prediction you pass on",
	}
}

// Budget reads the ledger for the owner.
func (n *Node) Budget(context.Context) (api.Budget, error) {
	cohorts, err := n.cohorts()
	if err != nil {
		return api.Budget{}, err
	}
	excess, err := n.excess()
	if err != nil {
		return api.Budget{}, err
	}
	c := n.files.Config
	b := api.Budget{
		Epsilon: c.Epsilon, Delta: c.Guarantee().Delta, Excess: excess, Unbounded: n.unbounded(), Unprotected: !c.Protected(),
		Obfuscation: n.files.Task.Obfuscated(), Bare: n.ledger.Unprotected(),
		Noise: c.Noise, Accounting: c.Accounting, Pace: c.Pace, Batch: c.Batch, Releases: c.Releases,
		Plan: n.plan(), ShareOf: "budget",
		Contradicted: n.ledger.Contradicted(), ForeignSum: n.ledger.ForeignSum(), Stranded: n.stranded() != nil, Cohorts: cohorts, Person: []api.PersonBudget{},
		VisibleTo: VisibleTo, NotCovered: NotCovered(),
	}
	if n.files.Task.Silent() {
		b.Releases = 0
	}
	if b.Sums, err = n.sumsBudget(); err != nil {
		return api.Budget{}, err
	}
	if b.Listeners, err = n.listeners(); err != nil {
		return api.Budget{}, err
	}
	if len(cohorts) == 0 {
		b.Left, b.Next = n.left(1)
	}
	b.Missing = n.missing(cohorts)
	for _, k := range cohorts {
		if b.Missing == 0 && k.Records > 0 && k.Left >= b.Left {
			b.Left, b.Next = k.Left, k.Next
		}
	}
	if b.Plan != nil {
		b.ShareOf = "steps"
	} else {
		b.Rising = b.Left > 1 && n.rising()
	}
	for _, k := range []int{1, 2, 5, 10} {
		b.Person = append(b.Person, c.Person(k))
	}
	return b, nil
}

// listeners lists who listened to the node's releases.
func (n *Node) listeners() ([]api.Listener, error) {
	if s := n.current(); s != nil {
		return append([]api.Listener{}, s.hood.audience.stored().Listeners...), nil
	}
	m, err := n.stored()
	return append([]api.Listener{}, m.Audience.Listeners...), err
}

// excess returns the value of [api.Budget.Excess].
func (n *Node) excess() (float64, error) {
	if n.unbounded() {
		return 1, nil
	}
	return n.policy.Excess()
}

// plan counts the steps of a committed plan; nil if there is no plan.
func (n *Node) plan() *api.PlanBudget {
	if c := n.files.Config; !c.Protected() || !c.Planned() {
		return nil
	}
	steps, done := n.policy.Schedule.Releases(), n.ledger.Position()
	return &api.PlanBudget{Steps: steps, Done: done, Left: max(0, steps-done)}
}

// rising reports whether the release after the next one has less noise.
func (n *Node) rising() bool {
	next, _ := n.policy.Next(n.ledger.Position())
	later, _ := n.policy.Next(n.ledger.Position() + 1)
	return later.NoiseStd() < next.NoiseStd()
}

// unbounded reports whether there is no guarantee, or will be none.
func (n *Node) unbounded() bool { return n.ledger.Unbounded() || !n.files.Config.Protected() }

// cohorts lists the cohorts that hold training records or have paid.
func (n *Node) cohorts() ([]api.CohortBudget, error) {
	counts, err := n.records.count()
	if err != nil {
		return nil, err
	}
	slots := counts.Slots
	spending := make(map[privacy.Cohort]storage.Spending)
	for _, s := range n.ledger.Spending() {
		spending[s.Cohort] = s
		slots[s.Cohort] += 0 // so that it is listed even if it holds nothing
	}
	retired := n.ledger.Retired()
	out := make([]api.CohortBudget, 0, len(slots))
	for _, c := range slices.Sorted(maps.Keys(slots)) {
		s := spending[c]
		k := api.CohortBudget{Cohort: c, Records: slots[c], Releases: s.Releases, Sums: s.Sums, Spent: s.Share, AtLeast: s.Share, Retired: c <= retired}
		if k.Retired {
			k.Spent = 1
		}
		k.Left, k.Next = n.left(c)
		out = append(out, k)
	}
	return out, nil
}

// left returns how many releases a cohort can still take part in, and what share of its
// budget the next one costs.
func (n *Node) left(c privacy.Cohort) (releases int, next float64) {
	if n.stranded() != nil {
		return 0, 0
	}
	if n.files.Config.Protected() {
		return n.ledger.Left(c)
	}
	return max(0, n.files.Config.Releases-n.ledger.Unprotected()), 0
}

// pays reports whether records have a budget that releases use up.
func (n *Node) pays() bool { return n.files.Config.Protected() && !n.files.Task.Silent() }

// missing is how many more records must come before the next release.
func (n *Node) missing(cohorts []api.CohortBudget) int {
	if !n.pays() || n.neverShared() {
		return 0
	}
	var fresh []int
	spent := 0
	for _, c := range cohorts {
		if c.Left > 0 {
			fresh = append(fresh, c.Records)
		} else {
			spent += c.Records
		}
	}
	return n.files.Task.Missing(fresh, spent)
}

// spent reports whether a cohort can pay for no more releases.
func (n *Node) spent(c privacy.Cohort) bool { return n.pays() && n.ledger.Exhausted(c) }

// done reports whether nothing is released any more, unless records come. Without protection and
// without a limit, another release is always possible. If the task releases nothing, done
// reports whether the last private sum is here.
func (n *Node) done(cohorts []api.CohortBudget) bool {
	if n.files.Task.Silent() {
		return n.sums.over()
	}
	c := n.files.Config
	if n.stranded() != nil {
		return true
	}
	if !c.Protected() && c.Releases == 0 {
		return false
	}
	return n.missing(cohorts) > 0 ||
		len(cohorts) > 0 && !slices.ContainsFunc(cohorts, func(c api.CohortBudget) bool { return c.Left > 0 && c.Records > 0 })
}

func (n *Node) summary(cohorts []api.CohortBudget) api.BudgetSummary {
	c := n.files.Config
	s := api.BudgetSummary{
		Epsilon: c.Epsilon, Delta: c.Guarantee().Delta, Left: c.Releases,
		Unbounded: n.unbounded(), Unprotected: !c.Protected(), Obfuscation: n.files.Task.Obfuscated(), Plan: n.plan(),
		Stranded: n.stranded() != nil, Missing: n.missing(cohorts), SumsShare: n.files.Task.Sums.Share(), SumsOnly: n.files.Task.Silent(),
	}
	if s.SumsOnly || s.Stranded {
		s.Left = 0
	}
	if len(cohorts) > 0 {
		newest := cohorts[len(cohorts)-1]
		s.Spent, s.AtLeast, s.Left, s.Retired = newest.Spent, newest.AtLeast, newest.Left, newest.Retired
		s.Releases = newest.Releases
		for _, older := range cohorts[:len(cohorts)-1] {
			s.Older = max(s.Older, older.Spent)
		}
	}
	if !c.Protected() {
		s.Releases = n.ledger.Unprotected()
	}
	return s
}
