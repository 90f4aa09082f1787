package learner

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// Propagation holds the constants of the learner "propagation" (Bellet et al.
// 2018, eq. 15-16): one private release, then smoothing over the graph.
type Propagation struct {
	// Ridge is lambda of the local fit that is released. The larger it is, the less one
	// record moves the fit, and the less noise the fit needs.
	Ridge float64 `toml:"ridge"`
	// Tolerance is how far, in l2 norm, the released fit may be from the exact one. It
	// is also how far an agent's model must move before the agent sends it again.
	Tolerance float64 `toml:"tolerance"`
}

// Fit is the one private release of learner "propagation". Every step of the agent
// starts from it.
type Fit struct {
	Model    Vector  // T_i^loc with its noise, inside the task's ball; length Task.Dimension
	NoiseStd float64 // of Model, per coordinate
	Slots    int     // number of records it was fitted to: m of the confidence
}

func propagationLearner() descriptor {
	return descriptor{
		name: "propagation", make: newPropagation, estimates: true,
		constants:   func(t *Task) any { return t.Propagation },
		check:       (*checker).propagation,
		usual:       (*filler).propagation,
		vectors:     func(*Task) bool { return true },
		sensitivity: (*Task).fitSensitivity,
	}
}

// newPropagation returns the agent of model propagation. It releases its local model
// once; at later wakes, if anything is new, it takes the step of eq. 16 from that
// release and the models it heard. The release uses up the budget of the oldest cohort
// that has one. All later messages are public functions of what was published and cost
// nothing. There is no second release: later records only serve the personal model.
//
// An agent without a release, because it has no records or its budget is used up,
// passes on the mean of its neighbours (c_i = 0).
func newPropagation(c Config) (Agent, error) {
	a := &propagation{
		task:          c.Task,
		clock:         clock{wakeMean: c.WakeMean, schedule: c.Schedule},
		neighbourhood: neighbourhood{self: c.Self},
		training:      training{spent: c.Spent},
		model:         make([]float64, c.Task.Dimension()),
	}
	if err := a.design(c.Policy, c.Made); err != nil {
		return nil, fmt.Errorf("learner: the release of propagation: %w", err)
	}
	return a, a.resume(c.Resume)
}

// design turns the policy's next mechanism into one for whole vectors. A policy from
// [Task.Design] has such mechanisms already.
func (a *propagation) design(p privacy.Policy, made int) (err error) {
	if a.mechanism, a.left = p.Next(made); !a.left {
		return nil
	}
	a.clip = a.task.Clip
	if !a.mechanism.Protected() {
		// The grid of the mechanism comes from a clip, and a vector may be up to 2^10
		// of them long. The released vector can be as long as a clip for each of 2^20
		// slots.
		a.clip = a.mechanism.Clip()
		if a.mechanism, err = privacy.NewUnprotected(0x1p10 * a.clip); err != nil {
			return err
		}
	}
	distance := a.task.fitSensitivity(a.mechanism.Noise()).At(1)
	a.mechanism, err = a.mechanism.Bounded(distance, len(a.model))
	return err
}

// propagation is the agent of Task.Learner "propagation".
type propagation struct {
	task *Task
	clock
	neighbourhood
	training training

	mechanism privacy.Mechanism // that of the one release
	clip      float64           // the bound on its gradients
	left      bool              // the release is still to be made
	asked     bool              // the query is waiting for the door
	fit       *Fit              // nil before the release
	estimate  *Estimate         // the fit, for the graph; nil before the release and under other graph rules

	fresh    bool // something has changed since the last step
	round    uint64
	model    []float64 // as published
	noiseStd float64
}

func (a *propagation) resume(s *State) error {
	if s == nil {
		return nil
	}
	a.round, a.noiseStd = s.Round, s.NoiseStd
	copy(a.model, s.Model)
	if s.Fit != nil {
		if len(s.Fit.Model) != len(a.model) || !finite(s.Fit.Model) || !deviation(s.Fit.NoiseStd) || s.Fit.Slots < 1 {
			return fmt.Errorf("learner: the saved local fit does not fit the task, which has %d parameters", len(a.model))
		}
		a.setFit(&Fit{slices.Clone(s.Fit.Model), s.Fit.NoiseStd, s.Fit.Slots})
	}
	var err error
	if a.estimate, err = s.Estimate.resumed(a.task); err != nil {
		return err
	}
	return a.neighbourhood.resume(s.Heard, len(a.model))
}

func (a *propagation) setFit(f *Fit) { a.fit, a.left, a.fresh = f, false, true }

// Neighbours implements [Agent].
func (a *propagation) Neighbours(now time.Duration, edges []Edge) Output {
	a.set(edges)
	a.fresh = true
	return a.output(now)
}

// Records implements [Agent]. The agent looks at new records at its next input.
func (a *propagation) Records(add []Record, drop []Seq) error {
	return a.training.change(a.task, add, drop)
}

// Receive implements [Agent].
func (a *propagation) Receive(now time.Duration, m Message) (Output, error) {
	err := a.hear(&m, len(a.model))
	a.fresh = a.fresh || err == nil
	return a.output(now), err
}

// Tick implements [Agent]. A wake makes the release if that is still to be done, or
// else takes a step.
func (a *propagation) Tick(now time.Duration) Output {
	var out Output
	if a.due(now) && !a.asked {
		if a.releases() {
			a.asked = true
			out.Ask = a.query()
			a.training.ask(out.Ask.Sums)
		} else {
			out.Send = a.step(false)
		}
	}
	out.Next = a.output(now).Next
	return out
}

