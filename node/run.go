package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/sync/errgroup"

	"p2pnode/discovery"
	"p2pnode/discovery/reach"
	"p2pnode/gossip"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/logs"
	"p2pnode/node/netedge"
	"p2pnode/peering"
)

var (
	// errNotReady is the error of a node that does not take part, or that is only starting.
	errNotReady = errors.New("node: the node takes no part in its network")
	// errPaused is that of a node that its owner has paused.
	errPaused = api.Advise(errors.New("node: the node takes no part in its network: its owner has paused it"), "it takes part again after p2pnode resume")
)

// errNotRunning is the error for a session that has ended, or has not begun.
var errNotRunning = errors.New("node: the node is not running, or is stopping")

// Run takes part in the network until ctx ends. Then it stores the agent's state and
// returns nil after everything that it started has ended. If something cannot be written
// to disk, Run returns an error: nothing may be published until the directory has been
// opened and verified again. If a peer holds a model of this node that the directory does
// not know, or ever showed one, Run returns [ErrRolledBack], and nothing is released;
// only [datadir.Restore] helps then.
//
// While its owner has paused the node, Run does not take part.
func (n *Node) Run(ctx context.Context) error {
	if !n.pauses.enter() {
		return errErased
	}
	defer n.pauses.leave()
	if err := n.barred(); err != nil {
		return err
	}
	if !n.files.Config.Protected() {
		n.log.Warn("models are sent WITHOUT any privacy guarantee: the key \"unprotected\" of " + datadir.ConfigFile + " says so")
	}
	if n.opened != "" { // the log has said so
		if err := datadir.ForgetPrivate(n.store); err != nil {
			return err
		}
		n.opened = ""
	}
	if behind := behindFiles(n.dir, time.Now()); behind > 0 { // before anything is written
		n.diary.Tell(api.Event{Kind: api.EventWarning, Text: clockProblem(behind.Seconds())})
	}
	if err := errors.Join(n.private.Check(n.files.Config.Listen), n.retainNow()); err != nil {
		return err
	}
	for _, p := range n.Paused() {
		n.tellPaused(p.Reason)
	}
	parts, ctx := errgroup.WithContext(ctx)
	ctx, end := context.WithCancel(ctx)
	defer end()
	parts.Go(func() error { return n.unwritten(ctx) })
	parts.Go(func() error { return n.retaining(ctx) })
	parts.Go(func() error { return n.comparing(ctx) })
	parts.Go(func() error {
		defer end()
		return n.pauses.between(ctx, n.takePart)
	})
	return parts.Wait()
}

// unwritten returns the error of a write that failed, whoever wrote, or nil when ctx ends.
func (n *Node) unwritten(ctx context.Context) error {
	select {
	case <-n.store.Failed():
		return fmt.Errorf("node: %w", n.store.Failure())
	case <-ctx.Done():
		return nil
	}
}

// takePart takes part in the network until ctx ends.
func (n *Node) takePart(ctx context.Context) (err error) {
	h, entrance, r, err := n.newHost()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	s, err := n.newSession(h)
	if err != nil {
		return err
	}
	entrance.Judged(s.gossip)
	s.reach, s.unopened = r, portProblems(r.Unopened(h), true)
	for _, problem := range s.unopened {
		n.log.Warn("the node listens at fewer addresses than it should: " + problem)
	}
	if err := n.attach(s); err != nil {
		return errors.Join(err, abandon(s.gossip.Run, s.discovery.Run))
	}
	defer n.detach(s)
	if n.files.Task.Obfuscated() {
		n.log.Warn("the task's learner is obfuscation, not differential privacy: nothing is guaranteed", "learner", n.files.Task.Learner)
	}
	n.diary.Tell(api.Event{Kind: api.EventStarted, Text: "takes part in the network"},
		"peer", n.self, "task", n.files.Task.Name, "learner", n.files.Task.Learner, "network", n.network, "addresses", netedge.FullAddrs(h))
	defer n.diary.Tell(api.Event{Kind: api.EventStopped, Text: "takes part in the network no more"})

	// The network runs longer than the loop, so that the last act of the loop is not cut
	// off.
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	parts, partsCtx := errgroup.WithContext(run)
	n.start(partsCtx, parts, h, s)
	parts.Go(func() error {
		defer cancel()
		defer close(s.ended)
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		context.AfterFunc(partsCtx, stop) // another part has failed
		return s.loop.run(ctx)
	})
	return parts.Wait()
}

