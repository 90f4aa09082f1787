package learner_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// polarNetwork is a problem for learner polar: the first agents are the servers.
type polarNetwork struct {
	task         *learner.Task
	participants []sim.Participant
	clients      [][]learner.Record
}

const polarServers, polarClients, polarDimension = 5, 6, 4

// newPolarNetwork makes least squares for a few clients. Lambda is 0: the only
// regularisation is the box.
func newPolarNetwork(t *testing.T) *polarNetwork {
	t.Helper()
	task := &learner.Task{
		Name: "polar", Learner: "polar", Loss: "squared",
		Target: learner.Target{Name: "y", Min: -10, Max: 10},
		Mu:     1, Clip: 1, ConfidenceAt: 1, Radius: 20, CohortSize: 1000,
		Graph:   learner.Graph{Rule: "random", Degree: 10},
		Local:   learner.Local{Eta: 1, Kappa: 1},
		Release: learner.Release{Epsilon: 1, Delta: 1e-6, Releases: 5, MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 100, WakeSeconds: 1, MinWake: 0.01},
		Rounds:  learner.Rounds{Count: 400, Seconds: 5, Step: 0.5 / polarClients},
		Polar: learner.Polar{
			Delta: 10, Update: "minimum-wait", Obfuscation: "both", Law: "gaussian",
			Decay: 0.75, Sum: polarServers, Bound: 50, Additive: 5, Box: 10,
		},
	}
	for i := range polarDimension {
		task.Features = append(task.Features, learner.Feature{Name: string(rune('a' + i)), Kind: "number", Min: -1, Max: 1})
	}
	n := &polarNetwork{task: task}
	edges := sim.Full(polarServers + polarClients)
	r := rand.New(rand.NewPCG(4, 4))
	truth := []float64{1, -2, 0.5, 1.5}
	mechanism, err := privacy.NewUnprotected(task.GradientBound())
	if err != nil {
		t.Fatal(err)
	}
	for i := range edges {
		p := sim.Participant{ID: sim.Name(i), Edges: edges[i]}
		p.Policy.Schedule = privacy.NewSchedule(privacy.Step{Mechanism: mechanism, Count: 1})
		if i < polarServers {
			task.Polar.Servers = append(task.Polar.Servers, string(p.ID))
		} else {
			p.Records = polarRecords(r, truth)
			n.clients = append(n.clients, p.Records)
		}
		n.participants = append(n.participants, p)
	}
	return n
}

func polarRecords(r *rand.Rand, truth []float64) []learner.Record {
	shift := r.NormFloat64() / 2 // each client has a model of its own
	var records []learner.Record
	for seq := learner.Seq(1); seq < 25; seq++ {
		if seq.HeldOut() {
			continue
		}
		x := make([]float64, len(truth))
		for k := range x {
			x[k] = r.NormFloat64()
		}
		floats.Scale(1/floats.Norm(x, 2), x)
		records = append(records, learner.Record{Seq: seq, X: x, Y: floats.Dot(truth, x) + shift*x[0] + 0.3*r.NormFloat64()})
	}
	return records
}

// normal returns A and b of the sum over clients of their mean losses, x'Ax - 2 b'x
// and a constant.
func (n *polarNetwork) normal() (*mat.SymDense, *mat.VecDense) {
	a, b := mat.NewSymDense(polarDimension, nil), mat.NewVecDense(polarDimension, nil)
	for _, records := range n.clients {
		for _, r := range records {
			x := mat.NewVecDense(polarDimension, r.X)
			a.SymRankOne(a, 1/float64(len(records)), x)
			b.AddScaledVec(b, r.Y/float64(len(records)), x)
		}
	}
	return a, b
}

// optimum is the centralised one.
func (n *polarNetwork) optimum(t *testing.T) []float64 {
	t.Helper()
	a, b := n.normal()
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		t.Fatal(err)
	}
	return x.RawVector().Data
}

// excess is the objective at x above its minimum, a mean over clients.
func (n *polarNetwork) excess(x, optimum []float64) float64 {
	a, _ := n.normal()
	d := mat.NewVecDense(polarDimension, floats.SubTo(make([]float64, polarDimension), x, optimum))
	return mat.Inner(d, a, d) / polarClients
}

