package sim

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"p2pnode/learner"
)

func rounds(states []learner.State) []uint64 {
	out := make([]uint64, len(states))
	for i := range states {
		out[i] = states[i].Round
	}
	return out
}

// Who is away neither hears nor speaks; who comes back hears the newest of its
// neighbours at once, and everybody still makes all releases.
func TestAwayParticipantIsCutOff(t *testing.T) {
	c := config(t, 6)
	c.Away = []Away{{Who: 3, From: 2 * time.Second, To: 500 * time.Second}, {Who: 5, To: 600 * time.Second}}
	c.Every = time.Second
	var during []uint64
	c.Sample = func(now time.Duration, states []learner.State) {
		switch now {
		case 3 * time.Second:
			during = rounds(states)
		case 490 * time.Second:
			if got := rounds(states); got[3] != during[3] || got[5] != 0 {
				t.Errorf("agents 3 and 5 went on to rounds %d and %d while away", got[3], got[5])
			}
			for _, h := range states[0].Heard {
				if h.Peer == Name(5) {
					t.Error("agent 0 heard agent 5, which was never there")
				}
			}
		}
	}
	r := run(t, c)
	for i, made := range r.Releases {
		if made != 6 {
			t.Errorf("agent %d made %d releases, want 6", i, made)
		}
	}
	if len(r.States[5].Heard) != len(c.Participants[5].Edges) {
		t.Errorf("the late joiner heard %d of %d neighbours", len(r.States[5].Heard), len(c.Participants[5].Edges))
	}
	if r.Lost != 0 && r.End < 500*time.Second {
		t.Errorf("ended at %v, with %d lost", r.End, r.Lost)
	}
}

// The edges an agent sees are dead while the other end is away.
func TestNeighboursSeeDeadEdges(t *testing.T) {
	c := config(t, 3)
	c.Away = []Away{{Who: 0, From: time.Second, To: 50 * time.Second}}
	c.Until = 100 * time.Second
	r := run(t, c)
	peer := c.Participants[0].Edges[0].Peer
	index := 0
	for i := range c.Participants {
		if c.Participants[i].ID == peer {
			index = i
		}
	}
	var seen []bool
	for _, in := range r.Traces[index] {
		for _, e := range in.Edges {
			if e.Peer == Name(0) {
				seen = append(seen, e.Live)
			}
		}
	}
	if want := []bool{true, false, true}; !reflect.DeepEqual(seen, want) {
		t.Errorf("liveness seen %v, want %v", seen, want)
	}
}

// An agent that comes back as a new one goes on from its state and its budget.
func TestRestartGoesOn(t *testing.T) {
	c := config(t, 6)
	for i := range c.Participants {
		at := time.Duration(i+1) * time.Second
		c.Away = append(c.Away, Away{Who: i, From: at, To: at + time.Second, Restart: true})
	}
	r := run(t, c)
	for i := range r.States {
		if r.Releases[i] != 6 || r.States[i].Round != 6 || r.Spent[i] > 1 {
			t.Errorf("agent %d: %d releases, round %d, spent %v", i, r.Releases[i], r.States[i].Round, r.Spent[i])
		}
	}
	if !reflect.DeepEqual(r, run(t, c)) {
		t.Error("two runs with one seed differ")
	}
}

// An agent that comes back draws new waiting times: it does not wait for ever because
// its first one is longer than it ever stays. In 60 lives of 0.4 mean waiting times
// an agent wakes less than six times with a probability of 10^-5.
func TestRestartsDoNotRepeatTheWakes(t *testing.T) {
	c := config(t, 6)
	c.Until, c.Trace = 30*time.Second, false
	for i := range c.Participants {
		for at := 400 * time.Millisecond; at < c.Until; at += 500 * time.Millisecond {
			c.Away = append(c.Away, Away{Who: i, From: at, To: at + 100*time.Millisecond, Restart: true})
		}
	}
	for i, made := range run(t, c).Releases {
		if made != 6 {
			t.Errorf("agent %d made %d releases, want 6", i, made)
		}
	}
}