// start starts the parts of a session that run beside its loop.
func (n *Node) start(ctx context.Context, parts *errgroup.Group, h host.Host, s *session) {
	parts.Go(func() error { return s.gossip.Run(ctx) })
	parts.Go(func() error { return s.hood.keeper.Run(ctx) })
	parts.Go(func() error { return s.hood.run(ctx) })
	parts.Go(func() error { return s.discovery.Run(ctx) })
	parts.Go(func() error { return n.sum(ctx, s.desk) })
	parts.Go(func() error { return s.reach.Run(ctx, h) })
	if n.files.Config.Relay {
		parts.Go(func() error { return n.relay(ctx, h) })
	}
	parts.Go(func() error { return n.book.Watch(ctx, h, s.hood.identified) })
	parts.Go(func() error { return n.tellStrangers(ctx, s) })
	parts.Go(func() error { n.surroundings.Interfaces.Watch(ctx); return nil })
	parts.Go(func() error { n.surroundings.Interfaces.Follow(ctx, s.refresh); return nil })
	parts.Go(func() error { return n.private.Run(ctx, h, s.hood.expel) })
}

func (n *Node) newSession(h host.Host) (*session, error) {
	past := newHistory(n.ledger)
	signer := gossip.NewSigner(n.files.Key, n.network)
	choices, err := n.source()
	if err != nil {
		return nil, err
	}
	view, err := n.source()
	if err != nil {
		return nil, err
	}
	hood := newNeighbourhood(n, h, past, signer, choices, view)
	s := &session{host: h, hood: hood, ended: make(chan struct{})}
	if s.desk, err = n.newDesk(s); err != nil {
		return nil, err
	}
	g, err := gossip.New(h, n.gossipConfig(signer, s))
	if err != nil {
		return nil, err
	}
	hood.gossip, s.gossip = g, g
	look, err := discovery.New(h, n.discoveryConfig(hood))
	if err != nil {
		return nil, errors.Join(err, abandon(g.Run))
	}
	s.discovery = look
	s.loop = n.newLoop(past, signer, s)
	if s.desk != nil {
		s.desk.Use(g)
	}
	return s, nil
}

// gossipConfig returns how a session's models and messages are exchanged.
func (n *Node) gossipConfig(signer *gossip.Signer, s *session) gossip.Config {
	return gossip.Config{
		Network: n.network,
		Signer:  signer,
		Rules:   n.files.Task.Messages(gossip.ID(n.self)),
		Depth:   n.files.Task.Depth(),
		Pulse:   n.power().Heartbeat,
		Vector:  publicVector(n.files.Task),
		OnEdge:  s.hood.answer,
		Member:  n.private.Member,
		Service: s.service(),
		Files:   n.handout.open,
		OnReject: func(r gossip.Reason) {
			n.diary.Gather(api.Event{Kind: api.EventRejected, Text: "messages rejected that no honest node would have sent", Rejected: map[string]uint64{r.String(): 1}})
		},
		OnRefuse: n.tellRefused,
		OnEvidence: func(e gossip.Evidence) {
			n.tellEvidence(e)
			s.hood.shun()
		},
		Logger: logs.For(n.log, logs.Gossip),
	}
}

// newLoop returns the loop of a session that has its gossip and its neighbourhood.
func (n *Node) newLoop(past *history, signer *gossip.Signer, s *session) *loop {
	return &loop{
		door:    newDoor(n.ledger, &n.files.Config),
		history: past,
		signer:  signer,
		gossip:  s.gossip,
		network: n.network,
		hood:    s.hood,
		log:     n.log,
		diary:   n.diary,
		start:   time.Now(),
		saved:   time.Now(),
		records: make(chan recordChange),

		recheckEvery: n.power().Look,

		outgoing: make(chan outgoing, maxOutgoing),
	}
}

// abandon ends what was begun for parts that will not run.
func abandon(parts ...func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, run := range parts {
		err = errors.Join(err, run(ctx))
	}
	return err
}

// attach makes the agent from what is stored, and makes the session known.
func (n *Node) attach(s *session) error {
	n.storing.Lock()
	defer n.storing.Unlock()
	if n.current() != nil {
		return errors.New("node: already running")
	}
	known, err := n.stored()
	if err != nil {
		return err
	}
	if s.loop.agent, err = n.newAgent(); err != nil {
		return err
	}
	s.loop.show()
	_, latest := n.ledger.Outgoing()
	s.hood.audience.heard = known.Audience
	if err := s.hood.restore(n.files.Config.Profile, latest, known.Estimate); err != nil {
		return fmt.Errorf("node: restore the neighbours: %w", err)
	}
	// The order matters: witnesses of neighbours are kept before those of others, and evidence about
	// authors of whom there is a witness before evidence about strangers.
	if err := errors.Join(s.gossip.Remember(known.Witnesses), s.gossip.RememberEvidence(known.Evidence)); err != nil {
		return err
	}
	n.intake.Lock()
	defer n.intake.Unlock()
	n.session = s
	s.discovery.Bootstrap(n.bootstrap()) // they may have changed meanwhile
	close(n.running)
	return nil
}

