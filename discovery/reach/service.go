package reach

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/pb"
	"github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/relay"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"p2pnode/internal/crowd"
)

const (
	// DefaultQuota is what a relay carries for one peer in an hour, in bytes, both
	// ways. Ten neighbours and models of 64 KiB every ten seconds use half of it.
	DefaultQuota = 1 << 30
	quotaWindow  = time.Hour
	meterEvery   = 10 * time.Second
	// getKnown bounds the wait until a peer has told which protocols it speaks.
	getKnown = 5 * time.Second
)

// mostPlaces is how many nodes a relay keeps reachable.
const mostPlaces = 1024

// limits are libp2p's limits of a relay. Neighbours stay connected for hours, and an
// office has one address, so its own ones (128 KiB, two minutes, 8 places an address)
// would not do. Connections have no limit of their own here, because libp2p's protocols
// avoid those that do; the quota bounds them. Places and connections are shared by networks
// (places.go, circuits.go), because libp2p gives all to who comes first. Its limits are above
// what is shared, because it still counts for a moment those that have lost theirs.
var limits = relay.Resources{
	ReservationTTL:        time.Hour,
	MaxReservations:       2 * mostPlaces,
	MaxCircuits:           4 * CircuitsEach, // of one peer, at both ends
	BufferSize:            4096,
	MaxReservationsPerIP:  2 * mostPlaces,
	MaxReservationsPerASN: 2 * mostPlaces,
}

// ServiceConfig says whom a relay serves.
type ServiceConfig struct {
	// Networks names the tasks whose nodes are served. No other node is. Required.
	Networks []string
	// Traffic counts what the host carries. Required.
	Traffic *Traffic
	// Quota bounds what is carried for one peer in an hour, in bytes.
	Quota int64
	// Logger is required.
	Logger *slog.Logger
}

// Service relays connections between nodes that cannot be called. Its methods are
// safe for concurrent use.
type Service struct {
	host   host.Host
	config ServiceConfig

	mu       sync.Mutex
	since    map[peer.ID]int64 // bytes at the beginning of the window
	over     map[peer.ID]bool  // has used up its quota
	begin    time.Time         // of the window
	places   *crowd.Places[peer.ID]
	reserved map[peer.ID]*reservation // of those that have a place
	carried  *crowd.Places[*circuit]

	bytes atomic.Int64
}

// ServiceStats counts what a relay does.
type ServiceStats struct {
	Places   int   `json:"places"`    // nodes that can be called through it
	Circuits int   `json:"circuits"`  // relayed connections that are open or being made
	Bytes    int64 `json:"bytes"`     // relayed since the start
	OverUsed int   `json:"over_used"` // peers that have used up their quota for this hour
}

// NewService checks the configuration of a relay on a host.
func NewService(h host.Host, c ServiceConfig) (*Service, error) {
	if len(c.Networks) == 0 || c.Traffic == nil || c.Logger == nil || c.Quota <= 0 {
		return nil, errors.New("reach: a relay needs Networks, Traffic, Quota and Logger")
	}
	return &Service{
		host: h, config: c,
		since: make(map[peer.ID]int64), over: make(map[peer.ID]bool),
		places: crowd.NewPlaces[peer.ID](mostPlaces), reserved: make(map[peer.ID]*reservation),
		carried: crowd.NewPlaces[*circuit](MostCircuits),
	}, nil
}

// Run relays until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	s.newWindow(time.Now())
	gone := &network.NotifyBundle{DisconnectedF: func(_ network.Network, c network.Conn) { s.stays(c.RemotePeer()) }}
	s.host.Network().Notify(gone)
	defer s.host.Network().StopNotify(gone)
	service, err := relay.New(&relayHost{s.host, s},
		relay.WithResources(limits), relay.WithACL(s), relay.WithMetricsTracer(s),
		relay.WithReservationAddressFilter(func(a multiaddr.Multiaddr) bool { return !manet.IsIPLoopback(a) }))
	if err != nil {
		return fmt.Errorf("reach: start the relay: %w", err)
	}
	tick := time.NewTicker(meterEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return service.Close()
		case now := <-tick.C:
			s.meter(now)
			s.expire(now)
		}
	}
}

