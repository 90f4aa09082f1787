package reach

import (
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

func TestTrafficIsCounted(t *testing.T) {
	var c Traffic
	var _ metrics.Reporter = &c
	var both sync.WaitGroup
	for _, p := range []peer.ID{"a", "b"} {
		both.Go(func() {
			for range 100 {
				c.LogSentMessage(2)
				c.LogSentMessageStream(2, "/x", p)
				c.LogRecvMessage(3)
				c.LogRecvMessageStream(3, protocol.ID("/"+p), p)
			}
		})
	}
	both.Wait()
	if got, want := c.GetBandwidthTotals(), (metrics.Stats{TotalIn: 600, TotalOut: 400}); got != want {
		t.Errorf("total %+v, want %+v", got, want)
	}
	each := metrics.Stats{TotalIn: 300, TotalOut: 200}
	if got := c.GetBandwidthByPeer(); !maps.Equal(got, map[peer.ID]metrics.Stats{"a": each, "b": each}) {
		t.Errorf("by peer %v", got)
	}
	want := map[protocol.ID]metrics.Stats{"/x": {TotalOut: 400}, "/a": {TotalIn: 300}, "/b": {TotalIn: 300}}
	if got := c.GetBandwidthByProtocol(); !maps.Equal(got, want) {
		t.Errorf("by protocol %v", got)
	}
	if c.GetBandwidthForPeer("a") != each || c.GetBandwidthForProtocol("/b").TotalIn != 300 || c.GetBandwidthForPeer("c") != (metrics.Stats{}) {
		t.Error("one of them is wrong")
	}
	if len(c.GetBandwidthByPeer()) != 2 {
		t.Error("a question made an entry")
	}
}

// TestIdleFlowsAreForgotten trims twice: what has moved in between stays.
func TestIdleFlowsAreForgotten(t *testing.T) {
	var c Traffic
	c.LogSentMessageStream(1, "/x", "a")
	c.LogSentMessageStream(1, "/y", "b")
	c.TrimIdle(time.Now())
	c.LogRecvMessageStream(1, "/x", "a")
	c.TrimIdle(time.Now())
	if got := c.GetBandwidthByPeer(); len(got) != 1 || got["a"] != (metrics.Stats{TotalIn: 1, TotalOut: 1}) {
		t.Errorf("by peer %v", got)
	}
	if got := c.GetBandwidthByProtocol(); len(got) != 1 || got["/x"].TotalIn != 1 {
		t.Errorf("by protocol %v", got)
	}
	c.Reset()
	if c.GetBandwidthTotals() != (metrics.Stats{}) || len(c.GetBandwidthByPeer())+len(c.GetBandwidthByProtocol()) != 0 {
		t.Error("a reset leaves something")
	}
}

func TestACrowdIsForgotten(t *testing.T) {
	var c Traffic
	for i := range 5 * trimEvery {
		c.LogSentMessageStream(1, "/x", peer.ID(strconv.Itoa(i)))
		c.LogSentMessageStream(1, "/x", "stays")
	}
	if got := c.GetBandwidthByPeer(); len(got) > 2*trimEvery || got["stays"].TotalOut != 5*trimEvery {
		t.Errorf("%d peers are remembered, and %d bytes of the one that stays", len(got), got["stays"].TotalOut)
	}
}
