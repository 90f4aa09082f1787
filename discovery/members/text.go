package members

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/pelletier/go-toml/v2"

	"p2pnode/internal/durable"
)

// The text of a list is TOML for people to read. The signature at its end covers
// every byte before it, so it is checked before anything else is read.
const (
	head      = "# The members of a private network. It is signed: change it with p2pnode members.\n"
	separator = "\n[signature]\n"
	maxTail   = 512 // bytes after the separator
	// domain begins everything that is signed, so that a signature made for another purpose
	// cannot pass for that of a list.
	domain = "p2pnode membership list\x00"
)

// The reasons why a list is not believed.
var (
	ErrDamaged = errors.New("members: the list is damaged, or was changed after it was signed; get it again from the keeper of the list")
	ErrUnknown = errors.New("members: the list is signed by an authority that this node does not trust")
	ErrForeign = errors.New("members: the list is of another network")
)

// Signed is a list with a good signature. It must not be changed.
type Signed struct {
	List              // Members sorted by peer ID
	Authority peer.ID // whose key signed it
	Text      []byte  // what was signed and the signature, as it is stored and sent
	digest    [sha256.Size]byte
}

// content is a list as it is written. go-toml (v2.4) would write a [peer.ID] as a plain
// string of bytes, so content holds its text.
type content struct {
	Network string    `toml:"network"`
	Version uint64    `toml:"version"`
	Issued  time.Time `toml:"issued"`
	Members []entry   `toml:"member"`
}

type entry struct {
	Peer    string    `toml:"peer"`
	Name    string    `toml:"name,omitempty"`
	Added   time.Time `toml:"added"`
	Expires time.Time `toml:"expires,omitzero"`
}

// signature is the end of the text.
type signature struct {
	Signature struct {
		Authority string `toml:"authority"`
		Value     string `toml:"value"` // base64
	} `toml:"signature"`
}

// Sign issues a list with an authority's key. Its error says what is wrong with the
// list.
func (l *List) Sign(key crypto.PrivKey, now time.Time) (*Signed, error) {
	l.Issued = now.UTC().Truncate(time.Second)
	if err := l.normalise(); err != nil {
		return nil, err
	}
	authority, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("members: the authority's key has no ID: %w", err)
	}
	body, err := l.encode()
	if err != nil {
		return nil, fmt.Errorf("members: write the list: %w", err)
	}
	value, err := key.Sign(statement(body))
	if err != nil {
		return nil, fmt.Errorf("members: sign the list: %w", err)
	}
	text := fmt.Appendf(slices.Clip(body), "%sauthority = '%s'\nvalue = '%s'\n", separator, authority, base64.StdEncoding.EncodeToString(value))
	if len(text) > MaxText {
		return nil, fmt.Errorf("members: the list would have more than %d bytes", MaxText)
	}
	return &Signed{List: *l, Authority: authority, Text: text, digest: sha256.Sum256(statement(body))}, nil
}

func (l *List) encode() ([]byte, error) {
	c := content{Network: l.Network, Version: l.Version, Issued: l.Issued}
	for _, m := range l.Members {
		c.Members = append(c.Members, entry{m.Peer.String(), m.Name, m.Added, m.Expires})
	}
	text, err := toml.Marshal(c)
	return append([]byte(head), text...), err
}

func decode(body []byte) (List, error) {
	var c content
	if err := toml.NewDecoder(bytes.NewReader(body)).DisallowUnknownFields().Decode(&c); err != nil {
		return List{}, fmt.Errorf("members: install a newer p2pnode: the list is signed, and this version cannot read it (%w)", err)
	}
	l := List{Network: c.Network, Version: c.Version, Issued: c.Issued}
	for _, e := range c.Members {
		id, err := peer.Decode(e.Peer)
		if err != nil {
			return List{}, fmt.Errorf("members: %q is not a peer ID: %w", e.Peer, err)
		}
		l.Members = append(l.Members, Member{id, e.Name, e.Added, e.Expires})
	}
	return l, l.normalise()
}

func statement(body []byte) []byte { return append([]byte(domain), body...) }

// Save replaces the list in a file and returns when the new one is durable. If it is
// interrupted, the file holds one of the two.
func (s *Signed) Save(path string) error { return durable.Replace(path, s.Text) }

// Authority returns the authority whose signature a text claims to have. It checks nothing.
func Authority(text []byte) (peer.ID, error) {
	_, authority, _, err := split(text)
	return authority, err
}

// Parse reads a list that one of the trusted authorities has signed. Its errors
// are [ErrDamaged] and [ErrUnknown], with details. It keeps text.
func Parse(text []byte, trusted []peer.ID) (*Signed, error) {
	// A mail program or another system may have changed the line ends.
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	body, authority, value, err := split(text)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(trusted, authority) {
		return nil, fmt.Errorf("%w: %s", ErrUnknown, authority)
	}
	if err := verify(body, authority, value); err != nil {
		return nil, err
	}
	list, err := decode(body)
	if err != nil {
		return nil, err
	}
	return &Signed{List: list, Authority: authority, Text: text, digest: sha256.Sum256(statement(body))}, nil
}

// ParseOf reads a list as [Parse] does, and fails with [ErrForeign] if it belongs to
// another network.
func ParseOf(network string, text []byte, trusted []peer.ID) (*Signed, error) {
	list, err := Parse(text, trusted)
	if err != nil {
		return nil, err
	}
	if list.Network != network {
		return nil, fmt.Errorf("%w, %q, and this node belongs to %q", ErrForeign, list.Network, network)
	}
	return list, nil
}

// split separates the signed part of a text from the signature.
func split(text []byte) (body []byte, authority peer.ID, value string, err error) {
	if len(text) > MaxText {
		return nil, "", "", fmt.Errorf("%w (it has more than %d bytes)", ErrDamaged, MaxText)
	}
	at := bytes.LastIndex(text, []byte(separator))
	if at < 0 || len(text)-at > len(separator)+maxTail {
		return nil, "", "", fmt.Errorf("%w (it has no signature at its end)", ErrDamaged)
	}
	var s signature
	if toml.Unmarshal(text[at:], &s) == nil {
		authority, err = peer.Decode(s.Signature.Authority)
	}
	if authority == "" || err != nil {
		return nil, "", "", fmt.Errorf("%w (its signature is unreadable)", ErrDamaged)
	}
	return text[:at], authority, s.Signature.Value, nil
}

// verify checks a signature with the public key that is part of the authority's ID.
func verify(body []byte, authority peer.ID, value string) error {
	key, err := authority.ExtractPublicKey()
	if err != nil {
		return fmt.Errorf("%w (the authority's ID holds no key)", ErrDamaged)
	}
	raw, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return fmt.Errorf("%w (its signature is unreadable)", ErrDamaged)
	}
	if ok, err := key.Verify(statement(body), raw); err != nil || !ok {
		return fmt.Errorf("%w (its signature is wrong)", ErrDamaged)
	}
	return nil
}
