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

// Attend takes part in all sums of a plan, one after the other, as a member of their
// committee that has no records, until ctx ends. root is for what [Membership] says. An
// error is of the disk.
func (d *Desk) Attend(ctx context.Context, p *Plan, root string) error {
	recipes, ctx := errgroup.WithContext(ctx)
	for i := range p.recipes {
		recipes.Go(func() error { return d.attend(ctx, p, i, p.Membership(root)) })
	}
	if err := recipes.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// attend is Attend for the sums of one recipe.
func (d *Desk) attend(ctx context.Context, p *Plan, recipe int, o Membership) error {
	var members sync.WaitGroup
	defer members.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for s := range p.sums(recipe) {
		kept, err := d.Serve(s, nil)
		if err != nil {
			return err
		}
		if !kept || Holds(o.Root, s.ID) {
			members.Go(func() { d.Serving(ctx, s, o) })
		}
		if kept {
			continue
		}
		if _, err := d.Contribute(ctx, s, Contribution{}); err != nil {
			return err
		}
	}
	<-ctx.Done() // it serves the last ones
	return nil
}

// Serving is Member with its error in the log: other sums go on.
func (d *Desk) Serving(ctx context.Context, s *sums.Sum, o Membership) {
	if err := d.Member(ctx, s, o); err != nil {
		d.config.Logger.Error("this node takes no part in a private sum as a member of its committee", "error", err)
	}
}

// Holds reports whether a member's keys for a sum are under root: then the member must go
// on, even if this node has the result, until they are erased.
func Holds(root string, sum sums.Digest) bool {
	return (&directory{path: directoryOf(root, sum)}).begun()
}

// Attended lists of each recipe the newest sum that a desk takes part in.
func (p *Plan) Attended(d *Desk) []api.Sum {
	list := []api.Sum{}
	for i := range p.recipes {
		var newest *sums.Sum
		for s := range p.sums(i) {
			if d.known(s.ID) == nil {
				break
			}
			newest = s
		}
		if newest == nil {
			continue
		}
		if r := d.resultOf(newest.ID); r != nil {
			list = append(list, p.DescribeResult(newest, i, r, nil, filepath.Join(d.config.Results, ResultFile(newest.ID))))
		} else {
			list = append(list, p.Describe(d, newest, i))
		}
	}
	return list
}
