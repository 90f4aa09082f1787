package datadir

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/pnet"
)

// NetworkKey is the network key of a data directory.
type NetworkKey struct {
	File        string `json:"file"`
	Fingerprint string `json:"fingerprint"`
}

// ErrNoNetworkKey says that the data directory has no network key.
var ErrNoNetworkKey = errors.New("node: no network key; make one with p2pnode network-key create, or import that of the network with p2pnode network-key import FILE")

// ReadNetworkKey describes the network key of a data directory, or returns
// [ErrNoNetworkKey].
func ReadNetworkKey(dir string) (NetworkKey, error) {
	path := filepath.Join(dir, networkKeyFile)
	key, err := readNetworkKey(path)
	if err != nil {
		return NetworkKey{}, err
	}
	if key == nil {
		return NetworkKey{}, ErrNoNetworkKey
	}
	return NetworkKey{path, fingerprint(key)}, nil
}

// CreateNetworkKey gives a data directory a new network key. It takes effect at the next
// start. It fails if the directory has a key already.
func CreateNetworkKey(dir string) (NetworkKey, error) {
	key := make(pnet.PSK, 32)
	if _, err := rand.Read(key); err != nil {
		return NetworkKey{}, fmt.Errorf("node: make a network key: %w", err)
	}
	return putNetworkKey(dir, key)
}

// ImportNetworkKey gives a data directory the network key in a file. It takes effect at
// the next start. It fails if the directory has another key.
func ImportNetworkKey(dir, from string) (NetworkKey, error) {
	text, err := os.ReadFile(from)
	if err != nil {
		return NetworkKey{}, fmt.Errorf("node: read the network key: %w", err)
	}
	key, err := pnet.DecodeV1PSK(bytes.NewReader(text))
	if err != nil {
		return NetworkKey{}, fmt.Errorf("node: %s is no network key (%w); it begins with /key/swarm/psk/1.0.0/", from, err)
	}
	return putNetworkKey(dir, key)
}

func putNetworkKey(dir string, key pnet.PSK) (NetworkKey, error) {
	_, listen, err := resident(dir)
	if err != nil {
		return NetworkKey{}, err
	}
	if err := (Private{Key: key}).Check(listen); err != nil {
		return NetworkKey{}, err
	}
	files, err := lackingKey(dir, key)
	if err != nil {
		return NetworkKey{}, err
	}
	return NetworkKey{filepath.Join(dir, networkKeyFile), fingerprint(key)}, replaceAll(dir, files)
}

// resident returns the peer ID of the node or relay in a data directory, and the
// addresses that a node listens on.
func resident(dir string) (id peer.ID, listen []string, err error) {
	key, err := readKey(filepath.Join(dir, relayKeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		var files Files
		files, err = Read(dir)
		key, listen = files.Key, files.Config.Listen
	}
	if err != nil {
		return "", nil, err
	}
	if id, err = peer.IDFromPrivateKey(key); err != nil {
		return "", nil, fmt.Errorf("node: the identity has no peer ID: %w", err)
	}
	return id, listen, nil
}
