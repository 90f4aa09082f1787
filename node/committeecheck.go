package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"

	"p2pnode/discovery"
	"p2pnode/discovery/reach"
	"p2pnode/node/api"
)

// checkCommittee tries all members of the committee at the same time. s is nil if the
// node is not running; then it knows no addresses of the members.
func (n *Node) checkCommittee(ctx context.Context, s *session) []api.MemberCheck {
	out := []api.MemberCheck{}
	if n.sums == nil || s == nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	members := n.sums.plan.Members()
	out = make([]api.MemberCheck, len(members))
	var running sync.WaitGroup
	for i, m := range members {
		out[i] = api.MemberCheck{Peer: m.String(), Self: m == n.self, Reached: m == n.self}
		if out[i].Self {
			continue
		}
		running.Go(func() {
			err := s.connects(ctx, peer.AddrInfo{ID: m})
			if err != nil {
				s.discovery.Find(ctx, m)
				err = s.connects(ctx, peer.AddrInfo{ID: m})
			}
			if err = n.hears(ctx, s, m, err); err == nil {
				err = s.strange(ctx, m, n)
			}
			if out[i].Reached = err == nil; err != nil {
				out[i].Why = s.unanswered(m, err, n)
			}
		})
	}
	running.Wait()
	return out
}

// committeeProblems says what is wrong with the committee, and with this node if it is a
// member.
func (n *Node) committeeProblems(d *api.Diagnosis) (problems []string) {
	if n.sums == nil {
		return nil
	}
	sums, err := n.describeSums(true)
	if err != nil {
		return nil
	}
	problems = missingProblems(d, sums)
	if !n.sums.member {
		return problems
	}
	if d.Verdict == reach.Unreachable {
		problems = append(problems, "it is a member of the committee, and those who contribute call its members: it must be reachable")
	}
	if d.Clock > 0 {
		problems = append(problems, "it is a member of the committee, and says when a sum closes by its clock: set the clock")
	}
	if slices.ContainsFunc(sums.List, func(s api.Sum) bool { return s.Duty != nil && s.Duty.Silent }) {
		problems = append(problems, "its keys for a private sum are lost, so it is silent for that sum: it takes part in the next one")
	}
	for _, s := range sums.List {
		if s.Duty != nil && s.Duty.Failure != "" {
			problems = append(problems, fmt.Sprintf("it takes no part in the private sum %.8s until it can: %s", s.ID, s.Duty.Failure))
		}
	}
	return problems
}

// missingProblems says which members are not there, and what that means for each sum.
func missingProblems(d *api.Diagnosis, sums *api.Sums) (problems []string) {
	missing := 0
	why := make(map[string][]string)
	for _, m := range d.Committee {
		if m.Reached {
			continue
		}
		if missing++; m.Why != errStrange.Error() { // see judge
			why[m.Why] = append(why[m.Why], m.Peer)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		ask := ": ask its owner to run it"
		if len(ofAnotherTask(d)) > 0 || strings.HasSuffix(reason, sameVersion) ||
			reason == errTurnedAway.Error() || reason == errUnlisted.Error() { // it may run, and what to do is said
			ask = ""
		} else if reason == unmet {
			ask = ": ask its owner to run it, or, if it runs, for the address that it prints, and add it with \"p2pnode peer add ADDRESS\""
		}
		problems = append(problems, fmt.Sprintf("of the committee, %s cannot be reached (%s)%s", strings.Join(why[reason], ", "), reason, ask))
	}
	if missing > 0 && slices.ContainsFunc(sums.List, func(s api.Sum) bool { return s.State == api.SumWaiting }) {
		problems = append(problems, "a private sum opens only when all members of its committee are there")
	}
	for _, s := range sums.List {
		if stake := s.Stake(sums.Committee.Lacks(missing)); stake != "" {
			problems = append(problems, fmt.Sprintf("the %s sum %s %s", s.State, s.ID[:8], stake))
		}
	}
	return problems
}

// unmet is said of a member that may well run: where all nodes only ask the hash table,
// nobody can tell where it is.
const unmet = "no address of it is known yet: it was not met since this node started"

// unanswered says why a member of the committee could not be called.
func (s *session) unanswered(id peer.ID, err error, n *Node) string {
	last := s.desk.Contact(id)
	if errors.Is(err, swarm.ErrDialBackoff) && last.Failure != nil {
		err = last.Failure // nothing was tried just now
	}
	protocols, unknown := s.host.Peerstore().GetProtocols(id)
	switch {
	case unknown == nil && len(protocols) > 0 && !n.book.Belongs(protocols) && s.host.Network().Connectedness(id) == network.Connected:
		return n.foreign(protocols).Error()
	case !errors.Is(err, swarm.ErrNoAddresses):
		return discovery.Reason(err)
	case !last.Answered.IsZero():
		return "no address of it is known any more"
	}
	return unmet
}
