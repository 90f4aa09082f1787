package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery/members"
)

// ErrNotJoined: the node speaks to everybody who takes part in its task.
var ErrNotJoined = errors.New("node: this node has joined no private network; join one with: p2pnode members join NAME AUTHORITY")

// Private is who may speak to this node.
type Private struct {
	Key     string     `json:"key_fingerprint"` // "": no network key
	Network string     `json:"network"`         // "": no membership list
	Version uint64     `json:"version"`         // of the list; 0: there is none yet
	Members int        `json:"members"`
	Listed  bool       `json:"listed"`  // this node is one of them
	Expires *time.Time `json:"expires"` // when this node ceases to be one; nil: never
	Damage  string     `json:"damage"`  // why the list on disk is not used; "": nothing is wrong
	// TurnedAway and RefusedBy are the last hour's refusals, the latest first.
	TurnedAway []Refusal `json:"turned_away"` // by this node
	RefusedBy  []Refusal `json:"refused_by"`  // of this node
}

// Refusal says that connections were refused for the lack of membership.
type Refusal struct {
	Peer  string    `json:"peer"`
	Times int       `json:"times"`
	Last  time.Time `json:"last"`
}

// Membership is the private network a node has joined.
type Membership struct {
	Peer        string   `json:"peer"` // this node
	Network     string   `json:"network"`
	Authorities []string `json:"authorities"` // who may sign its lists
	List        []byte   `json:"list"`        // the newest, signed; empty: none yet
	Damage      string   `json:"damage"`      // why the list on disk is not used; "": nothing is wrong
	Running     bool     `json:"running"`
	Connected   []string `json:"connected"` // peers
}

// Join makes the node, or the relay, of a data directory a part of a private network
// from its next start: it speaks to members only, as lists say that one of the
// authorities has signed. Joining again replaces the authorities. A node without a
// list of its own, nil, gets the first one from a bootstrap peer.
func Join(ctx context.Context, dir, name string, authorities []string, list []byte) (Membership, error) {
	self, _, err := resident(dir)
	if err != nil {
		return Membership{}, err
	}
	if newClient(dir).alive(ctx) == nil {
		return Membership{}, fmt.Errorf("node: stop the daemon of %s first; it joins when it starts again", dir)
	}
	j := joined{name, authorities}
	book, err := j.open(dir, self, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return Membership{}, err
	}
	if list != nil {
		if _, err := book.Offer(list); err != nil {
			return Membership{}, err
		}
	}
	text, err := encodeTOML(j)
	if err != nil {
		return Membership{}, fmt.Errorf("node: write the private network: %w", err)
	}
	return membership(self, book), replaceAll(dir, []dirFile{{privateFile, text}})
}

// membership is what a directory says of a private network.
func membership(self peer.ID, book *members.Book) Membership {
	m := Membership{Peer: self.String(), Network: book.Network(), Connected: []string{}}
	for _, a := range book.Authorities() {
		m.Authorities = append(m.Authorities, a.String())
	}
	if list := book.List(); list != nil {
		m.List = list.Text
	}
	m.Damage = reason(book.Damage())
	return m
}

// reason is what an error says; "" for none.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Members is the private network and its list, or [ErrNotJoined].
func (n *Node) Members(context.Context) (Membership, error) {
	if n.private.book == nil {
		return Membership{}, requestError{ErrNotJoined}
	}
	m := membership(n.self, n.private.book)
	n.intake.Lock()
	defer n.intake.Unlock()
	if n.session == nil {
		return m, nil
	}
	m.Running = true
	for _, p := range n.session.host.Network().Peers() {
		if n.session.host.Network().Connectedness(p) == network.Connected {
			m.Connected = append(m.Connected, p.String())
		}
	}
	return m, nil
}

// ImportMembers takes in a newer membership list, and with the daemon running spreads
// it at once. The same list again is no error, an older one is.
func (n *Node) ImportMembers(_ context.Context, list []byte) error {
	if n.private.book == nil {
		return requestError{ErrNotJoined}
	}
	_, err := n.private.book.Offer(list)
	if errors.Is(err, members.ErrOlder) || errors.Is(err, members.ErrDamaged) || errors.Is(err, members.ErrUnknown) || errors.Is(err, members.ErrForeign) {
		return requestError{err}
	}
	return err
}

// describe says for the status who may speak to the node; nil: everybody.
func (p private) describe(self peer.ID) *Private {
	if p.key == nil && p.book == nil {
		return nil
	}
	out := &Private{TurnedAway: []Refusal{}, RefusedBy: []Refusal{}}
	if p.key != nil {
		out.Key = fingerprint(p.key)
	}
	if p.book == nil {
		return out
	}
	out.Network = p.book.Network()
	out.Damage = reason(p.book.Damage())
	out.TurnedAway, out.RefusedBy = refusals(p.book.TurnedAway()), refusals(p.book.RefusedBy())
	list := p.book.List()
	if list == nil {
		return out
	}
	out.Version, out.Members, out.Listed = list.Version, len(list.Members), p.book.Member(self)
	if m, ok := list.Member(self); ok && !m.Expires.IsZero() {
		out.Expires = &m.Expires
	}
	return out
}

// soon is how long before the end of a membership its node's owner hears of it.
const soon = 7 * 24 * time.Hour

// problems says what keeps the node from other members, and what to do.
func (p private) problems(self peer.ID, bootstrap []peer.AddrInfo, now time.Time) (out []string) {
	if p.book == nil {
		return nil
	}
	ask := fmt.Sprintf("ask whoever keeps the list of %s for: p2pnode members add %s", p.book.Network(), self)
	list := p.book.List()
	if err := p.book.Damage(); err != nil {
		return []string{fmt.Sprintf("its membership list is not used (%v), so this node speaks to bootstrap peers only, which bring another: "+
			"wait for that, or import a good one", err)}
	}
	if list == nil {
		return []string{"there is no membership list yet, so this node speaks to bootstrap peers only; they bring the list once this node is on it: " + ask}
	}
	switch m, _ := list.Member(self); {
	case !list.Admits(self, now):
		out = append(out, fmt.Sprintf("this node is not on the membership list (version %d), or has expired, so no member speaks to it: %s", list.Version, ask))
	case !m.Expires.IsZero() && m.Expires.Sub(now) < soon:
		out = append(out, fmt.Sprintf("its membership ends at %s: %s --expires DAY", m.Expires.Format(time.RFC3339), ask))
	}
	if refused := p.book.RefusedBy(); len(refused) > 0 {
		out = append(out, fmt.Sprintf("peers have refused this node in the last hour (%d, the latest %s), because it is not on their membership list: it has been revoked, or they have not heard of it yet; %s",
			len(refused), refused[0].Peer, ask))
	}
	for _, b := range bootstrap {
		if !list.Admits(b.ID, now) {
			out = append(out, fmt.Sprintf("the bootstrap peer %s is not on the membership list, so it is not called", b.ID))
		}
	}
	return out
}

func refusals(list []members.Refusal) []Refusal {
	out := make([]Refusal, len(list))
	for i, r := range list {
		out[i] = Refusal{r.Peer.String(), r.Times, r.Last}
	}
	return out
}