// plain is gradient descent on the mean over clients with the steps of the task: the
// excess after each of them.
func (n *polarNetwork) plain(steps int, optimum []float64) []float64 {
	a, b := n.normal()
	x, gradient := mat.NewVecDense(polarDimension, nil), mat.NewVecDense(polarDimension, nil)
	excess := []float64{n.excess(x.RawVector().Data, optimum)}
	for k := 1; k <= steps; k++ {
		gradient.MulVec(a, x)
		gradient.SubVec(gradient, b)
		x.AddScaledVec(x, -2*n.task.Rounds.Step/math.Pow(float64(k), n.task.Polar.Decay), gradient)
		excess = append(excess, n.excess(x.RawVector().Data, optimum))
	}
	return excess
}

func (n *polarNetwork) run(t *testing.T, change func(*sim.Config)) *sim.Result {
	t.Helper()
	c := sim.Config{
		Task: n.task, Participants: n.participants, Seed: 9, WakeMean: time.Second,
		Latency: 10 * time.Millisecond, Until: 24 * time.Hour,
	}
	if change != nil {
		change(&c)
	}
	result, err := sim.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range polarServers {
		if got, want := result.States[i].Round, uint64(n.task.Rounds.Count+1); got != want {
			t.Errorf("server %d ended at round %d, want %d", i, got, want)
		}
	}
	return result
}

// The paper's figure 3: all Delta converge, slower with Delta. A window makes one net
// step, so POLAR is Delta times slower than plain descent with the same steps; a
// factor of 1.5 either way is for what the obfuscation does.
func TestPolarIsDeltaTimesSlower(t *testing.T) {
	n := newPolarNetwork(t)
	optimum := n.optimum(t)
	plain := n.plain(200, optimum)
	for _, update := range []string{"minimum-wait", "client-averaged", "basic"} {
		for _, delta := range []int{10, 20, 50} {
			n.task.Polar.Update, n.task.Polar.Delta = update, delta
			n.task.Rounds.Count = 20 * delta
			got := n.excess(n.run(t, nil).States[0].Model, optimum)
			k := 0
			for k < len(plain)-1 && plain[k] > got {
				k++
			}
			slowdown := float64(n.task.Rounds.Count) / float64(k)
			t.Logf("%s, Delta %d: excess %.3g of %.3g after %d steps, plain descent takes %d: %.3g times slower",
				update, delta, got, plain[0], n.task.Rounds.Count, k, slowdown)
			if slowdown < float64(delta)/1.5 || slowdown > float64(delta)*1.5 {
				t.Errorf("%s, Delta %d: %.3g times slower than plain descent", update, delta, slowdown)
			}
		}
	}
}

