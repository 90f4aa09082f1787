package datadir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery/members"
	"p2pnode/node/api"
)

// Join makes the node, or the relay, of a data directory a part of a private network from
// its next start. From then on it speaks only to members, as the lists that an authority
// has signed name them. Joining again replaces the authorities. list may be nil: then the
// node gets its first list from a bootstrap peer.
func Join(ctx context.Context, dir, name string, authorities []string, list []byte) (api.Membership, error) {
	self, _, err := resident(dir)
	if err != nil {
		return api.Membership{}, err
	}
	if answers(ctx, dir) {
		return api.Membership{}, fmt.Errorf("node: stop the daemon of %s first; it joins when it starts again", dir)
	}
	j := joined{name, authorities}
	book, err := j.open(dir, self, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return api.Membership{}, err
	}
	if list != nil {
		if _, err := book.Offer(list); err != nil {
			return api.Membership{}, err
		}
	}
	text, err := encodeTOML(j)
	if err != nil {
		return api.Membership{}, fmt.Errorf("node: write the private network: %w", err)
	}
	return Membership(self, book), replaceAll(dir, []dirFile{{PrivateFile, text}})
}

// RelayMembers returns the private network of a relay's directory, or [api.ErrNotJoined],
// after it has put a newer list into the directory, unless list is nil. A relay that runs
// finds it there within a minute.
func RelayMembers(dir string, list []byte) (api.Membership, error) {
	self, _, err := resident(dir)
	if err != nil {
		return api.Membership{}, err
	}
	j, err := readJoined(filepath.Join(dir, PrivateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return api.Membership{}, api.WrongRequest(api.ErrNotJoined)
	}
	if err != nil {
		return api.Membership{}, err
	}
	book, err := j.open(dir, self, nil, slog.New(slog.DiscardHandler))
	if err == nil && list != nil {
		_, err = book.Offer(list)
	}
	if err != nil {
		return api.Membership{}, err
	}
	return Membership(self, book), nil
}

// answers reports whether a daemon listens at the socket of a directory.
func answers(ctx context.Context, dir string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, SocketFile))
	return err == nil && conn.Close() == nil
}

// Membership returns what a directory knows of its private network.
func Membership(self peer.ID, book *members.Book) api.Membership {
	m := api.Membership{Peer: self.String(), Network: book.Network(), Connected: []string{}}
	for _, a := range book.Authorities() {
		m.Authorities = append(m.Authorities, a.String())
	}
	if list := book.List(); list != nil {
		m.List = list.Text
	}
	m.Damage = reason(book.Damage())
	return m
}

// reason returns the text of an error, or "" if there is none.
func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Describe returns, for the status, who may speak to the node; nil means everybody.
func (p Private) Describe(self peer.ID) *api.Private {
	if p.Key == nil && p.Book == nil {
		return nil
	}
	out := &api.Private{TurnedAway: []api.Refusal{}, RefusedBy: []api.Refusal{}}
	if p.Key != nil {
		out.Key = fingerprint(p.Key)
	}
	if p.Book == nil {
		return out
	}
	out.Network = p.Book.Network()
	out.Damage = reason(p.Book.Damage())
	out.TurnedAway, out.RefusedBy = refusals(p.Book.TurnedAway()), refusals(p.Book.RefusedBy())
	list := p.Book.List()
	if list == nil {
		return out
	}
	out.Version, out.Members, out.Listed = list.Version, len(list.Members), p.Book.Member(self)
	if m, ok := list.Member(self); ok && !m.Expires.IsZero() {
		out.Expires = &m.Expires
	}
	return out
}

// soon is how long before a membership ends the owner is warned.
const soon = 7 * 24 * time.Hour

// Problems says what keeps the node apart from other members, and what to do.
func (p Private) Problems(self peer.ID, bootstrap []peer.AddrInfo, now time.Time) (out []string) {
	if p.Book == nil {
		return nil
	}
	ask := fmt.Sprintf("ask the keeper of the list of %s to run: p2pnode members add %s", p.Book.Network(), self)
	list := p.Book.List()
	if err := p.Book.Damage(); err != nil {
		return []string{fmt.Sprintf("its membership list is not used (%v), so this node speaks to bootstrap peers only, which bring another list: "+
			"wait for that, or import a good one", err)}
	}
	if list == nil {
		return []string{"there is no membership list yet, so this node speaks to bootstrap peers only; they bring the list once this node is on it: " + ask}
	}
	switch m, _ := list.Member(self); {
	case !list.Admits(self, now):
		out = append(out, fmt.Sprintf("this node is not on the membership list (version %d), or its membership has expired, so no member speaks to it: %s", list.Version, ask))
	case !m.Expires.IsZero() && m.Expires.Sub(now) < soon:
		out = append(out, fmt.Sprintf("its membership ends at %s: %s --expires DAY", m.Expires.Format(time.RFC3339), ask))
	}
	if refused := p.Book.RefusedBy(); len(refused) > 0 {
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

func refusals(list []members.Refusal) []api.Refusal {
	out := make([]api.Refusal, len(list))
	for i, r := range list {
		out[i] = api.Refusal{Peer: r.Peer.String(), Times: r.Times, Last: r.Last}
	}
	return out
}
