package members

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

const (
	exchangeTimeout = time.Minute      // a list can be long and a link slow
	lookEvery       = time.Minute      // whether somebody's membership has expired, or a list was put into the file
	mendEvery       = 10 * time.Minute // until an exchange that was missed is repeated
	maxAnswers      = 64               // exchanges that others have begun, at the same time
	maxReceiving    = 4                // lists on their way in at the same time
	distrust        = 10 * time.Minute // without an exchange with a peer whose list was not valid
	maxDistrusted   = 256              // peers remembered; when full, all are forgiven
)

// protocolID names the exchange of one network's lists.
func protocolID(network string) protocol.ID { return protocol.ID("/p2pnode/members/1/" + network) }

// spreader exchanges lists with the members that are connected to a host.
type spreader struct {
	book      *Book
	host      host.Host
	ctx       context.Context // ends with Run
	receiving chan struct{}   // a place for each list on its way in
	timeout   time.Duration   // of an exchange

	mu         sync.Mutex // also orders running.Add before running.Wait
	running    sync.WaitGroup
	asking     map[peer.ID]bool // this node has begun an exchange
	answering  map[peer.ID]bool // the peer has
	distrusted map[peer.ID]time.Time
}

// Run keeps the host's connections to members until ctx ends, and returns after
// everything it started has ended. It exchanges versions over every new connection, and
// with all members after every change, and replaces the older list. When the list has
// changed or a membership has expired, it closes the connections of peers that are no
// longer members and then calls changed, which must not block.
func (b *Book) Run(ctx context.Context, h host.Host, changed func()) error {
	if err := b.Damage(); err != nil {
		b.log.Error("the membership list on disk is not used; import a good one, or wait until a bootstrap peer brings it", "error", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &spreader{
		book: b, host: h, ctx: ctx, receiving: make(chan struct{}, maxReceiving), timeout: b.timeout,
		asking: make(map[peer.ID]bool), answering: make(map[peer.ID]bool), distrusted: make(map[peer.ID]time.Time),
	}
	notify := &network.NotifyBundle{ConnectedF: s.connected, DisconnectedF: b.closed}
	h.SetStreamHandler(protocolID(b.config.Network), s.answer)
	h.Network().Notify(notify)
	defer func() {
		h.Network().StopNotify(notify)
		h.RemoveStreamHandler(protocolID(b.config.Network))
		s.mu.Lock()
		cancel()
		s.mu.Unlock()
		s.running.Wait()
	}()
	look, mend := time.NewTicker(lookEvery), time.NewTicker(mendEvery)
	defer look.Stop()
	defer mend.Stop()
	had, news := b.List() != nil, true
	for {
		s.expel(had)
		had = b.List() != nil
		changed()
		if news {
			s.askAll()
		}
		news = false
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			b.reread()
		case <-mend.C:
			if peers := h.Network().Peers(); len(peers) > 0 {
				s.ask(peers[rand.IntN(len(peers))])
			}
		case <-b.changed:
			news = true
		}
	}
}

// expel closes the connections of peers that are not admitted. When the first list has
// just come, it closes all, because they were admitted without a list.
func (s *spreader) expel(had bool) {
	first := !had && s.book.List() != nil
	for _, c := range s.host.Network().Conns() {
		switch {
		case !s.book.admits(c.RemotePeer()):
			s.book.log.Info("closing the connection of a peer that is not a member any more", "peer", c.RemotePeer())
			_ = c.CloseWithError(network.ConnGated)
		case first:
			_ = c.Close()
		}
	}
	s.book.away.drop(s.book.admits)
}

// connected checks a new connection again, because the list may have changed meanwhile,
// and starts an exchange from the end that dialled.
func (s *spreader) connected(_ network.Network, c network.Conn) {
	if !s.book.admits(c.RemotePeer()) {
		go c.CloseWithError(network.ConnGated)
		return
	}
	if c.Stat().Direction == network.DirOutbound {
		s.ask(c.RemotePeer())
	}
}

func (s *spreader) askAll() {
	for _, p := range s.host.Network().Peers() {
		s.ask(p)
	}
}

// ask exchanges lists with a connected peer, on a goroutine of its own, and again
// if the list changes meanwhile.
func (s *spreader) ask(p peer.ID) {
	if !s.enter(p, s.asking, math.MaxInt) {
		return
	}
	go func() {
		for {
			mine := s.book.List()
			if err := s.begin(p, mine); err != nil {
				s.book.log.Debug("no exchange of membership lists", "peer", p, "error", err)
			}
			if s.done(p, mine) {
				return
			}
		}
	}()
}

func (s *spreader) begin(p peer.ID, mine *Signed) error {
	ctx, cancel := context.WithTimeout(network.WithAllowLimitedConn(network.WithNoDial(s.ctx, "members"), "members"), s.timeout)
	defer cancel()
	stream, err := s.host.NewStream(ctx, p, protocolID(s.book.config.Network))
	if err != nil {
		return err
	}
	return s.exchange(stream, mine)
}

func (s *spreader) answer(stream network.Stream) {
	p := stream.Conn().RemotePeer()
	if !s.enter(p, s.answering, maxAnswers) {
		_ = stream.Reset()
		return
	}
	mine := s.book.List()
	if err := s.exchange(stream, mine); err != nil {
		s.book.log.Debug("no exchange of membership lists", "peer", p, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(p, s.answering)
}

// enter takes a place for an exchange with the peer, and reports whether there was one.
func (s *spreader) enter(p peer.ID, places map[peer.ID]bool, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || places[p] || len(places) >= most || time.Now().Before(s.distrusted[p]) {
		return false
	}
	places[p] = true
	s.running.Add(1)
	return true
}

// done ends an exchange that this node has begun. If the list has changed since, it reports
// that the peer must be told, and does not end the exchange.
func (s *spreader) done(p peer.ID, had *Signed) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil && s.book.List() != had {
		return false
	}
	s.leave(p, s.asking)
	return true
}

// leave gives the place of an exchange back. The caller holds s.mu.
func (s *spreader) leave(p peer.ID, places map[peer.ID]bool) {
	delete(places, p)
	s.running.Done()
}

// suspect stops exchanges with a peer for a while.
func (s *spreader) suspect(p peer.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.distrusted) >= maxDistrusted {
		clear(s.distrusted)
	}
	s.distrusted[p] = time.Now().Add(distrust)
}
