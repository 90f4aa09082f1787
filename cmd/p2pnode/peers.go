package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"p2pnode/node/api"

	"github.com/spf13/cobra"
)

func peersCommand(o *options) *cobra.Command {
	var all, why bool
	c := &cobra.Command{
		Use:   "peers [--why [PEER]]",
		Short: "The neighbours in the similarity graph, and the other peers the node knows",
		Long: `The neighbours in the similarity graph, and the other peers the node can start
from: those named in config.toml, those you added, and those it met. Of the
last it shows a few, unless --all asks for every one. A peer that was met is
forgotten after thirty days, or when it no longer answers.

A weight says how much of a neighbour's model counts. The similarity is known
once the weight follows from what both have made public: their profiles, or what
they released.

With --why it shows who is refused, limited or distrusted instead: why, since
when, for how long still, and what it was counted for.`,
		Example: `  p2pnode peers
  p2pnode peers --all --json
  p2pnode peers --why
  p2pnode peers --why 12D3KooWJXYmjPrMkUVuoQr1jxwE1aGEdRMpmgXjZU36uVgfEyQ4`,
		Args: func(cmd *cobra.Command, args []string) error {
			if why {
				return takes(0, 1)(cmd, args)
			}
			return noArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if why {
				return askWhy(cmd, o, args)
			}
			return ask(cmd, o, func(owner api.Owner, ctx context.Context) (peerList, error) {
				neighbours, err := owner.Peers(ctx)
				if err != nil {
					return peerList{}, err
				}
				others, err := owner.Acquaintances(ctx)
				if err != nil {
					return peerList{}, err
				}
				s, err := owner.Progress(ctx)
				return peerList{neighbours, others, s.Privacy.SumsOnly}, err
			}, func(l peerList) string { return l.text(all, time.Now()) })
		},
	}
	c.AddCommand(evidenceCommand(o))
	c.Flags().BoolVar(&why, "why", false, "show who is refused, limited or distrusted, and why")
	c.Flags().BoolVar(&all, "all", false, "show every peer the node remembers")
	return c
}

// peerList is what the node knows of others.
type peerList struct {
	Neighbours []api.Peer         `json:"neighbours"`
	Others     []api.Acquaintance `json:"others"`
	SumsOnly   bool               `json:"sums_only"` // nobody sends models, so there are no neighbours
}

// fewMet is how many of the peers that the node has only met are shown without --all.
const fewMet = 5

func (l peerList) text(all bool, now time.Time) string {
	out := peersText(l.Neighbours)
	if l.SumsOnly {
		out = "Nobody sends models here, so there are no neighbours: private sums bring what is learned.\n"
	}
	rows := [][]any{{"OTHER PEER", "FROM", "CONNECTED", "LAST SEEN"}}
	var why strings.Builder
	met, hidden := 0, 0
	for _, p := range l.Others {
		if p.From == "met" {
			if met++; met > fewMet && !all {
				hidden++
				continue
			}
		}
		rows = append(rows, []any{p.ID, p.From, yes(p.Connected), ago(p.LastSeen, now)})
		if p.Reason != "" {
			why.WriteString(paragraph("  ", fmt.Sprintf("%s cannot be reached: %s.", p.ID, api.Plain(p.Reason))))
		}
	}
	if len(rows) > 1 {
		out += "\n" + table(rows...)
	}
	if hidden > 0 {
		out += fmt.Sprintf("and %d more that it met; --all shows them\n", hidden)
	}
	if why.Len() > 0 {
		out += "\n" + why.String()
	}
	return out
}

func peersText(peers []api.Peer) string {
	if len(peers) == 0 {
		return "No neighbours yet.\n"
	}
	rows := [][]any{{"PEER", "WEIGHT", "SIMILARITY", "SINCE", "CONNECTED", "LISTENING", "ROUND HEARD"}}
	for _, p := range peers {
		rows = append(rows, []any{p.ID, fmt.Sprintf("%.3f", p.Weight), similarity(p), since(p), yes(p.Connected), yes(p.Listening), p.Round})
	}
	return table(rows...)
}

// ago writes a time in Unix seconds as people say it.
func ago(seconds int64, now time.Time) string {
	if seconds == 0 {
		return "never"
	}
	switch d := now.Sub(time.Unix(seconds, 0)); {
	case d < 2*time.Minute:
		return "now"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

func similarity(p api.Peer) string {
	if p.Known {
		return "known"
	}
	return "unknown"
}

func since(p api.Peer) string {
	if p.Since == 0 {
		return "before"
	}
	return time.Unix(p.Since, 0).Format("2006-01-02 15:04")
}
