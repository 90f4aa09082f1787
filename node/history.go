package node

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"p2pnode/gossip"
	"p2pnode/node/api"
	"p2pnode/storage"
)

// ErrRolledBack says that peers hold a model signed by this node that its directory does
// not know. Nothing is deleted, and nothing is published until the owner has resolved
// that.
var ErrRolledBack = errors.New("node: the directory is not the only and newest copy of this node")

// history compares what peers hold of this node with the node's own ledger. The first
// contradiction stops all releases and is written down, so that they stay stopped in a
// later run that does not meet those peers: another release might spend a budget that was
// spent already. All methods are safe for concurrent use.
type history struct {
	ledger *storage.Ledger
	broken chan struct{} // closed at the first contradiction

	mu  sync.Mutex
	err error
}

func newHistory(l *storage.Ledger) *history {
	h := &history{ledger: l, broken: make(chan struct{})}
	if h.err = knownContradiction(l); h.err != nil {
		close(h.broken)
	}
	return h
}

// restoreIfLost is the last advice for a directory that a peer contradicts.
const restoreIfLost = "if that is lost, p2pnode restore goes on with this one and retires the records in it, or only predicts with it where the task's learner goes in rounds"

// foreignSum adds the advice for a directory that a committee contradicts: a copy of it
// may be running elsewhere.
func foreignSum(err error) error {
	return api.Advise(err, "stop the other copy if one runs, and put the newest directory back; "+restoreIfLost)
}

// knownContradiction returns the error of a ledger that a peer has contradicted in this
// run or an earlier one.
func knownContradiction(l *storage.Ledger) error {
	round := l.Contradicted()
	if round == 0 {
		return nil
	}
	if l.ForeignSum() {
		return foreignSum(fmt.Errorf("%w: a committee certified before that a contribution of this node is in a private sum, and this directory does not know it", ErrRolledBack))
	}
	return api.Advise(fmt.Errorf("%w: a peer showed before that it holds round %d, and this directory ends at round %d", ErrRolledBack, round, l.Round()),
		"put the newest directory back; "+restoreIfLost)
}

// check handles the witness that a peer returned; nil means that the peer holds none. It
// returns the contradiction, if there is one now or there was one before.
func (h *history) check(w *gossip.Witness) error {
	err := h.compare(w)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && h.err == nil {
		if lost := h.ledger.Contradict(w.Round); lost != nil {
			err = fmt.Errorf("%w (and it could not be written down for the next start: %w)", err, lost)
		}
		h.err = err
		close(h.broken)
	}
	return h.err
}

// contradiction returns the contradiction found so far, or nil.
func (h *history) contradiction() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// compare relies on the order of a release: a round is paid for and its model is on disk
// before anybody can have the model. So a peer can hold at most the newest round, and
// then exactly the stored model. After a deliberate restore the rounds are far above any
// that were published, so there is nothing to compare.
func (h *history) compare(w *gossip.Witness) error {
	if w == nil {
		return nil
	}
	committed, message := h.ledger.Outgoing()
	paid := h.ledger.Round()
	switch {
	case w.Round < paid:
		return nil
	case w.Round > paid:
		return api.Advise(fmt.Errorf("%w: a peer holds its round %d, and this directory ends at round %d, so it is an older copy, "+
			"or a copy of it runs elsewhere", ErrRolledBack, w.Round, paid), "stop the other copy, or put the newest directory back; "+restoreIfLost)
	}
	own, err := gossip.WitnessOf(message)
	if committed == paid && err == nil && bytes.Equal(own.Hash, w.Hash) {
		return nil
	}
	return api.Advise(fmt.Errorf("%w: a peer holds another model of round %d than this directory, so two copies of it have run", ErrRolledBack, paid),
		"stop the other copy and keep one directory; then p2pnode restore goes on with that one and retires the records in it, or only predicts with it where the task's learner goes in rounds")
}
