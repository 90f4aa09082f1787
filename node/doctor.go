package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/protocol/ping"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/discovery"
	"p2pnode/discovery/members"
	"p2pnode/discovery/reach"
	"p2pnode/gossip"
	"p2pnode/internal/durable"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/netedge"
	"p2pnode/storage"
)

const (
	// checkTimeout bounds the attempts to reach the bootstrap peers, and those to reach
	// the committee.
	checkTimeout = 5 * time.Second
	// mostNamed is how many peers one problem names.
	mostNamed = 5
	// lowDisk is how many bytes are free when a disk counts as nearly full.
	lowDisk = 64 << 20
)

// Doctor finds out whether the node can be reached. It tries the bootstrap peers, those
// of the configuration and those that were added: whether they are connected or can be,
// and take part in the task. Then it tries the members of the committee, if the task has
// one. Each of the two takes at most 5 s. Of the others it says who is there and has another
// version of the program. For a node that is not running it checks what it can: whether its
// addresses are free, and whether anything answers at those of the bootstrap peers.
func (n *Node) Doctor(ctx context.Context) (api.Diagnosis, error) {
	c := n.files.Config
	d := api.Diagnosis{
		Verdict: reach.Unknown, Paused: n.Paused(), PortMap: c.UPnP, MDNS: c.MDNS, DHT: c.DHT,
		Private: n.private.Key != nil || n.private.Book != nil,
		Reach:   reach.Report{Addresses: []reach.Address{}, Links: []reach.Link{}},
	}
	s := n.current()
	bootstrap := slices.DeleteFunc(n.bootstrap(), func(p peer.AddrInfo) bool { return p.ID == n.self }) // as where all have one configuration
	try := answers
	if s != nil {
		d.Running, d.Reach = true, s.reach.Report()
		d.Verdict = d.Reach.Verdict()
		d.Problems = portProblems(s.reach.Unopened(s.host), true)
		try = func(ctx context.Context, p peer.AddrInfo) error { return s.serves(ctx, p, n) }
	} else {
		d.Problems = portProblems(c.Listen, false)
		if err := n.private.Check(c.Listen); err != nil {
			d.Problems = append(d.Problems, err.Error())
		}
	}
	d.Bootstrap = checkBootstrap(ctx, bootstrap, try)
	d.Committee = n.checkCommittee(ctx, s)
	d.Clock = max(d.Reach.ClockBehind, behindFiles(n.dir, time.Now()).Seconds())
	d.DiskFree = durable.Free(n.dir)
	d.Problems = append(d.Problems, n.diskProblem(d.DiskFree)...)
	d.Problems = append(d.Problems, n.private.Problems(n.self, bootstrap, time.Now())...)
	d.Problems = append(d.Problems, n.committeeProblems(&d)...)
	if s != nil {
		d.Problems = append(d.Problems, n.versionProblems(s, &d)...)
	}
	judge(&d, n.barred())
	return d, nil
}

