package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/csvfile"
	"p2pnode/node"
	"p2pnode/node/api"
)

// How often meet looks, and when it says why no neighbour was found.
const (
	meetEvery = 200 * time.Millisecond
	meetSoon  = 10 * time.Second
)

// errMet ends a daemon that was to run only until it met a neighbour.
var errMet = errors.New("met")

// meet runs the daemon of a directory, says when it has met the first neighbour, and goes on
// unless it is to run once.
func (j *joining) meet(cmd *cobra.Command, done joined) error {
	err := runDaemon(cmd, j.options, j.verbose, func(ctx context.Context, n *node.Node, r ready) error {
		j.say(cmd, r.String())
		done.Addresses = r.Addresses
		switch {
		case len(r.Paused) > 0 && j.once:
			return errors.New("no neighbour is met: the node is " + pauseText(r.Paused) + dirFlag(j.dir))
		case len(r.Paused) > 0:
			return nil
		}
		if err := j.first(ctx, cmd, n, &done); err != nil || done.First == "" {
			return err
		}
		if err := show(cmd, j.options, done, joined.met); err != nil || !j.once {
			return err
		}
		return errMet
	})
	switch {
	case errors.Is(err, errMet):
		return nil
	case err == nil && j.once:
		return errors.New("interrupted before a neighbour was met; \"p2pnode run\" goes on")
	}
	return err
}

// first waits for the first neighbour, and says from time to time why there is none. It
// returns none if ctx ends before.
func (j *joining) first(ctx context.Context, cmd *cobra.Command, n *node.Node, done *joined) error {
	begin := time.Now()
	tick := time.NewTicker(meetEvery)
	defer tick.Stop()
	for next := meetSoon; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		id, why, err := neighbour(ctx, n)
		if err != nil || ctx.Err() != nil {
			return err
		}
		waited := time.Since(begin)
		switch {
		case id != "":
			done.First, done.Seconds = id, waited.Seconds()
			return nil
		case j.once && waited > onceWithin:
			return fmt.Errorf("no neighbour was met within %v%s; the node is in %s: \"p2pnode doctor\" says more, \"p2pnode run\" tries again", onceWithin, why, j.dir)
		case waited > next:
			fmt.Fprintf(cmd.ErrOrStderr(), "Still looking for a neighbour%s.\n", printable(why))
			next = 2 * waited
		}
	}
}

// neighbour returns a connected neighbour or, if nodes of the task send nothing to
// neighbours, a connected node to start from. If there is none, it returns why the
// latter cannot be reached.
func neighbour(ctx context.Context, n *node.Node) (id, why string, err error) {
	peers, err := n.Peers(ctx)
	if err != nil {
		return "", "", err
	}
	for _, p := range peers {
		if p.Connected {
			return p.ID, "", nil
		}
	}
	known, err := n.Acquaintances(ctx)
	if err != nil {
		return "", "", err
	}
	for _, a := range known {
		switch {
		case a.Connected && n.Task().Silent():
			return a.ID, "", nil
		case a.Connected && a.From != "met":
			why += fmt.Sprintf("; %s is connected", a.ID)
		case a.Reason != "":
			why += fmt.Sprintf("; %s: %s", a.ID, api.Plain(a.Reason))
		}
	}
	return "", why, nil
}

// met says who the first neighbour is, and what to do next.
func (d joined) met() string {
	return fmt.Sprintf("Met the first neighbour, %s, after %.1f s.\nYour records: p2pnode data import FILE.csv%s   (columns %s)\n",
		d.First, d.Seconds, dirFlag(d.Dir), csvfile.Header(d.Columns))
}
