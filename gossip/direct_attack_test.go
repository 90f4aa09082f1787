package gossip

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-msgio"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
	"p2pnode/gossip/reputation"
	"p2pnode/internal/require"
	"p2pnode/learner"
)

// badDirected are messages that no honest neighbour sends, by what is wrong.
func badDirected(t testing.TB) map[string][]byte {
	t.Helper()
	bad := map[string][]byte{"garbage": []byte("\xff\xff\xff"), "empty": nil, "long": make([]byte, 4<<10)}
	for name, change := range map[string]func(*wire.Model){
		"version":            func(w *wire.Model) { w.Version = 1 },
		"a broadcast kind":   func(w *wire.Model) { w.Kind, w.Value = 1, []float64{0, 0, 0} },
		"a kind of no rule":  func(w *wire.Model) { w.Kind, w.Value = 3, []float64{0, 0, 0} },
		"kind 258":           func(w *wire.Model) { w.Kind = 258 },
		"round 0":            func(w *wire.Model) { w.Round = 0 },
		"a round after all":  func(w *wire.Model) { w.Round = 1001 },
		"an attempt":         func(w *wire.Model) { w.Attempt = 1 },
		"too large a degree": func(w *wire.Model) { w.Degree = 11 },
		"too many numbers":   func(w *wire.Model) { w.Value = []float64{1, 0} },
		"no numbers":         func(w *wire.Model) { w.Value = nil },
		"NaN":                func(w *wire.Model) { w.Value[0] = math.NaN() },
		"outside the ball":   func(w *wire.Model) { w.Value[0] = 2 },
		"ring elements":      func(w *wire.Model) { w.Ring = []uint64{1} },
		"a proof":            func(w *wire.Model) { w.Proof = []byte{1} },
		"a short ring":       func(w *wire.Model) { w.Kind, w.Value, w.Ring = 4, nil, []uint64{1, 2} },
		"a mask of reals":    func(w *wire.Model) { w.Kind, w.Value = 4, []float64{1, 2, 3} },
		"attempt 9":          func(w *wire.Model) { w.Kind, w.Value, w.Ring, w.Attempt = 4, nil, []uint64{1, 2, 3}, 9 },
		"an unknown field":   func(w *wire.Model) { w.ProtoReflect().SetUnknown(protowire.AppendTag(nil, 99, 0)) },
	} {
		w := &wire.Model{Version: Version, Kind: uint32(learner.KindAck), Round: 1, Value: []float64{1}}
		change(w)
		data, err := proto.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		bad[name] = data
	}
	return bad
}

func TestMalformedDirectedMessagesAreRefused(t *testing.T) {
	for name, data := range badDirected(t) {
		if m, err := decodeDirected(data, "author", "me", directRules()); !errors.Is(err, errMalformed) || m.Real != nil || m.Ring != nil {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// Who may send what follows from roles; a role is checked for broadcasts and for
// directed messages.
func TestRolesAreChecked(t *testing.T) {
	rules := directRules()
	for kind, rule := range rules {
		rule.From = func(id learner.ID) bool { return id == "server" }
		rules[kind] = rule
	}
	mask, err := encodeDirected(learner.Message{To: "me", Kind: learner.KindMask, Round: 1, Ring: []uint64{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	shared := mustEncode(t, model(1, 0, 0, 0))
	for from, allowed := range map[learner.ID]bool{"server": true, "client": false} {
		if _, err := decodeDirected(mask, from, "me", rules); (err == nil) != allowed {
			t.Errorf("a mask from a %s: %v", from, err)
		}
		if _, _, err := decode(shared, from, rules); (err == nil) != allowed {
			t.Errorf("a model from a %s: %v", from, err)
		}
	}
}

// A neighbour that sends malformed messages over streams is refused in the end,
// like one that broadcasts them, and the others go on being heard.
func TestMalformedDirectedMessagesAreStruck(t *testing.T) {
	victim, friend := friends(t)
	a := newAttacker(t, victim)
	if err := victim.Follow(a.ID()); err != nil {
		t.Fatal(err)
	}
	bad := badDirected(t)
	names := make([]string, 0, len(bad))
	for name := range bad {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names[:reputation.Limit] {
		s, err := a.NewStream(t.Context(), victim.id(), directProtocol("net"))
		if err != nil {
			t.Fatalf("stream %d: %v", i+1, err)
		}
		_ = msgio.NewVarintWriter(s).WriteMsg(bad[name])
		waitForStats(t, victim, func(s Stats) bool { return s.Rejected == uint64(i+1) })
	}
	require.Nothing(t, func() string {
		if a.connected(victim) {
			return "the attacker is still connected"
		}
		return ""
	})
	send(t, friend, ack(victim.id(), 1))
	if got := collect(t, victim, 1); len(got) != 1 || got[0].From != ID(friend.id()) {
		t.Errorf("got %+v", got)
	}
	if s := victim.Stats(); s.DirectTaken != 1 {
		t.Errorf("the counts are %+v", s)
	}
}

// A peer holds one stream open at most, and strangers so many together.
func TestDirectedStreamsAreBounded(t *testing.T) {
	victim, friend := friends(t)
	a := newAttacker(t, victim)
	open := make([]network.Stream, 20)
	for i := range open {
		s, err := a.NewStream(t.Context(), victim.id(), directProtocol("net"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Write([]byte{10}) // a length, and then nothing
		open[i] = s
	}
	require.Nothing(t, func() string {
		victim.direct.mu.Lock()
		defer victim.direct.mu.Unlock()
		if n := len(victim.direct.readers); n != 1 {
			return fmt.Sprintf("%d streams are held open, want 1", n)
		}
		return ""
	})
	send(t, friend, ack(victim.id(), 1))
	collect(t, victim, 1)
}

// stuck is a stream of a peer that reads nothing, so that the reset waits for it.
type stuck struct {
	network.Stream
	reset, done chan struct{}
}

func (s stuck) Reset() error {
	close(s.reset)
	<-s.done
	return nil
}

// A peer that reads nothing and opens one stream after the other holds up nobody else.
func TestStuckStreamHoldsUpNobody(t *testing.T) {
	victim, friend := friends(t)
	s := stuck{reset: make(chan struct{}), done: make(chan struct{})}
	defer close(s.done)
	d := &victim.direct
	for _, next := range []network.Stream{s, nil} {
		if !d.enter("stranger", next) {
			t.Fatal("a stranger's stream is refused")
		}
		defer d.leave("stranger", next)
	}
	<-s.reset
	send(t, victim, ack(friend.id(), 1))
	collect(t, friend, 1)
}