// versionProblems names the neighbours, and whoever else is connected, that have this task and
// another version of the program. Of bootstrap peers and members of the committee d says so.
func (n *Node) versionProblems(s *session, d *api.Diagnosis) (problems []string) {
	others := make(map[string][]string) // by the reason
	for _, id := range s.met() {
		protocols, err := s.host.Peerstore().GetProtocols(id)
		if err != nil || n.book.Belongs(protocols) ||
			slices.ContainsFunc(d.Bootstrap, func(b api.BootstrapCheck) bool { return b.Peer == id.String() }) ||
			slices.ContainsFunc(d.Committee, func(m api.MemberCheck) bool { return m.Peer == id.String() }) {
			continue
		}
		if reason := n.foreign(protocols); reason != errStrange {
			others[reason.Error()] = append(others[reason.Error()], id.String())
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(others)) {
		list := others[reason]
		names := strings.Join(list[:min(len(list), mostNamed)], ", ")
		if more := len(list) - mostNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		problems = append(problems, fmt.Sprintf("this node does not hear %s (%s)", names, reason))
	}
	return problems
}

// met lists the neighbours and all who are connected.
func (s *session) met() []peer.ID {
	list := s.host.Network().Peers()
	for _, e := range s.hood.neighbours() {
		list = append(list, e.id)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// checkBootstrap tries all bootstrap peers at the same time.
func checkBootstrap(ctx context.Context, peers []peer.AddrInfo, try func(context.Context, peer.AddrInfo) error) []api.BootstrapCheck {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	out := make([]api.BootstrapCheck, len(peers))
	var running sync.WaitGroup
	for i, p := range peers {
		running.Go(func() {
			out[i] = api.BootstrapCheck{Peer: p.ID.String(), Address: strings.Join(netedge.AddrStrings(p.Addrs), ", "), Reached: true}
			if err := try(ctx, p); err != nil {
				out[i].Reached, out[i].Why = false, discovery.Reason(err)
			}
		})
	}
	running.Wait()
	return out
}

// errStrange says why a peer that answers is of no use.
var errStrange = errors.New("it takes no part in this task: it has another " + datadir.TaskFile + ", or is no p2pnode")

// ofAnotherTask lists the peers that answered and have another task.
func ofAnotherTask(d *api.Diagnosis) (peers []string) {
	for _, b := range d.Bootstrap {
		if b.Why == errStrange.Error() {
			peers = append(peers, b.Peer)
		}
	}
	for _, m := range d.Committee {
		if m.Why == errStrange.Error() && !slices.Contains(peers, m.Peer) {
			peers = append(peers, m.Peer)
		}
	}
	return peers
}

// serves reports whether the node can start from a peer.
func (s *session) serves(ctx context.Context, p peer.AddrInfo, n *Node) error {
	if err := n.hears(ctx, s, p.ID, s.connects(ctx, p)); err != nil {
		return err
	}
	return s.strange(ctx, p.ID, n)
}

// The reasons why a peer of a network with a list of members is not reached.
var (
	errTurnedAway = errors.New("it refuses this node, which is not on its list of members")
	errUnlisted   = errors.New("it is not on the list of members that this node has")
	errMute       = errors.New("it is connected, and does not answer")
)

// hears returns the error of a connection to a peer of a private network, in the words of
// the lists of members where these are why. A connection that is made can still be refused,
// so the peer is asked for a sign of life.
func (n *Node) hears(ctx context.Context, s *session, id peer.ID, err error) error {
	if n.private.Book == nil {
		return err
	}
	mute := err == nil
	if mute {
		ctx, cancel := context.WithTimeout(network.WithAllowLimitedConn(network.WithNoDial(ctx, "doctor"), "doctor"), introduction)
		defer cancel()
		pong, came := <-ping.Ping(ctx, s.host, id)
		if err = pong.Error; !came {
			err = ctx.Err()
		}
	}
	switch {
	case err == nil:
		return nil
	case n.refusedBy(id):
		return errTurnedAway
	case !n.private.Member(id):
		return errUnlisted
	case mute:
		return errMute
	}
	return err
}

// refusedBy reports whether a peer has refused this node in the last hour, and has not let
// it in since.
func (n *Node) refusedBy(id peer.ID) bool {
	return slices.ContainsFunc(n.private.Book.RefusedBy(), func(r members.Refusal) bool { return r.Peer == id })
}

// connects reports whether the node is connected to a peer or can connect now.
func (s *session) connects(ctx context.Context, p peer.AddrInfo) error {
	if s.host.Network().Connectedness(p.ID) == network.Connected {
		return nil
	}
	err := s.host.Connect(ctx, p)
	if earlier := s.discovery.Failure(p.ID); errors.Is(err, swarm.ErrDialBackoff) && earlier != nil {
		return earlier // nothing was tried just now
	}
	return err
}

// introduction is how long a peer may take to say that it takes part in the task: a peer
// that has just started can be called before it says so.
const introduction = 3 * time.Second

// strange returns an error if a peer says in which tasks it takes part, and this task is
// not one of them. A connection may exist before the peer has said anything.
func (s *session) strange(ctx context.Context, id peer.ID, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, introduction)
	defer cancel()
	look := time.NewTicker(introduction / 30)
	defer look.Stop()
	for {
		protocols, err := s.host.Peerstore().GetProtocols(id)
		if err != nil || n.book.Belongs(protocols) {
			return nil
		}
		select {
		case <-look.C:
			continue
		case <-ctx.Done():
		}
		if len(protocols) == 0 {
			return nil
		}
		return n.foreign(protocols)
	}
}

// tellStrangers logs, once for each, which bootstrap peers, members of the committee and
// neighbours answer and are of no use, until ctx ends.
func (n *Node) tellStrangers(ctx context.Context, s *session) error {
	news, err := s.host.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted), eventbus.Name("p2pnode strangers"))
	if err != nil {
		return fmt.Errorf("node: watch for peers of another task: %w", err)
	}
	defer news.Close()
	var looking sync.WaitGroup
	defer looking.Wait()
	seen := make(map[peer.ID]bool)
	for {
		select {
		case <-ctx.Done():
			return nil
		case told := <-news.Out():
			e, ok := told.(event.EvtPeerIdentificationCompleted)
			if !ok || seen[e.Peer] || n.book.Belongs(e.Protocols) {
				continue
			}
			what := n.needed(e.Peer, s)
			if what == "" {
				continue
			}
			seen[e.Peer] = true
			looking.Go(func() {
				if err := s.strange(ctx, e.Peer, n); err != nil && ctx.Err() == nil {
					n.log.Warn(what+" answers, and this node cannot use it", "peer", e.Peer, "reason", err)
				}
			})
		}
	}
}

