package attack

import (
	"context"
	"fmt"
	"time"

	"p2pnode/node/datadir"
)

// listener attacks the budget: a node releases to any listener, and its records pay for
// it.
func listener() Scenario {
	return Scenario{
		Name: "listener", Daemons: true,
		About: "asks a node that knows nobody for an edge, and listens, as one stranger and then as sixteen of as many subnets",
		Run:   onField(plain, eavesdrop),
	}
}

func eavesdrop(ctx context.Context, f *field) ([]Bar, error) {
	if err := f.settle(1, func(c *datadir.Config) {
		c.WakeSeconds, c.Listeners = 1, datadir.DefaultConfig(f.task).Listeners
	}); err != nil {
		return nil, err
	}
	if err := f.feed(ctx); err != nil {
		return nil, err
	}
	all, err := f.strangers(16, 16)
	if err != nil {
		return nil, err
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	length := min(max(f.length(), 15*time.Second), time.Minute)
	var bars []Bar
	for _, some := range [][]*stranger{all[:1], all[1:]} {
		f.Say(fmt.Sprintf("%d more strangers listen for %v", len(some), length))
		for _, s := range some {
			limited, cancel := context.WithTimeout(listening, 10*time.Second)
			_ = s.listen(limited, f.victim()) // a refused listener has not succeeded
			cancel()
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
		if err := rest(ctx, length); err != nil {
			return nil, err
		}
		spent, err := f.spent(ctx, f.victim())
		if err != nil {
			return nil, err
		}
		bars = append(bars, AtMost(fmt.Sprintf("7 releases spent: %d strangers listen", len(bars)*len(all[1:])+1), spent, 1, "releases"))
	}
	return bars, nil
}

// listen makes an edge to a daemon, stays connected, and answers as a neighbour does.
func (s *stranger) listen(ctx context.Context, p *person) error {
	s.answer(func() (entry, []entry) { return s.unknown(), nil })
	_, err := s.befriend(ctx, p)
	return err
}

// spent is how many releases the records of a daemon have paid for.
func (f *field) spent(ctx context.Context, p *person) (releases float64, err error) {
	b, err := p.owner.Budget(ctx)
	for _, c := range b.Cohorts {
		releases = max(releases, float64(c.Releases))
	}
	return releases, err
}
