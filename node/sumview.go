package node

import (
	"encoding/hex"
	"path/filepath"
	"slices"

	"p2pnode/discovery"
	"p2pnode/node/api"
	"p2pnode/node/summing"
	"p2pnode/sums"
)

// describeCommittee says of each member when it last answered. desk is nil for a node at
// rest.
func describeCommittee(p *summing.Plan, desk *summing.Desk, self string) api.Committee {
	c := p.Committee()
	out := api.Committee{Colluding: c.Colluding, Quorum: c.Quorum(), Members: []api.Member{}}
	for i := range c.Members {
		m := api.Member{Peer: p.Member(i).String()}
		m.Self = m.Peer == self
		if desk != nil && !m.Self {
			contact := desk.Contact(p.Member(i))
			if !contact.Answered.IsZero() {
				m.Answered = contact.Answered.Unix()
			}
			if contact.Failure != nil {
				m.Failure = discovery.Reason(contact.Failure)
			}
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// describeSum says which sum it is.
func describeSum(p *summing.Plan, s *sums.Sum, recipe int) api.Sum {
	return api.Sum{
		ID: hex.EncodeToString(s.ID[:]), Recipe: p.Kind(recipe), Epoch: s.Epoch, Epochs: p.Epochs(), Round: s.Round, Rounds: p.Recipe(recipe).Rounds(),
		State: api.SumWaiting, Part: api.PartNone, Numbers: s.Dimension, Noise: s.Noise(), Missing: []string{}, Signed: []string{}, Voted: []string{},
	}
}

// awaited says how far a sum has come whose result is not here.
func awaited(p *summing.Plan, s *sums.Sum, recipe int, desk *summing.Desk) api.Sum {
	out := describeSum(p, s, recipe)
	if desk == nil {
		return out
	}
	state := desk.State(s.ID)
	if !state.Closes.IsZero() {
		out.State, out.Closes = api.SumOpen, state.Closes.Unix()
	}
	if state.Closed {
		out.State = api.SumClosed
	}
	for i := range p.Committee().Members {
		if desk.Contact(p.Member(i)).Failure != nil || state.Duty != nil && slices.Contains(state.Duty.Missing, i) {
			out.Missing = append(out.Missing, p.Member(i).String())
		}
	}
	if d := state.Duty; d != nil {
		out.Duty = &api.Duty{Silent: d.Silent, Held: d.Held, Over: d.Over}
	}
	return out
}

// describeResult adds what a sound result says.
func describeResult(p *summing.Plan, out api.Sum, r *sums.Published, voters []int, file string) api.Sum {
	digest := r.Result.Digest()
	out.State, out.Closes, out.File = api.SumHere, r.Opening.Closes, file
	out.People, out.Records, out.Digest = int(r.Result.Entries), r.Result.Records, hex.EncodeToString(digest[:])
	out.Signed, out.Voted = peers(p, r.Signers()), peers(p, voters)
	return out
}

func peers(p *summing.Plan, members []int) []string {
	list := make([]string, len(members))
	for i, m := range members {
		list[i] = p.Member(m).String()
	}
	return list
}

// absolute is a path as others can use it.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
