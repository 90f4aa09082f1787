package learner

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/vector"
	"p2pnode/privacy"
)

func personalLearner() descriptor {
	return descriptor{name: "personal", make: newPersonal, clocked: true, estimates: true}
}

// newPersonal returns the agent of Bellet et al. 2018: asynchronous block coordinate
// descent on the joint objective Q (eq. 2) with private wakes (eq. 6). Its wakes are a
// Poisson process that depends on nothing but Schedule.
//
// A neighbour counts from its first message on. In the paper every agent starts at a
// common public point and unheard neighbours pull toward it. Leaving them out measured
// a little better, and then a neighbour that never speaks does no harm.
func newPersonal(c Config) (Agent, error) {
	p := c.Workspace.newPersonal()
	*p = personal{
		task: c.Task, loss: c.Workspace.lossOf(c.Task), policy: c.Policy, made: c.Made,
		clock:         clock{wakeMean: c.WakeMean, schedule: c.Schedule},
		neighbourhood: neighbourhood{self: c.Self, workspace: c.Workspace, byNoise: true},
		training:      training{workspace: c.Workspace, spent: c.Spent},
		model:         c.Workspace.zeros(c.Task.Dimension()),
	}
	return p, p.resume(c.Resume)
}

// personal is the agent of Task.Learner "personal".
type personal struct {
	task   *Task
	loss   loss
	policy privacy.Policy
	clock
	neighbourhood
	training training

	round    uint64
	model    []float64 // as published: the agent goes on from the same model that the others saw
	noiseStd float64
	mixed    []float64         // the newest model before the release in it; nil: see pull
	mixedStd float64           // of the noise in mixed
	estimate *Estimate         // nil before the first release, and under other graph rules
	made     int               // number of releases so far, for the policy
	asked    bool              // a query is waiting for the door
	asking   privacy.Mechanism // the mechanism of that query
}

func (p *personal) resume(s *State) error {
	if s == nil {
		return nil
	}
	p.round, p.noiseStd = s.Round, s.NoiseStd
	p.model = slices.Clone(s.Model)
	var err error
	if p.estimate, err = s.Estimate.resumed(p.task); err != nil {
		return err
	}
	return p.neighbourhood.resume(s.Heard, len(p.model))
}

// Neighbours implements [Agent].
func (p *personal) Neighbours(now time.Duration, edges []Edge) Output {
	p.set(edges)
	return p.output(now)
}

// Records implements [Agent].
func (p *personal) Records(add []Record, drop []Seq) error {
	return p.training.change(p.task, add, drop)
}

// Receive implements [Agent].
func (p *personal) Receive(now time.Duration, m Message) (Output, error) {
	err := p.hear(&m, len(p.model))
	return p.output(now), err
}

// Tick implements [Agent]. The clock goes on whatever happens: only public values
// decide whether a wake makes no release, and wakes are cheap.
func (p *personal) Tick(now time.Duration) Output {
	due := p.due(now)
	out := p.output(now)
	if !due || p.asked || !p.training.active(p.task) || !p.listening {
		return out
	}
	p.asking, p.asked = p.policy.Next(p.made)
	if p.asked {
		s := p.workspace.orNew()
		s.query = Query{
			Round:     p.round + 1,
			Mechanism: p.asking,
			Sums:      s.clippedSums(&p.training, p.loss, p.asking, p.model),
		}
		p.training.ask(s.query.Sums)
		out.Ask = &s.query
	}
	return out
}

func (p *personal) output(now time.Duration) Output { return Output{Next: p.arm(now)} }

