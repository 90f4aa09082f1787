package mobile

import (
	"context"
	"errors"
	"strings"

	"p2pnode/discovery/members"
	"p2pnode/node"
	"p2pnode/node/api"
)

// SetNetworkKey keeps strangers away with a key that all nodes of the network share:
// the text of a file swarm.key, as p2pnode network-key create makes it. Without the key
// nobody can connect, or read anything that nodes send. It works with TCP and
// WebSocket, not with QUIC. [NewNode] writes it into the data directory, and takes a
// directory that has another one for a mistake: [CodeInput]. A directory that has a key
// keeps it, whether it is set again or not; to change it, remove swarm.key from it
// while no node has it open. Everybody who has an app can read what ships inside it, so
// bring the key another way.
func (c *Config) SetNetworkKey(keyText string) (err error) {
	defer guard(&err)
	return c.private.SetKey(keyText)
}

// JoinMembers keeps strangers away with a signed list of the nodes that belong
// together: the node speaks to the members of the network of that name only, over every
// transport. authorities are the IDs of those who may sign its lists, with spaces
// between them, as p2pnode members init prints them. list is a signed list, or null:
// then a bootstrap peer brings the first one once this node is on it; see
// [Node.ImportMembers] for later ones. The newer one of list and the directory's own
// list counts. As with a key, a directory stays in the network that it has joined, and
// another network or other authorities are an error, [CodeInput]; to change them,
// remove private.toml and members.toml.
func (c *Config) JoinMembers(network, authorities string, list []byte) (err error) {
	defer guard(&err)
	if len(list) == 0 {
		list = nil
	}
	return c.private.Join(network, strings.Fields(authorities), list)
}

// introduceMembers gives a node the membership list that the app came with. The node may
// have heard of a newer one since it was issued.
func (s *settled) introduceMembers(n *node.Node) error {
	list := s.private.List()
	if list == nil {
		return nil
	}
	err := n.ImportMembers(context.Background(), list)
	if errors.Is(err, members.ErrOlder) {
		return nil
	}
	return err
}

// ImportMembers takes in a newer membership list of the private network that the node
// has joined. It takes effect at once: peers that are no longer on it are disconnected
// and forgotten, and members that are connected get it. The same list again changes
// nothing; an older one, or one that no authority of the network has signed, is
// [CodeInput]. It takes as long as the disk does.
func (n *Node) ImportMembers(list []byte) error {
	return n.do(func() error {
		err := n.node.ImportMembers(n.ctx, list)
		if errors.Is(err, api.ErrNotJoined) {
			return wrongInput("this node has joined no private network; make it from a configuration with joinMembers")
		}
		return err
	})
}
