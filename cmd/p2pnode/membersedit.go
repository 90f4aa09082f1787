package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/spf13/cobra"

	"p2pnode/discovery/members"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

func membersInitCommand(o *options) *cobra.Command {
	var key, file, name string
	c := &cobra.Command{
		Use:   "init NETWORK",
		Short: "Begin a private network: make its authority and the first list",
		Long: `Begin a private network: make the key of its authority in a new file, and the first
list. This node joins the network as its first member, from its next start. With
--list no node is touched: the list, still empty, goes to a new file, for an
authority on a machine of its own.

The holder of the key decides who is a member. Keep it where no node runs if you can,
and keep a copy: without it the list can never change again.`,
		Example: `  p2pnode members init garden --key garden.key --name house
  p2pnode members init garden --key garden.key --list garden.toml --json`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if key == "" {
				return usageError{errNoKey, cmd}
			}
			if err := members.CheckNetwork(args[0]); err != nil {
				return err
			}
			made := begun{Network: args[0], Key: key, File: file}
			list := &members.List{Network: args[0], Version: 1}
			if file == "" {
				s, err := askOwner(cmd, o, api.Owner.Status)
				if err != nil {
					return err
				}
				if s.Private != nil && s.Private.Network != "" {
					return fmt.Errorf("this node belongs to the private network %s already", s.Private.Network)
				}
				made.Peer = s.Peer
				if err := put(list, s.Peer, name, time.Time{}); err != nil {
					return err
				}
			}
			authority, err := datadir.NewIdentity(key)
			if err != nil {
				return err
			}
			made.Authority = authority.String()
			signed, err := signList(list, key)
			if err != nil {
				return err
			}
			if file == "" {
				_, err = datadir.Join(cmd.Context(), o.dir, args[0], []string{made.Authority}, signed.Text)
			} else {
				err = createFile(file, func(w io.Writer) error { _, err := w.Write(signed.Text); return err })
			}
			if err != nil {
				return err
			}
			return show(cmd, o, made, begun.String)
		},
	}
	c.Flags().StringVar(&key, "key", "", "new file for the authority's key")
	c.Flags().StringVar(&file, "list", "", "new file for the list, instead of this node")
	c.Flags().StringVar(&name, "name", "", "this node's name on the list")
	return c
}

// errNoKey says that a command that signs was given no key.
var errNoKey = errors.New("name the file with the authority's key: --key FILE")

// begun says what init made.
type begun struct {
	Network   string `json:"network"`
	Authority string `json:"authority"`
	Key       string `json:"key_file"`
	File      string `json:"list_file"` // "": the node's
	Peer      string `json:"peer"`      // first member; "": none
}

// String implements [fmt.Stringer].
func (b begun) String() string {
	text := fmt.Sprintf("Made the authority of %s; its key is %s. The holder of the key decides who is a member.\n", b.Network, b.Key)
	at := ""
	if b.File != "" {
		text += fmt.Sprintf("The list, still empty, is %s.\n", b.File)
		at = " --list " + b.File
	} else {
		text += "This node is the first member, from the next start of its daemon.\n"
	}
	return text + fmt.Sprintf("Other nodes join with:  p2pnode members join %s %s\nand are let in with:    p2pnode members add PEER --name NAME --key %s%s\n",
		b.Network, b.Authority, b.Key, at)
}

// put adds a peer to a list now. The name is for one member only: others are revoked by it.
func put(l *members.List, id, name string, expires time.Time) error {
	p, err := peer.Decode(id)
	if err != nil {
		return fmt.Errorf("%q is not a peer ID; p2pnode status prints the ID of a node", id)
	}
	old, err := l.Find(id)
	renamed := err != nil || old.Name != name
	for _, m := range l.Members {
		if renamed && m.Name == name && name != "" && m.Peer != p {
			return fmt.Errorf("%s is called %q on the list already; give %s another name, or revoke that one first", m.Peer, name, p)
		}
	}
	return l.Put(members.Member{Peer: p, Name: name, Added: time.Now(), Expires: expires})
}

func signList(l *members.List, file string) (*members.Signed, error) {
	key, err := datadir.ReadIdentity(file)
	if err != nil {
		return nil, fmt.Errorf("the authority's key: %w", err)
	}
	return l.Sign(key, time.Now())
}

// editFlags are those of the commands that change a list.
type editFlags struct{ key, file string }

func (f *editFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.key, "key", "", "file with the authority's key")
	c.Flags().StringVar(&f.file, "list", "", "change the list in this file instead of the node's")
}

// edit changes the list, signs the new one and stores it.
func (f *editFlags) edit(cmd *cobra.Command, o *options, change func(*members.List) error) (edited, error) {
	if f.key == "" {
		return edited{}, usageError{errNoKey, cmd}
	}
	k, err := openKeeping(cmd, o, f.file)
	if err != nil {
		return edited{}, err
	}
	if now := time.Now(); now.Before(k.list.Issued) {
		return edited{}, fmt.Errorf("the clock of this machine says %s, and the list was issued at %s; set the clock", moment(now), moment(k.list.Issued))
	}
	next := k.list.Next()
	if err := change(next); err != nil {
		return edited{}, err
	}
	signed, err := signList(next, f.key)
	if err != nil {
		return edited{}, err
	}
	return k.edited(signed), k.store(cmd, o, signed)
}

