package node

import (
	"context"
	"slices"
	"time"

	"p2pnode/internal/program"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/statement"
	"p2pnode/privacy"
)

// Statement says what this node guarantees, for others, signed with its key. It first
// reads the ledger from disk, and fails if the ledger is not sound or is an old copy:
// then it is unknown what was spent.
func (n *Node) Statement(ctx context.Context) (api.SignedStatement, error) {
	head, budget, err := n.audited(ctx)
	if err != nil {
		return api.SignedStatement{}, err
	}
	s := api.Statement{
		Format: api.StatementFormat, Node: n.self.String(), Time: time.Now().UTC().Truncate(time.Second), Program: program.Version(),
		Bare: budget.Bare, ShareOf: budget.ShareOf, Ledger: api.LedgerHead{Entries: head.Entries, CRC: head.CRC},
		Spent: paid(budget.Cohorts), RestsOn: restsOn(budget.Sums), NotCovered: notPromised(),
	}
	t := n.files.Task
	s.Task.Name, s.Task.Network, s.Task.Learner = t.Name, n.network, t.Learner
	if !budget.Unbounded {
		s.Guarantee = &api.Guarantee{
			Epsilon: budget.Epsilon, Delta: budget.Delta, Excess: budget.Excess, Batch: budget.Batch, Person: budget.Person,
			Unit: "replacing one record by any other, or by none, over its whole life", Noise: budget.Noise, Accounting: privacy.Accounting(budget.Accounting),
		}
	}
	s.Audiences = audiences(t, s.Guarantee, budget.Sums)
	return statement.Sign(s, n.files.Key)
}

// audited returns what the ledger on disk says and the budget at the same moment.
func (n *Node) audited(ctx context.Context) (api.Verification, api.Budget, error) {
	for {
		before, err := n.Verify(ctx)
		if err != nil {
			return before, api.Budget{}, err
		}
		budget, err := n.Budget(ctx)
		if err != nil {
			return before, api.Budget{}, err
		}
		if after, err := n.Verify(ctx); err != nil || after == before {
			return after, budget, err
		}
		if err := ctx.Err(); err != nil { // the two differ: something was paid for meanwhile
			return before, api.Budget{}, err
		}
	}
}

func paid(cohorts []api.CohortBudget) []api.Paid {
	out := []api.Paid{}
	for _, c := range cohorts {
		if c.Releases+c.Sums > 0 || c.Retired { // the statement would only reveal that the other cohorts exist
			out = append(out, api.Paid{Cohort: c.Cohort, Releases: c.Releases, Sums: c.Sums, Spent: c.Spent, AtLeast: c.AtLeast, Retired: c.Retired})
		}
	}
	return out
}

// audiences says who gets what. Only what is sent to single peers over encrypted streams
// is for them alone, so only there a promise names peers. Servers publish what they make
// of it, so the promise to each of them is no smaller than that to everybody.
func audiences(t *learner.Task, g *api.Guarantee, s *api.SumsBudget) (list []api.Audience) {
	add := func(a api.Audience) {
		if g != nil {
			a.Epsilon, a.Delta = &g.Epsilon, &g.Delta
		}
		if a.Peers == nil {
			a.Peers = []string{}
		}
		list = append(list, a)
	}
	switch servers := t.Servers(); {
	case t.Silent():
	case servers != nil:
		peers := make([]string, len(servers))
		for i, id := range servers {
			peers[i] = string(id)
		}
		add(api.Audience{Who: "The servers of the task", Peers: peers, Gets: "the gradients of this node", Way: "an encrypted stream to each"})
		add(api.Audience{Who: "Everybody", Gets: "the models that the servers make of the gradients of all", Way: "publication, for ever"})
	default:
		add(api.Audience{Who: "Everybody", Gets: "the models that this node releases", Way: "publication, for ever"})
	}
	if s != nil {
		add(api.Audience{
			Who: "The committee of the private sums", Peers: memberPeers(s.Committee), Colluding: s.Committee.Colluding,
			Gets: "what this node adds to a sum, masked so that no one of them can read it", Way: "publication of the masked bytes, and keys sealed to the members",
		})
		add(api.Audience{Who: "Everybody", Gets: "the sums over all people, with noise, once the committee has opened them", Way: "publication, for ever"})
	}
	return list
}

func memberPeers(c api.Committee) []string {
	var peers []string
	for _, m := range c.Members {
		peers = append(peers, m.Peer)
	}
	return slices.Clip(peers)
}

// restsOn lists the conditions of the guarantee.
func restsOn(s *api.SumsBudget) []string {
	list := []string{
		"that the node runs an unchanged p2pnode, whose releases and debits go through one door, and that nobody else writes to its directory",
		"that the operating system's random numbers are unpredictable, and that no copy of the directory or of the running machine is used beside it",
		"that each record is entered once: one that is entered again, here or on another device, has a budget of its own, and both add up",
	}
	if s != nil {
		list = append(list, "for private sums, that nobody breaks AES-256, HKDF-SHA256, Ed25519, and HPKE with ML-KEM-768 and X25519, and that no more members of the committee work together than it says")
	}
	return list
}

// notPromised is [NotCovered], worded for others.
func notPromised() []string {
	return []string{
		"how many records there are, when they came, and how they were grouped into cohorts",
		"that the node takes part, in which task, with which neighbours, when it sends, and its network address",
		"what the owner makes public herself: a profile, a prediction, a file",
		"what somebody who can read the machine finds: records and the personal model are on its disk, and never leave it",
	}
}
