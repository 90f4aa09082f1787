package sim

import (
	"reflect"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// lossTasks are tasks of three-class data, its classes made two, or numbers, for
// the losses that want these.
func lossTasks() map[string]*learner.Task {
	tasks := map[string]*learner.Task{}
	for _, loss := range []string{"squared", "huber", "logistic", "hinge", "multinomial"} {
		t := classTask()
		t.Loss, t.Mu = loss, 1
		switch loss {
		case "squared", "huber":
			t.Target = learner.Target{Name: "y", Min: -3, Max: 3}
		case "logistic", "hinge":
			t.Target = learner.Target{Name: "y"}
		}
		if loss == "huber" {
			t.Threshold = 0.5
		}
		if loss == "hinge" {
			t.Smoothing = 0.5
		}
		tasks[loss] = t
	}
	return tasks
}

// schemes are the learners with each of their ways, the first n participants being
// the servers of polar.
func schemes(servers int) map[string]func(*learner.Task) {
	inRounds := func(name string) func(t *learner.Task) {
		return func(t *learner.Task) {
			t.Learner, t.Rounds = name, learner.Rounds{Count: 60, Seconds: 5, Step: 0.3}
		}
	}
	all := map[string]func(*learner.Task){
		"personal": func(*learner.Task) {},
		"propagation": func(t *learner.Task) {
			t.Learner, t.Propagation = "propagation", learner.Propagation{Ridge: 0.05, Tolerance: 1e-3}
			t.Release.Releases, t.Release.MaxReleases = 1, 1
		},
		"polar": func(t *learner.Task) {
			inRounds("polar")(t)
			t.Polar = learner.Polar{
				Delta: 5, Update: "minimum-wait", Obfuscation: "both", Law: "gaussian",
				Decay: 0.6, Sum: 3, Bound: 30, Additive: 0.1, Box: 2,
			}
			for i := range servers {
				t.Polar.Servers = append(t.Polar.Servers, string(Name(i)))
			}
		},
	}
	for _, noise := range []string{"iid", "transmit-only", "graph-homomorphic"} {
		all["diffusion "+noise] = func(t *learner.Task) { inRounds("diffusion")(t); t.Diffusion.Noise = noise }
	}
	for _, operator := range []string{"gradient", "proximal", "douglas-rachford"} {
		all["km "+operator] = func(t *learner.Task) {
			inRounds("km")(t)
			t.KM = learner.KM{Operator: operator, Relaxation: 1}
			if operator == "proximal" {
				t.KM.L1, t.KM.L2 = 1e-3, 1e-3
			}
		}
	}
	return all
}

// Every learner takes every loss: its shared models, without noise, err a good deal
// less than knowing nothing, and its traces replay.
func TestEveryLearnerTakesEveryLoss(t *testing.T) {
	const n, servers = 6, 3
	for scheme, choose := range schemes(servers) {
		for loss, task := range lossTasks() {
			t.Run(scheme+" "+loss, func(t *testing.T) {
				choose(task)
				task.Clip = task.GradientBound()
				if err := task.Validate(); err != nil {
					t.Fatal(err)
				}
				everybody, _ := classes(classTask(), n, 4, unprotected(t, task))
				edges := Full(n)
				for i := range everybody {
					everybody[i].Edges = edges[i]
					for k := range everybody[i].Records {
						relabel(&everybody[i].Records[k], loss)
					}
				}
				c := Config{
					Task: task, Participants: everybody, Seed: 1, Trace: true,
					WakeMean: time.Second, Latency: 10 * time.Millisecond, Until: 100 * time.Second,
				}
				r := run(t, c)
				var trained, nothing float64
				for i := servers; i < n; i++ { // polar's servers have no data
					trained += task.Error(r.States[i].Model, everybody[i].Records)
					nothing += task.Error(make([]float64, task.Dimension()), everybody[i].Records)
				}
				if !(trained < 0.85*nothing) {
					t.Errorf("mean error %.3f, and %.3f of a model that is zero", trained/(n-servers), nothing/(n-servers))
				}
				replays(t, c, r)
			})
		}
	}
}

func unprotected(t *testing.T, task *learner.Task) privacy.Policy {
	t.Helper()
	policy, err := task.Design(privacy.Design{Noise: privacy.Unprotected}).Policy()
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// relabel makes the label of class 0, 1 or 2 one of another loss.
func relabel(r *learner.Record, loss string) {
	switch loss {
	case "squared", "huber":
		r.Y--
	case "logistic", "hinge":
		r.Y = min(2*r.Y-1, 1)
	}
}

func replays(t *testing.T, c Config, r *Result) {
	t.Helper()
	for i, p := range c.Participants {
		fresh, err := learner.New(learner.Config{
			Self: p.ID, Task: c.Task, Policy: p.Policy, WakeMean: c.WakeMean.Seconds(),
			Schedule: AgentSchedule(c.Seed, i), Masks: AgentMasks(c.Seed, i),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := learner.Replay(fresh, r.Traces[i]); !reflect.DeepEqual(got, r.States[i]) {
			t.Errorf("agent %d replayed to another state", i)
		}
	}
}
