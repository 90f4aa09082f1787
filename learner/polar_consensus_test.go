package learner

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
)

// serverNet is three servers with one client, and the messages between the servers.
type serverNet struct {
	t       *testing.T
	task    *Task
	servers map[ID]*polarServer
	mail    []Message // directed, not delivered yet
	models  []Message // broadcast, in order
	now     time.Duration
}

var serverIDs = []ID{"s1", "s2", "s3"}

func newServerNet(t *testing.T, task *Task) *serverNet {
	t.Helper()
	n := &serverNet{t: t, task: task, servers: map[ID]*polarServer{}}
	for _, id := range serverIDs {
		n.servers[id] = must(New(polarConfig(task, id))).(*polarServer)
		n.take(n.servers[id].Neighbours(0, liveEdges("h")))
	}
	n.tick() // they start
	return n
}

// tick lets a deadline pass for all servers.
func (n *serverNet) tick() {
	n.now += time.Second
	for _, id := range serverIDs {
		if s := n.servers[id]; s != nil {
			n.take(s.Tick(n.now))
		}
	}
}

func (n *serverNet) take(out Output) {
	for _, m := range out.Send {
		if m.To == "" {
			n.models = append(n.models, m)
		} else {
			n.mail = append(n.mail, m)
		}
	}
}

// deliver delivers what is on its way, and what follows from it, as long as keep
// says so; a server that is gone hears nothing.
func (n *serverNet) deliver(keep func(Message) bool) {
	for len(n.mail) > 0 {
		m := n.mail[0]
		n.mail = n.mail[1:]
		s := n.servers[m.To]
		if s == nil || keep != nil && !keep(m) {
			continue
		}
		out, err := s.Receive(n.now, m)
		if err != nil && !errors.Is(err, ErrStale) {
			n.t.Fatalf("%s hears %+v: %v", m.To, m, err)
		}
		n.take(out)
	}
}

// gradients sends a gradient of a step to each server: i times that to the i-th.
func (n *serverNet) gradients(step uint64, g ...float64) {
	n.t.Helper()
	for i, id := range serverIDs {
		if s := n.servers[id]; s != nil {
			v := floats.ScaleTo(make([]float64, 2), float64(i+1), g)
			out, err := s.Receive(n.now, Message{From: "h", Kind: KindGradient, Round: step, Real: v})
			if err != nil {
				n.t.Fatal(err)
			}
			n.take(out)
		}
	}
}

// of returns the models of a step, by server.
func (n *serverNet) of(step uint64) map[ID][]float64 {
	models := map[ID][]float64{}
	for _, m := range n.models {
		if m.Round == step {
			models[m.From] = m.Real
		}
	}
	return models
}

func (n *serverNet) wantAgreed(step uint64, want ...float64) {
	n.t.Helper()
	models := n.of(step)
	if len(models) != len(serverIDs) {
		n.t.Fatalf("%d servers have a model of step %d", len(models), step)
	}
	for id, model := range models {
		wantClose(n.t, "the mean, at "+string(id), model, want, 1e-12)
		if !slices.Equal(model, models["s1"]) {
			n.t.Errorf("%s and s1 do not have the same bits", id)
		}
	}
}

// A message of the consensus is lost: nobody goes on with a partial sum, and the
// next attempt has new masks.
func TestLostMessageMasksAgain(t *testing.T) {
	for _, kind := range []Kind{KindMask, KindMasked} {
		n := newServerNet(t, polarTask())
		n.gradients(1, 0, 0)
		n.gradients(2, 1, 1)
		masks := map[uint64]uint32{}
		lost := false
		see := func(m Message) bool {
			for _, r := range m.Ring {
				if attempt, twice := masks[r]; twice && m.Kind == KindMask && attempt != m.Attempt {
					t.Errorf("a mask of attempt %d in attempt %d", attempt, m.Attempt)
				}
				if m.Kind == KindMask {
					masks[r] = m.Attempt
				}
			}
			drop := !lost && m.Kind == kind && m.From == "s2"
			lost = lost || drop
			return !drop
		}
		n.deliver(see)
		if kind == KindMasked {
			// s1, whom it was sent to, lacks it; the other two have all they need.
			if models := n.of(3); len(models) != 2 {
				t.Fatalf("%d models", len(models))
			}
			for _, m := range n.models[len(n.models)-2:] {
				out, err := n.servers["s1"].Receive(n.now, m)
				if err != nil && !errors.Is(err, ErrStale) {
					t.Fatal(err)
				}
				n.take(out)
			}
		} else {
			if len(n.of(3)) > 0 {
				t.Fatal("a model was sent although masks are missing")
			}
			n.tick()
			n.deliver(see)
			if len(masks) != 2*3*2*2 {
				t.Errorf("%d masks in two attempts of three servers, want 24", len(masks))
			}
		}
		n.wantAgreed(3, -1, -1) // of -1/2, -1 and -3/2
	}
}

// As long as a server is away there is no result, however often the others try; when
// it is back the states of all are in it.
func TestLostServerEndsNothing(t *testing.T) {
	n := newServerNet(t, polarTask())
	n.gradients(1, 0, 0)
	away := n.servers["s3"]
	n.servers["s3"] = nil
	n.gradients(2, 1, 0.5)
	for range 5 {
		n.deliver(nil)
		n.tick()
	}
	if len(n.of(3)) > 0 {
		t.Fatal("the others published a sum without it")
	}
	n.servers["s3"] = away
	n.gradientTo("s3", 2, 3, 1.5)
	n.deliver(nil)
	n.tick()
	n.deliver(nil)
	n.wantAgreed(3, -1, -0.5)
}

func (n *serverNet) gradientTo(id ID, step uint64, g ...float64) {
	n.t.Helper()
	out, err := n.servers[id].Receive(n.now, Message{From: "h", Kind: KindGradient, Round: step, Real: g})
	if err != nil {
		n.t.Fatal(err)
	}
	n.take(out)
}

// A server is killed after it gave its masks. It knows them no more, and what the
// others sent it in that attempt still arrives: the sum with masks of two lives in
// it is noticed, and the next attempt is good.
func TestKilledServerMasksAgain(t *testing.T) {
	n := newServerNet(t, polarTask())
	n.gradients(1, 0, 0)
	n.gradients(2, 1, 0.5)
	late := n.mail
	n.mail = nil
	saved := n.servers["s3"].State()
	text := must(json.Marshal(saved))
	if saved.Round != 2 || !slices.Equal(saved.Model, []float64{0, 0}) || len(saved.Heard) > 0 {
		t.Errorf("the state in a consensus is more than the last broadcast: %s", text)
	}
	c := polarConfig(n.task, "s3")
	c.Masks, c.Resume = chacha(99), &saved
	n.servers["s3"] = must(New(c)).(*polarServer)
	n.take(n.servers["s3"].Neighbours(n.now, liveEdges("h")))
	n.gradientTo("s3", 2, 3, 1.5) // the client has not seen it go
	n.mail = append(late, n.mail...)
	attempts := map[uint32]bool{}
	n.deliver(func(m Message) bool {
		if m.Kind == KindMasked {
			attempts[m.Attempt] = true
		}
		return true
	})
	if len(attempts) != 2 {
		t.Errorf("%d attempts came to the end, want 2", len(attempts))
	}
	n.wantAgreed(3, -1, -0.5)
}