// Released implements [Agent]: the private wake of eq. 6. Everything here is a
// public function of the answer and of what was published before.
func (p *personal) Released(now time.Duration, a privacy.Answer) Output {
	out := p.output(now)
	if !p.asked {
		return out
	}
	p.asked = false
	p.training.answered(a.Cohorts)
	if a.Exhausted() {
		return out
	}
	m := max(1, a.Slots) // a batch may be empty; then the sum is only noise
	lambda, c := p.task.regularisation(m), p.task.confidence(m)
	alpha := mixing(p.task.Mu, c, p.task.curvatureOf(p.loss, m))

	s := p.workspace.orNew()
	gradient, mean := s.vectors(len(p.model))
	floats.ScaleTo(gradient, 1/float64(m), a.Sum)
	if p.task.Graph.estimates() {
		std := p.asking.NoiseStd() / float64(m)
		p.estimate = p.estimate.including(p.round+1, p.task.aim(p.model, gradient), std)
	}
	vector.AddScaled(gradient, 2*lambda, p.model)
	drawn := alpha * p.task.Mu * c * p.asking.NoiseStd() / float64(m)
	neighbours, theirStd, heard := p.pull(mean, gradient, c, drawn)
	if p.asking.Protected() {
		p.mix(neighbours, alpha, theirStd, heard)
	}
	next := step(p.workspace.vector(len(p.model)), p.model, neighbours, gradient, alpha, p.task.Mu, c)
	project(next, p.task.Radius)

	// The noise in the new model, per coordinate. The formula treats the noises as
	// independent, which they are not quite: what the agent heard contains some of what
	// it sent. The data's part of the gradient only shrinks the old noise.
	kept := 1 - alpha - 2*alpha*p.task.Mu*c*lambda
	if !heard {
		kept += alpha // the agent's own noise once more, not another's
	}
	p.noiseStd = math.Hypot(math.Hypot(kept*p.noiseStd, alpha*theirStd), drawn)
	p.task.single(next, p.noiseStd)
	p.model = next
	p.made++
	p.round++
	s.send[0] = Message{From: p.self, Kind: KindModel, Round: p.round, NoiseStd: p.noiseStd, Real: next}
	out.Send = s.send[:]
	return out
}

// pull returns the point toward which the neighbours pull the shared model, in the
// memory of dst, with the noise in it. If no neighbour pulls, heard is false and the
// point is the agent's own model. drawn is the noise in gradient. Without noise, the
// agent's own records limit what liars can do: the pull is no longer than that of
// gradient. With noise the gradient shows nothing, and the models that noise does not
// explain are left out, as seen from before the newest release.
func (p *personal) pull(dst, gradient []float64, confidence, drawn float64) (neighbours []float64, std float64, heard bool) {
	if p.asking.Protected() {
		p.average(p.task)
		if p.mixed == nil {
			p.mixed, p.mixedStd = slices.Clone(p.model), p.noiseStd
		}
		p.screen(p.latest, p.mixed, p.mixedStd, drawn)
	}
	neighbours, std, heard = p.mean(dst, p.model, p.noiseStd, p.task.mostNoise(len(dst)))
	if !heard || p.asking.Protected() || len(p.edges) < enoughToJudge {
		return neighbours, std, heard
	}
	share := limitPull(neighbours, p.model, p.task.Mu*confidence*floats.Norm(gradient, 2))
	return neighbours, math.Hypot(share*std, (1-share)*p.noiseStd), true
}

// mix notes what the new model is before the release is added to it, and the noise in that.
// If no neighbour was heard, neighbours is the agent's own model.
func (p *personal) mix(neighbours []float64, alpha, theirStd float64, heard bool) {
	clear(p.mixed)
	vector.AddScaled(p.mixed, 1-alpha, p.model)
	vector.AddScaled(p.mixed, alpha, neighbours)
	if !heard {
		theirStd = p.noiseStd
	}
	p.mixedStd = math.Hypot((1-alpha)*p.noiseStd, alpha*theirStd)
}

// State implements [Agent].
func (p *personal) State() State {
	return State{Round: p.round, Model: slices.Clone(p.model), NoiseStd: p.noiseStd, Heard: p.heard(), Estimate: p.estimate}
}
