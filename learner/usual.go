package learner

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Keys is a set of keys of a task, as its TOML form spells them: "clip",
// "release.epsilon", "sums.recipes[0].share".
type Keys map[string]bool

// Expected is what is publicly expected of a network. None of it may be counted in
// anybody's records.
type Expected struct {
	Nodes   int     // that learn together; 0: unknown, 100 are assumed
	Records float64 // that a node learns from; 0: unknown, 100 are assumed
}

// known replaces unknown values by the assumed ones.
func (e Expected) known() Expected {
	const nodes, records = 100, 100
	if e.Nodes <= 0 {
		e.Nodes = nodes
	}
	if !(e.Records > 0) {
		e.Records = records
	}
	return e
}

// The constants of the rule. Those of learning were chosen on validation parts of the
// training records of School, and on single folds of MovieLens and of made-up files of
// the kind that the documentation reports.
const (
	usualConstant = 0.5 // the coordinate of the intercept
	usualDegree   = 20
	usualRadius   = 30  // in units of the target, see [Task.unit]
	clipShare     = 0.2 // the clip, as a share of the steepest usual slope of a record's loss
	// bearable is how large the noise may be, as a share of the records' pull, before
	// the steps are shortened because of it.
	bearable = 0.25
)

// UsualDrift is how far [Task.StepWithin] lets noise move the model if nobody has
// looked at the records.
const UsualDrift = 0.2

// usualLoss is what the rule needs to know about a loss, for targets within 1 of their
// center.
type usualLoss struct {
	slope  float64 // of a usual record
	length float64 // of a usual model
}

// Complete returns the task with the usual value for each key that is not in said;
// docs/tasks.md shows the rule as a table. The values follow from public input: the
// said keys, the features and the target, and what is expected of the network. Name,
// features and target are never invented, and neither are names of others: a committee,
// servers. The result may still be invalid, and [Task.Validate] then says why.
//
// Equal input gives equal values on every machine, because they name a network: any
// value that is more than a product is rounded to three digits.
func (t *Task) Complete(said Keys, e Expected) *Task {
	whole := *t
	u := filler{Task: &whole, filled: Keys{}, expected: e.known()}
	maps.Copy(u.filled, said)
	u.kinds()
	fill(&u, "constant", &u.Constant, usualConstant)
	if u.lossKind().target == numberTarget {
		fill(&u, "target.center", &u.Target.Center, u.Target.middle())
	}
	fill(&u, "radius", &u.Radius, rounded(usualRadius*u.unit()))
	if u.filled["map"] || u.Map.Kind != "" {
		u.bends()
	}
	if own := u.Task.learner().usual; own != nil {
		own(&u) // first, because a filled key stays
	}
	u.learning()
	u.release()
	if u.InRounds() {
		u.rounds()
	}
	return &whole
}

// filler is a task that is being completed.
type filler struct {
	*Task
	filled   Keys // by the author of the task, or by the filler
	expected Expected
}

// fill gives a key its usual value unless it has one already.
func fill[T any](u *filler, key string, into *T, value T) {
	if !u.filled[key] {
		*into = value
		u.filled[key] = true
	}
}

// rounded rounds a number to three digits.
func rounded(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return v
}

// unit is how far a target can be from its center, and 1 for classes. The constants of
// learning are in this unit.
func (t *Task) unit() float64 {
	if t.Classifies() || !(t.Target.Min < t.Target.Max) {
		return 1
	}
	return t.labelBound()
}

// kinds fills in the loss, which follows from the target, and the learner.
func (u *filler) kinds() {
	loss := "logistic"
	switch t := &u.Target; {
	case len(t.Classes) > 2:
		loss = "multinomial"
	case len(t.Classes) == 0 && (t.Min != 0 || t.Max != 0):
		loss = "squared"
	}
	fill(u, "loss", &u.Loss, loss)
	with := "diffusion"
	if u.filledUnder("sums") {
		with = "sums"
	}
	fill(u, "learner", &u.Learner, with)
}

// filledUnder reports whether a table has any filled key.
func (u *filler) filledUnder(table string) bool {
	for key := range u.filled {
		if strings.HasPrefix(key, table+".") {
			return true
		}
	}
	return false
}

// learning fills in how models are fitted and sent.
func (u *filler) learning() {
	switch u.Loss {
	case "huber":
		fill(u, "threshold", &u.Threshold, rounded(clipShare*u.unit()))
	case "hinge":
		fill(u, "smoothing", &u.Smoothing, 0.5)
	}
	fill(u, "mu", &u.Mu, 1)
	fill(u, "lambda", &u.Lambda, 0.001) // small, because the personal fit has a penalty of its own
	clip := u.clipOfLoss()
	if u.releasesVectors() && !u.staysConvex(clip) {
		clip = u.leastConvexClip() // the guarantee of these learners needs it
	}
	fill(u, "clip", &u.Clip, clip)
	fill(u, "confidence_at", &u.ConfidenceAt, max(1, int(min(u.expected.Records, 1e9))))
	fill(u, "cohort_size", &u.CohortSize, 100_000)
	u.graph()
	// The guess is an eighth of what a personal fit finds plausible for features as long
	// as a usual row's.
	eta := u.loss().smoothness(1) / 16
	fill(u, "local.eta", &u.Local.Eta, eta)
	fill(u, "local.eta_constant", &u.Local.EtaConstant, eta/10)
	fill(u, "local.kappa", &u.Local.Kappa, 1)
	if u.filledUnder("sums") {
		u.sums()
	}
}

// clipOfLoss is clipShare of the steepest usual slope.
func (u *filler) clipOfLoss() float64 {
	return rounded(clipShare * u.lossKind().usual.slope * u.unit())
}

