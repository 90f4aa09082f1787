package sim

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// twin is the obvious simulator: one list of events, one at a time in the order of
// time, messages heard when they arrive, nothing shared and nothing used again.
type twin struct {
	c      Config
	t      *testing.T
	agents []twinAgent
	events []twinEvent
	r      Result
}

type twinAgent struct {
	learner.Agent
	door   door
	wakes  *rand.Rand
	next   time.Duration
	armed  bool
	away   bool
	absent map[int]bool
	newest *learner.Message
}

type twinEvent struct {
	at       time.Duration
	to, from int
	what     int32 // a change, or 0 for the message
	message  learner.Message
}

func runTwin(t *testing.T, c Config) *Result {
	w := &twin{c: c, t: t, r: Result{Sent: map[learner.Kind]int{}}, agents: make([]twinAgent, len(c.Participants))}
	for _, a := range c.Away {
		w.announce(a)
	}
	for i := range w.agents {
		a := &w.agents[i]
		a.wakes = AgentSchedule(c.Seed, i)
		a.door, _ = newDoor(&c.Participants[i], c.Seed, i)
		w.start(i, nil)
	}
	for i := range w.agents {
		w.look(i, 0)
	}
	for w.step() {
	}
	for i := range w.agents {
		w.r.States = append(w.r.States, w.agents[i].State())
		w.r.Releases = append(w.r.Releases, w.agents[i].door.made)
	}
	return &w.r
}

func (w *twin) start(i int, resume *learner.State) {
	p := w.c.Participants[i]
	agent, err := learner.New(learner.Config{
		Self: p.ID, Task: w.c.Task, Policy: p.Policy, Made: w.agents[i].door.made, Resume: resume,
		WakeMean: w.c.WakeMean.Seconds(), Schedule: w.agents[i].wakes,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.agents[i].Agent, w.agents[i].next = agent, learner.Never
	if err := agent.Records(p.Records, nil); err != nil {
		w.t.Fatal(err)
	}
}

func (w *twin) neighbours(i int) (list []int) {
	for _, e := range w.c.Participants[i].Edges {
		list = append(list, slices.IndexFunc(w.c.Participants, func(p Participant) bool { return p.ID == e.Peer }))
	}
	return list
}

func (w *twin) announce(a Away) {
	what := int32(comes)
	if a.Restart {
		what = restarts
	}
	for _, i := range append(w.neighbours(a.Who), a.Who) {
		if w.agents[i].absent == nil {
			w.agents[i].absent = map[int]bool{}
		}
		if a.From == 0 {
			w.agents[i].absent[a.Who] = true
			w.agents[i].away = w.agents[i].away || i == a.Who
		} else {
			w.events = append(w.events, twinEvent{at: a.From, to: i, from: a.Who, what: leaves})
		}
		w.events = append(w.events, twinEvent{at: a.To, to: i, from: a.Who, what: what})
	}
}

// step handles what comes next; false if that is after the end.
func (w *twin) step() bool {
	slices.SortStableFunc(w.events, func(a, b twinEvent) int {
		later := func(e twinEvent) int { return boolInt(e.what == 0) }
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.to, b.to), cmp.Compare(later(a), later(b)), cmp.Compare(a.from, b.from))
	})
	at, who := learner.Never, -1
	for i := range w.agents {
		if a := &w.agents[i]; a.armed && !a.away && a.next < at {
			at, who = a.next, i
		}
	}
	if len(w.events) > 0 && w.events[0].at <= at {
		e := w.events[0]
		w.events = w.events[1:]
		if e.at > w.c.Until {
			return false
		}
		w.handle(e)
		return true
	}
	if at > w.c.Until {
		return false
	}
	w.agents[who].armed = false
	w.apply(who, at, w.agents[who].Tick(at))
	return true
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *twin) handle(e twinEvent) {
	a := &w.agents[e.to]
	switch {
	case e.what == 0 && a.away:
		w.r.Lost++
	case e.what == 0:
		out, err := a.Receive(e.at, e.message)
		if err == nil {
			w.r.Messages++
		} else if !errors.Is(err, learner.ErrStale) {
			w.t.Fatal(err)
		}
		w.apply(e.to, e.at, out)
	case e.from == e.to:
		a.away, a.armed, a.next = e.what == leaves, false, learner.Never
		if e.what == restarts {
			state := a.State()
			w.start(e.to, &state)
		}
		w.look(e.to, e.at)
		for _, j := range w.neighbours(e.to) {
			if !a.away && !a.absent[j] && a.newest != nil {
				w.post(e.to, j, e.at, *a.newest)
			}
		}
	default:
		a.absent[e.from] = e.what == leaves
		w.look(e.to, e.at)
		if e.what != leaves && !a.away && a.newest != nil {
			w.post(e.to, e.from, e.at, *a.newest)
		}
	}
}

