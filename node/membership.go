package node

import (
	"context"
	"errors"

	"github.com/libp2p/go-libp2p/core/network"

	"p2pnode/discovery/members"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// Members returns the private network and its list, or [api.ErrNotJoined].
func (n *Node) Members(context.Context) (api.Membership, error) {
	if n.private.Book == nil {
		return api.Membership{}, api.WrongRequest(api.ErrNotJoined)
	}
	m := datadir.Membership(n.self, n.private.Book)
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

// ImportMembers takes over a newer membership list and, if the daemon is running, spreads
// it at once. The same list again is no error; an older one is.
func (n *Node) ImportMembers(_ context.Context, list []byte) error {
	if n.private.Book == nil {
		return api.WrongRequest(api.ErrNotJoined)
	}
	_, err := n.private.Book.Offer(list)
	if errors.Is(err, members.ErrOlder) || errors.Is(err, members.ErrDamaged) || errors.Is(err, members.ErrUnknown) || errors.Is(err, members.ErrForeign) {
		return api.WrongRequest(err)
	}
	return err
}
