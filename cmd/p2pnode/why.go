package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/spf13/cobra"

	"p2pnode/node/api"
)

// askWhy shows what is held against peers, or against one of them.
func askWhy(cmd *cobra.Command, o *options, args []string) error {
	if len(args) == 1 {
		if _, err := peer.Decode(args[0]); err != nil {
			return usageError{fmt.Errorf("%q is no peer ID; p2pnode peers --why without one lists all", args[0]), cmd}
		}
	}
	return ask(cmd, o, func(owner api.Owner, ctx context.Context) ([]api.Standing, error) {
		list, err := owner.Standings(ctx)
		return slices.DeleteFunc(list, func(s api.Standing) bool { return len(args) == 1 && s.Peer != args[0] }), err
	}, func(list []api.Standing) string { return whyText(list, args, time.Now()) })
}

// whyText says for each peer what it did, what the consequence is, and how long that
// still lasts.
func whyText(list []api.Standing, args []string, now time.Time) string {
	if len(list) == 0 && len(args) == 1 {
		return paragraph("", "Nothing is held against "+args[0]+", and it refuses nothing, as far as this node knows. "+forgets)
	}
	if len(list) == 0 {
		return paragraph("", "Nobody is refused, limited or distrusted. "+forgets)
	}
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s\n", s.Peer)
		b.WriteString(paragraph("  ", verdict(s)+": "+s.Why+"."))
		b.WriteString(paragraph("  ", lasts(s, now)) + "\n")
	}
	b.WriteString(paragraph("", "Nobody is blamed for what it only passed on. A strike is forgiven after a minute; with five a peer is refused until all are."))
	return b.String()
}

const forgets = "A node forgets this when it stops, but for the proofs that p2pnode peers evidence shows."

func verdict(s api.Standing) string {
	switch s.State {
	case api.RefusedHere:
		return "REFUSED, nothing of it is taken"
	case api.Limited:
		return "LIMITED, what is too much is ignored"
	case api.Distrusted:
		return "DISTRUSTED, it is refused if there is more of that"
	}
	return "IT REFUSES YOU"
}

// lasts says since when it lasts, and how long it still will.
func lasts(s api.Standing, now time.Time) string {
	text := "Since " + s.Since.Format("2006-01-02 15:04:05")
	if s.Until == nil {
		return text + ", as long as that lasts."
	}
	return fmt.Sprintf("%s, for %s still unless there is more.", text, max(0, s.Until.Sub(now)).Round(time.Second))
}
