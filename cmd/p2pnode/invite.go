package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/spf13/cobra"

	"p2pnode/discovery/members"
	"p2pnode/discovery/reach"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/ticket"
)

func inviteCommand(o *options) *cobra.Command {
	var f inviteFlags
	c := &cobra.Command{
		Use:   "invite",
		Short: "Print a ticket, the one string that others need to join",
		Long: `Print a ticket: one string with which "p2pnode join" makes a node of the same
network on another machine, and an app on a phone. It carries the task, or the
task's hash if the task is long, and addresses of this node and of those that it
starts from. On a terminal it is a QR code too.

A ticket holds no secret unless you say so; then it begins with p2psecret1
instead of p2p1, and everybody who sees it can use it:
  --with-key               the network key of this network
  --with-membership FILE   a new identity, put on the list of members with the
                           authority's key in FILE; for one node only`,
		Example: `  p2pnode invite
  p2pnode invite --qr=false --json
  p2pnode invite --with-key
  p2pnode invite --with-membership garden.key --name shed --expires 2030-01-31`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("qr") {
				f.qr = isTerminal(cmd.OutOrStdout())
			}
			if f.authority == "" && (f.name != "" || f.expires != "") {
				return usageError{errors.New("--name and --expires are of a membership: say --with-membership FILE too"), cmd}
			}
			made, err := f.invite(cmd, o)
			if err != nil {
				return err
			}
			return made.show(cmd, o, f.qr)
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.qr, "qr", false, "print a QR code too (default on a terminal)")
	flags.BoolVar(&f.key, "with-key", false, "put the network key into the ticket: a secret")
	flags.StringVar(&f.authority, "with-membership", "", "put a new identity into the ticket, a secret, and on the list of members, with the authority's key in this file")
	flags.StringVar(&f.name, "name", "", "what the list calls the new member")
	flags.StringVar(&f.expires, "expires", "", "when the membership ends: as 2030-01-31, as 2030-01-31T18:00:00Z, or never (the default)")
	return c
}

// inviteFlags are the flags of invite.
type inviteFlags struct {
	qr, key                  bool
	authority, name, expires string
}

// invitation is a ticket with what its owner should know about it.
type invitation struct {
	Ticket    string   `json:"ticket"`
	Secret    bool     `json:"secret"`
	OneNode   bool     `json:"for_one_node"` // it holds an identity
	Network   string   `json:"network"`
	Carried   bool     `json:"carries_task"` // false: its hash, and this node sends the task
	Catalogue string   `json:"catalogue"`    // the SHA-256 of the file that a newcomer gets too; "": none
	Addresses []string `json:"addresses"`
	// Reaches says from where the addresses can be called: "this machine", "local network" or
	// "internet".
	Reaches string `json:"reaches"`
	Running bool   `json:"running"`        // this node, so that it answers
	Missing string `json:"lacks_key"`      // the fingerprint of the network key that newcomers need beside the ticket; "": none
	Members string `json:"members"`        // of which network newcomers become; "": everybody may come
	Listed  bool   `json:"on_the_list"`    // the ticket's identity
	Peer    string `json:"peer,omitempty"` // of that identity
}

func (f *inviteFlags) invite(cmd *cobra.Command, o *options) (made invitation, err error) {
	end, err := parseEnd(f.expires)
	if err != nil {
		return made, usageError{err, cmd}
	}
	t, err := datadir.Invitation(o.dir)
	if err != nil {
		return made, err
	}
	if f.authority != "" && t.Members == "" {
		return made, api.ErrNotJoined
	}
	if made.Running, err = f.addresses(cmd, o, t); err != nil {
		return made, err
	}
	if f.key {
		if err := datadir.AddKey(o.dir, t); err != nil {
			return made, err
		}
	}
	if f.authority != "" {
		id, err := datadir.NewMember(t, end)
		if err != nil {
			return made, err
		}
		made.Peer = id.String()
	}
	if made.Ticket, err = t.Encode(); err != nil { // checked before the list has a member that no node can become
		return made, err
	}
	if f.authority != "" {
		edit := editFlags{key: f.authority}
		if _, err := edit.edit(cmd, o, func(l *members.List) error { return put(l, made.Peer, f.name, end) }); err != nil {
			return made, err
		}
		made.Listed = true
	}
	return made, made.describe(t)
}

