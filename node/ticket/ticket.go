// Package ticket writes and reads the one string that somebody needs to join a network:
// the task, addresses of nodes to start from, who else may speak to them and, only if the
// owner says so, a secret that lets its bearer in. It does no input or output.
//
// A ticket is a prefix, which says whether the ticket holds a secret and in which version
// it is written, followed by the base32 of its content and a checksum. The letters are
// those of bech32: they survive e-mail, messengers, a change of case and the alphanumeric
// mode of QR codes, and none of them is easily taken for another.
package ticket

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"
)

// The prefixes of tickets of this version.
const (
	Prefix       = "p2p1"
	SecretPrefix = "p2psecret1"
)

const (
	// MaxText bounds the length of a ticket in characters: what the largest QR code
	// holds.
	MaxText = 4296
	// MaxTask bounds the length of a task's text in bytes, whether a ticket carries or names
	// it.
	MaxTask = 1 << 20
	// maxCarried bounds the length of a compressed task in a ticket, in bytes. With a
	// longer one the QR code would be too large for terminals and phones.
	maxCarried = 900
	// maxPeers bounds the nodes to start from, and maxAddrs the addresses of each.
	maxPeers, maxAddrs = 8, 8
	maxAuthorities     = 16
)

// Sizes of contents, in bytes.
const (
	keySize  = 32 // of a network key, and of the seed of an identity
	HashSize = 32 // of a SHA-256
)

// Ticket is what somebody needs to join a network.
type Ticket struct {
	// Network is the name of the task's network, 32 hexadecimal digits.
	Network string
	// Task is the text of the task file. It is nil in a ticket that was read and does not
	// carry it: then a node to start from has the text with the SHA-256 TaskHash.
	Task     []byte
	TaskHash [HashSize]byte
	// Peers are the nodes to start from: 1 to 8, with 1 to 8 addresses each.
	Peers []peer.AddrInfo
	// KeyPrint is the fingerprint of the network key, 16 hexadecimal digits; "": the
	// network has no key.
	// Key is the key itself, a secret; nil: the bearer must get it in another way.
	KeyPrint string
	Key      []byte
	// Members is the name of a network that has a list of its members, and Authorities
	// are those who may sign the list; "" and nil: there is no list.
	Members     string
	Authorities []peer.ID
	// Seed is the seed of an Ed25519 identity that is on the list of members, a secret
	// for one node only; nil: the bearer has an identity already. Expires is when its
	// membership ends; the zero time: never.
	Seed    []byte
	Expires time.Time
}

// Errors of [Decode].
var (
	// errMistyped says that a text is not a complete ticket as it was written.
	errMistyped = errors.New("ticket: the ticket is not complete, or a character of it was changed; copy the whole ticket again")
	// errNoTicket says that a text does not begin like a ticket.
	errNoTicket = errors.New("ticket: this is no ticket; a ticket begins with " + Prefix + ", or with " + SecretPrefix + " if it holds a secret")
	// errNewer says that this program is too old for a ticket.
	errNewer = errors.New("ticket: the ticket was written by a newer p2pnode; install that version")
	// errInvalid says that a ticket was copied without errors but has a wrong content.
	errInvalid = errors.New("ticket: the ticket makes no sense; ask for another one")
)

// Secret reports whether somebody who has the ticket can do what others cannot.
func (t *Ticket) Secret() bool { return t.Key != nil || t.Seed != nil }

// check returns an error for a ticket that no program writes.
func (t *Ticket) check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%w (%s)", errInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case len(t.Network) != 2*networkSize:
		return wrong("it names no network")
	case len(t.Peers) == 0 || len(t.Peers) > maxPeers:
		return wrong("it has %d nodes to start from, not 1 to %d", len(t.Peers), maxPeers)
	case t.Task != nil && len(t.Task) == 0 || len(t.Task) > MaxTask:
		return wrong("its task has %d bytes, not 1 to %d", len(t.Task), MaxTask)
	case t.Task == nil && t.TaskHash == [HashSize]byte{}:
		return wrong("it has neither a task nor its hash")
	case t.Key != nil && (len(t.Key) != keySize || t.KeyPrint == ""):
		return wrong("its network key is not valid")
	case t.KeyPrint != "" && len(t.KeyPrint) != 2*printSize:
		return wrong("the fingerprint of its network key is not valid")
	case (t.Members == "") != (len(t.Authorities) == 0) || len(t.Authorities) > maxAuthorities:
		return wrong("it has %d authorities of the members of %q", len(t.Authorities), t.Members)
	case len(t.Members) > maxName || !printable(t.Members):
		return wrong("the name of its private network is not valid")
	case t.Seed != nil && (len(t.Seed) != keySize || t.Members == ""):
		return wrong("it has an identity without a membership")
	case t.Seed == nil && !t.Expires.IsZero():
		return wrong("it says when a membership ends, but brings none")
	}
	for _, p := range t.Peers {
		if len(p.Addrs) == 0 || len(p.Addrs) > maxAddrs {
			return wrong("a node to start from has %d addresses, not 1 to %d", len(p.Addrs), maxAddrs)
		}
		for _, a := range p.Addrs {
			if len(a) == 0 || a[len(a)-1].Protocol().Code == multiaddr.P_P2P || !printable(a.String()) {
				return wrong("an address is not valid")
			}
		}
	}
	return nil
}

// maxName bounds the name of a private network, in bytes.
const maxName = 64

// printable reports whether a text can be shown unchanged: a ticket comes from a
// stranger, and a terminal obeys some characters.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
