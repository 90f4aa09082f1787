package node

import (
	"cmp"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"slices"

	"p2pnode/gossip"
	"p2pnode/learner"
)

func (n *Node) newAgent() (learner.Agent, error) {
	state, err := n.storedState()
	if err != nil {
		return nil, err
	}
	// The wake times and masks of a real node are never seeded from a flag.
	schedule, err := n.source()
	if err != nil {
		return nil, err
	}
	masks, err := n.source()
	if err != nil {
		return nil, err
	}
	agent, err := learner.New(learner.Config{
		Self:     gossip.ID(n.self),
		Task:     n.files.task,
		Policy:   n.policy,
		Made:     n.ledger.Position(),
		WakeMean: n.files.config.WakeSeconds,
		Schedule: rand.New(schedule),
		Masks:    masks,
		Resume:   &state,
	})
	if err != nil {
		return nil, fmt.Errorf("node: resume the agent: %w", err)
	}
	if n.observe != nil {
		agent = n.observe(agent)
	}
	live, deleted, err := n.records.all()
	if err != nil {
		return nil, err
	}
	if refused, err := n.records.unfit(); err == nil && len(refused) > 0 {
		n.log.Warn("records that an earlier version stored do not fit the task; they take part in nothing: find them with \"p2pnode data list\", delete them and import them again", "records", len(refused))
	}
	drop := make([]learner.Seq, len(deleted))
	for i := range deleted {
		drop[i] = deleted[i].Seq
	}
	all := slices.Concat(live, deleted)
	slices.SortFunc(all, func(a, b learner.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	if err := agent.Records(all, drop); err != nil {
		return nil, fmt.Errorf("node: hand over the records: %w", err)
	}
	return agent, nil
}

// freshSource is a cryptographic generator with a seed of its own.
func freshSource() (rand.Source, error) {
	var seed [32]byte
	if _, err := crand.Read(seed[:]); err != nil {
		return nil, err
	}
	return rand.NewChaCha8(seed), nil
}
