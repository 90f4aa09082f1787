package netedge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/sync/errgroup"

	"p2pnode/discovery"
	"p2pnode/discovery/reach"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// RelayConfig says what a relay serves, and where.
type RelayConfig struct {
	Dir       string          // holds the identity, which is made at the first start
	Tasks     []*learner.Task // the tasks whose nodes are served; at least one
	Listen    []string        // multiaddresses; nil: port [RelayPort] of every interface
	Announce  []string        // further addresses at which others can reach it
	Bootstrap []string        // other relays of the same tasks
	Quota     int64           // how many bytes it carries for one peer in an hour
	// Member makes it also take part in the private sums of the one task whose committee
	// includes its identity. Catalogue is the content of the file that lists the keys of
	// that task, if the task adds up by them.
	Member    bool
	Catalogue []byte
}

// RelayPort is the port on which a relay listens by default. It is the same at every
// start, because other nodes have its address in their configurations.
const RelayPort = 4001

// listenEverywhere adds the default addresses. QUIC cannot be used with a network key.
func (c *RelayConfig) listenEverywhere(keyed bool) {
	if len(c.Listen) > 0 {
		return
	}
	c.Listen = []string{fmt.Sprintf("/ip4/0.0.0.0/tcp/%d", RelayPort), fmt.Sprintf("/ip6/::/tcp/%d", RelayPort)}
	if !keyed {
		c.Listen = append(c.Listen, fmt.Sprintf("/ip4/0.0.0.0/udp/%d/quic-v1", RelayPort), fmt.Sprintf("/ip6/::/udp/%d/quic-v1", RelayPort))
	}
}

// Relay is a host that takes no part in learning: nodes of its tasks meet through
// it, and it carries the connections of those that cannot be called. It needs no
// records and no budget. Its methods are safe for concurrent use.
type Relay struct {
	config   RelayConfig
	networks []string
	others   []peer.AddrInfo
	log      *slog.Logger
	meter    *Meter
	private  datadir.Private
	host     host.Host
	entrance *Entrance
	reach    *reach.Reach
	service  *reach.Service
	member   *member // nil: it is in no committee
}

// RelayStatus is how a relay is doing.
type RelayStatus struct {
	Peer      string             `json:"peer"`
	Addresses []string           `json:"addresses"`
	Tasks     []string           `json:"tasks"`
	Networks  []string           `json:"networks"`
	Connected int                `json:"connected"` // how many peers
	BytesIn   int64              `json:"bytes_in"`  // all bytes that libp2p read
	BytesOut  int64              `json:"bytes_out"`
	Reach     reach.Report       `json:"reach"`
	Relay     reach.ServiceStats `json:"relay"`
	// Committee and Sums are those of the task for which it adds up. Sums has, for each
	// recipe, the newest sum in which it takes part. nil: it is in no committee.
	Committee *api.Committee `json:"committee"`
	Sums      []api.Sum      `json:"sums"`
}

// OpenRelay starts a relay's host. The caller must call [Relay.Run], which closes
// it.
func OpenRelay(c RelayConfig, log *slog.Logger) (*Relay, error) {
	if len(c.Tasks) == 0 {
		return nil, errors.New("node: a relay needs a task to serve")
	}
	key, err := datadir.RelayKey(c.Dir)
	if err != nil {
		return nil, err
	}
	as := datadir.Config{Announce: c.Announce, Bootstrap: c.Bootstrap, UPnP: true}
	r := &Relay{config: c, log: log, meter: NewMeter()}
	for _, t := range c.Tasks {
		r.networks = append(r.networks, datadir.NetworkName(t))
	}
	if r.others, err = as.BootstrapPeers(); err != nil {
		return nil, err
	}
	self, err := peer.IDFromPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("node: the identity has no peer ID: %w", err)
	}
	if r.private, err = datadir.ReadPrivate(c.Dir, self, r.others, log); err != nil {
		return nil, err
	}
	c.listenEverywhere(r.private.Key != nil)
	if err := r.private.Check(c.Listen); err != nil {
		return nil, err
	}
	as.Listen = c.Listen
	around := NewSurroundings(&as)
	if r.reach, err = as.Reach(around.Announce, r.private.Book != nil); err != nil {
		return nil, err
	}
	if r.host, r.entrance, err = NewHost(key, r.reach, around, relayPower(), r.private, r.meter); err != nil {
		return nil, err
	}
	r.service, err = reach.NewService(r.host, reach.ServiceConfig{
		Networks: r.networks, Traffic: r.meter.Traffic, Quota: c.Quota, Logger: log,
	})
	if err == nil && c.Member {
		r.member, err = newMember(r.host, r.entrance, key, c, log)
	}
	if err != nil {
		return nil, errors.Join(err, r.host.Close())
	}
	return r, nil
}

// Run serves until ctx ends and returns after everything has ended.
func (r *Relay) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return r.service.Run(ctx) })
	parts.Go(func() error { return r.reach.Run(ctx, r.host) })
	parts.Go(func() error { return r.private.Run(ctx, r.host, func() {}) })
	if r.member != nil {
		parts.Go(func() error { return r.member.run(ctx) })
	}
	parts.Go(func() error { return discovery.Serve(ctx, r.host, r.networks, r.others, r.log) })
	return errors.Join(parts.Wait(), r.host.Close())
}

// Status tells how the relay is doing.
func (r *Relay) Status() RelayStatus {
	total := r.meter.Traffic.GetBandwidthTotals()
	s := RelayStatus{
		Peer: r.host.ID().String(), Addresses: FullAddrs(r.host), Networks: r.networks,
		Connected: len(r.host.Network().Peers()), BytesIn: total.TotalIn, BytesOut: total.TotalOut,
		Reach: r.reach.Report(), Relay: r.service.Stats(),
	}
	for _, t := range r.config.Tasks {
		s.Tasks = append(s.Tasks, t.Name)
	}
	if r.member != nil {
		known := r.Sums()
		s.Committee, s.Sums = &known.Committee, known.List
	}
	return s
}

// Sums tells of the committee that the relay is in, and of each recipe's newest sum in which
// it takes part. The relay must be a member.
func (r *Relay) Sums() api.Sums {
	m := r.member
	s := api.Sums{Running: true, Paused: []api.Pause{}, Committee: m.plan.DescribeCommittee(m.desk, r.host.ID())}
	s.List, s.Known = m.plan.Attended(m.desk)
	for i := range m.plan.Recipes() {
		s.All += m.plan.Epochs() * m.plan.Recipe(i).Rounds()
	}
	return s
}

// relayPower returns the power of a relay, which exists to be connected to.
func relayPower() Power {
	return Power{silence: 6 * time.Second, answer: 6 * time.Second, hung: 2 * time.Minute, connections: mostAtOnce, spare: mostAtOnce / 2}
}