// addresses adds the nodes to start from to a ticket: this one, if its daemon runs, and
// those from which it starts itself.
func (f *inviteFlags) addresses(cmd *cobra.Command, o *options, t *ticket.Ticket) (running bool, err error) {
	s, err := askOwner(cmd, o, api.Owner.Progress)
	if err != nil {
		return false, err
	}
	known, err := askOwner(cmd, o, func(owner api.Owner, ctx context.Context) ([]api.Acquaintance, error) {
		return owner.Acquaintances(ctx)
	})
	if err != nil {
		return false, err
	}
	if p, ok := starting(s.Addrs, ownAddresses); ok {
		t.Peers = append(t.Peers, p)
	}
	for _, a := range known {
		if a.From == "met" || len(t.Peers) > otherNodes {
			continue
		}
		if p, ok := starting(withPeer(a), otherAddresses); ok {
			t.Peers = append(t.Peers, p)
		}
	}
	if len(t.Peers) > 0 {
		return s.Running, nil
	}
	if s.Running {
		return true, errors.New("nobody can call this node: give it an address with the key listen in config.toml, or a relay to start from with: p2pnode peer add ADDRESS")
	}
	if s.Privacy.Stranded {
		return false, fmt.Errorf("the node of %s was restored and takes part no more: invite newcomers from another node of the network", o.dir)
	}
	if len(s.Paused) > 0 {
		return false, fmt.Errorf("the node of %s is paused, and it knows no other node that a newcomer could start from; resume it with: p2pnode resume%s, and ask again", o.dir, dirFlag(o.dir))
	}
	return false, fmt.Errorf("the daemon of %s is not running, and it knows no other node that a newcomer could start from; start it with: p2pnode run%s, and ask again", o.dir, dirFlag(o.dir))
}

// The most nodes and addresses of a ticket. More would make a QR code that is hard to
// read.
const (
	ownAddresses   = 5
	otherNodes     = 3
	otherAddresses = 2
)

// withPeer returns the addresses of an acquaintance with its ID.
func withPeer(a api.Acquaintance) []string {
	out := make([]string, len(a.Addrs))
	for i, addr := range a.Addrs {
		out[i] = addr + "/p2p/" + a.ID
	}
	return out
}

// starting returns a node with its best addresses.
func starting(addresses []string, most int) (p peer.AddrInfo, ok bool) {
	for _, text := range reach.PublicFirst(addresses) {
		if a, err := peer.AddrInfoFromString(text); err == nil && len(p.Addrs) < most {
			p.ID, p.Addrs = a.ID, append(p.Addrs, a.Addrs...)
		}
	}
	return p, len(p.Addrs) > 0
}

// describe fills in what a ticket holds, as a reader of the ticket sees it.
func (made *invitation) describe(full *ticket.Ticket) error {
	t, err := ticket.Decode(made.Ticket)
	if err != nil {
		return err
	}
	made.Secret, made.OneNode, made.Network, made.Carried, made.Members = t.Secret(), t.Seed != nil, t.Network, t.Task != nil, t.Members
	if t.Key == nil {
		made.Missing = t.KeyPrint
	}
	made.Addresses = ticketAddresses(t)
	made.Reaches = reaches(made.Addresses)
	var newcomer datadir.New
	if err := newcomer.TakeTask(full, full.Task); err != nil {
		return err
	}
	made.Catalogue = newcomer.Task.SumsCatalogue()
	return nil
}

