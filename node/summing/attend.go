package summing

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"p2pnode/node/api"
	"p2pnode/sums"
)

// Attend takes part in all sums of a plan, until ctx ends, as a member of their committee
// that has no records. It handles the recipes at the same time, and the sums of each
// recipe one after the other. root is the root of [Membership]. It returns an error if
// the disk fails.
func (d *Desk) Attend(ctx context.Context, p *Plan, root string) error {
	recipes, ctx := errgroup.WithContext(ctx)
	for i := range p.recipes {
		recipes.Go(func() error { return d.attend(ctx, p, i, root) })
	}
	if err := recipes.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// attend takes part in the sums of one recipe.
func (d *Desk) attend(ctx context.Context, p *Plan, recipe int, root string) error {
	pace, dead := p.Pace(recipe), uint64(0) // dead is the last epoch that ended without a result
	var members sync.WaitGroup
	defer members.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for s := range p.sums(recipe) {
		if s.Epoch == dead {
			continue
		}
		kept, err := d.Serve(s, nil)
		if err != nil {
			return err
		}
		opens := pace.Opens(s.Round)
		if !kept || Holds(root, s.ID) {
			members.Go(func() { d.Serving(ctx, s, p.Membership(root, opens)) })
		}
		if !kept {
			if _, err := d.Contribute(ctx, s, Contribution{Opens: opens}); err != nil {
				return err
			}
		}
		if r := d.resultOf(s.ID); r != nil {
			pace.Closed(r)
		} else {
			dead = s.Epoch
		}
	}
	<-ctx.Done() // go on serving the last sums
	return nil
}

// Serving is Member, except that it logs its error: other sums continue.
func (d *Desk) Serving(ctx context.Context, s *sums.Sum, o Membership) {
	if err := d.Member(ctx, s, o); err != nil {
		d.config.Logger.Error("this node takes no part in a private sum as a member of its committee", "error", err)
	}
}

// Holds reports whether a member's keys for a sum are under root. Then the member must
// continue until they are erased, even if this node has the result.
func Holds(root string, sum sums.Digest) bool {
	return (&directory{path: directoryOf(root, sum)}).begun()
}

// Attended lists, for each recipe, the newest sum that a desk takes part in.
func (p *Plan) Attended(d *Desk) []api.Sum {
	list := []api.Sum{}
	for i := range p.recipes {
		var newest *sums.Sum
		var result *sums.Published
		pace, dead := p.Pace(i), uint64(0)
		for s := range p.sums(i) {
			if s.Epoch == dead {
				continue
			}
			if d.known(s.ID) == nil {
				break
			}
			if result != nil {
				pace.Closed(result)
			}
			if newest, result = s, d.resultOf(s.ID); d.State(s.ID).Dead {
				dead = s.Epoch
			}
		}
		switch {
		case result != nil:
			list = append(list, p.DescribeResult(newest, i, result, nil, filepath.Join(d.config.Results, ResultFile(newest.ID))))
		case newest != nil:
			list = append(list, p.Describe(d, newest, i, pace.Opens(newest.Round)))
		}
	}
	return list
}
