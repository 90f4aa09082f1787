package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"p2pnode/gossip"
	"p2pnode/gossip/reputation"
	"p2pnode/node/api"
)

// Standings lists what this node holds against peers, and what peers hold against it:
// first refused peers, the latest first, then peers that are limited or distrusted.
func (n *Node) Standings(context.Context) ([]api.Standing, error) {
	out := []api.Standing{}
	if s := n.current(); s != nil {
		for _, h := range s.gossip.Held() {
			out = append(out, standing(h))
		}
		out = append(out, twoFaced(s.gossip)...)
	}
	if p := n.private.Describe(n.self); p != nil {
		out = append(out, strangers(p)...)
	}
	slices.SortStableFunc(out, func(a, b api.Standing) int {
		if x, y := a.Refused(), b.Refused(); x != y {
			if x {
				return -1
			}
			return 1
		}
		return b.Since.Compare(a.Since)
	})
	return out, nil
}

// standing returns what the table of reputation holds against a peer.
func standing(h reputation.Held) api.Standing {
	until := h.Until
	s := api.Standing{Peer: h.Peer.String(), State: api.Limited, Why: grounds(h), Since: h.Since, Until: &until, Counts: make(map[string]uint64)}
	switch {
	case h.Refused:
		s.State = api.RefusedHere
	case h.Counts[reputation.Malformed] > 0:
		s.State = api.Distrusted
	}
	for k := range reputation.Kinds {
		if h.Counts[k] > 0 {
			s.Counts[k.String()] = h.Counts[k]
		}
	}
	return s
}

// grounds says in words what a peer did.
func grounds(h reputation.Held) string {
	var parts []string
	for k, words := range [reputation.Kinds]string{
		reputation.Malformed: "sent %s that no honest node sends",
		reputation.Models:    "sent %s more than an honest node has to say",
		reputation.Relayed:   "passed on %s of others that nobody had asked for",
		reputation.Control:   "sent %s about messages more than an honest node does",
		reputation.Streams:   "opened %s more than are answered",
	} {
		n, thing := h.Counts[k], "message"
		switch reputation.Kind(k) {
		case reputation.Control:
			n, thing = (n+999)/1000, "kilobyte"
		case reputation.Streams:
			thing = "stream"
		}
		switch {
		case n == 1:
			parts = append(parts, fmt.Sprintf(words, "1 "+thing))
		case n > 1:
			parts = append(parts, fmt.Sprintf(words, fmt.Sprintf("%d %ss", n, thing)))
		}
	}
	return "it " + strings.Join(parts, ", and ")
}

// tellRefused tells the owner that a peer is turned away.
func (n *Node) tellRefused(h reputation.Held) {
	n.diary.Sparsely(api.Event{
		Kind: api.EventRefused, Text: fmt.Sprintf("peer turned away for %v minutes; p2pnode peers --why shows for how long still", reputation.Refusal.Minutes()),
		Peer: h.Peer.String(), Reason: grounds(h),
	})
}

// twoFaced lists the peers against which there is evidence.
func twoFaced(g *gossip.Gossip) (out []api.Standing) {
	for _, e := range g.Evidence() {
		out = append(out, api.Standing{
			Peer: e.Author.String(), State: api.RefusedHere, Why: twoModels(e), Since: e.Since, Counts: map[string]uint64{"proofs": 1},
		})
	}
	return out
}

// strangers lists the refusals because a peer, or this node, is not a member.
func strangers(p *api.Private) (out []api.Standing) {
	add := func(list []api.Refusal, state api.State, why string) {
		for _, r := range list {
			out = append(out, api.Standing{Peer: r.Peer, State: state, Why: why, Since: r.Last, Counts: map[string]uint64{"connections": uint64(r.Times)}})
		}
	}
	add(p.TurnedAway, api.RefusedHere, "it is not on the membership list")
	add(p.RefusedBy, api.RefusesUs, "this node is not on the peer's membership list")
	return out
}

// refused lists the peers that are turned away, and those that turn this node away.
func refused(list []api.Standing) []api.Refused {
	out := []api.Refused{}
	for _, s := range list {
		if !s.Refused() {
			continue
		}
		r := api.Refused{Peer: s.Peer, Reason: s.Why, ByPeer: s.State == api.RefusesUs, Last: s.Since, Until: s.Until}
		for _, n := range s.Counts {
			r.Times += int(n)
		}
		out = append(out, r)
	}
	return out
}
