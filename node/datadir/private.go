package datadir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/pnet"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/discovery/members"
	"p2pnode/discovery/reach"
	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/api"
)

// Private is what keeps strangers away from a node: a key that all nodes of the
// network have, a list of its members, both or neither.
type Private struct {
	Key  pnet.PSK      // nil: none
	Book *members.Book // nil: none
}

// joined is the content of PrivateFile.
type joined struct {
	Network     string   `toml:"network" comment:"the private network this node has joined; it speaks to its members only"`
	Authorities []string `toml:"authorities" comment:"the peer IDs of those who may sign the list of its members"`
}

// ReadPrivate reads what keeps strangers away from the node of a data directory. If there
// is no list of members yet, the bootstrap peers may bring the first one.
func ReadPrivate(dir string, self peer.ID, bootstrap []peer.AddrInfo, log *slog.Logger) (p Private, err error) {
	if p.Key, err = readNetworkKey(filepath.Join(dir, networkKeyFile)); err != nil {
		return Private{}, err
	}
	j, err := readJoined(filepath.Join(dir, PrivateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return p, alone(dir)
	}
	if err != nil {
		return Private{}, err
	}
	introducers := make([]peer.ID, len(bootstrap))
	for i, b := range bootstrap {
		introducers[i] = b.ID
	}
	if p.Book, err = j.open(dir, self, introducers, log); err != nil {
		return Private{}, fmt.Errorf("%s: %w", filepath.Join(dir, PrivateFile), err)
	}
	return p, nil
}

// alone returns an error if a directory has the list of a private network but not the
// file that says that the node has joined it. A node that lost that file by accident must
// not speak to strangers.
func alone(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, membersFile)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return api.Advise(fmt.Errorf("node: %s holds the list of a private network (%s), but not %s, without which this node would speak to everybody", dir, membersFile, PrivateFile),
		"put that back, or make it anew with p2pnode members join; to leave the network, remove "+membersFile+" too")
}

// open opens the book of the private network.
func (j joined) open(dir string, self peer.ID, introducers []peer.ID, log *slog.Logger) (*members.Book, error) {
	trusted, err := j.trusted()
	if err != nil {
		return nil, err
	}
	return members.Open(members.Config{
		File: filepath.Join(dir, membersFile), Network: j.Network, Authorities: trusted,
		Self: self, Introducers: introducers, Logger: log,
	})
}

// trusted returns the peer IDs of the authorities.
func (j joined) trusted() (out []peer.ID, err error) {
	for _, text := range j.Authorities {
		id, err := peer.Decode(text)
		if err == nil {
			_, err = id.ExtractPublicKey()
		}
		if err != nil {
			return nil, fmt.Errorf("node: %q is no authority (%w); take the ID that p2pnode members init has printed", text, err)
		}
		out = append(out, id)
	}
	if len(out) == 0 {
		return nil, errors.New("node: a private network has at least one authority")
	}
	return out, nil
}

// Options returns the options that a host needs beside the gater.
func (p Private) Options() []libp2p.Option {
	if p.Key == nil {
		return nil
	}
	return []libp2p.Option{libp2p.PrivateNetwork(p.Key)}
}

// Gater decides who may connect; nil: everybody.
func (p Private) Gater() connmgr.ConnectionGater {
	if p.Book == nil {
		return nil // an interface holding a nil *Book would not be nil
	}
	return p.Book
}

// Check refuses addresses that cannot be used with a network key. libp2p would leave them
// out silently.
func (p Private) Check(listen []string) error {
	if p.Key == nil {
		return nil
	}
	for _, text := range listen {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return fmt.Errorf("node: %w", reach.NoAddress(text, "/ip4/0.0.0.0/tcp/4001", err))
		}
		if _, err := a.ValueForProtocol(multiaddr.P_UDP); err == nil {
			return fmt.Errorf("node: %s cannot be listened on with a network key (%s): QUIC and the other transports over UDP bring an encryption of their own. "+
				"Take it out of \"listen\" and use TCP or WebSocket, or remove the key and keep strangers away with a membership list", text, networkKeyFile)
		}
	}
	return nil
}

// Member reports whether a peer may take part. Without a membership list everybody may.
func (p Private) Member(id peer.ID) bool { return p.Book == nil || p.Book.Member(id) }

// Members lists the peers that are members now, for a network that has a list of them.
func (p Private) Members() (out []learner.ID) {
	list := p.Book.List()
	if list == nil {
		return nil
	}
	for _, m := range list.Members {
		if p.Book.Member(m.Peer) {
			out = append(out, gossip.ID(m.Peer))
		}
	}
	return out
}

// Run spreads the membership list, if there is one, until ctx ends. It calls expel when a
// peer may have ceased to be a member.
func (p Private) Run(ctx context.Context, h host.Host, expel func()) error {
	if p.Book == nil {
		return nil
	}
	return p.Book.Run(ctx, h, expel)
}

// readNetworkKey reads a network key; nil means that there is none. It fails if other
// users can read the file.
func readNetworkKey(path string) (pnet.PSK, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("node: read the network key: %w", err)
	}
	if err := forOwner(path, readOrWrite, "read %s and could enter the network with it", "600"); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("node: read the network key: %w", err)
	}
	key, err := pnet.DecodeV1PSK(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("node: %s is no network key (%w); copy it again from another node of the network", path, err)
	}
	return key, nil
}

// fingerprint tells network keys apart and reveals nothing about them: a key is 32 random
// bytes.
func fingerprint(key pnet.PSK) string {
	sum := sha256.Sum256(append([]byte("p2pnode network key fingerprint\x00"), key...))
	return hex.EncodeToString(sum[:8])
}

// lackingKey returns the file that gives a data directory a network key. It returns none
// if the directory has that key already, and fails if it has another one.
func lackingKey(dir string, key pnet.PSK) ([]dirFile, error) {
	path := filepath.Join(dir, networkKeyFile)
	old, err := readNetworkKey(path)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return []dirFile{{networkKeyFile, fmt.Appendf(nil, "/key/swarm/psk/1.0.0/\n/base16/\n%x\n", []byte(key))}}, nil
	}
	if !bytes.Equal(old, key) {
		return nil, api.WrongRequest(fmt.Errorf("node: %s holds another key, with the fingerprint %s; remove it first if the node shall change networks", path, fingerprint(old)))
	}
	return nil, nil
}

// readJoined reads a PrivateFile.
func readJoined(path string) (j joined, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return j, fmt.Errorf("node: read the private network: %w", err)
	}
	if err := decodeTOML(text, &j); err != nil {
		return j, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}
