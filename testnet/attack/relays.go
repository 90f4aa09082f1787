package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/proto"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/node/datadir"
)

// places attacks with the places by which a relay keeps nodes reachable.
func places() Scenario {
	return Scenario{
		Name: "places", Daemons: true, Slow: true,
		About: "takes places at a relay, more than it has, and takes them again when it loses them, from 1,200 identities of four networks",
		Run:   onField(plain, besideRelay("relay places", func(*field) int { return 1200 }, takePlace)),
	}
}

// circuits attacks with the connections that a relay carries to one node.
func circuits() Scenario {
	return Scenario{
		Name: "circuits", Daemons: true,
		About: "holds connections through a relay to a node behind it and says nothing on them, or streams to the relay on which it asks for nothing, from 256 identities of four networks",
		Run:   onField(plain, besideRelay("silent circuits", crowdOf, holdCircuits)),
	}
}

// behind attacks a node through the relay at which it is called.
func behind() Scenario {
	return Scenario{
		Name: "behind", Daemons: true,
		About: "sends random bytes to a node through its relay, or asks it for edges and gives them up again, from 256 identities of four networks",
		Run:   onField(plain, besideRelay("misbehaviour through a relay", crowdOf, misbehave)),
	}
}

// crowdOf is how many identities attack a node behind a relay.
func crowdOf(f *field) int { return f.several(64, 256) }

// besideRelay makes a scenario in which identities attack a relay and an honest daemon that
// is called through it, each until ctx ends. It measures what that costs both of them, and
// then, while the attack goes on, bar 2: how many newcomers, who know only the daemon's
// address at the relay, reach it in time, and how soon one does after the daemon has
// started once more.
func besideRelay(name string, identities func(*field) int, attack func(ctx context.Context, i int, s *stranger)) func(context.Context, *field) ([]Bar, error) {
	return func(ctx context.Context, f *field) ([]Bar, error) {
		hidden, err := f.conceal(ctx)
		if err != nil {
			return nil, err
		}
		first, err := f.newcomer(0)
		if err != nil {
			return nil, err
		}
		if !first.call(ctx) {
			return nil, errors.New("attack: nobody reaches the daemon through the relay, before any attack")
		}
		all, err := f.callers(identities(f))
		if err != nil {
			return nil, err
		}
		watched := map[string]*person{name + ", the relay": f.relay, name + ", the node": hidden}
		bars, stop, err := f.besiege(ctx, watched, func(ctx context.Context) {
			each(ctx, all, func(i int, s *stranger) { attack(ctx, i, s) })
		}, nil)
		defer stop()
		if err != nil {
			return nil, err
		}
		reached, err := f.called(ctx, name, hidden)
		return append(bars, reached...), errors.Join(err, context.Cause(ctx))
	}
}

// conceal starts a relay, and a daemon that nobody can call but through it. The victim is
// that daemon as strangers call it.
func (f *field) conceal(ctx context.Context) (*person, error) {
	f.Say("starting a relay, and a daemon that is called through it")
	if err := f.startRelay(); err != nil {
		return nil, err
	}
	p, err := f.prepare(nil)
	if err != nil {
		return nil, err
	}
	if _, err := p.host.Run("nft", "table ip filter { chain in { type filter hook input priority filter; iifname eth0 ct state != { established, related } drop; }; }"); err != nil {
		return nil, err
	}
	if err := f.start(p); err != nil {
		return nil, err
	}
	f.honest = []*person{{name: p.name, id: p.id, addr: f.relay.addr + "/p2p-circuit/p2p/" + p.id.String()}}
	if err := f.placed(ctx, p); err != nil {
		return nil, fmt.Errorf("attack: %s gets no place at the relay, before any attack: %w", p.name, err)
	}
	return p, nil
}

