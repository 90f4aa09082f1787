package node

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/learner/graph"
	"p2pnode/node/datadir"
	"p2pnode/peering"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// reaches lists the types that code with a value of this type can come to: by any
// field within packages node and peering, elsewhere by exported fields and the results of methods.
func reaches(typ reflect.Type, seen map[reflect.Type]bool) {
	if seen[typ] {
		return
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		reaches(typ.Elem(), seen)
	case reflect.Map:
		reaches(typ.Key(), seen)
		reaches(typ.Elem(), seen)
	case reflect.Func:
		for i := range typ.NumOut() {
			reaches(typ.Out(i), seen)
		}
	case reflect.Struct:
		ours := strings.HasPrefix(typ.PkgPath(), "p2pnode/") || typ.PkgPath() == ""
		for i := range typ.NumField() {
			f := typ.Field(i)
			if ours && (f.IsExported() || typ.PkgPath() == "p2pnode/node" || typ.PkgPath() == "p2pnode/peering") {
				reaches(f.Type, seen)
			}
		}
		if ours {
			reaches(reflect.PointerTo(typ), seen)
		}
	}
	if strings.HasPrefix(typ.PkgPath(), "p2pnode/") || typ.Kind() == reflect.Pointer && strings.HasPrefix(typ.Elem().PkgPath(), "p2pnode/") {
		for i := range typ.NumMethod() {
			reaches(typ.Method(i).Type, seen)
		}
	}
}

// What decides about edges cannot reach those who hold records: not through what it
// holds, nor through what that can be asked.
func TestNeighbourhoodReachesNoRecords(t *testing.T) {
	holders := []reflect.Type{reflect.TypeFor[storage.Store](), reflect.TypeFor[learner.Agent](), reflect.TypeFor[Node]()}
	seen := make(map[reflect.Type]bool)
	reaches(reflect.TypeFor[neighbourhood](), seen)
	reaches(reflect.TypeFor[gossip.Gossip](), seen)
	for _, h := range holders {
		if seen[h] {
			t.Errorf("the neighbourhood or package gossip can reach %v", h)
		}
	}
	for _, want := range []reflect.Type{reflect.TypeFor[graph.View](), reflect.TypeFor[history](), reflect.TypeFor[*gossip.Inbox]()} {
		if !seen[want] {
			t.Errorf("the walk never came to %v: it proves nothing", want)
		}
	}
	planted := make(map[reflect.Type]bool)
	reaches(reflect.TypeFor[*session](), planted)
	if !planted[holders[1]] {
		t.Error("a neighbourhood that held the session would not be noticed")
	}
}

// puppet is an agent whose releases are answered as the test says, whatever its
// records are, and that writes down what it wants said and when.
type puppet struct {
	learner.Agent
	said *[]string
}

func (p puppet) note(o learner.Output) learner.Output {
	asks := "nothing"
	if o.Ask != nil {
		asks = fmt.Sprintf("round %d with %+v", o.Ask.Round, o.Ask.Mechanism)
	}
	*p.said = append(*p.said, fmt.Sprintf("sends %v, asks %s, next at %v", o.Send, asks, o.Next))
	return o
}

func (p puppet) Tick(now time.Duration) learner.Output { return p.note(p.Agent.Tick(now)) }

func (p puppet) Released(now time.Duration, a privacy.Answer) learner.Output {
	for i := range a.Sum {
		a.Sum[i] = float64(i+1) / 10 // the same noise and the same sum, as it were
	}
	return p.note(p.Agent.Released(now, a))
}

