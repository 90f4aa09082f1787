package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/gologshim"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"p2pnode/discovery/reach"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
	"p2pnode/node/netedge"
	"p2pnode/node/server"
)

func relayCommand(o *options) *cobra.Command {
	var f relayFlags
	c := &cobra.Command{
		Use:   "relay",
		Short: "Help other nodes to meet: a public relay and bootstrap, without data",
		Long: `Help other nodes to meet. A relay is the address they start from (--bootstrap),
and it carries the connections of those that nobody can call, because they are
behind a router. It holds no records, learns nothing, spends no budget, and
cannot read what it carries.

Any machine that others can call will do. Its identity, in the directory --dir
(default ~/.p2pnode-relay), and its port stay the same, so the address stays good
over restarts. It serves the nodes of its tasks only, each up to --quota an hour.
One status line a minute goes to standard output. Ctrl-C stops it. SIGHUP does not,
unless the logs go to a terminal: a relay reads its flags and tasks once.

With --member it is also a member of the committee that adds up the private sums
of one of its tasks: of the one that names its identity. Make that before the task
is written, with "p2pnode identity DIR/relay.key". While it runs, "p2pnode committee
status --dir DIR" says who of the committee is there. What it must keep to itself is
in DIR/committee: never copy that, and never run two relays with one identity.`,
		Example: `  p2pnode relay
  p2pnode relay --task movies --task mytask.toml --dir /var/lib/p2pnode-relay
  p2pnode relay --announce /dns4/relay.example.org/tcp/4001 --json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("dir") {
				o.dir = relayDir(o.dir)
			}
			if f.status <= 0 {
				return usageError{errors.New("--status must be positive"), cmd}
			}
			if f.quota < 1 || f.quota > maxQuota {
				return usageError{fmt.Errorf("--quota %d: must be between 1 and %d", f.quota, maxQuota), cmd}
			}
			if f.catalogue != "" && !f.member {
				return usageError{errors.New("--catalogue is for a relay with --member"), cmd}
			}
			gologshim.SetDefaultHandler(slog.DiscardHandler) // libp2p returns what it logs
			return f.run(cmd, o)
		},
	}
	f.register(c)
	return c
}

// relayDir is beside the directory of the node, which has an identity of its own.
func relayDir(node string) string { return filepath.Clean(node) + "-relay" }

// relayFlags are the flags of relay.
type relayFlags struct {
	tasks     []string
	listen    []string
	announce  []string
	bootstrap []string
	quota     int64 // MB
	status    time.Duration
	member    bool
	catalogue string
}

// maxQuota is the largest --quota: in bytes it must still be a number.
const maxQuota int64 = math.MaxInt64 >> 20

func (f *relayFlags) register(c *cobra.Command) {
	flags := c.Flags()
	flags.StringSliceVar(&f.tasks, "task", []string{"movies"}, "tasks to serve: built-in names or files ending in .toml")
	flags.StringSliceVar(&f.listen, "listen", nil, fmt.Sprintf("multiaddress to listen on (default every interface, port %d, TCP and QUIC)", netedge.RelayPort))
	flags.StringSliceVar(&f.announce, "announce", nil, "public address of this machine, if no interface has it: /ip4/.../tcp/4001 or /dns4/.../tcp/4001")
	flags.StringSliceVar(&f.bootstrap, "bootstrap", nil, "address of another relay of the same tasks, with /p2p/ and its ID")
	flags.Int64Var(&f.quota, "quota", reach.DefaultQuota>>20, "MB to carry for one node in an hour")
	flags.BoolVar(&f.member, "member", false, "add up private sums too, as a member of the committee of the task that names this relay")
	flags.StringVar(&f.catalogue, "catalogue", "", "with --member: file that lists the keys of that task, if it sums up by them")
	flags.DurationVar(&f.status, "status", time.Minute, "time between two status lines")
}

func (f *relayFlags) run(cmd *cobra.Command, o *options) error {
	log := newLog(cmd, o, slog.LevelInfo)
	ends, reload, end := daemonSignals(cmd)
	defer end()
	ctx, stop := signal.NotifyContext(cmd.Context(), ends...)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal ends the process at once
	conf := netedge.RelayConfig{
		Dir: o.dir, Listen: f.listen, Announce: f.announce, Bootstrap: f.bootstrap, Quota: f.quota << 20, Member: f.member,
	}
	for _, name := range f.tasks {
		t, err := datadir.LoadTask(name)
		if err != nil {
			return err
		}
		conf.Tasks = append(conf.Tasks, t)
	}
	var err error
	if conf.Catalogue, err = readCatalogue(f.catalogue); err != nil {
		return err
	}
	relay, err := netedge.OpenRelay(conf, log)
	if err != nil {
		return err
	}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return relay.Run(ctx) })
	if f.member {
		parts.Go(func() error { tellSums(ctx, o.dir, relay, log); return nil })
	}
	ended := make(chan error, 1)
	go func() { ended <- parts.Wait() }()
	print := func(text func(netedge.RelayStatus) string) error { return show(cmd, o, relay.Status(), text) }
	if err := print(relayReady); err != nil {
		stop()
		return errors.Join(err, <-ended)
	}
	tick := time.NewTicker(f.status)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
			_ = print(relayLine) // the reader may have gone; the relay goes on
		case <-reload:
			log.Info("a relay has no configuration to read again: restart it to change its flags or its tasks; a newer list of members it takes by itself")
		}
	}
}

// tellSums answers "p2pnode committee status" at the socket of the relay's directory until ctx
// ends. The relay goes on without.
func tellSums(ctx context.Context, dir string, relay *netedge.Relay, log *slog.Logger) {
	listener, err := server.Listen(local.SocketPath(dir))
	if err == nil {
		err = server.New(server.Config{
			Sums: func(context.Context) (api.Sums, error) { return relay.Sums(), nil }, Log: log,
		}).Serve(ctx, listener, server.Socket{})
	}
	if err != nil {
		log.Warn("p2pnode committee status cannot ask this relay", "error", err)
	}
}

// relayReady says how others start from a relay.
func relayReady(s netedge.RelayStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Ready: a relay for %s, and for no other task (--task).\n", strings.Join(s.Tasks, ", "))
	if s.Committee != nil {
		fmt.Fprintf(&b, "It is a member of a committee of %d: %s.\n", len(s.Committee.Members), s.Peer)
	}
	public := reach.PublicFirst(s.Addresses)
	if len(public) == 0 {
		return b.String() + "It listens on no address: give one with --listen.\n"
	}
	b.WriteString("Nodes start from here with one of:\n")
	for _, a := range public {
		fmt.Fprintf(&b, "  p2pnode init --bootstrap %s\n", a)
	}
	if !reach.IsPublic(public[0]) {
		b.WriteString(paragraph("", "None of these addresses is a public one. Nodes elsewhere reach this relay only if "+
			"a router passes its port on; then give the router's address with --announce."))
	}
	return b.String()
}

func relayLine(s netedge.RelayStatus) string {
	text := fmt.Sprintf("%s  %d connected, %d reachable through here, %d relayed %s, %s relayed",
		time.Now().Format(time.TimeOnly), s.Connected, s.Relay.Places, s.Relay.Circuits, plural(s.Relay.Circuits, "connection", "connections"), size(s.Relay.Bytes))
	if s.Relay.OverUsed > 0 {
		text += fmt.Sprintf(", %d over their quota", s.Relay.OverUsed)
	}
	for _, k := range s.Sums {
		text += "; " + dutyLine(k)
	}
	return text + "\n"
}