// output keeps the clock running while there is anything to do.
func (a *propagation) output(now time.Duration) Output {
	if a.asked || !a.fresh && !a.releases() {
		a.next = 0
		return Output{Next: Never}
	}
	return Output{Next: a.arm(now)}
}

// releases reports whether the release can be made now.
func (a *propagation) releases() bool { return a.left && a.training.active(a.task) && a.listening }

// query asks for the release of the local fit of the cohort whose turn it is.
func (a *propagation) query() *Query {
	turn := a.training.turn(a.task)
	slots := turn.slots[:min(len(turn.slots), privacy.MaxSlots)]
	sum := a.mechanism.NewBounded(turn.number, len(slots), a.task.localFit(slots, a.clip))
	return &Query{Round: a.round + 1, Mechanism: a.mechanism, Sums: []privacy.Sum{sum}, Passes: a.task.fitSteps(a.clip)}
}

// Released implements [Agent]. The answer is 2 m r T_i^loc with noise; see localfit.go.
func (a *propagation) Released(now time.Duration, answer privacy.Answer) Output {
	if !a.asked {
		return a.output(now)
	}
	a.asked = false
	a.training.answered(answer.Cohorts)
	if answer.Exhausted() { // a newer cohort may have a budget
		return a.output(now)
	}
	scale := 1 / (2 * a.task.Propagation.Ridge * float64(answer.Slots))
	fit := &Fit{Model: make([]float64, len(a.model)), NoiseStd: scale * a.mechanism.NoiseStd(), Slots: answer.Slots}
	floats.ScaleTo(fit.Model, scale, answer.Sum)
	project(fit.Model, a.task.Radius)
	a.setFit(fit)
	if a.task.Graph.estimates() {
		a.estimate = a.estimate.including(a.round+1, fit.Model, fit.NoiseStd)
	}
	return Output{Send: a.step(true), Next: a.output(now).Next}
}

// step takes the step of eq. 16. It returns a message if the model has moved by more
// than the tolerance, or always if always is set, as after a release. The agent goes on
// from the published model, like everybody else.
func (a *propagation) step(always bool) []Message {
	a.fresh = false
	if a.fit != nil {
		a.screen(a.latest, a.model, a.noiseStd, a.weight()*a.fit.NoiseStd/(1+a.weight()))
	}
	mean, std, heard := a.mean(make([]float64, len(a.model)), a.model, a.noiseStd, a.task.mostNoise(len(a.model)))
	next, nextStd := mean, std
	switch {
	case a.fit == nil && !heard:
		return nil // there is nothing to publish
	case a.fit != nil && !heard:
		next, nextStd = a.fit.Model, a.fit.NoiseStd
	case a.fit != nil:
		next = propagate(mean, a.fit.Model, a.weight())
		nextStd = math.Hypot(std, a.weight()*a.fit.NoiseStd) / (1 + a.weight())
	}
	next = slices.Clone(next)
	if a.task.Propagation.Tolerance >= roundedSteps*math.Sqrt(float64(len(next)))*spacing(a.task.Radius) {
		a.task.single(next, nextStd)
	}
	if !always && a.round > 0 && floats.Distance(next, a.model, 2) <= a.task.Propagation.Tolerance {
		return nil
	}
	a.round++
	a.model, a.noiseStd = next, nextStd
	return []Message{{From: a.self, Kind: KindModel, Round: a.round, NoiseStd: a.noiseStd, Real: a.model}}
}

// weight is mu c_i of the released fit.
func (a *propagation) weight() float64 { return a.task.Mu * a.task.confidence(a.fit.Slots) }

// roundedSteps is how many times the rounding of a model must fit into the tolerance
// before models are rounded. With a smaller tolerance, rounding alone could make agents
// send models to each other for ever.
const roundedSteps = 1 << 8

// propagate is the step of Bellet et al. 2018, eq. 16,
//
//	T_i <- (sum_j (W_ij/D_i) T_j + w T_i^loc) / (1 + w),   w = mu c_i.
func propagate(neighbours, local []float64, w float64) []float64 {
	next := slices.Clone(neighbours)
	floats.AddScaled(next, w, local)
	floats.Scale(1/(1+w), next)
	return next
}

// State implements [Agent].
func (a *propagation) State() State {
	s := State{Round: a.round, Model: slices.Clone(a.model), NoiseStd: a.noiseStd, Heard: a.heard(), Estimate: a.estimate}
	if a.fit != nil {
		s.Fit = &Fit{slices.Clone(a.fit.Model), a.fit.NoiseStd, a.fit.Slots}
	}
	return s
}

func (u *filler) propagation() {
	fill(u, "propagation.ridge", &u.Propagation.Ridge, 0.1)
	fill(u, "propagation.tolerance", &u.Propagation.Tolerance, rounded(1e-4*u.unit()))
	fill(u, "release.max_releases", &u.Release.MaxReleases, 1)
}

// propagation checks the task's table of that name.
func (c *checker) propagation(t *Task) {
	const key = "propagation.tolerance"
	c.positive("propagation.ridge", t.Propagation.Ridge)
	c.positive(key, t.Propagation.Tolerance)
	c.check(t.Release.MaxReleases == 1, "release.max_releases", "must be 1 for the learner propagation")
	c.check(t.fitSteps(t.Clip) <= maxPasses, key, "and ridge are too small together: the local fit would take %d steps, more than %d", t.fitSteps(t.Clip), maxPasses)
}
