package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/netedge"
	"p2pnode/node/ticket"
)

func joinNetworkCommand(o *options) *cobra.Command {
	j := joining{options: o}
	c := &cobra.Command{
		Use:   "join TICKET|-",
		Short: "Make a node of the network of a ticket, and run it",
		Long: `Make a node of the network of a ticket, which "p2pnode invite" prints on a node of
that network, and run it. It shows what the task is, what this node would publish
and who must be trusted, and asks before it makes anything. It says when the first
neighbour is met, and goes on like "p2pnode run"; with --once it stops then.

Without the ticket on the command line, which other users of this machine can
see, "-" reads it from standard input. Spaces and line ends in it do not matter.
A directory that holds a node of that network already gets the addresses of the
ticket as further ones to start from. The other flags are those of init.`,
		Example: `  p2pnode join p2p1qyqxq...
  p2pnode join p2p1qyqxq... --yes --once --dir /var/lib/p2pnode --json
  p2pnode join - --yes <ticket.txt
  p2pnode join p2p1qyqxq... --network-key swarm.key`,
		Args: takes(1, anyNumber),
		RunE: func(cmd *cobra.Command, args []string) error { return j.run(cmd, args) },
	}
	flags := c.Flags()
	flags.BoolVar(&j.yes, "yes", false, "do not ask")
	flags.BoolVar(&j.once, "once", false, fmt.Sprintf("stop when the first neighbour is met, or fail after %v", onceWithin))
	flags.StringVar(&j.key, "network-key", "", "file swarm.key of another node, if the network has a key that is not in the ticket")
	flags.BoolVarP(&j.verbose, "verbose", "v", false, "log more")
	j.flags.registerOwn(c)
	return c
}

// onceWithin is how long join --once looks for a neighbour.
const onceWithin = 2 * time.Minute

// joining is one run of the command.
type joining struct {
	*options
	flags              initFlags
	yes, once, verbose bool
	key                string
	ticket             *ticket.Ticket
}

func (j *joining) run(cmd *cobra.Command, args []string) (err error) {
	text, err := readTicket(cmd, args)
	if err != nil {
		return err
	}
	if j.ticket, err = ticket.Decode(text); err != nil {
		return err
	}
	made, err := j.invited()
	if err != nil {
		return err
	}
	if holdsNode(j.dir) {
		return j.again(cmd, made)
	}
	if err := made.Current(time.Now()); err != nil {
		return err
	}
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	err = j.get(ctx, cmd, &made)
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted; nothing was made")
	}
	if err != nil {
		return err
	}
	stop() // the daemon handles signals itself
	if !j.yes {
		if args[0] == "-" {
			return usageError{errors.New("the ticket comes from standard input, so nobody can be asked there; say --yes, or give the ticket as an argument"), cmd}
		}
		about, err := j.explain(made)
		if err != nil {
			return err
		}
		if err := agreed(cmd, about, "Join", "y"); err != nil {
			return err
		}
	}
	if err := datadir.Make(j.dir, made); err != nil {
		return err
	}
	done, err := j.describe(made)
	if err != nil {
		return err
	}
	j.say(cmd, done.made())
	return j.meet(cmd, done)
}

// say prints one step of the work, for people.
func (j *joining) say(cmd *cobra.Command, text string) {
	if !j.json {
		fmt.Fprint(cmd.OutOrStdout(), printable(text))
	}
}

// readTicket joins a ticket that a mail program has broken into words, or reads it from
// standard input.
func readTicket(cmd *cobra.Command, args []string) (string, error) {
	if len(args) != 1 || args[0] != "-" {
		return strings.Join(args, ""), nil
	}
	text, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), 4*ticket.MaxText))
	if err != nil {
		return "", fmt.Errorf("read the ticket: %w", err)
	}
	return string(text), nil
}

// invited is what the ticket says about a node, with what the user has added.
func (j *joining) invited() (made datadir.New, err error) {
	if made, err = datadir.Invited(j.ticket); err != nil {
		return made, err
	}
	if made.Key != nil && j.flags.identity != "" {
		return made, errors.New("the ticket brings the identity of the new node, so --identity has no use; leave it out")
	}
	made.Identity = j.flags.identity
	if j.key != "" {
		key, err := os.ReadFile(j.key)
		if err != nil {
			return made, fmt.Errorf("read the network key: %w", err)
		}
		if err := made.Private.SetKey(string(key)); err != nil {
			return made, err
		}
	}
	return made, made.Private.Ready(j.dir)
}

