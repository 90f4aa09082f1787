package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"

	"p2pnode/discovery"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/netedge"
)

// AddPeer makes the node remember a peer, given as a multiaddress that ends in /p2p/ and
// the peer's ID, and connect to it: now, if the node runs, and in every run until
// RemovePeer. It also remembers a peer that cannot be reached now, but not one that turns
// out to be another node or to take part in another task, and none if ctx ends before that
// is known.
func (n *Node) AddPeer(ctx context.Context, address string) (api.Addition, error) {
	info, err := n.parsePeer(address)
	if err != nil {
		return api.Addition{}, api.WrongRequest(err)
	}
	out := api.Addition{ID: info.ID.String()}
	s := n.current()
	if s != nil {
		out.Running = true
		err := s.meetNow(ctx, info, n)
		if errors.Is(err, api.ErrRequest) || err != nil && ctx.Err() != nil {
			return api.Addition{}, err
		}
		if out.Connected = err == nil; err != nil {
			out.Reason = discovery.Reason(err)
		}
	}
	if err := n.remember(info); err != nil {
		return api.Addition{}, err
	}
	return out, nil
}

// RememberPeer remembers a peer as AddPeer does, without trying to connect.
func (n *Node) RememberPeer(address string) error {
	info, err := n.parsePeer(address)
	if err != nil {
		return api.WrongRequest(err)
	}
	return n.remember(info)
}

func (n *Node) remember(p peer.AddrInfo) error {
	if err := n.book.Add(p); err != nil {
		return err
	}
	n.startFrom()
	return nil
}

// meetNow connects to a peer and checks its identity and its task. It returns an
// ErrRequest if no later attempt can succeed.
func (s *session) meetNow(ctx context.Context, p peer.AddrInfo, n *Node) error {
	err := s.discovery.Connect(ctx, p)
	if wrong, ok := errors.AsType[sec.ErrPeerIDMismatch](err); ok {
		return api.WrongRequest(fmt.Errorf("node: another node answers at that address, %s; is the ID at its end right?", wrong.Actual))
	}
	if err != nil {
		return err
	}
	if err := s.strange(ctx, p.ID, n); err != nil {
		return api.WrongRequest(fmt.Errorf("node: %s: %w", p.ID, err))
	}
	if known, _ := s.host.Peerstore().GetProtocols(p.ID); len(known) == 0 && ctx.Err() != nil {
		return ctx.Err() // it has not said yet in which task it takes part
	}
	s.hood.found(p)
	return nil
}

// RemovePeer makes the node forget a peer that was added, given by its ID or by a
// multiaddress that contains it. If the peer is a neighbour, it stays one.
func (n *Node) RemovePeer(_ context.Context, peerOrAddress string) error {
	id, err := peer.Decode(peerOrAddress)
	if err != nil {
		info, err := peer.AddrInfoFromString(peerOrAddress)
		if err != nil {
			return api.WrongRequest(fmt.Errorf("node: %q is neither a peer ID nor a multiaddress that ends in one", peerOrAddress))
		}
		id = info.ID
	}
	named, _ := n.live.Load().BootstrapPeers() // cannot fail: validated when the file was read
	if err := n.book.Remove(id); err != nil {
		if errors.Is(err, api.ErrNoPeer) && slices.ContainsFunc(named, func(p peer.AddrInfo) bool { return p.ID == id }) {
			err = api.WrongRequest(fmt.Errorf("node: %s is named in %s; take it out of the key \"bootstrap\" there", id, datadir.ConfigFile))
		}
		return err
	}
	n.startFrom()
	return nil
}

// startFrom tells a running node to which peers it must keep a connection to start from.
func (n *Node) startFrom() {
	n.intake.Lock()
	defer n.intake.Unlock()
	if n.session != nil {
		n.session.discovery.Bootstrap(n.bootstrap())
	}
}

// parsePeer reads a multiaddress that names another peer and can be dialled.
func (n *Node) parsePeer(address string) (peer.AddrInfo, error) {
	info, err := netedge.ParsePeer(address)
	if err == nil && info.ID == n.self {
		err = fmt.Errorf("node: %s is this node itself", address)
	}
	return info, err
}

// Acquaintances lists the peers, other than the neighbours, from which the node can
// start: first those that it was told, then those that it met, most recently seen first.
func (n *Node) Acquaintances(ctx context.Context) ([]api.Acquaintance, error) {
	s := n.current()
	neighbours, err := n.Peers(ctx)
	if err != nil {
		return nil, err
	}
	named, _ := n.live.Load().BootstrapPeers() // cannot fail: validated when the file was read
	out := n.book.List(named)
	out = slices.DeleteFunc(out, func(a api.Acquaintance) bool {
		return a.From == "met" && slices.ContainsFunc(neighbours, func(p api.Peer) bool { return p.ID == a.ID })
	})
	if s == nil {
		return out, nil
	}
	for i := range out {
		id, err := peer.Decode(out[i].ID)
		if err != nil {
			return nil, err
		}
		if out[i].Connected = s.hood.connected(id); out[i].Connected {
			out[i].LastSeen = time.Now().Unix()
		}
		if err := s.discovery.Failure(id); err != nil && !out[i].Connected {
			out[i].Reason = discovery.Reason(err)
		}
	}
	return out, nil
}
