package node

import (
	"github.com/libp2p/go-libp2p/core/host"

	"p2pnode/discovery"
	"p2pnode/discovery/reach"
	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/summing"
)

// session holds what exists only while a node runs: host, network, loop.
type session struct {
	host      host.Host
	reach     *reach.Reach
	unopened  []string // the addresses at which the node does not listen, and why
	gossip    *gossip.Gossip
	hood      *neighbourhood
	discovery *discovery.Discovery
	loop      *loop
	desk      *summing.Desk // nil: the task has no private sums
	ended     chan struct{} // closed when the loop has returned
}

// service returns what the session does for private sums.
func (s *session) service() *gossip.Service {
	if s.desk == nil {
		return nil
	}
	return s.desk.Service()
}

// records passes stored records, or the numbers of deleted ones, to the agent. It cannot
// be cancelled: a stored record that the agent does not get would be missing until the
// next run, and a deleted one must leave the agent too.
func (s *session) records(add []learner.Record, drop []learner.Seq) error {
	c := recordChange{add: add, drop: drop, done: make(chan error, 1)}
	select {
	case s.loop.records <- c:
		return <-c.done
	case <-s.ended:
		return nil // the next run reads them
	}
}

// refresh calls the peers that the node waits for again, because the machine's network
// has changed.
func (s *session) refresh() {
	s.hood.keeper.Refresh()
	if s.desk != nil {
		s.desk.Refresh()
	}
}
