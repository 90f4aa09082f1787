package summing

import (
	"encoding/hex"
	"path/filepath"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/node/api"
	"p2pnode/sums"
)

// DescribeCommittee says when each member last answered. desk is nil if the node is not
// running.
func (p *Plan) DescribeCommittee(desk *Desk, self peer.ID) api.Committee {
	c := p.committee
	out := api.Committee{Colluding: c.Colluding, Quorum: c.Quorum(), Members: []api.Member{}}
	for i := range c.Members {
		m := api.Member{Peer: p.members[i].String(), Self: p.members[i] == self}
		if desk != nil && !m.Self {
			contact := desk.Contact(p.members[i])
			if !contact.Answered.IsZero() {
				m.Answered = contact.Answered.Unix()
			}
			if contact.Failure != nil {
				m.Failure = desk.config.Reason(p.members[i], contact.Failure)
			}
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// Describe says which sum it is and, if its result is not here, how far it has come. opens
// is the time before which it does not begin. desk is nil if the node is not running.
func (p *Plan) Describe(desk *Desk, s *sums.Sum, recipe int, opens time.Time) api.Sum {
	out := p.describe(s, recipe)
	if time.Now().Before(opens) {
		out.Opens = opens.Unix()
	}
	if desk == nil {
		return out
	}
	state := desk.State(s.ID)
	if !state.Closes.IsZero() {
		out.State, out.Opens, out.Closes = api.SumOpen, 0, state.Closes.Unix()
		out.Dies = state.Closes.Add(p.Membership("", time.Time{}).Later).Unix()
	}
	if state.Closed {
		out.State = api.SumClosed
	}
	for i, m := range p.members {
		if out.Opens > 0 { // nobody is asked for anything before
			break
		}
		if s.Committee.Members[i] == desk.self {
			continue
		}
		if why := wanting(desk.Contact(m), &state, m, i); why != "" {
			out.Missing, out.MissingWhy = append(out.Missing, m.String()), append(out.MissingWhy, why)
		}
	}
	// An open sum goes on without a few. A device that has paid calls nobody for long.
	if out.State == api.SumOpen && (state.Duty == nil || len(p.members)-len(out.Missing) >= p.committee.Quorum()) {
		out.Missing, out.MissingWhy = []string{}, []string{}
	}
	if state.Failure != nil {
		out.Duty = &api.Duty{Failure: api.Plain(state.Failure.Error())}
	}
	if d := state.Duty; d != nil {
		out.Duty = &api.Duty{Silent: d.Silent, Held: d.Held, Over: d.Over}
	}
	return out
}

// wanting says why a sum waits for the i-th member, m; "" if it does not, as far as is known.
func wanting(c Contact, s *State, m peer.ID, i int) string {
	wanted := s.Duty != nil && slices.Contains(s.Duty.Missing, i)
	switch {
	case c.Failure != nil:
		return "does not answer"
	case wanted && c.Answered.IsZero():
		return "was not called yet"
	case s.Absent[m] && (wanted || s.Duty == nil && s.Closes.IsZero()):
		return "has not begun with this sum"
	case wanted:
		return "has not sent usable keys, or its noise"
	}
	return ""
}

func (p *Plan) describe(s *sums.Sum, recipe int) api.Sum {
	return api.Sum{
		ID: hex.EncodeToString(s.ID[:]), Recipe: p.Kind(recipe), Epoch: s.Epoch, Epochs: p.Epochs(), Round: s.Round, Rounds: p.Recipe(recipe).Rounds(),
		State: api.SumWaiting, Part: api.PartNone, Numbers: s.Dimension, Noise: s.Noise(), Missing: []string{}, MissingWhy: []string{}, Signed: []string{}, Voted: []string{},
	}
}

// DescribeResult describes a result that passed all checks and is in a file.
func (p *Plan) DescribeResult(s *sums.Sum, recipe int, r *sums.Published, voters []int, file string) api.Sum {
	out := p.describe(s, recipe)
	digest := r.Result.Digest()
	out.State, out.Closes, out.File = api.SumHere, r.Opening.Closes, absolute(file)
	out.People, out.Records, out.Digest = int(r.Result.Entries), r.Result.Records, hex.EncodeToString(digest[:])
	out.Signed, out.Voted = p.named(r.Signers()), p.named(voters)
	return out
}

// DescribeDead describes a sum that will never have a result.
func (p *Plan) DescribeDead(s *sums.Sum, recipe int) api.Sum {
	out := p.describe(s, recipe)
	out.State = api.SumDead
	return out
}

// named returns the peer IDs of members.
func (p *Plan) named(members []int) []string {
	list := make([]string, len(members))
	for i, m := range members {
		list[i] = p.members[m].String()
	}
	return list
}

// absolute returns a path that does not depend on the working directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
