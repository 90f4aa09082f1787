package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"p2pnode/learner"
)

// The limits of bar 2, while the attacker takes places, from addresses of its own, at
// the node that everybody starts from.
const (
	soon            = 30 * time.Second
	allowedAdmitted = 0.95 // share of newcomers with an edge to an honest node within that time
)

// silence attacks with connections that never send anything.
func silence() Scenario {
	return Scenario{
		Name: "silence", Daemons: true,
		About: "holds TCP connections open and never says a word on them, 79 of four addresses and as many again as are closed",
		Run:   onField(sociable, reachable("silent connections", holdSilent)),
	}
}

// halves attacks with requests whose second half never comes.
func halves() Scenario {
	return Scenario{
		Name: "halves", Daemons: true,
		About: "begins 600 requests for an edge from 150 identities and never ends them",
		Run:   onField(sociable, reachable("half requests", holdHalves)),
	}
}

// crowd attacks with one address that many peers share.
func crowd() Scenario {
	return Scenario{
		Name: "crowd", Daemons: true,
		About: "connects 300 identities from one address",
		Run:   onField(sociable, reachable("300 peers of one address", holdCrowd)),
	}
}

// sociable is a task whose daemons want more neighbours than there are nodes, so that
// newcomers who know each other go on to look for old nodes.
func sociable() *learner.Task {
	t := plain()
	t.Graph.Degree = 30
	return t
}

// reachable makes a scenario that attacks all old nodes and measures bar 2: how many
// newcomers, who know only the victim, have an edge to an old node in time, and how
// soon an old neighbour that was away is back. hold takes places until its context
// ends, and calls stands once it has them.
func reachable(name string, hold func(ctx context.Context, f *field, old []*person, stands func()) error) func(context.Context, *field) ([]Bar, error) {
	return func(ctx context.Context, f *field) ([]Bar, error) {
		if err := f.settle(3, nil); err != nil {
			return nil, err
		}
		if err := f.together(ctx, 2); err != nil {
			return nil, err
		}
		old := slices.Clone(f.honest)
		newcomers, err := f.newcomers(f.several(4, 20), nil)
		if err != nil {
			return nil, err
		}
		holding, stop := context.WithCancel(ctx)
		defer stop()
		standing := make(chan struct{})
		ended := make(chan error, 1)
		go func() { ended <- hold(holding, f, old, sync.OnceFunc(func() { close(standing) })) }()
		f.Say("the attacker takes places")
		select {
		case <-standing:
		case err := <-ended:
			return nil, errors.Join(err, context.Cause(ctx))
		}
		bars, err := f.admitted(ctx, name, newcomers)
		stop()
		return bars, errors.Join(err, <-ended)
	}
}