func (u *filler) graph() {
	fill(u, "graph.rule", &u.Graph.Rule, "random")
	fill(u, "graph.degree", &u.Graph.Degree, min(usualDegree, max(1, u.expected.Nodes-1)))
	switch u.Graph.Rule {
	case "profile":
		fill(u, "graph.gamma", &u.Graph.Gamma, 0.1)
	case "released":
		fill(u, "graph.gamma", &u.Graph.Gamma, 0.2)
	}
}

// release fills in the bounds on a node's choice so that they contain the said choice,
// and the choice so that it lies within the said bounds.
func (u *filler) release() {
	r := &u.Release
	fill(u, "release.max_epsilon", &r.MaxEpsilon, max(10, r.Epsilon))
	fill(u, "release.max_delta", &r.MaxDelta, max(1e-3, r.Delta))
	fill(u, "release.max_releases", &r.MaxReleases, max(1000, r.Releases))
	fill(u, "release.epsilon", &r.Epsilon, min(1, r.MaxEpsilon))
	fill(u, "release.delta", &r.Delta, min(1e-6, r.MaxDelta))
	u.releases(16)
	fill(u, "release.min_wake", &r.MinWake, 0.05)
	fill(u, "release.wake_seconds", &r.WakeSeconds, max(60, r.MinWake))
}

// releases fills in how many releases share the budget, within the said bound.
func (u *filler) releases(count int) {
	if u.filled["release.max_releases"] {
		count = min(count, u.Release.MaxReleases)
	}
	fill(u, "release.releases", &u.Release.Releases, count)
}

// rounds fills in the pace of learners in rounds.
func (u *filler) rounds() {
	r := &u.Rounds
	fill(u, "rounds.count", &r.Count, 0)
	fill(u, "rounds.seconds", &r.Seconds, 60)
	fill(u, "rounds.step", &r.Step, u.StepWithin(u.expected, UsualDrift))
}

// LongestStep is the largest step, for learners in rounds, that is sure to descend.
func (t *Task) LongestStep() float64 {
	return rounded(2 / (t.loss().smoothness(1) * (1 + t.Constant*t.Constant)))
}

// StepWithin is the longest step, or a shorter one if the noise of so many steps would
// be too long. The nodes' mean model collects noise of length
//
//	step sqrt(releases p / nodes) std / records
//
// with std the noise of one coordinate of one release; the records move it by at most
// step releases clip. The noise may be as long as drift, in units of a usual model's
// length. If the budget buys no releases, StepWithin is the longest step.
func (t *Task) StepWithin(e Expected, drift float64) float64 {
	noise, err := t.meanNoise(e.known())
	if err != nil {
		return t.LongestStep()
	}
	// drowned compares the noise with the most that the records can pull. If it is
	// large, the others' model would be little but noise, however short the steps.
	drowned := noise / (float64(t.Release.Releases) * t.Clip)
	length := drift * t.lossKind().usual.length * t.unit() * min(1, bearable/drowned)
	return min(t.LongestStep(), rounded(length/noise))
}

// sums fills in the private sums of a task that mentions them.
func (u *filler) sums() {
	s := &u.Sums
	fill(u, "sums.recipes", &s.Recipes, make([]Recipe, 1))
	s.Recipes = slices.Clone(s.Recipes)
	for i := range s.Recipes {
		key := fmt.Sprintf("sums.recipes[%d]", i)
		fill(u, key+".kind", &s.Recipes[i].Kind, u.usualRecipe())
		fill(u, key+".share", &s.Recipes[i].Share, u.usualShare(len(s.Recipes)))
	}
	fill(u, "sums.colluding", &s.Colluding, max(1, (len(s.Committee)-1)/3))
	fill(u, "sums.contributors", &s.Contributors, min(mostContributors, max(10_000, 2*u.expected.Nodes)))
	fill(u, "sums.records", &s.Records, min(maxSumRecords, max(1000, int(min(2*u.expected.Records, maxSumRecords)))))
	fill(u, "sums.epochs", &s.Epochs, 365)
	closes := 86_400.
	if n := u.expected.Nodes; 2 < n && n < few {
		closes = long
	}
	fill(u, "sums.close_seconds", &s.CloseSeconds, closes)
}

// usualRecipe chooses what is summed up: votes if the records are about something with
// a name, or else where personal models start.
func (u *filler) usualRecipe() string {
	if u.numbers() && u.key() != nil {
		return "items"
	}
	return u.StartRecipe(float64(u.expected.Nodes) * u.expected.Records)
}

// StartRecipe is the kind of recipe that says best where personal models start, from so many
// records of all nodes: "mean" of numbers, and of classes if there are enough records for the
// products of coordinates with each other and with classes; else "gradient".
func (t *Task) StartRecipe(records float64) string {
	const (
		each   = 10 // records for a product: of made-up classes, gradients were better with fewer
		fewest = 10 // products of a coordinate: a class's number of records has noise, however few there are
	)
	if t.Loss != "squared" && float64(each*t.Width()*max(t.Width(), t.classes(), fewest)) > records {
		return "gradient"
	}
	var c checker
	if c.recipe("recipe", t, &Recipe{Kind: "mean", Share: 1}); len(c.faults) > 0 {
		return "gradient"
	}
	return "mean"
}

// usualShare is the share of each recipe: all of the budget divided among them, or half
// of it if releases need some too.
func (u *filler) usualShare(recipes int) float64 {
	if u.Silent() {
		return 1 / float64(recipes)
	}
	return 0.5 / float64(recipes)
}
