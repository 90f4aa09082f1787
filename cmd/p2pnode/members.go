package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/spf13/cobra"

	"p2pnode/discovery/members"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func membersCommand(o *options) *cobra.Command {
	c := &cobra.Command{
		Use:   "members",
		Short: "Keep strangers away with a signed list of the nodes that belong together",
		Long: `Keep strangers away with a signed list of the nodes that belong together. A node
that has joined a private network speaks to the members on the list only, over
every transport. The holder of an authority's key changes the list; the change spreads
from member to member by itself, and a revoked member is dropped at once.

  1. On one node:      p2pnode members init garden --key garden.key
  2. On every other:   p2pnode members join garden AUTHORITY
  3. With garden.key:  p2pnode members add PEER --name shed --key garden.key

New members get the list from a bootstrap peer, or with "members import".`,
	}
	c.AddCommand(membersInitCommand(o), joinCommand(o), membersListCommand(o), addCommand(o), revokeCommand(o),
		exportMembersCommand(o), importMembersCommand(o))
	return c
}

func joinCommand(o *options) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "join NAME AUTHORITY...",
		Short: "Make this node, or a relay, part of a private network",
		Long: `Make this node part of a private network from its next start. NAME is that of the
network and AUTHORITY the ID that "p2pnode members init" printed: only lists that
it has signed are believed. With several, each of them can change the list.

The first list comes from a bootstrap peer once that has one with this node on it,
or with --list, or with "p2pnode members import". A relay joins in the same way,
with its own --dir; the one that others start from needs --list. To leave, remove
private.toml and members.toml from the data directory.`,
		Example: `  p2pnode members join garden 12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN
  p2pnode members join --json garden 12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN`,
		Args: takes(2, anyNumber),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			var list []byte
			if file != "" {
				if list, err = readList(cmd, file); err != nil {
					return err
				}
			}
			m, err := datadir.Join(cmd.Context(), o.dir, args[0], args[1:], list)
			if err != nil {
				return err
			}
			return show(cmd, o, m, func(m api.Membership) string {
				text := fmt.Sprintf("Joined %s, from the next start of the daemon.\n", m.Network)
				if len(m.List) == 0 {
					text += fmt.Sprintf("The keeper of the list lets this node in with:\n  p2pnode members add %s --name NAME --key FILE\n", m.Peer)
				}
				return text
			})
		},
	}
	c.Flags().StringVar(&file, "list", "", "file with the list, from \"p2pnode members export\"; - is standard input")
	return c
}

// memberList is a list as it is shown.
type memberList struct {
	Network   string       `json:"network"`
	Version   uint64       `json:"version"`
	Issued    time.Time    `json:"issued"`
	Authority string       `json:"authority"`
	Members   []memberLine `json:"members"`
	relay     bool         // whose list it is: to whom that is connected is not known here
}

type memberLine struct {
	Peer    string     `json:"peer"`
	Name    string     `json:"name"`
	Added   time.Time  `json:"added"`
	Expires *time.Time `json:"expires"` // null: never
	Self    bool       `json:"this_node"`
	Link    bool       `json:"connected"`
}

