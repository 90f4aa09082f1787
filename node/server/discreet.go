package server

import (
	"context"
	"iter"

	"p2pnode/node/api"
)

// Discreet guards a listener that other machines reach, for a node whose records only its
// owner may learn anything about: there status, benefit and events hold no errors on
// held-out records.
type Discreet struct{ Guard }

// discreet is an owner's interface that leaves these errors out for requests from such a
// listener.
type discreet struct{ api.Owner }

func outside(ctx context.Context) bool {
	_, yes := ctx.Value(guarded{}).(Discreet)
	return yes
}

// Status implements [api.Reporter].
func (o discreet) Status(ctx context.Context) (api.Status, error) {
	if outside(ctx) {
		return o.Progress(ctx)
	}
	return o.Owner.Status(ctx)
}

// Progress implements [api.Reporter].
func (o discreet) Progress(ctx context.Context) (api.Status, error) {
	s, err := o.Owner.Progress(ctx)
	s.Withheld = outside(ctx)
	return s, err
}

// Benefit implements [api.Reporter].
func (o discreet) Benefit(ctx context.Context) ([]api.BenefitPoint, error) {
	if outside(ctx) {
		return []api.BenefitPoint{}, nil
	}
	return o.Owner.Benefit(ctx)
}

// Events implements [api.Watcher].
func (o discreet) Events(ctx context.Context, since uint64) iter.Seq2[api.Event, error] {
	all := o.Owner.Events(ctx, since)
	if !outside(ctx) {
		return all
	}
	return func(yield func(api.Event, error) bool) {
		for e, err := range all {
			e.Verdict, e.ByLogLoss = "", false
			if !yield(e, err) {
				return
			}
		}
	}
}