func (w *twin) look(i int, now time.Duration) {
	if w.agents[i].away {
		return
	}
	edges := slices.Clone(w.c.Participants[i].Edges)
	for k, j := range w.neighbours(i) {
		edges[k].Live = !w.agents[i].absent[j]
	}
	w.apply(i, now, w.agents[i].Neighbours(now, edges))
}

func (w *twin) apply(i int, now time.Duration, out learner.Output) {
	a := &w.agents[i]
	for out.Ask != nil {
		var answer privacy.Answer
		if err := a.door.answer(out.Ask, &answer, new(payment)); err != nil {
			w.t.Fatal(err)
		}
		w.send(i, now, out.Send)
		out = a.Released(now, answer)
	}
	w.send(i, now, out.Send)
	if next := max(out.Next, now); next != a.next {
		a.next, a.armed = next, next != learner.Never
	}
}

func (w *twin) send(i int, now time.Duration, messages []learner.Message) {
	for _, m := range messages {
		if m.To != "" {
			w.post(i, slices.IndexFunc(w.c.Participants, func(p Participant) bool { return p.ID == m.To }), now, m)
			continue
		}
		w.agents[i].newest = &m
		for _, j := range w.neighbours(i) {
			w.post(i, j, now, m)
		}
	}
}

func (w *twin) post(from, to int, now time.Duration, m learner.Message) {
	w.r.Sent[m.Kind]++
	one, other := w.c.copies(posted{int32(from), int32(to), now, m.Kind, m.Round})
	if one == learner.Never {
		w.r.Lost++
	}
	for _, at := range []time.Duration{one, other} {
		if at == learner.Never {
			break
		}
		w.events = append(w.events, twinEvent{at: at, to: to, from: from, message: m})
	}
}

// The simulator in windows, shards and used memory does what the obvious one does,
// to the bit.
func TestSimulatorIsTheObviousOne(t *testing.T) {
	for name, change := range obviousCases(t) {
		t.Run(name, func(t *testing.T) {
			c := config(t, 1<<12)
			c.Trace, c.Until = false, 60*time.Second
			change(&c)
			want := runTwin(t, c)
			for how, wrap := range map[string]func(int, learner.Agent) learner.Agent{
				"as it is": nil, "delivering every message": func(_ int, a learner.Agent) learner.Agent { return a },
			} {
				c.Wrap = wrap
				checkObvious(t, how, run(t, c), want)
			}
		})
	}
}

func checkObvious(t *testing.T, how string, got, want *Result) {
	t.Helper()
	if !reflect.DeepEqual(got.States, want.States) || !reflect.DeepEqual(got.Releases, want.Releases) {
		t.Errorf("%s: the states differ", how)
	}
	if got.Messages != want.Messages || got.Lost != want.Lost || !reflect.DeepEqual(got.Sent, want.Sent) {
		t.Errorf("%s: %d messages, %d lost, sent %v; want %d, %d, %v", how, got.Messages, got.Lost, got.Sent, want.Messages, want.Lost, want.Sent)
	}
}

func obviousCases(t *testing.T) map[string]func(*Config) {
	return map[string]func(*Config){
		"plain":       func(c *Config) {},
		"no delay":    func(c *Config) { c.Latency = 0 },
		"long delays": func(c *Config) { c.Latency = 3 * time.Second },
		"losses":      func(c *Config) { c.Loss = 0.3 },
		"duplicates":  func(c *Config) { c.Duplicate = 0.3 },
		"churn":       func(c *Config) { c.Away = churn(12, 5*time.Second, 3*time.Second, c.Until, 9) },
		"weather":     func(c *Config) { c.Away = Weather(12, 6*time.Second, time.Second, 8*time.Second, c.Until, 9) },
		"all of it": func(c *Config) {
			c.Loss, c.Duplicate, c.Latency, c.Away = 0.2, 0.2, time.Second, churn(12, 5*time.Second, 3*time.Second, c.Until, 9)
			for i := range c.Away {
				c.Away[i].Restart = i%2 == 0
			}
		},
		"propagation": func(c *Config) {
			c.Task.Learner, c.Task.Release.Releases, c.Task.Release.MaxReleases = "propagation", 1, 1
			c.Task.Propagation = learner.Propagation{Ridge: 0.1, Tolerance: 1e-3}
			c.Away = churn(12, 5*time.Second, 3*time.Second, c.Until, 9)
			withoutNoise(t, c)
		},
		"unprotected": func(c *Config) {
			withoutNoise(t, c)
		},
	}
}

func withoutNoise(t *testing.T, c *Config) {
	policy, err := privacy.Design{Noise: privacy.Unprotected, Clip: c.Task.GradientBound()}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Participants {
		c.Participants[i].Policy = policy
	}
}