// detach forgets the session and saves the peers that it met.
func (n *Node) detach(s *session) {
	n.intake.Lock()
	defer n.intake.Unlock()
	n.session = nil
	n.running = make(chan struct{})
	n.book.Save(s.host)
}

func (n *Node) discoveryConfig(hood *neighbourhood) discovery.Config {
	c := n.files.Config
	return discovery.Config{
		Network:    n.network,
		Bootstrap:  n.bootstrap(),
		Remembered: n.book.Remembered,
		Tried:      n.book.Tried,
		Interfaces: n.surroundings.Interfaces,
		MDNS:       c.MDNS,
		Client:     c.DHT == "client",
		NoTable:    c.DHT == "off",
		Found:      hood.found,
		Enough:     hood.enough,
		Logger:     logs.For(n.log, logs.Discovery),
	}
}

// Ready says why the node takes no part in its network, and nil once it does.
func (n *Node) Ready() error {
	switch {
	case n.current() != nil:
		return nil
	case len(n.Paused()) > 0:
		return errPaused
	}
	return errNotReady
}

// Addrs waits until Run takes part in the network. It returns the addresses at which
// others can reach this node, each with its peer ID.
func (n *Node) Addrs(ctx context.Context) ([]string, error) {
	n.intake.Lock()
	running := n.running
	n.intake.Unlock()
	select {
	case <-running:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.intake.Lock()
	defer n.intake.Unlock()
	if n.session == nil {
		return nil, errNotRunning
	}
	return netedge.FullAddrs(n.session.host), nil
}

// newHost starts the node's host.
func (n *Node) newHost() (host.Host, *netedge.Entrance, *reach.Reach, error) {
	r, err := n.files.Config.Reach(n.surroundings.Announce, n.private.Book != nil)
	if err != nil {
		return nil, nil, nil, err
	}
	h, entrance, err := netedge.NewHost(n.files.Key, r, n.surroundings, n.power(), n.private, n.meter)
	return h, entrance, r, err
}

// relay carries the connections of other nodes of the task until ctx ends.
func (n *Node) relay(ctx context.Context, h host.Host) error {
	s, err := reach.NewService(h, reach.ServiceConfig{
		Networks: []string{n.network}, Traffic: n.meter.Traffic, Quota: reach.DefaultQuota, Logger: logs.For(n.log, logs.Discovery),
	})
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// newNeighbourhood makes the driver of a neighbourhood. choices is the source of the
// machine's random choices, and view that of its view.
func newNeighbourhood(n *Node, h host.Host, past *history, signer *gossip.Signer, choices, view rand.Source) *neighbourhood {
	t, p := n.files.Task, n.power()
	c := peering.Config{
		Self: gossip.ID(h.ID()), Graph: t.Graph, Servers: t.Servers(), Look: p.Look, Renew: p.Renew, Choices: choices, View: view,
		Closed: n.private.Key != nil,
	}
	if t.Silent() {
		c.Graph.Degree = 0 // nothing is sent to neighbours, so none are wanted
	}
	only, _ := n.files.Config.OnlyNeighbours() // cannot fail: validated when the file was read
	for _, id := range only {
		c.Only = append(c.Only, gossip.ID(id))
	}
	start := time.Now()
	return &neighbourhood{
		config: c, vector: publicVector(t), private: n.private, origins: n.bootstrap, named: n.book.Addrs, live: n.live.Load, audience: &audience{}, host: h, store: n.store, signer: signer, history: past, log: n.log, diary: n.diary,
		observe: n.observePeering,
		keeper:  discovery.NewKeeper(h, logs.For(n.log, logs.Discovery)),
		posted:  newMailbox(),
		changed: make(chan struct{}, 1),
		left:    make(chan struct{}),
		now:     func() time.Duration { return time.Since(start) },
		start:   start,
		edges:   make(map[peer.ID]*edge),
		unsaved: make(map[peer.ID]bool),
		saved:   -edgesEvery,
	}
}