// again gives an existing node what the ticket brings, and runs it.
func (j *joining) again(cmd *cobra.Command, made datadir.New) error {
	if err := datadir.Rejoin(j.dir, j.ticket, made); err != nil {
		return err
	}
	files, err := datadir.Read(j.dir, j.settings...)
	if err != nil {
		return err
	}
	made.Task, made.Config = files.Task, files.Config
	done, err := j.describe(made)
	if err != nil {
		return err
	}
	done.Before = true
	added, err := j.add(cmd, &done)
	if err != nil {
		return err
	}
	if added == 0 {
		return fmt.Errorf("the ticket leads to the node of %s only, which is this one; give it to others, or join with another directory: --dir", j.dir)
	}
	if done.Running {
		return show(cmd, j.options, done, joined.before)
	}
	j.say(cmd, done.before())
	return j.meet(cmd, done)
}

// add makes an existing node start from the nodes of the ticket too.
func (j *joining) add(cmd *cobra.Command, done *joined) (added int, err error) {
	for _, p := range j.ticket.Peers {
		if p.ID.String() == done.Peer {
			continue
		}
		for _, a := range p.Addrs {
			did, err := askOwner(cmd, j.options, func(owner api.Owner, ctx context.Context) (api.Addition, error) {
				return owner.AddPeer(ctx, a.String()+"/p2p/"+p.ID.String())
			})
			if err != nil {
				return added, err
			}
			added, done.Running = added+1, did.Running
		}
	}
	return added, nil
}

// get completes what is needed to make the node: the task and its catalogue, from the
// ticket or from a node to start from, and the configuration.
func (j *joining) get(ctx context.Context, cmd *cobra.Command, made *datadir.New) (err error) {
	text := j.ticket.Task
	if text == nil {
		if text, err = j.fetch(ctx, cmd, made, "task", j.ticket.TaskHash); err != nil {
			return err
		}
	}
	if err := made.TakeTask(j.ticket, text); err != nil {
		return err
	}
	made.Config = datadir.DefaultConfig(made.Task)
	if err := j.flags.change(&made.Config, j.settings, cmd.Flags().Changed); err != nil {
		return err
	}
	made.Config.Bootstrap = append(made.Config.Bootstrap, ticketAddresses(j.ticket)...)
	if err := made.Check(); err != nil {
		return err
	}
	if sum, ok := made.CatalogueHash(); ok {
		made.Catalogue, err = j.fetch(ctx, cmd, made, "catalogue of the task", sum)
	}
	return err
}

// fetch downloads a public file of the task from a node to start from.
func (j *joining) fetch(ctx context.Context, cmd *cobra.Command, made *datadir.New, what string, sum [ticket.HashSize]byte) ([]byte, error) {
	key, err := j.identity(made)
	if err != nil {
		return nil, err
	}
	if isTerminal(cmd.ErrOrStderr()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "Getting the %s from a node to start from...\n", what)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	data, err := netedge.FetchFile(ctx, key, made.Private, j.ticket.Network, j.ticket.Peers, sum)
	if err != nil && j.ticket.Members != "" && made.Key == nil {
		return nil, fmt.Errorf("the %s cannot be got: %w; members of %s speak only to who is on their list: make an identity with p2pnode identity FILE, "+
			"let the keeper of the list add it, and join with --identity FILE", what, err, j.ticket.Members)
	}
	if err != nil {
		return nil, fmt.Errorf("the %s cannot be got from a node of the ticket: %w", what, err)
	}
	return data, nil
}

// fetchWithin bounds how long a file may take.
const fetchWithin = 5 * time.Minute

// identity is the identity of the new node, if it is known already, or one for this
// download only.
func (j *joining) identity(made *datadir.New) (crypto.PrivKey, error) {
	switch {
	case made.Key != nil:
		return made.Key, nil
	case made.Identity != "":
		return datadir.ReadIdentity(made.Identity)
	}
	return datadir.PassingIdentity()
}
