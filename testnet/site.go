package testnet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/testnet/lab"
)

// site is where the daemons of a trial run.
type site struct {
	daemons *Daemons
	listen  []string // multiaddresses, one for each node
	// With phones only:
	lab    *lab.Lab
	hosts  []*lab.Host // one for each node
	phones []*lab.Link
}

// port is that of daemons with an address of their own.
const port = 4001

// newSite makes room for n daemons: on loopback, or if some are phones in a lab.
func newSite(n int, p *Daemons) (s *site, err error) {
	s = &site{daemons: p, listen: make([]string, n)}
	if p.Phones == 0 {
		for i := range n {
			s.listen[i] = loopback(i)
		}
		return s, nil
	}
	if err := lab.Available(); err != nil {
		return nil, err
	}
	if s.lab, err = lab.New(); err != nil {
		return nil, err
	}
	if err := s.build(n); err != nil {
		return nil, fmt.Errorf("%w (and %v)", err, s.lab.Close())
	}
	return s, nil
}

// loopback gives every node an address of its own where there are so many.
func loopback(i int) string {
	if runtime.GOOS != "linux" {
		return "/ip4/127.0.0.1/tcp/0"
	}
	const each = 250
	return fmt.Sprintf("/ip4/127.1.%d.%d/tcp/0", i/each, i%each+1)
}

// build joins all hosts to one segment: one host for those at home, on which each
// has an address of its own, and one for each phone.
func (s *site) build(n int) error {
	segment, err := s.lab.Segment(netip.MustParsePrefix("10.80.0.0/16"))
	if err != nil {
		return err
	}
	home, err := s.lab.Host("home")
	if err != nil {
		return err
	}
	if _, err := home.Join(segment, segment.Addr(1)); err != nil {
		return err
	}
	const first = 256 // the address of node 0
	for i := range n {
		addr := segment.Addr(first + i)
		s.listen[i] = fmt.Sprintf("/ip4/%v/tcp/%d", addr, port)
		if i < n-s.daemons.Phones {
			if _, err := home.Run("ip", "address", "add", addr.String()+"/16", "dev", "eth0"); err != nil {
				return err
			}
			s.hosts = append(s.hosts, home)
			continue
		}
		phone, err := s.lab.Host(fmt.Sprintf("phone %d", i+1))
		if err != nil {
			return err
		}
		link, err := join(phone, segment, addr, s.daemons.Latency)
		if err != nil {
			return err
		}
		if err := link.Lose(s.daemons.Loss); err != nil {
			return err
		}
		s.hosts, s.phones = append(s.hosts, phone), append(s.phones, link)
	}
	return nil
}

// join gives a phone its link. Half the latency varies, as on the air.
func join(phone *lab.Host, segment *lab.Segment, addr netip.Addr, latency time.Duration) (*lab.Link, error) {
	if latency == 0 {
		return phone.Join(segment, addr)
	}
	return phone.JoinSlow(segment, addr, lab.Delay{Latency: 3 * latency / 4, Jitter: latency / 2})
}

// program prepares the daemon program to run where node i is.
func (s *site) program(i int) func(ctx context.Context, args ...string) *exec.Cmd {
	return func(ctx context.Context, args ...string) *exec.Cmd {
		if s.lab != nil {
			return s.hosts[i].Command(ctx, s.daemons.Program, args...)
		}
		cmd := exec.CommandContext(ctx, s.daemons.Program, args...)
		lab.Tie(cmd)
		return cmd
	}
}

// weather takes the phones offline and brings them back until stop is called. How
// long they stay is exponential, so that nobody can tell when the next change
// comes.
func (s *site) weather(ctx context.Context, seed uint64) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	changes, ctx := errgroup.WithContext(ctx)
	for i, link := range s.phones {
		if s.daemons.Online == 1 {
			break
		}
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		changes.Go(func() error { return s.change(ctx, link, r) })
	}
	return func() error {
		cancel()
		return changes.Wait()
	}
}

// change is the weather of one phone.
func (s *site) change(ctx context.Context, link *lab.Link, r *rand.Rand) error {
	online := r.Float64() < s.daemons.Online
	for {
		set, mean := link.Mend, s.daemons.Spell
		if !online {
			set, mean = link.Cut, s.daemons.away()
		}
		if err := set(); err != nil {
			return err
		}
		if pause(ctx, time.Duration(r.ExpFloat64()*float64(mean))) != nil {
			return nil
		}
		online = !online
	}
}

// close takes the lab down; the daemons have ended.
func (s *site) close() error {
	if s.lab == nil {
		return nil
	}
	return s.lab.Close()
}
