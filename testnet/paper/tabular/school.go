package tabular

import (
	"context"
	"fmt"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/paper/nodes"
)

// School is the experiment on exam scores of 139 schools.
func School() paper.Experiment {
	return paper.Experiment{
		Name:  "school",
		Title: "School: exam scores of 139 schools",
		About: "Liu, Hu, Wu and Smith, \"On privacy and personalization in cross-silo federated learning\" (NeurIPS 2022), predict exam scores " +
			"with one silo for each school, and protect every pupil. Here each school is a node, there is no server, and the noise is on what a node sends: " +
			"the error against epsilon, beside their numbers, the tuned lone model, and the models as they were released.",
		Data:     schoolExpects,
		Place:    "school",
		UsesReal: true,
		Plan:     planSchool,
	}
}

// Numbers of the experiment: the nodes learn from 70% of each school's pupils.
const (
	schoolSplits = 5
	trainTenths  = 7
)

func schoolEpsilons() []float64 { return []float64{.1, .5, 1, 3, 6} }
func schoolDeltas() []float64   { return []float64{1e-3, 1e-6} }

// schoolWay is one way for the schools to learn.
type schoolWay struct {
	learner string         // diffusion or personal; bySum: a private sum
	budget  privacy.Budget // the zero value: without privacy
}

// String names the way in rows.
func (w schoolWay) String() string {
	switch {
	case w.learner != bySum:
		return "learner " + w.learner
	case w.free():
		return "sum without noise"
	}
	return "private sum (a committee of 4, 1 may collude)"
}

func (w schoolWay) free() bool { return w.budget == privacy.Budget{} }

func (w schoolWay) key(split uint64) string {
	return fmt.Sprintf("split %d %s eps %g delta %g", split, w.learner, w.budget.Epsilon, w.budget.Delta)
}

// schoolRun is the experiment with its data.
type schoolRun struct {
	*schoolData
	ways   []schoolWay
	seed   uint64
	splits int
}

func planSchool(o paper.Options) (*paper.Plan, error) {
	data, err := readSchool(o.Data)
	if err != nil {
		return nil, err
	}
	e := &schoolRun{schoolData: data, ways: schoolWays(o.Quick), seed: o.Seed, splits: o.Seeds}
	if e.splits == 0 {
		e.splits = schoolSplits
		if o.Quick {
			e.splits = 1
		}
	}
	p := &paper.Plan{
		Identity: fmt.Sprintf("school %s seed %d splits %d quick %v", data.hash, o.Seed, e.splits, o.Quick),
		Seeds:    e.splits,
		Report:   e.report,
	}
	for k := range e.splits {
		for _, w := range e.ways {
			split := e.seed + uint64(k)
			p.Cells = append(p.Cells, paper.Cell{
				Key: w.key(split), Cost: 1,
				Run: func(context.Context) (paper.Numbers, error) { return e.run(w, split) },
			})
		}
	}
	nodes.Add(p, o, e.overNodes())
	return p, nil
}

// bySum stands in place of a learner's name.
const bySum = "sum"

func schoolWays(quick bool) []schoolWay {
	list := []schoolWay{{learner: "diffusion"}}
	for _, delta := range schoolDeltas() {
		for _, epsilon := range schoolEpsilons() {
			if !quick || delta == publishedDelta && epsilon >= 1 {
				list = append(list, schoolWay{"diffusion", privacy.Budget{Epsilon: epsilon, Delta: delta}})
			}
		}
	}
	list = append(list, schoolWay{learner: bySum}, schoolWay{bySum, privacy.Budget{Epsilon: 1, Delta: 1e-6}})
	if quick {
		return list
	}
	list = append(list, schoolWay{bySum, atPublished.budget}, schoolWay{learner: "personal"})
	for _, epsilon := range schoolEpsilons() {
		list = append(list, schoolWay{"personal", privacy.Budget{Epsilon: epsilon, Delta: publishedDelta}})
	}
	return list
}

// The constants below were chosen on two splits: 70% of the training records to learn
// from and the other 30% to choose by, never their test records. The rest is as for
// any file, see [coding.automatic].
const (
	schoolLoneEta = 0.3 // pull of the lone model toward zero
	schoolEta     = 4.  // pull toward the others' model, if it were learned without noise
)

// schoolPace is longer if there is little noise.
func schoolPace(b privacy.Budget) pace {
	if b == (privacy.Budget{}) || b.Epsilon > 1 {
		return pace{rounds: 128, drift: 0.4}
	}
	return pace{rounds: 64, drift: 0.4}
}

func schoolLone() learner.Local {
	return learner.Local{Eta: schoolLoneEta, EtaConstant: schoolLoneEta / 10, Kappa: 1}
}

func (e *schoolRun) setting(w schoolWay, nodes []node, pace pace) (setting, error) {
	s, err := e.coding.automatic(len(nodes), meanRecords(nodes), w.budget, pace)
	if err != nil {
		return s, err
	}
	s.lone = schoolLone()
	if w.learner == bySum {
		s.task.Local = s.lone
		return s, nil
	}
	// With a smaller step the others' model has moved less far, so it gets less weight.
	step := s.task.Rounds.Step
	eta := max(schoolLoneEta, schoolEta*step/s.task.LongestStep())
	s.task.Local = learner.Local{Eta: eta, EtaConstant: eta / 10, Kappa: 1}
	if w.learner == "personal" {
		s.task.Learner, s.task.Rounds, s.task.Diffusion = "personal", learner.Rounds{}, learner.Diffusion{}
		s.task.Mu, s.task.ConfidenceAt = samePace(s.task, step), 1
	}
	return s, s.task.Validate()
}

// samePace is the mu with which learner personal takes a step of this length against
// the gradient, alpha mu with alpha = 1/(1 + mu L). It is at most 10.
func samePace(t *learner.Task, step float64) float64 {
	const most = 10
	l := 2 * t.FeatureNorm() * t.FeatureNorm()
	if step*l >= most*l/(1+most*l) {
		return most
	}
	return step / (1 - step*l)
}

func (e *schoolRun) run(w schoolWay, split uint64) (paper.Numbers, error) {
	nodes := e.owners.share(trainTenths, split)
	s, err := e.setting(w, nodes, schoolPace(w.budget))
	if err != nil {
		return nil, err
	}
	return s.run(nodes, w.learner == bySum, w.key(split))
}