// One processor or several, taking what has arrived or being delivered every message: the
// same bits.
func TestProcessorsChangeNothing(t *testing.T) {
	for _, private := range []bool{false, true} {
		c, err := Crowd{Agents: 400, Dimension: 5, Neighbours: 6, Records: 5, Private: private, Seed: 3}.Config()
		if err != nil {
			t.Fatal(err)
		}
		c.Until, c.Latency, c.Loss = 10*time.Second, time.Second, 0.1
		c.Away = Weather(400, 5*time.Second, time.Second, 4*time.Second, c.Until, 9)
		for i := range c.Away {
			c.Away[i].Restart = i%2 == 0
		}
		every := c
		every.Wrap = func(_ int, a learner.Agent) learner.Agent { return a }
		first := run(t, every)
		first.End = 0 // what comes and is overtaken happens only where it is delivered
		for _, n := range []int{1, 2, 4} {
			old := runtime.GOMAXPROCS(n)
			r := run(t, c)
			runtime.GOMAXPROCS(old)
			r.End = 0
			if !reflect.DeepEqual(r, first) {
				t.Errorf("on %d processors another result", n)
			}
		}
	}
}

// Nor do they under any learner, with losses, restarts and messages that several
// shards send at one time.
func TestProcessorsChangeNoLearner(t *testing.T) {
	const n, servers = 70, 3
	for scheme, choose := range schemes(servers) {
		t.Run(scheme, func(t *testing.T) {
			task := lossTasks()["squared"]
			choose(task)
			task.Clip, task.Rounds.Count = task.GradientBound(), min(task.Rounds.Count, 5)
			c := Config{
				Task: task, Seed: 1, Trace: true, WakeMean: time.Second, Latency: 400 * time.Millisecond, Until: 10 * time.Second,
				Loss: 0.1, Away: churn(n, 8*time.Second, 3*time.Second, 10*time.Second, 7),
			}
			c.Participants, _ = classes(classTask(), n, 4, unprotected(t, task))
			edges := RandomGraph(n, 6, 2)
			for i := range c.Participants {
				if scheme == "polar" { // every client hears every server
					edges[i] = slices.DeleteFunc(Full(n)[i], func(e learner.Edge) bool { return i >= servers && e.Peer >= Name(servers) })
				}
				c.Participants[i].Edges = edges[i]
				for k := range c.Participants[i].Records {
					relabel(&c.Participants[i].Records[k], "squared")
				}
			}
			for i := range c.Away {
				c.Away[i].Restart = i%2 == 0
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			want := run(t, c)
			runtime.GOMAXPROCS(4)
			if got := run(t, c); want.Messages == 0 || !reflect.DeepEqual(got, want) {
				t.Errorf("%d messages, %d lost; want %d, %d", got.Messages, got.Lost, want.Messages, want.Lost)
			}
		})
	}
}

// Going on step by step is going on at once.
func TestStepsChangeNothing(t *testing.T) {
	c := config(t, 6)
	c.Trace, c.Until = false, 5*time.Second
	s, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Duration(0); until < c.Until; until += 77 * time.Millisecond {
		if err := s.Advance(until); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Advance(c.Until); err != nil {
		t.Fatal(err)
	}
	got, err := s.s.result()
	if err != nil {
		t.Fatal(err)
	}
	want := run(t, c)
	if wakes := s.Wakes(); !reflect.DeepEqual(got.States, want.States) || wakes == 0 {
		t.Errorf("the states differ after %d wakes", wakes)
	}
}

// The agenda knows who is due first, and who before a time, whatever was moved.
func TestAgendaKnowsWhoIsDue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 2*blockSize + 5
	g, due := newAgenda(n, learner.Never), slices.Repeat([]time.Duration{learner.Never}, n)
	for range 5000 {
		who, at := r.IntN(n), time.Duration(r.IntN(200))
		g.set(int32(who), at)
		due[who] = at
		if got, want := g.next(), slices.Min(due); got != want || g.due(int32(who)) != at {
			t.Fatalf("the first is due at %v, want %v", got, want)
		}
		end := time.Duration(r.IntN(200))
		var want []int32
		for i, at := range due {
			if at < end {
				want = append(want, int32(i))
			}
		}
		if got := g.before(end, nil); !slices.Equal(got, want) {
			t.Fatalf("before %v are due %v, want %v", end, got, want)
		}
	}
}

// Wakes and deliveries allocate nothing; a window may, a little.
func TestEventsAllocateNothing(t *testing.T) {
	for _, private := range []bool{false, true} {
		c, err := Crowd{Agents: 100, Dimension: 5, Neighbours: 6, Records: 5, Private: private, Seed: 3}.Config()
		if err != nil {
			t.Fatal(err)
		}
		s, err := Start(c)
		if err != nil {
			t.Fatal(err)
		}
		until := 50 * time.Second
		if err := s.Advance(until); err != nil {
			t.Fatal(err)
		}
		wakes := s.Wakes()
		allocs := testing.AllocsPerRun(20, func() {
			until += time.Second
			if err := s.Advance(until); err != nil {
				t.Fatal(err)
			}
		})
		if per := 21 * allocs / float64(s.Wakes()-wakes); per > 0.05 {
			t.Errorf("private=%t: %.3f allocations a wake", private, per)
		}
	}
}