// Stats tells what the relay does now.
func (s *Service) Stats() ServiceStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ServiceStats{Places: s.places.Len(), Circuits: s.carried.Len(), Bytes: s.bytes.Load(), OverUsed: len(s.over)}
}

// meter disconnects peers that have used more than their quota.
func (s *Service) meter(now time.Time) {
	if now.Sub(s.begin) >= quotaWindow {
		s.newWindow(now)
		return
	}
	for p, t := range s.config.Traffic.GetBandwidthByPeer() {
		s.mu.Lock()
		total := t.TotalIn + t.TotalOut
		if total < s.since[p] { // it moved nothing for so long that it was forgotten, and counts from 0 again
			s.since[p] = 0
		}
		spent := total-s.since[p] > s.config.Quota && !s.over[p]
		if spent {
			s.over[p] = true
		}
		s.mu.Unlock()
		if spent {
			s.config.Logger.Warn("peer has used up its quota and is not served until the hour is over", "peer", p)
			_ = s.host.Network().ClosePeer(p)
		}
	}
}

func (s *Service) newWindow(now time.Time) {
	s.config.Traffic.TrimIdle(now.Add(-quotaWindow))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin = now
	clear(s.over)
	clear(s.since)
	for p, t := range s.config.Traffic.GetBandwidthByPeer() {
		s.since[p] = t.TotalIn + t.TotalOut
	}
}

// AllowReserve implements [relay.ACLFilter].
func (s *Service) AllowReserve(p peer.ID, at multiaddr.Multiaddr) bool {
	return s.mayUse(p) && s.speaks(p) && s.reserve(p, at)
}

// AllowConnect implements [relay.ACLFilter].
func (s *Service) AllowConnect(from peer.ID, _ multiaddr.Multiaddr, to peer.ID) bool {
	return s.mayUse(from) && s.mayUse(to) && s.speaks(from)
}

// mayUse reports whether a peer has not used up its quota.
func (s *Service) mayUse(p peer.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.over[p]
}

// speaks reports whether a peer says that it takes part in one of the tasks. That keeps
// other traffic away but not an impostor; the quota bounds that one.
func (s *Service) speaks(p peer.ID) bool {
	ctx, cancel := context.WithTimeout(context.Background(), getKnown)
	defer cancel()
	if known, ok := s.host.(identified); ok {
		for _, c := range s.host.Network().ConnsToPeer(p) {
			select {
			case <-known.IDService().IdentifyWait(c):
			case <-ctx.Done():
			}
		}
	}
	spoken, err := s.host.Peerstore().GetProtocols(p)
	if err != nil {
		return false
	}
	for _, protocol := range spoken {
		for _, network := range s.config.Networks {
			if strings.HasPrefix(string(protocol), "/p2pnode/"+network+"/") {
				return true
			}
		}
	}
	return false
}

// The methods below implement [relay.MetricsTracer].

// RelayStatus is of no interest here.
func (s *Service) RelayStatus(bool) {}

// ConnectionOpened is of no interest here.
func (s *Service) ConnectionOpened() {}

// ConnectionClosed is of no interest here.
func (s *Service) ConnectionClosed(time.Duration) {}

// ConnectionRequestHandled is of no interest here.
func (s *Service) ConnectionRequestHandled(pb.Status) {}

// ReservationAllowed is of no interest here.
func (s *Service) ReservationAllowed(bool) {}

// ReservationClosed is of no interest here.
func (s *Service) ReservationClosed(int) {}

// ReservationRequestHandled is of no interest here.
func (s *Service) ReservationRequestHandled(pb.Status) {}

// BytesTransferred counts what is relayed.
func (s *Service) BytesTransferred(n int) { s.bytes.Add(int64(n)) }