// Losses are drawn: of n = 12 agents x 40 releases x about 4 neighbours ~ 1,900
// deliveries a quarter is lost, with a standard error of 1%; six of them fail
// by chance less often than once in 10^8.
func TestLossIsAShareOfTheDeliveries(t *testing.T) {
	c := config(t, 40)
	c.Loss, c.Trace = 0.25, false
	r := run(t, c)
	sent := r.Sent[learner.KindModel]
	if share := float64(r.Lost) / float64(sent); share < 0.19 || share > 0.31 {
		t.Errorf("%d of %d lost", r.Lost, sent)
	}
	if r.Messages > sent-r.Lost {
		t.Errorf("%d taken of %d that arrived", r.Messages, sent-r.Lost)
	}
	if !reflect.DeepEqual(r, run(t, c)) {
		t.Error("two runs with one seed differ")
	}
}

func TestChurnDrawsDisjointAbsences(t *testing.T) {
	const up, down, until = 10 * time.Second, 5 * time.Second, 10000 * time.Second
	list := churn(20, up, down, until, 1)
	var gone time.Duration
	end := map[int]time.Duration{}
	for _, a := range list {
		if a.From < end[a.Who] || a.To < a.From || a.From >= until {
			t.Fatalf("absence %+v overlaps or is outside", a)
		}
		end[a.Who] = a.To
		gone += a.To - a.From
	}
	// 20 x 667 cycles: the share away, a third, has a standard error below 0.5%.
	if share := float64(gone) / float64(20*until); share < 0.30 || share > 0.37 {
		t.Errorf("away %.3f of the time, want a third", share)
	}
	if !reflect.DeepEqual(list, churn(20, up, down, until, 1)) || reflect.DeepEqual(list, churn(20, up, down, until, 2)) {
		t.Error("the times do not follow the seed")
	}
}

func TestLearningGoesOnUnderChurn(t *testing.T) {
	c := config(t, 6)
	c.Loss, c.Away = 0.1, churn(12, 5*time.Second, 3*time.Second, c.Until, 9)
	r := run(t, c)
	for i, made := range r.Releases {
		if made != 6 {
			t.Errorf("agent %d made %d releases, want 6", i, made)
		}
	}
	if r.End > 10*time.Minute {
		t.Errorf("ended at %v, long after the last release", r.End)
	}
}

func TestAwayIsChecked(t *testing.T) {
	for name, away := range map[string]Away{
		"nobody":         {Who: 12, To: time.Second},
		"before 0":       {Who: 1, From: -time.Second, To: time.Second},
		"ends too early": {Who: 1, From: 2 * time.Second, To: time.Second},
	} {
		c := config(t, 1)
		c.Away = []Away{away}
		if _, err := Run(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A message that names its receiver reaches no one else, neighbour or not.
func TestDirectedMessageReachesOneOnly(t *testing.T) {
	s, err := newSimulation(config(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	h := &s.shards[0]
	ack := func(to learner.ID) []learner.Message {
		return []learner.Message{{From: Name(0), To: to, Kind: learner.KindAck, Round: 1, Real: []float64{1}}}
	}
	h.send(0, 0, ack(Name(7)))
	h.send(0, 0, ack("stranger"))
	if h.flying != 1 || h.sent[learner.KindAck] != 1 {
		t.Fatalf("%d flying, sent %v", h.flying, h.sent)
	}
	s.handOver()
	for i := range s.actors {
		if got, want := len(s.actors[i].inbox), i == 7; (got == 1) != want || got > 1 {
			t.Errorf("%d messages for agent %d", got, i)
		}
	}
	if s.actors[0].newest != nil {
		t.Error("a directed message is kept for who comes late")
	}
}

// churn lets each of n participants come and go until the end, independently:
// present for exponential times of mean up, then away for those of mean down.
// The same seed gives the same times.
func churn(n int, up, down, until time.Duration, seed uint64) []Away {
	r := rand.New(rand.NewPCG(seed, 5))
	wait := func(mean time.Duration) time.Duration { return time.Duration(float64(mean) * r.ExpFloat64()) }
	var list []Away
	for i := range n {
		for from := wait(up); from < until; {
			to := from + wait(down)
			list = append(list, Away{Who: i, From: from, To: to})
			from = to + wait(up)
		}
	}
	return list
}
