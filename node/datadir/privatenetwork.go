package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/pnet"

	"p2pnode/discovery/members"
	"p2pnode/node/api"
)

// PrivateNetwork keeps strangers away, with a network key, a membership list, both or
// neither. It is for a program that brings these with it and passes them to [Configure].
// The zero value has neither.
type PrivateNetwork struct {
	key    pnet.PSK // nil: none
	wanted string   // the fingerprint that the key must have; "": any, or none
	joined joined   // no private network if its name is empty
	list   []byte
}

// SetKey sets a network key, the text of a file swarm.key.
func (p *PrivateNetwork) SetKey(text string) error {
	key, err := pnet.DecodeV1PSK(strings.NewReader(text))
	if err != nil {
		return api.WrongRequest(fmt.Errorf("node: this is no network key (%w); it begins with /key/swarm/psk/1.0.0/", err))
	}
	p.key = key
	return nil
}

// wantKey requires the network key with this fingerprint: it must be set here, or be in
// the directory already.
func (p *PrivateNetwork) wantKey(fingerprint string) { p.wanted = fingerprint }

// Join sets the name of a network and the authorities that may sign its membership lists.
// The list may be nil; see [PrivateNetwork.List].
func (p *PrivateNetwork) Join(name string, authorities []string, list []byte) error {
	j := joined{name, slices.Clone(authorities)}
	trusted, err := j.trusted()
	if err == nil {
		err = members.CheckNetwork(name)
	}
	if err == nil && list != nil {
		_, err = members.ParseOf(name, list, trusted)
	}
	if err != nil {
		return api.WrongRequest(err)
	}
	p.joined, p.list = j, bytes.Clone(list)
	return nil
}

// List returns the list that was given to Join, or nil. The caller passes it to
// ImportMembers of the open node, which may have a newer list by then.
func (p *PrivateNetwork) List() []byte { return p.list }

// Options returns the options that a host needs to speak to those who have the network key.
func (p *PrivateNetwork) Options() []libp2p.Option { return Private{Key: p.key}.Options() }

// check refuses addresses that cannot be used with the network key of p.
func (p *PrivateNetwork) check(listen []string) error { return Private{Key: p.key}.Check(listen) }

// files returns the files that a directory still lacks to be as private as p says. It fails
// if the directory has another key or belongs to another network, or if the addresses
// cannot be used with its key.
func (p *PrivateNetwork) files(dir string, listen []string) (files []dirFile, err error) {
	have, err := readNetworkKey(filepath.Join(dir, networkKeyFile))
	if err != nil {
		return nil, err
	}
	if err := (Private{Key: have}).Check(listen); err != nil {
		return nil, api.WrongRequest(err)
	}
	if err := p.lacksWanted(have); err != nil {
		return nil, api.WrongRequest(err)
	}
	if p.key != nil {
		if files, err = lackingKey(dir, p.key); err != nil {
			return nil, err
		}
	}
	if p.joined.Network == "" {
		return files, nil
	}
	more, err := p.joined.lacking(dir)
	return append(files, more...), err
}

// Ready returns an error if the network key that wantKey requires is neither set nor in
// the directory. The directory need not exist.
func (p *PrivateNetwork) Ready(dir string) error {
	have, err := readNetworkKey(filepath.Join(dir, networkKeyFile))
	if err != nil {
		return err
	}
	if err := p.lacksWanted(have); err != nil {
		return api.WrongRequest(err)
	}
	return nil
}

// lacksWanted returns an error unless the required key is set or is the directory's key,
// have.
func (p *PrivateNetwork) lacksWanted(have pnet.PSK) error {
	switch {
	case p.wanted == "":
		return nil
	case p.key != nil && fingerprint(p.key) != p.wanted:
		return fmt.Errorf("node: this is not the key of the network: it has the fingerprint %s, and the network's key has %s; get the file from another node of the network", fingerprint(p.key), p.wanted)
	case p.key == nil && have == nil:
		return api.Advise(fmt.Errorf("node: this network has a network key (fingerprint %s), which the ticket does not hold", p.wanted),
			"get the file "+networkKeyFile+" of another node over a channel nobody listens to, and say --network-key "+networkKeyFile)
	case p.key == nil && fingerprint(have) != p.wanted:
		return fmt.Errorf("node: the directory holds another network key, with the fingerprint %s; that of the network has %s", fingerprint(have), p.wanted)
	}
	return nil
}

// lacking returns the file that makes the node of a directory a part of the network. It
// returns none if the node has joined it already, and fails if the node has joined
// another network or has other authorities.
func (j joined) lacking(dir string) ([]dirFile, error) {
	path := filepath.Join(dir, PrivateFile)
	have, err := readJoined(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := encodeTOML(j)
		return []dirFile{{PrivateFile, text}}, err
	}
	if err != nil {
		return nil, err
	}
	if have.Network != j.Network || !sameSet(have.Authorities, j.Authorities) {
		return nil, api.WrongRequest(fmt.Errorf("node: %s says that this node belongs to the network %s of %s; remove it and %s first if the node shall change networks",
			path, have.Network, strings.Join(have.Authorities, ", "), membersFile))
	}
	return nil, nil
}

// sameSet reports whether two lists have the same members, in any order.
func sameSet(a, b []string) bool {
	set := func(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
	return slices.Equal(set(a), set(b))
}
