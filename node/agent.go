package node

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"p2pnode/gossip"
	"p2pnode/learner"
)

func (n *Node) newAgent() (learner.Agent, error) {
	known, err := n.stored()
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
		Task:     n.files.Task,
		Policy:   n.policy,
		Made:     n.ledger.Position(),
		Spent:    n.spent,
		WakeMean: n.files.Config.WakeSeconds,
		Schedule: rand.New(schedule),
		Masks:    masks,
		Resume:   &known.State,
	})
	if err != nil {
		return nil, fmt.Errorf("node: resume the agent: %w", err)
	}
	if n.observe != nil {
		agent = n.observe(agent)
	}
	rows, err := n.records.all()
	if err != nil {
		return nil, err
	}
	if _, err := n.records.count(); err != nil { // from here on the count is kept up to date
		return nil, err
	}
	if refused := rows.refused(); len(refused) > 0 {
		n.log.Warn("records that an earlier version stored do not fit the task; they take part in nothing: find them with \"p2pnode data list\", delete them and import them again", "records", len(refused))
	}
	for some := range chunks(rows.slots(), handOver) {
		if err := agent.Records(some, nil); err != nil {
			return nil, fmt.Errorf("node: hand over the records: %w", err)
		}
	}
	return agent, nil
}

// handOver is how many records an agent is given in one call.
const handOver = 4096

// chunks yields records in slices of a size. A slice is valid until the next one is
// yielded.
func chunks(records iter.Seq[learner.Record], size int) iter.Seq[[]learner.Record] {
	return func(yield func([]learner.Record) bool) {
		var some []learner.Record
		for r := range records {
			if some = append(some, r); len(some) == size {
				if !yield(some) {
					return
				}
				some = some[:0]
			}
		}
		if len(some) > 0 {
			yield(some)
		}
	}
}
