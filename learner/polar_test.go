package learner

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

func polarTask() *Task {
	t := plainTask("squared", 2)
	t.Learner = "polar"
	t.Rounds = Rounds{Seconds: 1, Step: 0.5}
	t.Polar = Polar{
		Servers: []string{"s1", "s2", "s3"}, Delta: 2, Update: "minimum-wait", Obfuscation: "both", Law: "gaussian",
		Decay: 0.75, Sum: 3, Bound: 20, Additive: 4, Box: 2,
	}
	return t
}

func polarConfig(t *Task, self ID) Config {
	return Config{
		Self: self, Task: t, WakeMean: 1, Schedule: source(), Masks: chacha(byte(self[len(self)-1])),
		Policy: repeated(must(privacy.NewUnprotected(100))),
	}
}

func TestPolarTaskIsChecked(t *testing.T) {
	if err := polarTask().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Task)
		want   string
	}{
		"two servers":             {func(t *Task) { t.Polar.Servers = t.Polar.Servers[:2] }, "the other's state exactly"},
		"one server":              {func(t *Task) { t.Polar.Servers = t.Polar.Servers[:1] }, "polar.servers"},
		"a server twice":          {func(t *Task) { t.Polar.Servers[1] = "s1" }, "there twice"},
		"a server without a name": {func(t *Task) { t.Polar.Servers[1] = "" }, "polar.servers"},
		"no window":               {func(t *Task) { t.Polar.Delta = 0 }, "polar.delta"},
		"half a window":           {func(t *Task) { t.Rounds.Count = 3 }, "rounds.count"},
		"another update":          {func(t *Task) { t.Polar.Update = "maximum-wait" }, "polar.update"},
		"another obfuscation":     {func(t *Task) { t.Polar.Obfuscation = "none" }, "polar.obfuscation"},
		"another law":             {func(t *Task) { t.Polar.Law = "cauchy" }, "polar.law"},
		"steps too large":         {func(t *Task) { t.Polar.Decay = 0.5 }, "polar.decay"},
		"steps too small":         {func(t *Task) { t.Polar.Decay = 1.1 }, "polar.decay"},
		"no sum":                  {func(t *Task) { t.Polar.Sum = 0 }, "polar.sum"},
		"a bound below the sum":   {func(t *Task) { t.Polar.Bound = 2 }, "polar.bound"},
		"no bound":                {func(t *Task) { t.Polar.Bound = math.Inf(1) }, "polar.bound"},
		"offsets without bound":   {func(t *Task) { t.Polar.Additive = 0 }, "polar.additive"},
		"offsets not wanted":      {func(t *Task) { t.Polar.Obfuscation = "multiplicative" }, "polar.additive"},
		"no box":                  {func(t *Task) { t.Polar.Box = 0 }, "polar.box"},
		"a box outside the ball":  {func(t *Task) { t.Polar.Box = 8 }, "polar.box"},
		"another learner":         {func(t *Task) { t.Learner, t.Rounds = "personal", Rounds{} }, "belongs to the learner polar"},
	} {
		task := polarTask()
		c.change(task)
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNewPolarRefuses(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no masks":           func(c *Config) { c.Masks = nil },
		"a state too short":  func(c *Config) { c.Resume = &State{Model: []float64{1}} },
		"a state not finite": func(c *Config) { c.Resume = &State{Model: []float64{1, math.NaN()}} },
		"a restored server":  func(c *Config) { c.Resume = &State{Round: 1 << 50, Model: []float64{1, 1}} },
		"a stranger's model": func(c *Config) {
			c.Self, c.Resume = "h", &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "x", Model: []float64{1, 1}}}}
		},
		"a model not finite": func(c *Config) {
			c.Self, c.Resume = "h", &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "s1", Round: 1, Model: []float64{1, math.NaN()}}}}
		},
		"a model of no step": func(c *Config) {
			c.Self, c.Resume = "h", &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "s1", Model: []float64{1, 1}}}}
		},
		"a model of a restored server": func(c *Config) {
			c.Self, c.Resume = "h", &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "s1", Round: 1 << 50, Model: []float64{1, 1}}}}
		},
		"a model with wild noise": func(c *Config) {
			c.Self, c.Resume = "h", &State{Model: []float64{1, 1}, Heard: []Heard{{Peer: "s1", Round: 1, NoiseStd: math.NaN(), Model: []float64{1, 1}}}}
		},
		"noise that is absent": func(c *Config) { c.Self, c.Task.Polar.Private = "h", true },
	} {
		c := polarConfig(polarTask(), "s1")
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPolarAgentsRefuse(t *testing.T) {
	server := must(New(polarConfig(polarTask(), "s1")))
	server.Neighbours(0, liveEdges("h"))
	client := testClient(t, polarTask(), nil)
	r := rand.New(rand.NewPCG(1, 1))
	for name, c := range map[string]struct {
		agent Agent
		m     Message
		want  error
	}{
		"client, from a client":           {client, model("h2", 1, 1, 1), ErrStranger},
		"client, a gradient":              {client, Message{From: "s1", Kind: KindGradient, Round: 1, Real: normals(r, 2)}, ErrShape},
		"client, another dimension":       {client, model("s1", 1, 1), ErrShape},
		"client, not finite":              {client, model("s1", 1, 1, math.Inf(1)), ErrShape},
		"client, no step":                 {client, model("s1", 0, 1, 1), ErrShape},
		"client, a step of nobody's":      {client, model("s1", 1<<50, 1, 1), ErrShape},
		"server, from a stranger":         {server, Message{From: "x", Kind: KindGradient, Round: 1, Real: normals(r, 2)}, ErrStranger},
		"server, a client's model":        {server, model("h", 1, 1, 1), ErrShape},
		"server, a client's masks":        {server, Message{From: "h", Kind: KindMask, Round: 1, Ring: make([]uint64, 2)}, ErrShape},
		"server, a server's gradient":     {server, Message{From: "s2", Kind: KindGradient, Round: 1, Real: normals(r, 2)}, ErrShape},
		"server, too few masks":           {server, Message{From: "s2", Kind: KindMask, Round: 1, Ring: make([]uint64, 1)}, ErrShape},
		"server, masks of no consensus":   {server, Message{From: "s2", Kind: KindMask, Ring: make([]uint64, 2)}, ErrShape},
		"server, a gradient not finite":   {server, Message{From: "h", Kind: KindGradient, Round: 1, Real: []float64{1, math.NaN()}}, ErrShape},
		"server, a gradient far ahead":    {server, Message{From: "h", Kind: KindGradient, Round: 1000, Real: normals(r, 2)}, ErrStale},
		"server, a model of nobody's":     {server, model("s2", 1<<50, 1, 1), ErrShape},
		"server, a model not finite":      {server, model("s2", 3, 1, math.NaN()), ErrShape},
		"server, masks of nobody's round": {server, Message{From: "s2", Kind: KindMask, Round: 1 << 50, Ring: make([]uint64, 2)}, ErrShape},
	} {
		before := c.agent.State()
		if out, err := c.agent.Receive(0, c.m); !errors.Is(err, c.want) || len(out.Send) > 0 || out.Ask != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if !reflect.DeepEqual(before, c.agent.State()) {
			t.Errorf("%s: the state changed", name)
		}
	}
	if err := server.Records([]Record{{Seq: 1, X: []float64{1, 1}}}, nil); err != nil {
		t.Errorf("a server does not ignore records: %v", err)
	}
}

// Whatever well-formed nonsense arrives, a server's models are finite and in the
// box, its rounds increase, and the trace replays.
func TestServerSurvivesNonsense(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		task := polarTask()
		agent := &Recorder{Agent: must(New(polarConfig(task, "s1")))}
		var last uint64
		see := func(out Output) {
			for _, m := range out.Send {
				if m.Kind != KindModel {
					continue
				}
				if m.Round <= last || !finite(m.Real) || floats.Norm(m.Real, math.Inf(1)) > task.Polar.Box*(1+1e-12) {
					t.Fatalf("seed %d: model %v of round %d after %d", seed, m.Real, m.Round, last)
				}
				last = m.Round
			}
		}
		now := time.Duration(0)
		for range 400 {
			now += time.Duration(r.IntN(int(time.Second / 2)))
			m := Message{
				From: []ID{"s2", "s3", "h", "k"}[r.IntN(4)], Kind: Kind(1 + r.IntN(5)),
				Round: max(1, last+uint64(r.IntN(5))) - uint64(r.IntN(2)), Attempt: uint32(r.IntN(3)),
				Real: []float64{r.Float64(), r.Float64()},
			}
			switch m.Kind {
			case KindMask, KindMasked:
				m.Round, m.Real, m.Ring = max(1, task.Polar.window(m.Round)), nil, []uint64{r.Uint64N(9) << 40, r.Uint64N(9)}
			case KindGradient:
				floats.Scale(math.Pow(10, 150*r.Float64())*float64(1-2*r.IntN(2)), m.Real)
			}
			switch r.IntN(8) {
			case 0:
				see(agent.Neighbours(now, liveEdges("h", "k", "s2")[r.IntN(3):]))
			case 1:
				see(agent.Tick(now))
			default:
				out, _ := agent.Receive(now, m)
				see(out)
			}
		}
		if last < 3 {
			t.Errorf("seed %d: the server came to round %d only", seed, last)
		}
		if got := Replay(must(New(polarConfig(task, "s1"))), agent.Trace); !reflect.DeepEqual(got, agent.State()) {
			t.Errorf("seed %d: replayed to another state", seed)
		}
	}
}
