package mobile

import (
	"context"
	"errors"
	"slices"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/netedge"
)

const (
	// maxIntroduced is how many peers may wait for an attempt to reach them. The node
	// remembers as many.
	maxIntroduced = 64
	// introducers is how many attempts are made at the same time.
	introducers = 3
	// introduceWithin bounds one attempt: a dial, and once more if the two crossed.
	introduceWithin = 30 * time.Second
)

// AddPeer makes the node remember a peer that the app found, by NsdManager, Bonjour or
// a QR code, and connect to it whenever it runs. multiaddr is an address that ends in
// /p2p/ and the peer's ID. It returns at once; the event "peer" reports the result of
// the attempt. A peer that cannot be reached now is remembered too; one that is found
// to be somebody else, or to take part in another task, is not. If there are more than
// 64, the one not seen for longest is forgotten. [CodeFull]: 64 peers wait already.
func (n *Node) AddPeer(multiaddr string) error {
	return n.do(func() error {
		p, err := netedge.ParsePeer(multiaddr)
		if err != nil {
			return coded(CodeInput, err)
		}
		if p.ID == n.node.ID() {
			return wrongInput("%s is this node itself", multiaddr)
		}
		select {
		case n.introduced <- introduction{p.ID.String(), multiaddr}:
			return nil
		default:
			return coded(CodeFull, errors.New("too many peers wait to be tried; add this one again later"))
		}
	})
}

// introduction is a peer that the app found.
type introduction struct{ id, address string }

// peerEvent is the payload of the event "peer".
type peerEvent struct {
	ID        string `json:"id"`
	Connected bool   `json:"connected"`
	Reason    string `json:"reason"` // why it is not
}

// introduce tries to reach the peers that the app found, one after the other, until ctx
// ends. The peers still waiting then are remembered, and tried in the next run.
func (n *Node) introduce(ctx context.Context) {
	for {
		select {
		case p := <-n.introduced:
			n.meet(ctx, p)
		case <-ctx.Done():
			for {
				select {
				case p := <-n.introduced:
					n.remember(ctx, p)
				default:
					return
				}
			}
		}
	}
}

// meet tries to reach a peer and reports the result.
func (n *Node) meet(ctx context.Context, p introduction) {
	attempt, cancel := context.WithTimeout(ctx, introduceWithin)
	defer cancel()
	var out api.Addition
	err := n.withRoom(attempt, func() (err error) {
		out, err = n.node.AddPeer(attempt, p.address)
		return err
	})
	e := peerEvent{p.id, out.Connected, out.Reason}
	switch {
	case attempt.Err() != nil && err != nil:
		n.remember(ctx, p)
		e.Reason = "no answer yet; the node goes on trying whenever it runs"
	case err != nil:
		e.Reason = inApp(err, errorCode(err))
	case !out.Running, !out.Connected && n.driver.now().State != stateRunning: // the node left the network meanwhile
		e.Reason = "the node is not in the network; it connects when it is"
	}
	n.events.post("peer", e)
}

// remember keeps a peer for a later attempt, without trying to reach it.
func (n *Node) remember(ctx context.Context, p introduction) {
	err := n.withRoom(ctx, func() error { return n.node.RememberPeer(p.address) })
	if err != nil {
		n.log.Warn("a peer was not remembered", "peer", p.id, "error", err)
	}
}

// withRoom adds a peer. If the node has no room for more, it forgets the added peer
// that was not seen for longest: over the years a phone meets many.
func (n *Node) withRoom(ctx context.Context, add func() error) error {
	err := add()
	if !errors.Is(err, netedge.ErrManyPeers) {
		return err
	}
	list, failed := n.node.Acquaintances(ctx)
	for _, a := range slices.Backward(list) { // the last seen come first
		if a.From == "added" && !a.Connected {
			return errors.Join(n.node.RemovePeer(ctx, a.ID), add())
		}
	}
	return errors.Join(err, failed)
}

// RemovePeer makes the node forget a peer that was added, by its ID or address. It
// takes as long as the disk does.
func (n *Node) RemovePeer(peerOrAddress string) error {
	return n.do(func() error { return n.node.RemovePeer(n.ctx, peerOrAddress) })
}
