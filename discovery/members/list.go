// Package members keeps a network among its members: a list of peer IDs, signed
// by an authority, decides who may connect. Every node checks it by itself; newer
// lists spread from member to member.
//
// A [List] is what an authority writes and signs. A [Signed] is a list whose
// signature is good. A [Book] keeps the newest one in a file, is the connection
// gater of a libp2p host, and exchanges lists with connected members.
package members

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/libp2p/go-libp2p/core/peer"
)

// The bounds of a list.
const (
	maxMembers = 1 << 14
	maxName    = 64      // bytes of a member's name
	MaxText    = 4 << 20 // bytes of a signed list: maxMembers with the longest names
	maxVersion = 1 << 53
)

// networkName is what a network may be called: the name is part of a protocol ID.
var networkName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// errNotListed says that no member has that peer ID or name.
var errNotListed = errors.New("members: not on the list")

// Member is one node that may take part.
type Member struct {
	Peer    peer.ID
	Name    string // for people
	Added   time.Time
	Expires time.Time // zero: never
}

// List says who the members of a network are. Of two lists of a network the one
// with the greater version counts. When two authorities have issued the same version, the
// list whose content has the greater hash counts, at every node and in whatever order they
// arrive.
type List struct {
	Network string
	Version uint64 // from 1
	Issued  time.Time
	Members []Member
}

// CheckNetwork reports what is wrong with the name of a network.
func CheckNetwork(name string) error {
	if !networkName.MatchString(name) {
		return fmt.Errorf("members: %q is no name for a network; take 1 to 64 letters, digits, dots, dashes and underscores", name)
	}
	return nil
}

// Put adds a member, or replaces the entry with the same peer ID and keeps the time it was
// added.
func (l *List) Put(m Member) error {
	m.Added, m.Expires = m.Added.UTC().Truncate(time.Second), m.Expires.UTC().Truncate(time.Second)
	if err := m.check(); err != nil {
		return err
	}
	same := func(other Member) bool { return other.Peer == m.Peer }
	if i := slices.IndexFunc(l.Members, same); i >= 0 {
		m.Added = l.Members[i].Added
		l.Members[i] = m
		return nil
	}
	if len(l.Members) >= maxMembers {
		return fmt.Errorf("members: a list holds at most %d members", maxMembers)
	}
	l.Members = append(l.Members, m)
	return nil
}

// Find returns the member with that peer ID or, if there is only one, with that name. It
// fails with errNotListed, or if several members have the name.
func (l *List) Find(peerOrName string) (Member, error) {
	var found []Member
	for _, m := range l.Members {
		if m.Peer.String() == peerOrName {
			return m, nil
		}
		if m.Name == peerOrName {
			found = append(found, m)
		}
	}
	switch len(found) {
	case 0:
		return Member{}, fmt.Errorf("%w: %q", errNotListed, peerOrName)
	case 1:
		return found[0], nil
	}
	return Member{}, fmt.Errorf("members: %d members are called %q; give the peer ID", len(found), peerOrName)
}

// Remove takes a member off, if it is there.
func (l *List) Remove(p peer.ID) {
	l.Members = slices.DeleteFunc(l.Members, func(m Member) bool { return m.Peer == p })
}

func (m *Member) check() error {
	switch {
	case m.Peer.Validate() != nil:
		return errors.New("members: a member has no peer ID")
	case len(m.Name) > maxName || !utf8.ValidString(m.Name):
		return fmt.Errorf("members: the name of %s has more than %d bytes or is no text", m.Peer, maxName)
	case !m.Expires.IsZero() && m.Expires.Before(m.Added):
		return fmt.Errorf("members: %s would expire before it is added", m.Peer)
	}
	return nil
}

// normalise sorts the members and checks every value.
func (l *List) normalise() error {
	if err := CheckNetwork(l.Network); err != nil {
		return err
	}
	if l.Version == 0 || l.Version > maxVersion {
		return fmt.Errorf("members: the version %d is not between 1 and %d", l.Version, uint64(maxVersion))
	}
	if len(l.Members) > maxMembers {
		return fmt.Errorf("members: the list has %d members, more than %d", len(l.Members), maxMembers)
	}
	slices.SortFunc(l.Members, func(a, b Member) int { return cmp.Compare(a.Peer, b.Peer) })
	for i := range l.Members {
		if err := l.Members[i].check(); err != nil {
			return err
		}
		if i > 0 && l.Members[i-1].Peer == l.Members[i].Peer {
			return fmt.Errorf("members: %s is on the list twice", l.Members[i].Peer)
		}
	}
	return nil
}

// Admits reports whether p is a member at the time now. If now is before the list was
// issued, the clock is wrong, and Admits uses the list's own time.
func (s *Signed) Admits(p peer.ID, now time.Time) bool {
	m, ok := s.Member(p)
	if now.Before(s.Issued) {
		now = s.Issued
	}
	return ok && (m.Expires.IsZero() || now.Before(m.Expires))
}

// Member returns the entry of a peer, expired or not.
func (s *Signed) Member(p peer.ID) (Member, bool) {
	i, ok := slices.BinarySearchFunc(s.Members, p, func(m Member, p peer.ID) int { return cmp.Compare(m.Peer, p) })
	if !ok {
		return Member{}, false
	}
	return s.Members[i], true
}

// Next returns a copy with the next version, to be changed and signed.
func (s *Signed) Next() *List {
	return &List{Network: s.Network, Version: s.Version + 1, Members: slices.Clone(s.Members)}
}

// newer reports whether s replaces other, which may be nil.
func (s *Signed) newer(other *Signed) bool { return helloOf(s).newer(helloOf(other)) }