// needed says what a peer is to this node that must have the node's task; "" if it is nothing.
func (n *Node) needed(id peer.ID, s *session) string {
	switch {
	case slices.ContainsFunc(n.bootstrap(), func(p peer.AddrInfo) bool { return p.ID == id }):
		return "a bootstrap peer"
	case n.sums != nil && slices.Contains(n.sums.plan.Members(), id):
		return "a member of the committee"
	case slices.ContainsFunc(s.hood.neighbours(), func(e neighbour) bool { return e.id == id }):
		return "a neighbour"
	}
	return ""
}

// sameVersion ends the reason of a peer that has another version.
const sameVersion = "install the same version on both"

// foreign says why a peer with these protocols is of no use.
func (n *Node) foreign(protocols []protocol.ID) error {
	for _, name := range netedge.Networks(protocols) {
		if v := datadir.Version(n.files.Task, name); v > 0 {
			return fmt.Errorf("it has this task and another version of p2pnode, which speaks version %d of the protocol, and this one version %d: "+sameVersion, v, gossip.Version)
		}
	}
	return errStrange
}

// answers reports whether something listens at one of a peer's TCP addresses. Only a
// running node can find out which node it is.
func answers(ctx context.Context, p peer.AddrInfo) error {
	var failed []error
	for _, a := range p.Addrs {
		network, address, err := manet.DialArgs(a)
		if err != nil || !strings.HasPrefix(network, "tcp") {
			failed = append(failed, fmt.Errorf("%s can be tried by a running node only", a))
			continue
		}
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			return c.Close()
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// diskProblem checks whether the node can write to its directory, on whose disk so many
// bytes are free (-1: not known), and goes on being able to.
func (n *Node) diskProblem(free int64) []string {
	f, err := os.CreateTemp(n.dir, "doctor-*")
	if err == nil {
		_, err = f.Write(make([]byte, 4096))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	switch {
	case err != nil && storage.DiskFull(err):
		return []string{fmt.Sprintf("the disk of %s, or your share of it, is full: free at least %d MB; until then no record is stored, and the node stops when it must write", n.dir, reserve>>20)}
	case errors.Is(err, syscall.EROFS):
		return []string{storage.ReadOnlyDisk + "; until then nothing can be released and no record stored"}
	case err != nil:
		return []string{fmt.Sprintf("make %s writable (%v): until then nothing can be released and no record stored", n.dir, err)}
	case free >= 0 && free < lowDisk:
		return []string{fmt.Sprintf("the disk is nearly full, %s are free: below %d MB no more records are stored, and the node stops when nothing can be written; free some", megabytes(free), reserve>>20)}
	}
	return nil
}

// judge adds to a diagnosis what the owner should do. barred is why the node cannot run any
// more.
func judge(d *api.Diagnosis, barred error) {
	if barred != nil && !d.Running { // nothing else matters then
		d.Problems = []string{"it is not running, and it cannot: " + api.Plain(barred.Error())}
		return
	}
	add := func(format string, args ...any) { d.Problems = append(d.Problems, fmt.Sprintf(format, args...)) }
	if d.Clock > 0 {
		add("%s", clockProblem(d.Clock))
	}
	if len(d.Bootstrap) > 0 && !slices.ContainsFunc(d.Bootstrap, func(b api.BootstrapCheck) bool { return b.Reached }) {
		add("no bootstrap peer of this task can be reached: without one the node meets only peers that it knows or sees on the local network")
	}
	if len(d.Bootstrap)+len(d.Reach.Links) == 0 && !d.MDNS {
		add("it knows nobody to start from: unless the others start from this node, add the address of one as a peer")
	}
	switch {
	case len(d.Paused) > 0:
		add("it is paused, so nobody reaches it: resume it, and ask again, to learn whether others reach it")
	case !d.Running:
		add("it is not running: run it, and ask again, to learn whether others reach it")
	}
	d.Problems = append(d.Problems, remedies(d)...)
	if peers := ofAnotherTask(d); len(peers) > 0 {
		d.Problems = slices.Insert(d.Problems, 0, fmt.Sprintf("these answer, and have another %s or are no p2pnode: %s. Compare the network that p2pnode status names there and here, "+
			"which is the same only if every number of the task is; or join theirs with a ticket, in a new directory", datadir.TaskFile, strings.Join(peers, ", ")))
	}
	if d.Problems == nil {
		d.Problems = []string{}
	}
}

// remedies lists what may help a running node that others cannot reach.
func remedies(d *api.Diagnosis) []string {
	const forward = "have the router pass the port of \"listen\" on to this machine, and write the router's address and port in \"announce\" of " + datadir.ConfigFile
	switch {
	case !d.Running:
		return nil
	case d.Reach.Loopback:
		return []string{"it listens on this machine only: write /ip4/0.0.0.0/tcp/PORT in \"listen\" of " + datadir.ConfigFile + " for others to reach it"}
	case d.Verdict == reach.Unreachable:
		out := []string{"a relay would carry its connections: name one in \"relays\" of " + datadir.ConfigFile + "; any machine with a public address can be one, with p2pnode relay", forward}
		if !d.PortMap {
			out = append(out, "or let the node ask the router itself: upnp = true in "+datadir.ConfigFile)
		}
		return out
	case d.Verdict == reach.Unknown && len(d.Reach.Links) == 0:
		return []string{"it is connected to nobody, so nobody could try to reach it: ask again when it is"}
	case d.Verdict == reach.Unknown && !slices.ContainsFunc(d.Reach.Links, func(l reach.Link) bool { return !l.Here }):
		return []string{"it is connected to nodes on this machine only, which tells nothing of others: start one on another machine, and ask again"}
	case d.Verdict == reach.Unknown:
		return []string{"nobody has called it yet, and nobody could tell whether that works: ask again in five minutes"}
	}
	return nil
}