// ticketAddresses lists the addresses of a ticket, each with its peer's ID.
func ticketAddresses(t *ticket.Ticket) (out []string) {
	for _, p := range t.Peers {
		for _, a := range p.Addrs {
			out = append(out, a.String()+"/p2p/"+p.ID.String())
		}
	}
	return out
}

// From where the addresses of a ticket can be called.
const (
	toThisMachine  = "this machine"
	toLocalNetwork = "local network"
	toInternet     = "internet"
)

func reaches(addresses []string) string {
	switch {
	case slices.ContainsFunc(addresses, reach.IsPublic):
		return toInternet
	case slices.ContainsFunc(addresses, func(a string) bool { return !loopback(a) }):
		return toLocalNetwork
	}
	return toThisMachine
}

// show prints the ticket on standard output, and what its owner should know on standard
// error, so that a script can pass the ticket on.
func (made invitation) show(cmd *cobra.Command, o *options, qr bool) error {
	if o.json {
		return show(cmd, o, made, nil)
	}
	picture := ""
	if qr {
		var err error
		if picture, err = qrCode(made.Ticket); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s%s\n", picture, made.Ticket); err != nil {
		return err
	}
	_, err := io.WriteString(cmd.ErrOrStderr(), "\n"+made.String())
	return err
}

// String implements [fmt.Stringer].
func (made invitation) String() string {
	text := paragraph("", made.holds()) + paragraph("", made.leads())
	if !made.Running {
		text += paragraph("", "This node takes no part in the network now: nobody reaches it until its daemon runs and is not paused.")
	}
	if made.Secret {
		return text + "On the other machine:  p2pnode join - --yes <FILE   (other users there can see a ticket on the command line)\n"
	}
	return text + "On the other machine:  p2pnode join TICKET\n"
}

// holds describes the content of the ticket.
func (made invitation) holds() string {
	text := "This ticket holds no secret: it lets its reader take part, as everybody can who knows the task."
	switch {
	case made.OneNode:
		text = fmt.Sprintf("THIS TICKET IS A SECRET, FOR ONE NODE ONLY. It holds the identity %s, which is now a member of %s: "+
			"hand it to one person, over a channel nobody listens to, and never use it twice.", made.Peer, made.Members)
	case made.Secret:
		text = "THIS TICKET IS A SECRET. It holds the network key: everybody who sees it can enter the network. Hand it out over a channel nobody listens to."
	case made.Members != "":
		text = fmt.Sprintf("This ticket holds no secret: the keeper of the list of %s lets each newcomer in.", made.Members)
	}
	if made.Missing != "" {
		text += fmt.Sprintf(" Newcomers need the network key too (fingerprint %s): the file swarm.key, or a ticket made with --with-key.", made.Missing)
	}
	if !made.Carried {
		text += " The task is too long for a ticket: a node to start from sends it, and its hash, which is in the ticket, proves it."
	}
	if made.Catalogue != "" {
		text += " A node to start from sends the catalogue of the task, too."
	}
	return text
}

// leads says whom the addresses of the ticket reach.
func (made invitation) leads() string {
	n := len(made.Addresses)
	what := fmt.Sprintf("It has %d %s to start from", n, plural(n, "address", "addresses"))
	switch made.Reaches {
	case toThisMachine:
		return "IT WORKS ON THIS MACHINE ONLY. " + what + ", all of loopback; give this node another one with the key listen in config.toml."
	case toLocalNetwork:
		return "IT WORKS ON YOUR LOCAL NETWORK ONLY. " + what + ", none of the internet. For people elsewhere start from a relay (p2pnode relay), " +
			"or forward a port and name it with the key announce in config.toml."
	}
	return what + ", of the internet too. \"p2pnode doctor\" says whether others get through to this node."
}

// expiry writes the end of a membership for people; "" if it has none.
func expiry(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strings.TrimSpace("until " + moment(t))
}
