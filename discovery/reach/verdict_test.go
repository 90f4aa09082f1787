package reach

import (
	"context"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"

	"p2pnode/internal/require"
)

func TestVerdict(t *testing.T) {
	private := Address{Source: Interface, State: Private}
	public := Address{Source: Interface, State: Untested}
	failing := Address{Source: Interface, State: Failing}
	at := Address{Source: Relay, State: Verified, Relay: one}
	caller, neighbour := Link{Called: true}, Link{Called: true, Local: true}
	for name, c := range map[string]struct {
		report Report
		want   Verdict
	}{
		"loopback":                          {Report{Loopback: true, Links: []Link{neighbour}}, Unreachable},
		"nothing known":                     {Report{}, Unknown},
		"called back":                       {Report{Addresses: []Address{private, {Source: Router, State: Verified}}}, Reachable},
		"called by somebody elsewhere":      {Report{Addresses: []Address{private}, Links: []Link{caller}}, Reachable},
		"called back in vain":               {Report{Addresses: []Address{failing}}, Unreachable},
		"called back in vain, with a relay": {Report{Addresses: []Address{failing, at}}, Relayed},
		"behind a router":                   {Report{Addresses: []Address{private}, Links: []Link{{}}}, Unreachable},
		"behind a router, with a relay":     {Report{Addresses: []Address{private, at}, Links: []Link{{}}}, Relayed},
		"a relay and a direct caller":       {Report{Addresses: []Address{private, at}, Links: []Link{caller}}, Reachable},
		"called on the local network":       {Report{Addresses: []Address{private}, Links: []Link{neighbour}}, Local},
		"called on this machine only":       {Report{Addresses: []Address{private}, Links: []Link{{Called: true, Local: true, Here: true}}}, Unknown},
		"local network, nobody has called":  {Report{Addresses: []Address{private}, Links: []Link{{Local: true}}}, Unknown},
		"public, not tried":                 {Report{Addresses: []Address{public}, Links: []Link{{}}}, Unknown},
		"a hole is for one peer only":       {Report{Addresses: []Address{private}, Links: []Link{{Punched: true}}}, Unreachable},
	} {
		if got := c.report.Verdict(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A report names each peer and how it is connected.
func TestReport(t *testing.T) {
	h, r := newHost(t, false)
	if before := r.Report(); !before.Loopback || len(before.Links)+len(before.Addresses) != 0 {
		t.Errorf("before Run: %+v", before)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx, h) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	other, _ := newHost(t, false)
	if err := other.Connect(t.Context(), info(h)); err != nil {
		t.Fatal(err)
	}
	var report Report
	require.Eventually(t, "a link and an address", func() bool {
		report = r.Report()
		return len(report.Links) > 0 && len(report.Addresses) > 0
	})
	if l := report.Links[0]; l.Peer != other.ID().String() || !l.Local || !l.Here || l.Through != "" {
		t.Errorf("link %+v", l)
	}
	if a := report.Addresses[0]; a.Source != Interface || a.State != Private || a.Address != listening(h).String() {
		t.Errorf("address %+v", a)
	}
}

// The clock is behind if most peers have signed their addresses in what is the
// future here. That one of them did means nothing.
func TestClockBehind(t *testing.T) {
	for _, c := range []struct {
		ahead []time.Duration
		want  float64
	}{
		{nil, 0},
		{[]time.Duration{time.Hour}, 3600},
		{[]time.Duration{-time.Hour, 0, time.Second}, 0},
		{[]time.Duration{time.Hour, 0, 0}, 0},
		{[]time.Duration{time.Hour, 0, time.Hour}, 3600},
		{[]time.Duration{time.Hour, 0}, 0},
	} {
		if got := behind(c.ahead); got != c.want {
			t.Errorf("%v: %v s behind, want %v", c.ahead, got, c.want)
		}
	}
}

// What a peer signs says how far its clock is ahead.
func TestClockOfAPeer(t *testing.T) {
	a, r := newHost(t, false)
	r.mu.Lock()
	r.host = a
	r.mu.Unlock()
	b, _ := newHost(t, false)
	completed, err := a.EventBus().Subscribe(new(event.EvtPeerIdentificationCompleted))
	if err != nil {
		t.Fatal(err)
	}
	defer completed.Close()
	if err := a.Connect(t.Context(), info(b)); err != nil {
		t.Fatal(err)
	}
	e := (<-completed.Out()).(event.EvtPeerIdentificationCompleted)
	for _, late := range []time.Duration{0, time.Hour} {
		r.heard(e, time.Now().Add(-late))
		if got := *r.peers[b.ID()].ahead; got < late-time.Minute || got > late+time.Minute {
			t.Errorf("with a clock %v behind: %v", late, got)
		}
	}
	r.heard(event.EvtPeerIdentificationCompleted{Peer: a.ID()}, time.Now())
	if len(r.peers) != 1 {
		t.Error("a peer that signs nothing has a clock")
	}
	require.NoError(t, b.Close())
	require.Eventually(t, "the peer has gone", func() bool { return len(a.Network().Peers()) == 0 })
	clear(r.peers) // as when it goes
	if r.heard(e, time.Now()); len(r.peers) != 0 {
		t.Error("a peer that has gone before it was heard is noted for ever")
	}
}

// Of a peer that has gone before its hole punching ended nothing is noted.
func TestNothingIsNotedOfPeersThatAreGone(t *testing.T) {
	h, r := newHost(t, false)
	r.mu.Lock()
	r.host = h
	r.mu.Unlock()
	gone, _ := newHost(t, false)
	for _, what := range []any{&holepunch.EndHolePunchEvt{Success: true}, &holepunch.ProtocolErrorEvt{Error: "x"}} {
		r.Trace(&holepunch.Event{Remote: gone.ID(), Evt: what})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.peers) != 0 {
		t.Errorf("noted %+v", r.peers)
	}
}
