package mobile

import (
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"p2pnode/node/api"
)

func train(t testing.TB, n *Node, millis int) (out training) {
	t.Helper()
	text, err := n.Train(millis)
	if err != nil {
		t.Fatal(err)
	}
	check(t, json.Unmarshal([]byte(text), &out))
	return out
}

// Without a network a slice brings the model up to date, and ends.
func TestTrainOffline(t *testing.T) {
	n := open(t, testConfig(t), nil)
	out := train(t, n, 60_000)
	if out.Waiting != "waiting for a network" || !out.Fitted || out.OnlineMillis != 0 || out.Millis > 30_000 {
		t.Errorf("%+v", out)
	}
	if got := n.driver.now(); got.State != stateOff {
		t.Errorf("afterwards it is %+v", got)
	}
	for _, millis := range []int{-1, 0, 3_600_001} {
		if _, err := n.Train(millis); errorCode(err) != CodeInput {
			t.Errorf("%d ms: %v", millis, err)
		}
	}
}

// A slice takes part, without Start and in spite of a pause before, for its time.
func TestTrainTakesPart(t *testing.T) {
	n := open(t, testConfig(t), nil)
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Pause("in the background"))
	out := train(t, n, 2000)
	if out.OnlineMillis < 500 || out.Waiting != "" || !out.Fitted {
		t.Errorf("%+v", out)
	}
	if got := n.driver.now(); got.State != statePaused || n.driver.current != nil {
		t.Errorf("afterwards it is %+v", got)
	}
}

func TestPauseEndsTrain(t *testing.T) {
	n := open(t, testConfig(t), nil)
	check(t, n.SetNetwork(NetUnmetered, "", ""))
	done := make(chan training)
	go func() { done <- train(t, n, 600_000) }()
	awaitState(t, n, stateRunning)
	check(t, n.Pause("in the background"))
	select {
	case out := <-done:
		if out.Waiting != "in the background" {
			t.Errorf("%+v", out)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}

// Nothing is left to do once a node that has nothing to say has heard nothing for a
// while from neighbours who are all there.
func TestQuiet(t *testing.T) {
	calm := api.Status{Running: true, Done: true, Records: 9, Neighbours: 2, Listening: 2, Traffic: api.Traffic{Delivered: 5}}
	for name, c := range map[string]struct {
		change func(*api.Status)
		over   bool
	}{
		"calm":                               {func(*api.Status) {}, true},
		"no examples":                        {func(s *api.Status) { s.Records, s.Done = 0, false }, true},
		"budget left":                        {func(s *api.Status) { s.Done = false }, false},
		"no neighbours":                      {func(s *api.Status) { s.Neighbours, s.Listening = 0, 0 }, false},
		"a neighbour away":                   {func(s *api.Status) { s.Listening = 1 }, false},
		"not in the network":                 {func(s *api.Status) { s.Running = false }, false},
		"nobody of a committee has answered": {func(s *api.Status) { s.Sums = sumsOf(api.SumOpen, 0) }, false},
		"a sum is open":                      {func(s *api.Status) { s.Sums = sumsOf(api.SumOpen, 9) }, true},
		"a sum is being added up":            {func(s *api.Status) { s.Sums = sumsOf(api.SumClosed, 9) }, false},
		"a model came":                       {func(s *api.Status) { s.Traffic.Delivered++ }, false},
	} {
		start := time.Unix(0, 0)
		q := quiet{delivered: 5, sums: api.SumCounts{All: 3, Known: 2}, since: start}
		if q.over(calm, start.Add(lull-1)) {
			t.Errorf("%s: over too soon", name)
		}
		s := calm
		c.change(&s)
		if got := q.over(s, start.Add(lull)); got != c.over {
			t.Errorf("%s: over %v", name, got)
		}
		if !q.over(s, start.Add(3*lull)) && (c.over || name == "a model came") {
			t.Errorf("%s: never over", name)
		}
	}
}

// sumsOf is two of three sums known, and one of the committee that answered at a time.
func sumsOf(last api.SumState, answered int64) *api.Sums {
	return &api.Sums{
		SumCounts: api.SumCounts{All: 3, Known: 2}, List: []api.Sum{{State: api.SumHere}, {State: last}},
		Committee: api.Committee{Members: []api.Member{{Answered: answered}, {}}},
	}
}

// In a task of sums alone nobody has neighbours, and nothing waits for any. A result that
// comes makes the slice go on.
func TestQuietWithSumsAlone(t *testing.T) {
	start := time.Unix(0, 0)
	q := quiet{silent: true, sums: api.SumCounts{All: 3, Known: 1}, since: start}
	s := api.Status{Running: true, Records: 5, Sums: sumsOf(api.SumOpen, 9)}
	if q.over(s, start.Add(lull)) {
		t.Error("over when a result has just come")
	}
	if !q.over(s, start.Add(2*lull)) {
		t.Error("not over without neighbours")
	}
	if s.Sums = sumsOf(api.SumHere, 0); q.over(s, start.Add(3*lull)) {
		t.Error("over before anybody has answered")
	}
	s.Sums.Known = s.Sums.All // the last result is news
	if q.over(s, start.Add(4*lull)) || !q.over(s, start.Add(5*lull)) {
		t.Error("not over when all sums are known")
	}
}

// The whole of a background task: two nodes that are never started find each other
// in a slice, release, hear and learn.
func TestTrainTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	nodes := make([]*Node, 2)
	var c *Config // of the last
	for i := range nodes {
		c = linearConfig(t)
		c.Settings += "\nwake_seconds = 0.2\npower = 'normal'"
		nodes[i] = open(t, c, nil)
		check(t, nodes[i].SetNetwork(NetUnmetered, "", ""), nodes[i].AddExamples(rows(random, 30)))
	}
	x, label := example(random)
	both := func(f func(i int, n *Node)) {
		var threads sync.WaitGroup
		for i, n := range nodes {
			threads.Go(func() { f(i, n) })
		}
		threads.Wait()
	}
	sum := make([]training, 2)
	slice := func(i int, n *Node) {
		check(t, n.AddExample(encodeVector(x), label)) // written by the slice, or before if that begins late
		out := train(t, n, 4000)
		if !out.Fitted || out.Millis > 30_000 {
			t.Errorf("%+v", out)
		}
		sum[i].Stored += out.Stored
		sum[i].Releases += out.Releases
		sum[i].Heard += out.Heard
	}
	for range 20 { // on a busy machine it takes some
		met := make(chan struct{})
		go func() { // the port is another one in every run
			defer close(met)
			check(t, nodes[1].AddPeer(address(t, nodes[0])))
		}()
		both(slice)
		<-met
		if min(sum[0].Heard, sum[1].Heard, sum[0].Stored, sum[1].Stored) > 0 {
			break
		}
	}
	for _, s := range sum {
		if s.Stored < 1 || s.Releases < 1 || s.Heard < 1 {
			t.Errorf("%+v", s)
		}
	}
	refusesAnotherBudget(t, nodes[1], c)
}

// refusesAnotherBudget stops a node that has released: another budget is refused from
// then on, and the old one is still good.
func refusesAnotherBudget(t *testing.T, n *Node, c *Config) {
	t.Helper()
	check(t, n.Stop())
	before := c.Settings
	c.Settings += "\nepsilon = 0.5"
	if _, err := NewNode(c, nil); errorCode(err) != CodeBudget {
		t.Errorf("another budget: %v", err)
	}
	c.Settings = before
	check(t, open(t, c, nil).Stop())
}
