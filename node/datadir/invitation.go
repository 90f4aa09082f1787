package datadir

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/node/api"
	"p2pnode/node/ticket"
)

// Invitation returns the ticket for the network of a data directory, without nodes to
// start from and without a secret. The ticket has the fingerprint of the network key, if
// there is one, and the name and the authorities of a network that has a list of members.
func Invitation(dir string) (*ticket.Ticket, error) {
	files, err := Read(dir)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, TaskFile))
	if err != nil {
		return nil, fmt.Errorf("node: read the task: %w", err)
	}
	t := &ticket.Ticket{Network: NetworkName(files.Task), Task: text, TaskHash: sha256.Sum256(text)}
	key, err := readNetworkKey(filepath.Join(dir, networkKeyFile))
	if err != nil {
		return nil, err
	}
	if key != nil {
		t.KeyPrint = fingerprint(key)
	}
	j, err := readJoined(filepath.Join(dir, PrivateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	t.Members = j.Network
	t.Authorities, err = j.trusted()
	return t, err
}

// AddKey puts the network key of a data directory into its ticket. That makes the ticket a
// secret. It fails with [ErrNoNetworkKey] if there is none.
func AddKey(dir string, t *ticket.Ticket) error {
	key, err := readNetworkKey(filepath.Join(dir, networkKeyFile))
	if err == nil && key == nil {
		err = ErrNoNetworkKey
	}
	t.Key = key
	return err
}

// NewMember makes an identity for the holder of a ticket. Its membership ends at expires,
// or never if that is zero. The identity makes the ticket a secret. The caller puts the
// identity on the list of members.
func NewMember(t *ticket.Ticket, expires time.Time) (peer.ID, error) {
	key, err := newKey()
	if err != nil {
		return "", err
	}
	signing, err := SigningKey(key)
	if err != nil {
		return "", err
	}
	t.Seed, t.Expires = signing.Seed(), expires
	return peer.IDFromPrivateKey(key)
}

// Invited returns what a ticket says about a new directory: who may speak to the node
// and, if the ticket has one, its identity. Task and configuration are still missing.
func Invited(t *ticket.Ticket) (n New, err error) {
	n.until = t.Expires
	n.Private.wantKey(t.KeyPrint)
	if t.Key != nil {
		n.Private.key = bytes.Clone(t.Key)
	}
	if t.Members != "" {
		authorities := make([]string, len(t.Authorities))
		for i, a := range t.Authorities {
			authorities[i] = a.String()
		}
		if err := n.Private.Join(t.Members, authorities, nil); err != nil {
			return n, err
		}
	}
	if t.Seed != nil {
		n.Key, err = crypto.UnmarshalEd25519PrivateKey(ed25519.NewKeyFromSeed(t.Seed))
	}
	return n, err
}

// Current returns an error if the membership that a ticket brought has ended: no
// directory may be made with it any more. A directory that was made before continues,
// because the lists say who is a member now.
func (n *New) Current(now time.Time) error {
	if n.until.IsZero() || now.Before(n.until) {
		return nil
	}
	return api.WrongRequest(fmt.Errorf("node: the membership in this ticket ended at %s; ask for another ticket", n.until.Format(time.RFC3339)))
}

// TakeTask reads the text of a ticket's task. The ticket either carries the text or names
// it by its hash.
func (n *New) TakeTask(t *ticket.Ticket, text []byte) error {
	if len(text) > ticket.MaxTask {
		return api.WrongRequest(fmt.Errorf("node: the task of the ticket has %d bytes, and none may have more than %d; ask who invites for a ticket of another task", len(text), ticket.MaxTask))
	}
	if sha256.Sum256(text) != t.TaskHash {
		return api.WrongRequest(errors.New("node: this is not the task that the ticket names; get the task file from the node that invites"))
	}
	task, err := parseWhole(text) // the text is as the inviting node's directory has it
	if err != nil {
		return api.WrongRequest(fmt.Errorf("node: this p2pnode cannot read the task of the ticket (%w); install the version of the node that invites", err))
	}
	if name := NetworkName(task); name != t.Network {
		older := ""
		if slices.Contains(networkNames(task), t.Network) {
			older = ", which is older"
		}
		return api.WrongRequest(fmt.Errorf("node: the ticket was written by another version of p2pnode%s: its network is %s, and this version would look for %s; install the same version on both sides", older, t.Network, name))
	}
	n.Task = task
	return nil
}

// Rejoin gives an existing node of a ticket's network what the ticket brings beside
// addresses: a network key, or the list of members to follow. It takes effect when the
// daemon starts next. It fails if the node is of another network, or has another identity
// or key than the ticket says.
func Rejoin(dir string, t *ticket.Ticket, n New) error {
	files, err := Read(dir)
	if err != nil {
		return err
	}
	if name := NetworkName(files.Task); name != t.Network {
		return api.WrongRequest(fmt.Errorf("node: %s holds a node of the network %s (task %q), and the ticket is for %s; choose another directory with --dir", dir, name, files.Task.Name, t.Network))
	}
	if n.Key != nil && !n.Key.Equals(files.Key) {
		return api.WrongRequest(otherIdentity(dir))
	}
	lacking, err := n.Private.files(dir, files.Config.Listen)
	if err != nil {
		return err
	}
	return replaceAll(dir, lacking)
}

// otherIdentity returns the error for a directory whose node is not the one that was
// invited.
func otherIdentity(dir string) error {
	return fmt.Errorf("node: %s holds a node with an identity of its own, and the ticket brings another one; choose another directory", dir)
}
