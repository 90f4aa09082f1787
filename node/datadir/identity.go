package datadir

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/durable"
)

// NewIdentity makes an identity in a new file that only its owner can read, for [Make],
// and returns its peer ID. A task that names its servers must know their IDs before they
// have data directories. It makes the file's directory too, for its owner alone. It fails if
// the file exists, and then says whose identity it is.
func NewIdentity(path string) (peer.ID, error) {
	key, err := newKey()
	if err != nil {
		return "", err
	}
	text, err := crypto.MarshalPrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("node: make an identity: %w", err)
	}
	id, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return "", fmt.Errorf("node: make an identity: %w", err)
	}
	if err := durable.MkdirAll(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("node: make the directory of the identity: %w", err)
	}
	switch err := create(path, text); {
	case errors.Is(err, fs.ErrExist):
		is := "may be an identity in use"
		if old, err := readKey(path); err == nil {
			if id, err := peer.IDFromPrivateKey(old); err == nil {
				is = "is the identity of " + id.String()
			}
		}
		return "", fmt.Errorf("node: %s is there already, and %s; to make another one, name another file", path, is)
	case err != nil:
		return "", fmt.Errorf("node: write the identity: %w", err)
	}
	return id, nil
}

// PassingIdentity makes an identity that nobody keeps. A program uses it to ask a node
// something before it has a data directory.
func PassingIdentity() (crypto.PrivKey, error) { return newKey() }

func newKey() (crypto.PrivKey, error) {
	key, _, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("node: make an identity: %w", err)
	}
	return key, nil
}

// SigningKey returns an identity in the form that private sums and tickets use.
func SigningKey(key crypto.PrivKey) (ed25519.PrivateKey, error) {
	raw, err := key.Raw()
	if err != nil || key.Type() != crypto.Ed25519 {
		return nil, errors.New("node: private sums need an identity with an Ed25519 key: make a new directory")
	}
	return ed25519.PrivateKey(raw), nil
}

// ReadIdentity reads the key that [NewIdentity] made. It fails if other users can read
// the file.
func ReadIdentity(path string) (crypto.PrivKey, error) { return readKey(path) }

// readKey reads an identity. It fails if other users can read the file.
func readKey(path string) (crypto.PrivKey, error) {
	if err := forOwner(path, readOrWrite, "read %s and could speak for this node with it", "600"); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, unread("identity", fmt.Errorf("only the user who owns the directory can use it: %w", err), "")
	case err != nil:
		return nil, fmt.Errorf("node: read the identity: %w", err)
	}
	key, err := crypto.UnmarshalPrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("node: %s is damaged (%w); restore it from a copy, or make a new directory", path, err)
	}
	return key, nil
}

// relayKeyFile holds the identity of a relay, in a directory of its own.
const relayKeyFile = "relay.key"

// RelayKey reads the identity of a relay, or makes one in a new directory.
func RelayKey(dir string) (key crypto.PrivKey, err error) {
	path := filepath.Join(dir, relayKeyFile)
	key, err = readKey(path)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, unusable(dir, err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if _, err := os.Stat(filepath.Join(dir, KeyFile)); err == nil {
		return nil, fmt.Errorf("node: %s holds a node; choose another directory for the relay, because one identity must not run twice", dir)
	}
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("node: make the relay's directory: %w", err)
	}
	if _, err := NewIdentity(path); err != nil {
		return nil, err
	}
	return readKey(path)
}

// HoldsRelay reports whether a directory holds a relay, and no node.
func HoldsRelay(dir string) bool {
	_, relay := os.Stat(filepath.Join(dir, relayKeyFile))
	_, node := os.Stat(filepath.Join(dir, KeyFile))
	return relay == nil && errors.Is(node, fs.ErrNotExist)
}

// PeerOf returns the peer ID of the node or the relay that a directory holds.
func PeerOf(dir string) (peer.ID, error) {
	key, err := readKey(filepath.Join(dir, KeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		key, err = readKey(filepath.Join(dir, relayKeyFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("node: %s holds neither a node nor a relay", dir)
	}
	if err != nil {
		return "", err
	}
	return peer.IDFromPrivateKey(key)
}
