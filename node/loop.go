package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/internal/turn"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/diary"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// loop drives one agent: only the loop calls the agent's methods, in the order of the
// events. The agent's messages wait in outgoing for their turn.
type loop struct {
	agent   learner.Agent
	door    *door
	history *history
	signer  *gossip.Signer
	gossip  *gossip.Gossip
	network string // the network's name
	hood    *neighbourhood
	log     *slog.Logger
	diary   *diary.Diary
	start   time.Time     // zero of the agent's clock
	woke    time.Duration // when the event that is being handled arrived
	saved   time.Time     // when the state was stored last

	recheckEvery time.Duration

	records chan recordChange
	shown   atomic.Pointer[learner.State] // the state that the owner is told, without waiting for the agent

	told     []learner.Edge // the edges that the agent was told last
	recheck  *time.Timer    // when to check whether these are still right
	timer    *time.Timer
	outgoing chan outgoing   // messages that will be sent, oldest first; broadcasts are committed
	stopping <-chan struct{} // closed when run must return
}

// saveEvery is how often a node that releases nothing stores what it has heard, so that
// it can show that to its neighbours even after it was killed.
const saveEvery = 10 * time.Minute

// recordChange holds records that were just stored, or the numbers of deleted ones.
type recordChange struct {
	add  []learner.Record
	drop []learner.Seq
	done chan error
}

// run handles events until ctx ends, a release fails, or a peer knows more of this node
// than the node's directory. When ctx has ended it stores the agent's state.
func (l *loop) run(ctx context.Context) error {
	l.timer = time.NewTimer(time.Hour)
	defer l.timer.Stop()
	l.recheck = time.NewTimer(turn.Wait(l.recheckEvery))
	defer l.recheck.Stop()
	var publishing sync.WaitGroup
	defer publishing.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.stopping = ctx.Done()
	publishing.Go(func() { l.publish(ctx) })
	if err := l.look(); err != nil {
		return err
	}
	for {
		if err := l.next(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return l.saveState()
		}
	}
}

// next waits for one event and handles it.
func (l *loop) next(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-l.history.broken:
		return l.history.contradiction()
	case <-l.timer.C:
		l.wake()
		return l.handle(l.agent.Tick(l.woke))
	case <-l.gossip.Inbox().Wake():
		return l.receive()
	case <-l.hood.changed:
		return l.look()
	case <-l.gossip.ListenersChanged():
		return l.look()
	case <-l.recheck.C:
		l.recheck.Reset(turn.Wait(l.recheckEvery))
		// A listener that leaves and comes back may cause only one event. If the loop
		// looked in between, it would believe for ever that the listener is away.
		if !slices.Equal(l.told, l.hood.forAgent()) {
			return l.look()
		}
		return nil
	case c := <-l.records:
		c.done <- l.agent.Records(c.add, c.drop)
		if len(c.add) == 0 {
			return nil
		}
		return l.look() // new records may make a silent agent release again
	}
}

// look tells the agent its neighbours and which of them listen.
func (l *loop) look() error {
	l.told = l.hood.forAgent()
	l.wake()
	return l.handle(l.agent.Neighbours(l.woke, l.told))
}

func (l *loop) now() time.Duration { return time.Since(l.start) }

func (l *loop) wake() { l.woke = l.now() }

func (l *loop) receive() error {
	messages := l.gossip.Inbox().Take()
	// A message may come from a neighbour that the agent does not know yet. What brought
	// that neighbour was signalled before its message was in the inbox.
	select {
	case <-l.hood.changed:
		if err := l.look(); err != nil {
			return err
		}
	default:
	}
	for _, m := range messages {
		l.wake()
		out, err := l.agent.Receive(l.woke, m)
		if err != nil {
			// Stale rounds and messages of strangers are normal in a network.
			if errors.Is(err, learner.ErrStranger) {
				l.missed(m.From)
			}
			l.log.Debug("message dropped", "from", m.From, "kind", m.Kind, "round", m.Round, "reason", err)
			continue
		}
		if err := l.handle(out); err != nil {
			return err
		}
	}
	if time.Since(l.saved) > saveEvery {
		return l.saveState()
	}
	return nil
}

// missed makes a message come again. By the time its sender renews the edge, the agent
// knows of the edge.
func (l *loop) missed(from learner.ID) {
	if id, err := peer.Decode(string(from)); err == nil {
		l.gossip.Missed(id)
	}
}

// handle carries out what the agent asked for. A query goes through the door immediately,
// and the agent's output for the answer is handled in the same way. All messages that
// follow from a query are sent at the query's slot, even if no budget was left for it.
func (l *loop) handle(out learner.Output) error {
	var carried release
	for {
		if err := l.dispatch(out.Send, carried); err != nil {
			return err
		}
		if out.Ask == nil {
			l.arm(out.Next)
			l.show()
			if carried.round > 0 && !l.hood.again().IsZero() {
				return l.look() // it was the day's last release: from now on nobody counts as listening
			}
			return nil
		}
		if err := l.history.contradiction(); err != nil {
			return err
		}
		before := l.door.ledger.Spending()
		answer, err := l.door.release(out.Ask)
		if err != nil {
			return err
		}
		carried = release{out.Ask.Round, slotOf(out.Ask, l.woke)}
		if answer.Exhausted() {
			carried.round = 0
		} else {
			l.hood.audience.note(time.Now(), l.told)
		}
		l.tellRelease(carried.round, &answer, before)
		// The agent gets the time of the slot, so that its deadlines do not reveal how
		// long the computation took.
		out = l.agent.Released(max(l.woke, carried.slot.at(l.now())), answer)
	}
}

// tellRelease tells the owner what share of their budget the newest records in a release
// paid, or that no budget is left.
func (l *loop) tellRelease(round uint64, a *privacy.Answer, before []storage.Spending) {
	if a.Exhausted() {
		l.diary.Tell(api.Event{Kind: api.EventUnpaid, Text: "privacy budget used: no more releases for these records", Round: l.door.ledger.Round()})
		return
	}
	share := func(list []storage.Spending) (spent float64) {
		for _, s := range list {
			if len(a.Cohorts) > 0 && s.Cohort == slices.Max(a.Cohorts) {
				spent = s.Share
			}
		}
		return spent
	}
	l.diary.TellEach(api.Event{Kind: api.EventReleased, Text: "release paid for", Round: round, Share: share(l.door.ledger.Spending()) - share(before)})
}

func (l *loop) arm(next time.Duration) {
	if next == learner.Never {
		l.timer.Stop()
		return
	}
	l.timer.Reset(time.Until(l.start.Add(next)))
}

// show lets the owner see the agent as it is between two events.
func (l *loop) show() {
	state := l.agent.State()
	l.shown.Store(&state)
}

func (l *loop) saveState() error {
	state, err := encodeMemory(l.agent.State(), l.network, l.gossip, l.hood.audience)
	if err != nil {
		return fmt.Errorf("node: encode what was heard of others: %w", err)
	}
	if err := l.door.ledger.SaveState(state); err != nil {
		return fmt.Errorf("node: store what was heard of others: %w", err)
	}
	l.saved = time.Now()
	return nil
}