// edited says what the list is after a change.
type edited struct {
	Network string `json:"network"`
	Version uint64 `json:"version"`
	Members int    `json:"members"`
	File    string `json:"list_file"` // "": the node's
	Running bool   `json:"running"`   // so it spreads at once
	Relay   bool   `json:"relay"`     // whose list it is; whether it runs is not known
}

// String implements [fmt.Stringer].
func (e edited) String() string {
	then := "It spreads to the other members when this node's daemon runs."
	switch {
	case e.File != "":
		then = fmt.Sprintf("Give it to a running member that the others call, and it spreads: p2pnode members import %s (of a relay with its --dir)", e.File)
	case e.Relay:
		then = "A relay that runs takes it within a minute, and spreads it to the other members."
	case e.Running:
		then = "It spreads to the other members now."
	}
	return fmt.Sprintf("%s has %d %s (list version %d).\n%s\n", e.Network, e.Members, plural(e.Members, "member", "members"), e.Version, then)
}

func addCommand(o *options) *cobra.Command {
	var f editFlags
	var name, expires string
	c := &cobra.Command{
		Use:   "add PEER...",
		Short: "Let nodes in, or change the name and the end of a membership",
		Long: `Let nodes in, or change the name and the end of a membership. Of a node that is
on the list already, what no flag names stays as it is. A name can be changed, but
not taken away: members are revoked by it.`,
		Example: `  p2pnode members add 12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN --name shed --key garden.key
  p2pnode members add 12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN --expires 2030-01-31 --key garden.key --list garden.toml --json`,
		Args: takes(1, anyNumber),
		RunE: func(cmd *cobra.Command, args []string) error {
			end, err := parseEnd(expires)
			if err != nil {
				return usageError{err, cmd}
			}
			if len(args) > 1 && name != "" {
				return usageError{errors.New("--name is for one peer at a time"), cmd}
			}
			done, err := f.edit(cmd, o, func(l *members.List) error {
				for _, p := range args {
					name, end := name, end
					if old, err := l.Find(p); err == nil { // keeps what no flag changes
						if name == "" {
							name = old.Name
						}
						if expires == "" {
							end = old.Expires
						}
					}
					if err := put(l, p, name, end); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			return show(cmd, o, done, edited.String)
		},
	}
	f.register(c)
	c.Flags().StringVar(&name, "name", "", "what the list calls it, for people")
	c.Flags().StringVar(&expires, "expires", "", "when the membership ends: at the beginning of a day, as 2030-01-31, at a time, as 2030-01-31T18:00:00Z, or never (the default)")
	return c
}

// parseEnd reads a day or a time; "" is never, too.
func parseEnd(text string) (time.Time, error) {
	if text == "" || text == "never" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			if t.Before(time.Now()) {
				return t, fmt.Errorf("--expires %s is in the past; to end a membership now: p2pnode members revoke", text)
			}
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--expires %q is neither a day, as 2030-01-31, nor a time, as 2030-01-31T18:00:00Z, nor never", text)
}

func revokeCommand(o *options) *cobra.Command {
	var f editFlags
	var evidence string
	c := &cobra.Command{
		Use:   "revoke PEER|NAME...",
		Short: "End memberships",
		Long: `End memberships. Every member that gets the new list drops its connections to the
revoked nodes at once, forgets them as neighbours, and takes nothing more of them.
What they have received before they keep.

With --evidence it checks the proofs of "p2pnode peers evidence --json" in a file, which
any member may have sent you, and revokes the members that they convict: each has signed
two different models for one round, because it lies, or because two copies of its
directory run. Nobody else can make such a proof, so you need not trust who sent it.`,
		Example: `  p2pnode members revoke shed --key garden.key
  p2pnode members revoke 12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN --key garden.key --list garden.toml --json`,
		Args: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("evidence") {
				return nil
			}
			return takes(1, anyNumber)(c, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var shown []api.Evidence
			var gone []members.Member
			var err error
			if evidence != "" {
				if shown, err = readEvidence(cmd, evidence); err != nil {
					return err
				}
			}
			done, err := f.edit(cmd, o, func(l *members.List) error {
				against, err := convicted(l, shown)
				if err != nil {
					return err
				}
				shown = against
				for _, e := range against {
					args = append(args, e.Author)
				}
				for _, who := range args {
					m, err := l.Find(who)
					if err != nil {
						return err
					}
					l.Remove(m.Peer)
					gone = append(gone, m)
				}
				return nil
			})
			if err != nil {
				return err
			}
			return show(cmd, o, revoked{done, shown, inCommittee(o.dir, gone)}, revoked.String)
		},
	}
	f.register(c)
	c.Flags().StringVar(&evidence, "evidence", "", "file with proofs, from \"p2pnode peers evidence --json\"; - is standard input")
	return c
}
