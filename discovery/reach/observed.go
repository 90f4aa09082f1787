package reach

import (
	"context"
	"errors"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/event"
	basichost "github.com/libp2p/go-libp2p/p2p/host/basic"
	"github.com/libp2p/go-libp2p/p2p/host/observedaddrs"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"go.uber.org/fx"
)

// observe makes a host ask at what address others see it. libp2p can do that by itself but
// cannot end it: the manager of go-libp2p v0.51 leaves its subscription unread when the
// host closes, and once 16 late identifications have filled it, the next one blocks Close
// for ever. This is the same manager, and its subscription is closed after it.
func (r *Reach) observe() libp2p.Option {
	return libp2p.WithFxOption(fx.Decorate(
		func(_ basichost.ObservedAddrsManager, bus event.Bus, s *swarm.Swarm, l fx.Lifecycle) (basichost.ObservedAddrsManager, error) {
			kept := &keptBus{Bus: bus}
			m, err := observedaddrs.NewManager(kept, s)
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			r.seen = m
			r.mu.Unlock()
			l.Append(fx.Hook{
				OnStart: func(context.Context) error {
					m.Start(s)
					return nil
				},
				OnStop: func(context.Context) error { return errors.Join(m.Close(), kept.close()) },
			})
			return m, nil
		}))
}

// keptBus is an event bus for one user, whose subscriptions it keeps.
type keptBus struct {
	event.Bus
	subscriptions []event.Subscription
}

// Subscribe implements [event.Bus].
func (b *keptBus) Subscribe(to any, options ...event.SubscriptionOpt) (event.Subscription, error) {
	s, err := b.Bus.Subscribe(to, options...)
	if err == nil {
		b.subscriptions = append(b.subscriptions, s)
	}
	return s, err
}

// close ends the subscriptions. The bus empties those that it closes.
func (b *keptBus) close() error {
	var failed []error
	for _, s := range b.subscriptions {
		failed = append(failed, s.Close())
	}
	return errors.Join(failed...)
}