// startRelay starts a relay of the task, from which later daemons start.
func (f *field) startRelay() error {
	p, err := f.prepare(nil)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(f.life)
	p.stop = stop
	cmd := p.host.Command(ctx, f.Program, "relay", "--json", "--dir", filepath.Join(p.dir, "relay"), "--task", filepath.Join(p.dir, datadir.TaskFile),
		"--listen", p.listen)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("attack: start a relay: %w", err)
	}
	lines := json.NewDecoder(out)
	var said struct {
		Peer      string
		Addresses []string
	}
	err = lines.Decode(&said)
	f.running.Go(func() error {
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); ctx.Err() == nil {
			return fmt.Errorf("attack: the relay ended: %w", err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("attack: a relay says nothing of itself: %w", err)
	}
	p.pid, p.addr = cmd.Process.Pid, said.Addresses[0]
	p.id, err = peer.Decode(said.Peer)
	f.relay = p
	return err
}

// placed waits until a daemon says that it is called through the relay.
func (f *field) placed(ctx context.Context, p *person) error {
	return until(ctx, soon, func() (bool, error) {
		s, err := p.owner.Progress(ctx)
		return slices.ContainsFunc(s.Addrs, func(a string) bool { return strings.Contains(a, "/p2p-circuit") }), err
	})
}

// caller makes an identity that goes through relays and cannot be called. It says that it
// takes part in the network, as a relay serves nobody else.
func (f *field) caller(from netip.Addr) (*stranger, error) {
	s, err := f.identity(libp2p.EnableRelay(), f.overTCP(from))
	if err != nil {
		return nil, err
	}
	s.addr = multiaddr.StringCast(fmt.Sprintf("/ip4/%v/tcp/%d", from, daemonPort))
	s.SetStreamHandler(edgeProtocol(f.network), func(stream network.Stream) { _ = stream.Reset() })
	return s, nil
}

// callers makes identities that cannot be called, of four networks and sixteen addresses.
func (f *field) callers(n int) (all []*stranger, err error) {
	const networks = 4
	for i := range n {
		s, err := f.caller(raid(i%networks + 64*(i/networks%4)))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// newcomer is the k-th of those who call the victim through the relay. No attacker is in its
// network.
func (f *field) newcomer(k int) (*stranger, error) { return f.caller(raid(4 + k%60)) }

// call connects to the victim through the relay, until the victim has said who it is, and
// reports whether that has happened soon. Who was not reached is called again as late as
// libp2p does.
func (s *stranger) call(ctx context.Context) bool {
	defer s.Close()
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for ctx.Err() == nil {
		if s.dial(ctx, s.field.relay) == nil && s.dial(ctx, s.field.victim()) == nil {
			return true
		}
		_ = rest(ctx, 5*time.Second)
	}
	return false
}

// called measures bar 2 of a daemon behind a relay.
func (f *field) called(ctx context.Context, name string, hidden *person) ([]Bar, error) {
	newcomers := f.several(4, 20)
	f.Say(fmt.Sprintf("%d newcomers call the daemon through the relay", newcomers))
	var calling sync.WaitGroup
	var in atomic.Int64
	for k := range newcomers {
		s, err := f.newcomer(k)
		if err != nil {
			return nil, err
		}
		calling.Go(func() {
			if s.call(ctx) {
				in.Add(1)
			}
		})
		_ = rest(ctx, 500*time.Millisecond)
	}
	calling.Wait()
	last, err := f.newcomer(newcomers)
	if err != nil {
		return nil, err
	}
	f.Say("the daemon starts once more")
	f.halt(hidden)
	began := time.Now()
	if err := f.start(hidden); err != nil {
		return nil, err
	}
	if err := f.placed(ctx, hidden); err != nil && !errors.Is(err, errTimeout) {
		return nil, err
	}
	_ = last.call(ctx) // if it is not reached, it has taken too long
	return []Bar{
		atLeast("2 newcomers through the relay: "+name, float64(in.Load())/float64(newcomers), allowedAdmitted, fmt.Sprintf("of %d connected in %v", newcomers, soon)),
		AtMost("2 called again: "+name, time.Since(began).Seconds(), soon.Seconds(), "s"),
	}, nil
}

// takePlace holds a place at the relay.
func takePlace(ctx context.Context, _ int, s *stranger) {
	relay := s.field.relay
	at, err := peer.AddrInfoFromString(relay.addr)
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		if s.meet(ctx, relay) != nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := client.Reserve(limited, s, *at)
		cancel()
		for err == nil && s.Network().Connectedness(relay.id) == network.Connected {
			err = rest(ctx, time.Second)
		}
		_ = rest(ctx, refused)
	}
}

// holdCircuits holds connections through the relay to the victim: one on which an identity
// says who it is and nothing else, or four on which it does not even say that. Every fourth
// identity holds streams to the relay instead, on which it asks for nothing.
func holdCircuits(ctx context.Context, i int, s *stranger) {
	const many = 4
	var text []byte
	switch i % 4 {
	case 0:
	case 1:
		text = connectTo(s.field.victim().id)
	default:
		for s.meet(ctx, s.field.victim()) == nil && rest(ctx, refused) == nil {
		}
		return
	}
	var holding sync.WaitGroup
	for range many {
		holding.Go(func() {
			for s.meet(ctx, s.field.relay) == nil && rest(ctx, refused) == nil {
				if stream, err := s.say(ctx, s.field.relay, proto.ProtoIDv2Hop, text); err == nil {
					swallow(stream) // until the other end closes
				}
			}
		})
	}
	holding.Wait()
}

// connectTo asks a relay for a connection to a peer.
func connectTo(p peer.ID) []byte {
	const connect = 1
	return framed(bytesField(numberField(nil, 1, connect), 2, bytesField(nil, 1, []byte(p))))
}

// misbehave sends the victim what belongs to no protocol, or asks for edges.
func misbehave(ctx context.Context, i int, s *stranger) {
	if i%2 == 0 {
		babble(ctx, i, s)
	} else {
		comeAndGo(ctx, i, s)
	}
}