// newcomers makes n daemons that have not run yet.
func (f *field) newcomers(n int, set settings) (all []*person, err error) {
	for range n {
		p, err := f.prepare(set)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// admitted starts an old neighbour again while an attack goes on, and then the
// newcomers.
func (f *field) admitted(ctx context.Context, name string, newcomers []*person) ([]Bar, error) {
	f.Say(fmt.Sprintf("an old neighbour starts once more, and %d newcomers", len(newcomers)))
	old := f.honest[len(f.honest)-1]
	f.halt(old)
	if err := f.start(old); err != nil {
		return nil, err
	}
	back := newWait(func() (bool, error) { return f.linked(ctx, f.victim(), old) })
	waits := []*wait{back}
	look := func() (done bool, err error) {
		done = true
		for _, w := range waits {
			if err := w.look(); err != nil {
				return false, err
			}
			done = done && w.took > 0
		}
		return done, nil
	}
	for _, p := range newcomers { // which takes long on a busy machine: those who are in meanwhile count
		if err := f.start(p); err != nil {
			return nil, err
		}
		waits = append(waits, newWait(func() (bool, error) {
			n, err := f.links(ctx, p) // edges to old nodes: newcomers are not in f.honest
			return n > 0, err
		}))
		if _, err := look(); err != nil {
			return nil, err
		}
	}
	err := until(ctx, soon, look)
	if err != nil && !errors.Is(err, errTimeout) {
		return nil, err
	}
	in := 0
	for _, w := range waits[1:] {
		if w.took > 0 {
			in++
		}
	}
	if back.took == 0 {
		back.took = time.Since(back.began)
	}
	return []Bar{
		atLeast("2 newcomers: "+name, float64(in)/float64(len(newcomers)), allowedAdmitted, fmt.Sprintf("of %d with an edge in %v", len(newcomers), soon)),
		AtMost("2 old neighbour back: "+name, back.took.Seconds(), soon.Seconds(), "s"),
	}, nil
}

// wait is something that must happen soon.
type wait struct {
	began    time.Time
	happened func() (bool, error)
	took     time.Duration // 0: it has not happened in time
}

func newWait(happened func() (bool, error)) *wait {
	return &wait{began: time.Now(), happened: happened}
}

func (w *wait) look() error {
	if w.took > 0 || time.Since(w.began) > soon {
		return nil
	}
	yes, err := w.happened()
	if yes {
		w.took = time.Since(w.began)
	}
	return err
}

// linked reports whether two honest daemons are connected neighbours.
func (f *field) linked(ctx context.Context, p, q *person) (bool, error) {
	peers, err := p.owner.Peers(ctx)
	for _, n := range peers {
		if n.ID == q.id.String() && n.Connected && n.Listening {
			return true, err
		}
	}
	return false, err
}

// tcpAddr is the address on which a daemon listens.
func (p *person) tcpAddr() string {
	fields := strings.Split(p.addr, "/") // /ip4/ADDRESS/tcp/PORT/p2p/ID
	return net.JoinHostPort(fields[2], fields[4])
}

// holdSilent keeps raw connections open.
func holdSilent(ctx context.Context, f *field, old []*person, stands func()) error {
	const addresses = 4
	many := f.several(79, 256*addresses)
	var holding sync.WaitGroup
	for _, p := range old {
		for i := range many {
			d := dialer{f.attacker, raid(i % addresses)}
			last := p == old[len(old)-1] && i == many-1
			holding.Go(func() {
				for ctx.Err() == nil {
					if c, err := d.DialContext(ctx, "tcp", p.tcpAddr()); err == nil {
						if last {
							stands()
						}
						closed := context.AfterFunc(ctx, func() { _ = c.Close() })
						_, _ = io.Copy(io.Discard, c) // until the other end closes
						closed()
						_ = c.Close()
					}
					_ = rest(ctx, refused)
				}
			})
		}
	}
	holding.Wait()
	return nil
}

// holdHalves keeps half-sent requests open.
func holdHalves(ctx context.Context, f *field, old []*person, stands func()) error {
	const identities, requests, addresses = 150, 4, 8
	all, err := f.strangers(identities, addresses)
	if err != nil {
		return err
	}
	each(ctx, all, func(i int, s *stranger) {
		open := make(map[*person][]network.Stream)
		for _, p := range old {
			open[p] = make([]network.Stream, requests)
		}
		for ctx.Err() == nil {
			for _, p := range old {
				if s.meet(ctx, p) != nil {
					return
				}
				for k, stream := range open[p] {
					if stream == nil || ended(stream) {
						open[p][k], _ = s.say(ctx, p, edgeProtocol(f.network), []byte{200}) // the first byte of a length
					}
				}
			}
			if i == len(all)-1 {
				stands()
			}
			_ = rest(ctx, refused)
		}
	})
	return nil
}

// ended reports whether the other end has closed or reset a stream.
func ended(s network.Stream) bool {
	_ = s.SetReadDeadline(time.Now().Add(time.Millisecond))
	var b [64]byte
	for {
		_, err := s.Read(b[:])
		if err == nil {
			continue
		}
		timeout, ok := errors.AsType[net.Error](err)
		return !ok || !timeout.Timeout()
	}
}

// holdCrowd keeps many identities connected from one address.
func holdCrowd(ctx context.Context, f *field, old []*person, stands func()) error {
	const identities = 300
	all, err := f.strangers(identities, 1)
	if err != nil {
		return err
	}
	each(ctx, all, func(i int, s *stranger) {
		if i == len(all)-1 {
			_ = rest(ctx, 5*time.Second) // until the others are connected, or refused
			stands()
		}
		for ctx.Err() == nil {
			for _, p := range old {
				if s.dial(ctx, p) != nil && ctx.Err() != nil {
					return
				}
			}
			_ = rest(ctx, refused)
		}
	})
	return nil
}
