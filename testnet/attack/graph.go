package attack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-msgio"
	"github.com/multiformats/go-multiaddr"
	"google.golang.org/protobuf/encoding/protowire"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// The limits of bar 4: what ten times as many hostile identities as honest ones must
// leave to a node.
const (
	allowedEdges  = 0.5  // share of its edges that are honest
	allowedWeight = 0.3  // share of its weight
	allowedView   = 0.25 // share of the peers it names when it is asked
)

// settleTime is how long the honest nodes have been neighbours before the crowd comes.
// A node gives up old edges slowly, and edges made a second ago quickly.
const settleTime = time.Minute

// eclipse attacks the choice of neighbours: every peer that the victim could find most
// similar is hostile.
func eclipse() Scenario {
	return Scenario{
		Name: "eclipse", Daemons: true,
		About: "claims the victim's own estimate with ten identities for each honest node, half of them without noise, asks for edges, and tells of no others",
		Run:   onField(few, surround),
	}
}

// few is a task of nodes with few neighbours, so that a few hostile ones are a large
// share.
func few() *learner.Task {
	t := similar()
	t.Graph.Degree = 4
	return t
}

func surround(ctx context.Context, f *field) ([]Bar, error) {
	honest := f.several(6, 8)
	if err := f.settle(honest, func(c *datadir.Config) { c.WakeSeconds, c.Epsilon = 1, f.task.Release.MaxEpsilon }); err != nil {
		return nil, err
	}
	if err := f.together(ctx, 2); err != nil {
		return nil, err
	}
	if err := f.feed(ctx); err != nil {
		return nil, err
	}
	f.Say(fmt.Sprintf("letting them stand for %v", settleTime))
	if err := rest(ctx, settleTime); err != nil {
		return nil, err
	}
	all, err := f.strangers(10*honest, 64)
	if err != nil {
		return nil, err
	}
	f.Say(fmt.Sprintf("%d hostile identities", len(all)))
	attacking, stop := context.WithTimeout(ctx, max(f.length(), 25*time.Second)) // an edge is renewed, and requested again, within 20 s
	defer stop()
	each(attacking, all, func(i int, s *stranger) { s.flatter(attacking, i, all) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return f.surrounded(ctx)
}

// flatter asks the victim for an edge, with a copy of the victim's own values, and for
// exchanges, until ctx ends.
func (s *stranger) flatter(ctx context.Context, i int, all []*stranger) {
	victim := s.field.victim()
	var said atomic.Pointer[entry] // what the victim says of itself
	lie := func() (own entry, known []entry) {
		if e := said.Load(); e != nil {
			return s.alike(*e, i), alikes(all, *e, i)
		}
		return s.unknown(), nil
	}
	s.answer(lie)
	for ctx.Err() == nil {
		if s.meet(ctx, victim) != nil {
			return
		}
		own, known := lie()
		answer, err := s.ask(ctx, victim, request{kind: gossip.EdgeExchange, own: own, known: known})
		if err == nil && len(answer.own.vector) > 0 {
			said.Store(&answer.own)
			_, _ = s.ask(ctx, victim, request{kind: gossip.EdgeAsk, own: s.alike(answer.own, i)})
		}
		if rest(ctx, 2*time.Second) != nil {
			return
		}
	}
}

// alike is the entry of a stranger that copies another's values; every other stranger
// claims to know them without noise.
func (s *stranger) alike(said entry, i int) entry {
	if i%2 == 0 {
		said.std = 0
	}
	e := entry{round: said.round, std: said.std, vector: said.vector}
	passport, err := s.signer.Passport(gossip.Entry{Peer: s.ID(), Round: e.round, Std: e.std, Vector: e.vector}, []multiaddr.Multiaddr{s.addr})
	if err != nil {
		return s.unknown()
	}
	e.passport = passport
	return e
}

// alikes returns sixteen such entries of other strangers.
func alikes(all []*stranger, said entry, i int) (out []entry) {
	for k := range gossip.MaxKnown {
		other := all[(i+k+1)%len(all)]
		e := other.alike(said, i+k+1)
		e.peer = other.ID()
		out = append(out, e)
	}
	return out
}

// answer makes a stranger accept every edge and send what lie returns.
func (s *stranger) answer(lie func() (entry, []entry)) {
	s.SetStreamHandler(edgeProtocol(s.field.network), func(stream network.Stream) {
		_ = stream.SetDeadline(time.Now().Add(10 * time.Second))
		const longest = 1 << 20
		data, err := msgio.NewVarintReaderSize(stream, longest).ReadMsg()
		if err != nil {
			_ = stream.Reset()
			return
		}
		asked := decodeMessage(data, 0)
		own, known := lie()
		r := request{own: own, known: known, turn: asked.turn + 1}
		_, _ = stream.Write(framed(r.encodeReply()))
		_ = stream.Close()
	})
}

// surrounded looks at the victim's edges, and asks which peers it knows.
func (f *field) surrounded(ctx context.Context) ([]Bar, error) {
	peers, err := f.victim().owner.Peers(ctx)
	if err != nil {
		return nil, err
	}
	var edges, weight, own, ownWeight float64
	for _, p := range peers {
		edges++
		weight += p.Weight
		if f.who(p.ID) != nil {
			own++
			ownWeight += p.Weight
		}
	}
	known, hostile, err := f.named(ctx)
	if err != nil {
		return nil, err
	}
	if edges == 0 || known == 0 {
		return nil, errors.New("attack: the victim has no edges, or names nobody")
	}
	return []Bar{
		atLeast("4 honest edges: eclipse", own/edges, allowedEdges, fmt.Sprintf("of %.0f edges", edges)),
		atLeast("4 honest weight: eclipse", ownWeight/max(weight, 1e-300), allowedWeight, "of the weight"),
		atLeast("4 honest view: eclipse", 1-hostile/known, allowedView, fmt.Sprintf("of %.0f entries named", known)),
	}, nil
}

// named asks the victim several times for an exchange, each time as another stranger,
// and counts the peers it names.
func (f *field) named(ctx context.Context) (known, hostile float64, err error) {
	for range 8 {
		s, err := f.stranger(raid(100))
		if err != nil {
			return 0, 0, err
		}
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		if s.meet(limited, f.victim()) == nil {
			answer, err := s.ask(limited, f.victim(), request{kind: gossip.EdgeExchange, own: s.unknown()})
			if err == nil {
				for _, e := range answer.known {
					known++
					if f.who(e.peer.String()) == nil {
						hostile++
					}
				}
			}
		}
		cancel()
		if err := rest(ctx, 500*time.Millisecond); err != nil {
			return 0, 0, err
		}
	}
	return known, hostile, nil
}

// passports attacks the good name of honest nodes: what they pass on in good faith is
// too large for the receivers.
func passports() Scenario {
	return Scenario{
		Name: "passports", Daemons: true,
		About: "gives honest nodes entries whose passports are far larger than they say, so that they are struck for passing them on",
		Run:   onField(plain, swell),
	}
}

func swell(ctx context.Context, f *field) ([]Bar, error) {
	if err := f.settle(4, nil); err != nil {
		return nil, err
	}
	if err := f.together(ctx, 3); err != nil {
		return nil, err
	}
	all, err := f.strangers(6, 6)
	if err != nil {
		return nil, err
	}
	const least = 20 * time.Second // each node makes two exchanges
	length := max(least, f.length())
	f.Say(fmt.Sprintf("large passports for %v", length))
	attacking, stop := context.WithTimeout(ctx, length)
	defer stop()
	struck := make(map[string]bool)
	watching := make(chan error, 1)
	go func() { watching <- f.watchStrikes(attacking, struck) }()
	each(attacking, all, func(i int, s *stranger) {
		bulk := s.bulky(i, all)
		for n := 0; attacking.Err() == nil; n++ {
			p := f.honest[n%len(f.honest)]
			if s.meet(attacking, p) != nil {
				return
			}
			_, _ = s.ask(attacking, p, bulk)
			if rest(attacking, time.Second) != nil {
				return
			}
		}
	})
	if err := <-watching; err != nil {
		return nil, err
	}
	return []Bar{AtMost("3 honest nodes blamed by honest ones: passports", float64(len(struck)), 0, "of 12 pairs")}, context.Cause(ctx)
}

// bulky is an exchange with an own entry of 30 kB: its passport repeats a field that
// holds one value many times, of which the last counts.
func (s *stranger) bulky(i int, all []*stranger) request {
	const proofField, piece, size = 2, 100, 30_000
	own := s.unknown()
	for len(own.passport) < size {
		own.passport = bytesField(own.passport, proofField, make([]byte, piece))
	}
	own.passport = bytesField(own.passport, proofField, nil)
	r := request{kind: gossip.EdgeExchange, own: own}
	if i%2 == 0 { // small ones with no content, repeated
		for k := range gossip.MaxKnown {
			other := all[(i+k+1)%len(all)]
			e := other.unknown()
			e.peer = other.ID()
			for len(e.passport) < 2_000 {
				e.passport = protowire.AppendTag(e.passport, proofField, protowire.BytesType)
				e.passport = protowire.AppendBytes(e.passport, nil)
			}
			r.known = append(r.known, e)
		}
		r.own = s.unknown()
	}
	return r
}

// watchStrikes notes which honest daemons blame which, until ctx ends: by malformed
// messages in their logs, and by the offences that they hold against each other.
func (f *field) watchStrikes(ctx context.Context, struck map[string]bool) error {
	var reading sync.WaitGroup
	defer reading.Wait()
	var mu sync.Mutex
	blame := func(p, q *person) {
		mu.Lock()
		defer mu.Unlock()
		struck[p.name+" blames "+q.name] = true
	}
	for _, p := range f.honest {
		if err := p.owner.SetLogLevels(ctx, api.LogLevels{"gossip": "debug"}); err != nil {
			return err
		}
		reading.Go(func() {
			for line, err := range p.owner.Logs(ctx, 0, true) {
				if err != nil {
					return
				}
				for _, q := range f.honest {
					if strings.Contains(line.Text, "malformed") && strings.Contains(line.Text, "peer="+q.id.String()) {
						blame(p, q)
					}
				}
			}
		})
	}
	for rest(ctx, time.Second) == nil {
		mu.Lock()
		err := f.blames(context.WithoutCancel(ctx), struck)
		mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}
