package testnet

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/node/client"
)

// Tokens are the tokens shown to nodes that run elsewhere: one for all, or one for
// each.
type Tokens struct {
	all string
	of  map[peer.ID]string
}

// ParseTokens reads a file of one token, or of lines with a peer ID and its token.
func ParseTokens(text string) (t Tokens, err error) {
	t.of = make(map[peer.ID]string)
	for i, line := range strings.Split(text, "\n") {
		switch fields := strings.Fields(line); {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case len(fields) == 1 && t.all == "":
			t.all = fields[0]
		case len(fields) == 2:
			id, err := peer.Decode(fields[0])
			if err != nil {
				return t, fmt.Errorf("line %d does not begin with a peer ID", i+1)
			}
			t.of[id] = fields[1]
		default: // errors must never show a token
			return t, fmt.Errorf("line %d is neither the one token for all nodes nor a peer ID and its token", i+1)
		}
	}
	if t.all == "" && len(t.of) == 0 {
		return t, errors.New("there is no token; p2pnode token new makes one")
	}
	return t, nil
}

// Elsewhere is a node that other people run; it is asked over a network.
type Elsewhere struct {
	Address string // for example https://192.0.2.7:8467/#PEERID
	node    *client.Client
	peer    peer.ID
}

// NewElsewhere reads the address of a node. It must end with the peer ID that the node
// must prove; only over http on this machine may it be left out.
func NewElsewhere(address string, t Tokens) (*Elsewhere, error) {
	bare, fragment, pinned := strings.Cut(address, "#")
	u, err := url.Parse(bare)
	if err != nil {
		return nil, fmt.Errorf("%q is no address", address)
	}
	e := &Elsewhere{Address: address}
	if e.peer, err = peer.Decode(fragment); err != nil && (pinned || u.Scheme == "https") {
		return nil, fmt.Errorf("%q does not end with the peer ID of the node; write it as https://192.0.2.7:8467/#PEERID (p2pnode status has the ID)", address)
	}
	token := t.all
	if own, has := t.of[e.peer]; has {
		token = own
	}
	if token == "" {
		return nil, fmt.Errorf("there is no token for %s", address)
	}
	e.node, err = client.NewRemote(client.Remote{URL: bare, Token: token, Peer: e.peer})
	return e, err
}

// Close drops the connections.
func (e *Elsewhere) Close() error { return e.node.Close() }