// saysAll drives a node with these records and otherwise always the same inputs, and
// returns all that leaves it, with the times. The clock is that early at all wakes, so
// that nothing is late.
func saysAll(t *testing.T, key []byte, records []learner.Record, early time.Duration) []string {
	t.Helper()
	task := lineTask()
	task.Graph = learner.Graph{Rule: "released", Degree: 2, Gamma: 1}
	dir := filepath.Join(t.TempDir(), "node")
	c := datadir.DefaultConfig(task)
	c.Listen, c.MDNS = nil, false
	if err := datadir.Init(dir, task, c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, datadir.KeyFile), key, 0o600); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, dir)
	if err := n.Add(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	var said []string
	seed := uint64(0)
	n.source = func() (rand.Source, error) { seed++; return rand.NewPCG(seed, 5), nil }
	n.observe = func(a learner.Agent) learner.Agent { return puppet{a, &said} }
	s := idleSession(t, n) // the test lets each part take its steps
	attach(t, n, s)
	s.loop.timer = time.NewTimer(time.Hour)
	s.loop.start = time.Now().Add(early)
	others := rand.New(rand.NewPCG(9, 9))
	peers := fixedPeers(t, 12)
	s.loop.agent.Neighbours(0, []learner.Edge{{Peer: gossip.ID(peers[0]), Weight: 1, Live: true}})
	var now time.Duration
	s.hood.now = func() time.Duration { return now }
	s.hood.posted.empty(t.Context())
	for k := range 40 {
		now = time.Duration(k) * time.Second
		step := func(in peering.Input) peering.Output { return s.hood.machine.Step(now, in) }
		from := peers[others.IntN(len(peers))]
		vector := []float64{others.NormFloat64(), others.NormFloat64(), 1}
		step(peering.Seen{Peer: graph.Entry{Peer: gossip.ID(from), End: graph.End{Round: 1, Vector: vector}}})
		for _, c := range step(peering.Tick{}).Calls {
			q, err := s.hood.requestToWire(c.Request)
			said = append(said, fmt.Sprintf("second %d: to %v %+v (%v)", k, c.To, q, err))
			step(peering.Answered{From: c.To.Peer, Reply: peering.Reply{Answer: peering.Later, Own: graph.Entry{Peer: c.To.Peer}}})
		}
		asks := gossip.EdgeRequest{Kind: gossip.EdgeKind(1 + k%2), Own: gossip.Entry{Peer: from}}
		r, err := s.hood.replyToWire(*step(requestFromWire(from, asks)).Reply)
		said = append(said, fmt.Sprintf("second %d: %v is answered %+v (%v)", k, from, r, err))
		s.loop.woke = time.Duration(k) * time.Second
		if err := s.loop.handle(s.loop.agent.Tick(s.loop.woke)); err != nil {
			t.Fatal(err)
		}
		for len(s.loop.outgoing) > 0 {
			o := <-s.loop.outgoing
			said = append(said, fmt.Sprintf("at %v: %x", o.at, o.message))
			s.hood.serve(o.message, o.estimate)
			s.hood.posted.empty(t.Context())
		}
	}
	return said
}

// fixedPeers are the same in every run of the test.
func fixedPeers(t *testing.T, count int) []peer.ID {
	t.Helper()
	ids := make([]peer.ID, count)
	for i := range ids {
		ids[i] = peer.ID(append([]byte{0, 36, 8, 1, 18, 32}, slices.Repeat([]byte{byte(i + 1)}, 32)...))
	}
	return ids
}

// Two nodes with the same key, the same public inputs and the same answers of the
// door, and with other records: whom they ask, what they answer, what they publish
// and when is the same to the bit.
func TestNothingPrivateFlowsIntoTheGraph(t *testing.T) {
	model := testNode(t, lineTask(), nil, nil)
	key, err := os.ReadFile(filepath.Join(model.dir, datadir.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	first := saysAll(t, key, groupRecords(rand.New(rand.NewPCG(41, 1)), 0, 30), time.Hour)
	second := saysAll(t, key, groupRecords(rand.New(rand.NewPCG(42, 2)), 1, 30), 2*time.Hour)
	for i := range min(len(first), len(second)) {
		if first[i] != second[i] {
			t.Fatalf("%d of what leaves differs:\n%s\n%s", i, first[i], second[i])
		}
	}
	if len(first) != len(second) {
		t.Errorf("%d and %d things leave", len(first), len(second))
	}
	sent := slices.ContainsFunc(first, func(s string) bool { return strings.HasPrefix(s, "at ") })
	asked := slices.ContainsFunc(first, func(s string) bool { return strings.Contains(s, ": to ") })
	if !sent || !asked {
		t.Error("nothing was published or nobody asked: the test is idle")
	}
}
