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

// Explanation says what the nodes of a task publish, to whom, how often and at what
// price. A node with this configuration runs with these numbers.
type Explanation struct {
	Task    string `json:"task"`
	Network string `json:"network"`
	Learner string `json:"learner"`
	Loss    string `json:"loss"`
	Target  string `json:"target"`

	Columns int `json:"columns"` // of a row, without the target
	Weights int `json:"weights"` // of a model

	Releases *ExplainedReleases `json:"releases"` // nil: there are none
	Sums     *ExplainedSums     `json:"sums"`     // nil: there are none

	// The fields below hold for each record, for its whole life. Unbounded means that
	// nothing is promised.
	Epsilon    float64            `json:"epsilon"`
	Delta      float64            `json:"delta"`
	Excess     float64            `json:"excess"` // how often others learn more than epsilon allows, at most
	Unbounded  bool               `json:"unbounded"`
	Obfuscated bool               `json:"obfuscated"` // the reason why nothing is promised
	Noise      string             `json:"noise"`
	Accounting string             `json:"accounting"`
	Pace       string             `json:"pace"`
	Person     []api.PersonBudget `json:"person"`
}

// ExplainedReleases are the models that a node sends to its neighbours.
type ExplainedReleases struct {
	Count   int     `json:"count"`   // how many a cohort can pay for; 0: no limit
	Share   float64 `json:"share"`   // the share of the budget that the first one costs
	Seconds float64 `json:"seconds"` // the time between two: the mean, or for learners in rounds the longest
	Rounds  bool    `json:"rounds"`
	Ends    bool    `json:"ends"`  // it ends after a number of rounds of all nodes, whatever records come
	Free    bool    `json:"free"`  // messages after the last release cost nothing and continue
	Bytes   int     `json:"bytes"` // size of a message
	// Neighbours is how many a node looks for; it accepts twice as many.
	Neighbours int     `json:"neighbours"`
	Rule       string  `json:"rule"`    // how the graph is made
	Servers    int     `json:"servers"` // how many servers a node sends to, and to nobody else; 0: it sends to neighbours
	Noise      float64 `json:"noise"`   // standard deviation, in units of the most that one record can add; 0: none
	Cohort     int     `json:"cohort"`  // how many records share a budget
}

// ExplainedSums are the private sums of a task.
type ExplainedSums struct {
	Share        float64           `json:"share"` // of each record's budget that the sums may spend
	Committee    []string          `json:"committee"`
	Colluding    int               `json:"colluding"`
	Epochs       int               `json:"epochs"`
	CloseSeconds float64           `json:"close_seconds"`
	Contributors int               `json:"contributors"`
	Records      int               `json:"records"`
	Recipes      []ExplainedRecipe `json:"recipes"`
	OnlyFetches  bool              `json:"only_fetches"` // as in [api.Sums]
}

// ExplainedRecipe is one kind of sum.
type ExplainedRecipe struct {
	Kind   string  `json:"kind"`
	Share  float64 `json:"share"`
	Rounds int     `json:"rounds"`
	// Numbers is how many numbers are added up, and Bytes the size of an upload; 0: they
	// depend on the task's catalogue, which is not at hand.
	Numbers int `json:"numbers"`
	Bytes   int `json:"bytes"`
}

// Explain works out what nodes of a valid task with this configuration do. catalogue is
// that of the task's key; without it the size of sums over keys is left out. If c leaves
// the accounting open, Explain chooses the one that suits the noise, as [Make] does.
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
		var err error
		if e.Sums.OnlyFetches, err = OnlyFetches(t, c, catalogue); err != nil {
			return e, err
		}
	}
	return e, nil
}

// OnlyFetches reports whether each of a task's private sums costs more than a whole budget
// of a node with this configuration, so that it contributes to none. It reports false where
// the task has no sums, or where their catalogue is not at hand.
func OnlyFetches(t *learner.Task, c Config, catalogue *learner.Catalogue) (bool, error) {
	catalogue = cmp.Or(catalogue, t.Hashed())
	plan, err := Plan(t, catalogue)
	if err != nil || !c.Protected() || len(t.Sums.Recipes) == 0 {
		return false, nil
	}
	files := Files{Task: t, Config: c, Catalogue: catalogue}
	prices, err := plan.Prices(files.Price)
	return err == nil && len(plan.Affordable(prices)) == 0, err
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
			Neighbours: t.Graph.Degree, Rule: t.Graph.Rule, Servers: len(t.Servers()), Cohort: t.Cohort(),
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
		if err == nil { // otherwise the catalogue is missing
			told.Rounds, told.Numbers = plan.Recipe(i).Rounds(), plan.Recipe(i).Dimension()
			if sum, err := plan.Sum(i, 0, 0); err == nil {
				told.Bytes = sum.UploadSize()
			}
		}
		e.Sums.Recipes = append(e.Sums.Recipes, told)
	}
}

// Lasts returns for how many seconds at most the budget of a cohort lasts, if nothing is
// interrupted; infinite without a limit.
func (r *ExplainedReleases) Lasts() float64 {
	if r.Count == 0 {
		return math.Inf(1)
	}
	return float64(r.Count) * r.Seconds
}
