package summing

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

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
	course := p.Course(recipe)
	var members sync.WaitGroup
	defer members.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for {
		s, err := course.Next()
		if err != nil {
			return err
		}
		if s == nil {
			break
		}
		o, err := d.Serve(s, nil)
		if err != nil {
			return err
		}
		opens := course.Opens()
		if o == nil || Holds(root, s.ID) {
			members.Go(func() { d.Serving(ctx, s, p.Membership(root, opens)) })
		}
		if o == nil {
			here, err := d.Contribute(ctx, s, Contribution{Opens: opens})
			if err != nil {
				return err
			}
			o = &here
		}
		course.Ended(o.Closes())
	}
	<-ctx.Done() // go on serving the last sums
	return nil
}

// Serving is Member, except that it logs its error, and begins again after a while: the disk may
// have room by then, and keys must be erased at the deadline. Other sums continue.
func (d *Desk) Serving(ctx context.Context, s *sums.Sum, o Membership) {
	for pause := d.config.Retry; ; pause = min(2*pause, d.config.Rest) {
		err := d.Member(ctx, s, o)
		if err == nil {
			return
		}
		d.logOf(s).Error("this node takes no part in a private sum as a member of its committee; it tries again", "error", err, "after", pause)
		if wait(ctx, pause, nil); ctx.Err() != nil {
			return
		}
	}
}

// Holds reports whether a member's keys for a sum are under root. Then the member must
// continue until they are erased, even if this node has the result.
func Holds(root string, sum sums.Digest) bool {
	return (&directory{path: directoryOf(root, sum)}).begun()
}

// Attended lists, for each recipe, the newest sum that a desk takes part in, and counts those
// whose results it has.
func (p *Plan) Attended(d *Desk) (list []api.Sum, known int) {
	list = []api.Sum{}
	for i := range p.recipes {
		var newest *sums.Sum
		var state State
		var result *sums.Published
		var opens time.Time
		course := p.Course(i)
		for {
			s, err := course.Next()
			if err != nil || s == nil || d.known(s.ID) == nil {
				break
			}
			newest, state, opens = s, d.State(s.ID), course.Opens()
			if state.Dead {
				course.Ended(time.Time{})
				continue
			}
			if !state.Here {
				break
			}
			known++
			course.Ended(state.Closes)
		}
		if state.Here {
			result = d.resultOf(newest.ID)
		}
		switch {
		case result != nil:
			list = append(list, p.DescribeResult(newest, i, result, nil, filepath.Join(d.config.Results, ResultFile(newest.ID))))
		case newest != nil:
			list = append(list, p.Describe(d, newest, i, opens))
		}
	}
	return list, known
}
