package reach

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// Traffic counts the bytes that a host receives and sends, for libp2p as
// [metrics.Reporter]. Libp2p's own counter works out rates too, for which it wakes the
// process every second; here rates are 0. The zero value is ready. Its methods are safe
// for concurrent use.
type Traffic struct {
	total     flow
	peers     flows[peer.ID]
	protocols flows[protocol.ID]
}

// flow counts bytes in both directions.
type flow struct {
	in, out atomic.Int64
	trimmed atomic.Int64 // both together when idle flows were last forgotten
}

func (f *flow) stats() metrics.Stats {
	return metrics.Stats{TotalIn: f.in.Load(), TotalOut: f.out.Load()}
}

// flows holds a flow for each key.
type flows[K comparable] struct {
	all  sync.Map
	made atomic.Int64
}

// trimEvery is how many flows may be made until those that are idle are forgotten.
// Identities cost nothing, and each that connects has one.
const trimEvery = 4096

func (f *flows[K]) of(key K) *flow {
	found, ok := f.all.Load(key)
	if !ok {
		if found, ok = f.all.LoadOrStore(key, new(flow)); !ok && f.made.Add(1)%trimEvery == 0 {
			f.trim()
		}
	}
	return found.(*flow)
}

// one returns the stats of a key without beginning to count for it.
func (f *flows[K]) one(key K) metrics.Stats {
	if found, ok := f.all.Load(key); ok {
		return found.(*flow).stats()
	}
	return metrics.Stats{}
}

func (f *flows[K]) stats() map[K]metrics.Stats {
	out := make(map[K]metrics.Stats)
	f.all.Range(func(key, found any) bool {
		out[key.(K)] = found.(*flow).stats()
		return true
	})
	return out
}

// trim forgets the keys that have moved nothing since the last trim.
func (f *flows[K]) trim() {
	f.all.Range(func(key, found any) bool {
		one := found.(*flow)
		if now := one.in.Load() + one.out.Load(); one.trimmed.Swap(now) == now {
			f.all.Delete(key)
		}
		return true
	})
}

// LogSentMessage implements [metrics.Reporter].
func (t *Traffic) LogSentMessage(size int64) { t.total.out.Add(size) }

// LogRecvMessage implements [metrics.Reporter].
func (t *Traffic) LogRecvMessage(size int64) { t.total.in.Add(size) }

// LogSentMessageStream implements [metrics.Reporter].
func (t *Traffic) LogSentMessageStream(size int64, over protocol.ID, to peer.ID) {
	t.protocols.of(over).out.Add(size)
	t.peers.of(to).out.Add(size)
}

// LogRecvMessageStream implements [metrics.Reporter].
func (t *Traffic) LogRecvMessageStream(size int64, over protocol.ID, from peer.ID) {
	t.protocols.of(over).in.Add(size)
	t.peers.of(from).in.Add(size)
}

// GetBandwidthForPeer implements [metrics.Reporter].
func (t *Traffic) GetBandwidthForPeer(p peer.ID) metrics.Stats { return t.peers.one(p) }

// GetBandwidthForProtocol implements [metrics.Reporter].
func (t *Traffic) GetBandwidthForProtocol(p protocol.ID) metrics.Stats { return t.protocols.one(p) }

// GetBandwidthTotals implements [metrics.Reporter].
func (t *Traffic) GetBandwidthTotals() metrics.Stats { return t.total.stats() }

// GetBandwidthByPeer implements [metrics.Reporter].
func (t *Traffic) GetBandwidthByPeer() map[peer.ID]metrics.Stats { return t.peers.stats() }

// GetBandwidthByProtocol implements [metrics.Reporter].
func (t *Traffic) GetBandwidthByProtocol() map[protocol.ID]metrics.Stats { return t.protocols.stats() }

// TrimIdle implements [metrics.Reporter]. It forgets the peers and protocols that have
// moved nothing since its last call, whatever the time.
func (t *Traffic) TrimIdle(time.Time) {
	t.peers.trim()
	t.protocols.trim()
}

// Reset implements [metrics.Reporter].
func (t *Traffic) Reset() {
	t.total.in.Store(0)
	t.total.out.Store(0)
	t.peers.all.Clear()
	t.protocols.all.Clear()
}
