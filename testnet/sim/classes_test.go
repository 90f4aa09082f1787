package sim

import (
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// classTask has three classes, five features and a constant.
func classTask() *learner.Task {
	t := learner.Linear()
	t.Features = t.Features[:5]
	t.Loss, t.Clip, t.Constant = "multinomial", 0.5, 0.3
	t.Target.Classes = []string{"red", "green", "blue"}
	t.Graph = learner.Graph{Rule: "random", Degree: 20}
	t.Local = learner.Local{Eta: 0.25, EtaConstant: 0.1, Kappa: 8}
	return t
}

// classes draws people whose models are near a common one, with 10 to 60 records
// each, and others to test their models on.
func classes(task *learner.Task, n int, seed uint64, policy privacy.Policy) (people []Participant, tests [][]learner.Record) {
	r := rand.New(rand.NewPCG(seed, 2))
	common := normals(r, task.Dimension())
	floats.Scale(6, common)
	edges := RandomGraph(n, task.Graph.Degree, 3)
	for i := range n {
		model := normals(r, task.Dimension())
		floats.Add(model, common)
		people = append(people, Participant{
			ID: Name(i), Edges: edges[i], Policy: policy, Records: labelled(r, task, model, 10+r.IntN(51)),
		})
		tests = append(tests, labelled(r, task, model, 200))
	}
	return people, tests
}

func normals(r *rand.Rand, p int) []float64 {
	v := make([]float64, p)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return v
}

// labelled draws records whose classes follow the model's probabilities.
func labelled(r *rand.Rand, task *learner.Task, model []float64, n int) []learner.Record {
	records := make([]learner.Record, n)
	for k := range records {
		x := normals(r, task.Width())
		x[len(x)-1] = 0
		floats.Scale(1/floats.Norm(x, 2), x)
		x[len(x)-1] = task.Constant
		class, u := 0, r.Float64()
		for q := task.Probabilities(model, x); class < len(q)-1 && u > q[class]; class++ {
			u -= q[class]
		}
		records[k] = learner.Record{Seq: learner.Seq(k + 1), X: x, Y: float64(class)}
	}
	return records
}

// errorsOf is the mean error of the personal models of the first people, and of
// their lone ones.
func errorsOf(task *learner.Task, people []Participant, tests [][]learner.Record, states []learner.State) (together, alone float64) {
	const first = 25
	for i, p := range people[:first] {
		m := learner.FitPersonal(task, p.Records, learner.Prior(states[i]))
		together += task.Error(m.Theta, tests[i]) / first
		alone += task.Error(m.Alone, tests[i]) / first
	}
	return together, alone
}

// Three classes, everybody within epsilon 1: the personal models err less than
// the tuned lone models, in each of three problems.
func TestThreeClassesTogetherBeatAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it asks what learning gains, of three long simulations")
	}
	task := classTask()
	policy, err := design(task, 16).Policy()
	if err != nil {
		t.Fatal(err)
	}
	var ratio float64
	for seed := range uint64(3) {
		everybody, tests := classes(task, 60, seed, policy)
		c := Config{
			Task: task, Participants: everybody, Seed: seed,
			WakeMean: time.Second, Latency: 10 * time.Millisecond, Until: time.Hour,
		}
		together, alone := errorsOf(task, everybody, tests, run(t, c).States)
		t.Logf("error rate %.4f with the neighbours, %.4f alone", together, alone)
		if together >= alone {
			t.Errorf("error rate %.4f with the neighbours, %.4f alone", together, alone)
		}
		ratio += together / alone / 3
	}
	if ratio > 0.9 {
		t.Errorf("on average %.3f of the lone models' errors, want at most 0.9", ratio)
	}
}

// Without clipping and noise the agents converge to the minimiser of Q, with the
// losses that the test of the same kind in sim_test.go leaves out.
func TestEveryLossReachesTheMinimiserOfQ(t *testing.T) {
	const n = 6
	for loss, change := range map[string]func(*learner.Task){
		"multinomial": func(*learner.Task) {},
		"huber":       func(t *learner.Task) { t.Target, t.Threshold = learner.Target{Name: "y", Min: -5, Max: 5}, 0.5 },
		"hinge":       func(t *learner.Task) { t.Target, t.Smoothing = learner.Target{Name: "y"}, 0.5 },
	} {
		task := classTask()
		everybody, _ := classes(task, n, 1, privacy.Policy{})
		task.Loss, task.Mu = loss, 1
		change(task)
		policy, err := privacy.Design{Noise: privacy.Unprotected, Clip: task.GradientBound()}.Policy()
		if err != nil {
			t.Fatal(err)
		}
		edges, records := make([][]learner.Edge, n), make([][]learner.Record, n)
		for i := range everybody {
			p := &everybody[i]
			if task.Loss == "hinge" {
				for k := range p.Records {
					p.Records[k].Y = float64(2*(k%2) - 1)
				}
			}
			p.Policy, edges[i], records[i] = policy, p.Edges, p.Records
		}
		want, err := learner.MinimiseQ(task, records, Weights(edges))
		if err != nil {
			t.Fatal(err)
		}
		c := Config{Task: task, Participants: everybody, Seed: 1, WakeMean: time.Second, Latency: time.Millisecond, Until: 1500 * time.Second}
		var distance, norm float64
		for i, s := range run(t, c).States {
			d := floats.Distance(s.Model, want[i], 2)
			distance += d * d
			norm += floats.Dot(want[i], want[i])
		}
		if !(distance <= 1e-12*norm) {
			t.Errorf("%s: squared distance to the minimiser %g, relative to its norm", loss, distance/norm)
		}
	}
}
