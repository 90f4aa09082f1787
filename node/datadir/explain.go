package datadir

import (
	"cmp"
	"fmt"
	"math"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/privacy"
)

// Explanation is what the nodes of a task publish, to whom, how often and at what price.
// The numbers are those by which a node of this configuration runs.
type Explanation struct {
	Task    string `json:"task"`
	Network string `json:"network"`
	Learner string `json:"learner"`
	Loss    string `json:"loss"`
	Target  string `json:"target"`

	Columns int `json:"columns"` // that a row has beside the target
	Weights int `json:"weights"` // of a model

	Releases *ExplainedReleases `json:"releases"` // nil: there are none
	Sums     *ExplainedSums     `json:"sums"`     // nil: there are none

	// Of each record, for its whole life. Unbounded: nothing is promised.
	Epsilon    float64            `json:"epsilon"`
	Delta      float64            `json:"delta"`
	Excess     float64            `json:"excess"` // how often others learn more than epsilon allows, at most
	Unbounded  bool               `json:"unbounded"`
	Obfuscated bool               `json:"obfuscated"` // which is why
	Noise      string             `json:"noise"`
	Accounting string             `json:"accounting"`
	Pace       string             `json:"pace"`
	Person     []api.PersonBudget `json:"person"`
}

// ExplainedReleases are the models that a node sends to its neighbours.
type ExplainedReleases struct {
	Count   int     `json:"count"`   // of each cohort; 0: no limit
	Share   float64 `json:"share"`   // of the budget that the first costs
	Seconds float64 `json:"seconds"` // between two: the mean, or of learners in rounds the longest
	Rounds  bool    `json:"rounds"`
	Ends    bool    `json:"ends"`  // with so many rounds of all nodes, whatever records come
	Free    bool    `json:"free"`  // messages after the last release cost nothing and go on
	Bytes   int     `json:"bytes"` // of a message
	// Neighbours is how many a node looks for; it accepts twice as many.
	Neighbours int     `json:"neighbours"`
	Rule       string  `json:"rule"`    // of the graph
	Servers    int     `json:"servers"` // to whom alone a node sends; 0: to neighbours
	Noise      float64 `json:"noise"`   // standard deviation, in units of the most that one record adds; 0: none
	Cohort     int     `json:"cohort"`  // records that share a budget
}

// ExplainedSums are the private sums of a task.
type ExplainedSums struct {
	Share        float64           `json:"share"` // of each record's budget
	Committee    []string          `json:"committee"`
	Colluding    int               `json:"colluding"`
	Epochs       int               `json:"epochs"`
	CloseSeconds float64           `json:"close_seconds"`
	Contributors int               `json:"contributors"`
	Records      int               `json:"records"`
	Recipes      []ExplainedRecipe `json:"recipes"`
}

// ExplainedRecipe is one kind of sum.
type ExplainedRecipe struct {
	Kind   string  `json:"kind"`
	Share  float64 `json:"share"`
	Rounds int     `json:"rounds"`
	// Numbers is how many are added up, and Bytes the size of an upload; 0: the
	// catalogue of the task says it, which is not at hand.
	Numbers int `json:"numbers"`
	Bytes   int `json:"bytes"`
}

// Explain works out what nodes of a valid task with this configuration do. The catalogue
// is that of the task's key; without it the size of sums over keys is left out. If c leaves
// the accounting open, it is what suits the noise, as [Make] has it.
func Explain(t *learner.Task, c Config, catalogue *learner.Catalogue) (Explanation, error) {
	if c.Accounting == "" {
		if err := c.openAccounting(t); err != nil {
			return Explanation{}, err
		}
	}
	e := Explanation{
		Task: t.Name, Network: NetworkName(t), Learner: t.Learner, Loss: t.Loss, Target: t.Target.Name,
		Columns: len(t.Columns()) - 1, Weights: t.Dimension(),
		Unbounded: t.Obfuscated() || !c.Protected(), Obfuscated: t.Obfuscated(), Noise: c.Noise, Accounting: c.Accounting, Pace: c.Pace, Person: []api.PersonBudget{},
	}
	if err := e.releases(t, &c); err != nil {
		return e, err
	}
	if len(t.Sums.Recipes) > 0 {
		e.sums(t, catalogue)
	}
	return e, nil
}

func (e *Explanation) releases(t *learner.Task, c *Config) error {
	p, err := unprotectedPolicy(t)
	if !e.Unbounded {
		p, err = policy(c.Design(t))
	}
	if err != nil {
		return err
	}
	if !t.Silent() {
		e.Releases = &ExplainedReleases{
			Count: c.Releases, Seconds: c.WakeSeconds, Rounds: t.InRounds(), Ends: t.InRounds() && t.Rounds.Count > 0, Free: !t.Clocked() && !t.InRounds(), Bytes: gossip.ModelBytes(t.Dimension()),
			Neighbours: t.Graph.Degree, Rule: t.Graph.Rule, Servers: len(t.Servers()), Cohort: t.CohortSize,
		}
		if t.InRounds() {
			e.Releases.Seconds = t.Rounds.Seconds
		}
	}
	if e.Unbounded {
		if t.InRounds() {
			e.Releases.Count = t.Rounds.Count
		}
		return nil
	}
	return e.budget(t, c, p)
}

// budget adds what is promised, and what the first release of a cohort costs.
func (e *Explanation) budget(t *learner.Task, c *Config, p privacy.Policy) (err error) {
	kept := c.Guarantee()
	e.Epsilon, e.Delta = kept.Epsilon, kept.Delta
	if e.Excess, err = p.Excess(); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	for _, k := range []int{1, 2, 5, 10} {
		e.Person = append(e.Person, c.Person(k))
	}
	r := e.Releases
	if r == nil {
		return nil
	}
	m, ok := p.Next(0)
	if !ok {
		return nil
	}
	account, err := privacy.NewAccount(p)
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	const cohort = 1
	r.Count, r.Share, r.Noise = account.Left(cohort), account.Share(m), m.NoiseStd()/t.Clip
	if t.InRounds() && t.Rounds.Count > 0 {
		r.Count = min(r.Count, t.Rounds.Count)
	}
	return nil
}

func (e *Explanation) sums(t *learner.Task, catalogue *learner.Catalogue) {
	s := t.Sums
	e.Sums = &ExplainedSums{
		Share: s.Share(), Committee: s.Committee, Colluding: s.Colluding, Epochs: s.Epochs, CloseSeconds: s.CloseSeconds,
		Contributors: s.Contributors, Records: s.Records, Recipes: []ExplainedRecipe{},
	}
	plan, err := Plan(t, cmp.Or(catalogue, t.Hashed()))
	for i, r := range s.Recipes {
		told := ExplainedRecipe{Kind: r.Kind, Share: r.Share}
		if err == nil { // else there is no catalogue
			told.Rounds, told.Numbers = plan.Recipe(i).Rounds(), plan.Recipe(i).Dimension()
			if sum, err := plan.Sum(i, 0, 0); err == nil {
				told.Bytes = sum.EntrySize() + 8*sum.Dimension
			}
		}
		e.Sums.Recipes = append(e.Sums.Recipes, told)
	}
}

// Lasts is how many seconds the budget of a cohort lasts at most, if nothing is
// interrupted; infinite without a limit.
func (r *ExplainedReleases) Lasts() float64 {
	if r.Count == 0 {
		return math.Inf(1)
	}
	return float64(r.Count) * r.Seconds
}