func TestPolarReplays(t *testing.T) {
	n := newPolarNetwork(t)
	n.task.Rounds.Count, n.task.Rounds.Seconds = 40, 0.5
	for _, update := range []string{"minimum-wait", "client-averaged", "basic"} {
		n.task.Polar.Update = update
		result := n.run(t, func(c *sim.Config) { c.Trace, c.Loss = true, 0.02 })
		for i, p := range n.participants {
			fresh, err := learner.New(learner.Config{
				Self: p.ID, Task: n.task, Policy: p.Policy, WakeMean: 1,
				Schedule: sim.AgentSchedule(9, i), Masks: sim.AgentMasks(9, i),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := learner.Replay(fresh, result.Traces[i]); !reflect.DeepEqual(got, result.States[i]) {
				t.Errorf("%s: agent %d replayed to another state", update, i)
			}
		}
	}
}

// agreed checks that all servers ended with one model, and returns it.
func agreed(t *testing.T, r *sim.Result) []float64 {
	t.Helper()
	for i := range polarServers {
		if got, want := r.States[i].Model, r.States[0].Model; !reflect.DeepEqual(got, want) {
			t.Errorf("server %d ended at %v, server 0 at %v", i, got, want)
		}
	}
	return r.States[0].Model
}

// Without obfuscation (weights all M/(S Delta)) the servers end at the centralised
// optimum. With it, W times what the offsets moved a server by is noise of the
// order of a_k, so the distance falls with the steps.
func TestPolarReachesTheOptimum(t *testing.T) {
	n := newPolarNetwork(t)
	optimum := n.optimum(t)
	distance := func(steps int) float64 {
		n.task.Rounds.Count = steps
		return floats.Distance(agreed(t, n.run(t, nil)), optimum, 2) / floats.Norm(optimum, 2)
	}
	polar := &n.task.Polar
	polar.Delta, polar.Decay, n.task.Rounds.Step = 5, 0.6, 4./polarClients
	var soon, late float64
	for _, update := range []string{"minimum-wait", "client-averaged", "basic"} {
		polar.Update = update
		polar.Obfuscation, polar.Bound, polar.Additive = "multiplicative", polar.Sum, 0
		if d := distance(1000); d > 1e-6 {
			t.Errorf("%s: %.2g away without obfuscation", update, d)
		}
		polar.Obfuscation, polar.Bound, polar.Additive = "both", 2*polar.Sum, 1
		soon += distance(200) / 3
		late += distance(2000) / 3
	}
	t.Logf("with obfuscation %.2g away after 200 steps and %.2g after 2000", soon, late)
	if late > 1e-3 || late > soon/2 {
		t.Errorf("with obfuscation %.2g away after 200 steps and %.2g after 2000", soon, late)
	}
}

// A network that loses messages, clients that come and go, servers that are killed:
// the run ends, the servers agree, and the model is near the optimum. How near is
// not the point: a lost gradient is a weight missing in a sum.
func TestPolarSurvives(t *testing.T) {
	n := newPolarNetwork(t)
	n.task.Rounds.Step, n.task.Rounds.Count, n.task.Rounds.Seconds = 2./polarClients, 400, 0.5
	optimum := n.optimum(t)
	start := n.excess(make([]float64, polarDimension), optimum)
	for name, change := range map[string]func(*sim.Config){
		"loss": func(c *sim.Config) { c.Loss = 0.02 },
		"clients come and go": func(c *sim.Config) {
			c.Away = []sim.Away{
				{Who: polarServers, From: 0, To: 2 * time.Second},
				{Who: polarServers + 1, From: 3 * time.Second, To: 6 * time.Second, Restart: true},
				{Who: polarServers + 2, From: 9 * time.Second, To: 12 * time.Second},
			}
		},
		"servers come and go": func(c *sim.Config) {
			c.Away = []sim.Away{
				{Who: 0, From: 2 * time.Second, To: 4 * time.Second, Restart: true},
				{Who: 1, From: 5 * time.Second, To: 6 * time.Second},
				{Who: 2, From: 8 * time.Second, To: 9 * time.Second, Restart: true},
				{Who: 3, From: 8 * time.Second, To: 8500 * time.Millisecond, Restart: true},
			}
		},
	} {
		for _, update := range []string{"minimum-wait", "client-averaged", "basic"} {
			n.task.Polar.Update = update
			r := n.run(t, func(c *sim.Config) { change(c); c.Trace = true })
			noMaskTwice(t, r)
			got := n.excess(agreed(t, r), optimum) / start
			t.Logf("%s, %s: %.3g of the excess left after %v, %d lost", name, update, got, r.End, r.Lost)
			if got > 0.2 {
				t.Errorf("%s, %s: %.3g of the excess left", name, update, got)
			}
		}
	}
}

// noMaskTwice checks that no server, restarted or not, gave a mask it had given
// before: the difference of two states under one mask is in the clear.
func noMaskTwice(t *testing.T, r *sim.Result) {
	t.Helper()
	seen := map[uint64]bool{}
	for _, trace := range r.Traces {
		for _, in := range trace {
			if in.Message.Kind != learner.KindMask {
				continue
			}
			if first := in.Message.Ring[0]; seen[first] {
				t.Fatalf("%s gives a mask for the second time in round %d", in.Message.From, in.Message.Round)
			} else {
				seen[first] = true
			}
		}
	}
}

// With noise inside the sum the ledger applies: a client stops when its budget is
// used up, and the rest goes on without it.
func TestPolarPrivate(t *testing.T) {
	n := newPolarNetwork(t)
	n.task.Polar.Private, n.task.Rounds.Count, n.task.Rounds.Seconds = true, 60, 0.5
	design := privacy.Design{
		Budget: privacy.Budget{Epsilon: 10, Delta: 1e-5}, Releases: 40, Clip: n.task.Clip, Dimension: polarDimension,
	}
	policy, err := n.task.Design(design).Policy()
	if err != nil {
		t.Fatal(err)
	}
	for i := range n.participants {
		n.participants[i].Policy = policy
	}
	r := n.run(t, nil)
	agreed(t, r)
	for i := range n.participants {
		want := 0
		if i >= polarServers {
			want = 40
		}
		if r.Releases[i] != want || r.Spent[i] > 1 {
			t.Errorf("agent %d made %d releases and spent %v of its budget; want %d and at most 1", i, r.Releases[i], r.Spent[i], want)
		}
	}
}