func membersListCommand(o *options) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "list",
		Short: "The members of the private network",
		Example: `  p2pnode members list
  p2pnode members list --json
  p2pnode members list --list garden.toml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := openKeeping(cmd, o, file)
			if err != nil {
				return err
			}
			return show(cmd, o, k.shown(), memberList.String)
		},
	}
	c.Flags().StringVar(&file, "list", "", "read this file instead of the node's list")
	return c
}

// String implements [fmt.Stringer].
func (l memberList) String() string {
	rows := [][]any{{"PEER", "NAME", "ADDED", "EXPIRES", "CONNECTED"}}
	for _, m := range l.Members {
		expires, link := "never", yes(m.Link)
		if m.Expires != nil {
			expires = moment(*m.Expires)
		}
		switch {
		case m.Self:
			link = "this node"
		case l.relay:
			link = "-"
		}
		rows = append(rows, []any{m.Peer, m.Name, moment(m.Added), expires, link})
	}
	return fmt.Sprintf("%s, version %d of %s, signed by %s\n", l.Network, l.Version, moment(l.Issued), l.Authority) + table(rows...)
}

// moment writes a time for people.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// keeping is a list and the place where it is kept: a node, a relay or a file.
type keeping struct {
	node  api.Membership // or relay; empty for a file
	relay bool
	file  string // "": the node's
	list  *members.Signed
}

// edited says that the list has become another one.
func (k keeping) edited(list *members.Signed) edited {
	return edited{list.Network, list.Version, len(list.Members), k.file, k.node.Running, k.relay}
}

// openKeeping reads the list from the node, or from the file if one is named.
func openKeeping(cmd *cobra.Command, o *options, file string) (keeping, error) {
	k := keeping{file: file}
	var trusted []peer.ID
	if file == "" {
		m, err := ownMembers(cmd, o, nil)
		if err != nil {
			return k, err
		}
		k.relay = datadir.HoldsRelay(o.dir)
		if m.Damage != "" {
			return k, fmt.Errorf("the list of this node is not used: %s; import a good one with p2pnode members import FILE, or wait until a bootstrap peer brings it", m.Damage)
		}
		if len(m.List) == 0 {
			return k, fmt.Errorf("this node has no list of %s yet; import one, or wait until a bootstrap peer brings it", m.Network)
		}
		for _, a := range m.Authorities {
			id, err := peer.Decode(a)
			if err != nil {
				return k, err
			}
			trusted = append(trusted, id)
		}
		k.node = m
		k.list, err = members.Parse(m.List, trusted)
		return k, err
	}
	text, err := readList(cmd, file)
	if err != nil {
		return k, err
	}
	// The user trusts the file that she names; the signature only shows that it is complete.
	authority, err := members.Authority(text)
	if err == nil {
		k.list, err = members.Parse(text, []peer.ID{authority})
	}
	if err != nil {
		return k, fmt.Errorf("%s: %w", file, err)
	}
	return k, nil
}

// store replaces the list with the next one.
func (k keeping) store(cmd *cobra.Command, o *options, next *members.Signed) error {
	if k.file != "" {
		return next.Save(k.file)
	}
	if !slices.Contains(k.node.Authorities, next.Authority.String()) {
		return fmt.Errorf("the key belongs to %s, which is not an authority of %s; the members believe %s",
			next.Authority, k.node.Network, strings.Join(k.node.Authorities, ", "))
	}
	_, err := ownMembers(cmd, o, next.Text)
	return err
}

// ownMembers returns the private network of the node, or of the relay, after it has given
// it a newer list, unless list is nil.
func ownMembers(cmd *cobra.Command, o *options, list []byte) (api.Membership, error) {
	if datadir.HoldsRelay(o.dir) {
		return datadir.RelayMembers(o.dir, list)
	}
	return askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (api.Membership, error) {
		if list != nil {
			if err := owner.ImportMembers(ctx, list); err != nil {
				return api.Membership{}, err
			}
		}
		return owner.Members(ctx)
	})
}

func (k keeping) shown() memberList {
	l := memberList{Network: k.list.Network, Version: k.list.Version, Issued: k.list.Issued, Authority: k.list.Authority.String(), Members: []memberLine{}, relay: k.relay}
	connected := make(map[string]bool)
	for _, p := range k.node.Connected {
		connected[p] = true
	}
	for _, m := range k.list.Members {
		line := memberLine{Peer: m.Peer.String(), Name: m.Name, Added: m.Added}
		if !m.Expires.IsZero() {
			line.Expires = &m.Expires
		}
		line.Self, line.Link = line.Peer == k.node.Peer, connected[line.Peer]
		l.Members = append(l.Members, line)
	}
	return l
}
