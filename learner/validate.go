package learner

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// MaxDimension is the largest number of a model's parameters.
const MaxDimension = 1 << 16

// The bounds of a target that is a number. Fits and intervals take fourth powers of errors, which
// must not overflow, and labels below [tiny] count as 0.
const (
	LargestTarget  = 1e50
	narrowestRange = 1e-20
)

// Limits on what a task file may ask for: far beyond every use, and small enough that a
// hostile file cannot exhaust a device.
const (
	maxClasses    = 64      // the fit keeps a square matrix of this size for each record
	maxPasses     = 100_000 // over all records for one release
	maxRadius     = 1e100   // in sums of many models, of which the fits take squares, no number may overflow
	maxNameLength = 256
	maxDegree     = 100  // a node accepts twice as many neighbours, and package gossip lets a peer follow 256
	maxProfile    = 1024 // the limit of package gossip
	leastWake     = 0.01 // seconds: a release takes milliseconds to make, and so does each that is heard
	leastRound    = 0.1  // seconds: a message takes as long to travel

	// Beyond these bounds on constants of the objective and of the personal fit numbers overflow.
	leastConstant, mostConstant = 1e-30, 1e30
)

// Fault is what is wrong with one key of a task.
type Fault struct {
	Key  string // of the TOML form, for example "features[2].min"
	Text string // what the key must be, for example "must be a positive number"
}

// Error implements [error].
func (f *Fault) Error() string { return fmt.Sprintf("learner: task key %s: %s", f.Key, f.Text) }

// Validate checks every field. It reports all faults at once, as [Task.Faults] lists
// them.
func (t *Task) Validate() error {
	var all []error
	for _, f := range t.Faults() {
		all = append(all, f)
	}
	return errors.Join(all...)
}

// Faults lists all that is wrong with a task; it is empty for a valid one.
func (t *Task) Faults() []*Fault {
	var c checker
	c.name("name", t.Name)
	c.loss(t)
	c.features(t.Features)
	if len(c.faults) == 0 { // the kinds are known, so the width is too
		c.coordinates(t.Features)
	}
	if len(c.faults) == 0 { // nor does an int of 32 bits overflow now
		t.Map.check(&c, t.coordinates())
		c.check(t.Dimension() > 0 && t.Dimension() <= MaxDimension, "features", "must make 1 to %d coordinates, times the classes if there are any, not %d", MaxDimension, t.Dimension())
	}
	c.check(t.Constant >= 0 && t.Constant <= 1, "constant", "must be between 0 and 1")
	c.check(t.UsualNorm == 0 || t.UsualNorm >= 1e-3 && t.UsualNorm <= 1e3, "usual_norm", "must be between 0.001 and 1000, or left out")
	c.check(t.UsualNorm == 0 || !t.Normalise, "usual_norm", "says nothing where normalise is true, which scales every record to norm 1; leave one of them out")
	c.target(t)
	c.fitted("mu", t.Mu)
	c.check(t.Lambda >= 0 && t.Lambda <= mostConstant, "lambda", "must be between 0 and %v", mostConstant)
	c.positive("clip", t.Clip)
	c.check(t.ConfidenceAt >= 1, "confidence_at", "must be at least 1")
	c.check(t.Radius > 0 && t.Radius <= maxRadius, "radius", "must be positive and at most %v; where it is left out, it follows from the range of the target", maxRadius)
	c.check(t.CohortSize >= 1, "cohort_size", "must be at least 1")
	c.graph(t)
	c.fitted("local.eta", t.Local.Eta)
	if t.Constant != 0 {
		c.fitted("local.eta_constant", t.Local.EtaConstant)
	}
	c.fitted("local.kappa", t.Local.Kappa)
	c.release(t.Release)
	c.sums(t)
	c.learner(t)
	return c.faults
}

// checker collects the faults of a task.
type checker struct{ faults []*Fault }

func (c *checker) check(ok bool, key, format string, args ...any) {
	if !ok {
		c.faults = append(c.faults, &Fault{key, fmt.Sprintf(format, args...)})
	}
}

func (c *checker) positive(key string, v float64) {
	c.check(v > 0 && !math.IsInf(v, 0), key, "must be a positive number")
}

func (c *checker) atLeastZero(key string, v float64) {
	c.check(v >= 0 && !math.IsInf(v, 0), key, "must be a number that is at least 0")
}

func (c *checker) fitted(key string, v float64) {
	c.check(v >= leastConstant && v <= mostConstant, key, "must be between %v and %v", leastConstant, mostConstant)
}

func (c *checker) name(key, s string) {
	c.check(s != "" && len(s) <= maxNameLength, key, "must have 1 to %d characters", maxNameLength)
}

func (c *checker) oneOf(key, s string, allowed ...string) {
	c.check(slices.Contains(allowed, s), key, "must be one of %q, not %q", allowed, s)
}

func (c *checker) features(features []Feature) {
	c.check(len(features) > 0, "features", "must list at least one feature")
	seen := map[string]bool{}
	for i := range features {
		f := &features[i]
		key := fmt.Sprintf("features[%d]", i)
		c.name(key+".name", f.Name)
		c.check(!seen[f.Name], key+".name", "must be unique, %q is there twice", f.Name)
		seen[f.Name] = true
		c.kind(key, f)
	}
	c.oneKey(features)
}

// coordinates checks that features make no more than a model can have.
func (c *checker) coordinates(features []Feature) {
	var all int64 // each makes at most [MaxDimension]
	for i := range features {
		all += int64(features[i].width())
	}
	c.check(all <= MaxDimension, "features", "must make 1 to %d coordinates, not %d", MaxDimension, all)
}

func (c *checker) interval(key string, low, high float64) {
	c.check(low < high && !math.IsInf(low, 0) && !math.IsInf(high, 0), key, "must be below max, and both finite")
}

// logarithm checks a range of numbers whose logarithms are learned.
func (c *checker) logarithm(key string, low, high float64) {
	c.check(low >= 0, key+".log", "needs a min of 0 or more: there is no logarithm of what lies below")
	c.check(low < 0 || logarithm(low, low) < logarithm(high, low), key+".max", "is so close to min that their logarithms are one number; leave log out")
}

func (c *checker) values(key string, values []string) {
	c.check(len(values) > 0, key, "must list at least one value")
	seen := map[string]bool{}
	for _, v := range values {
		c.name(key, v)
		c.check(!seen[v], key, "must be unique, %q is there twice", v)
		seen[v] = true
	}
}

func (c *checker) edges(key string, edges []float64) {
	c.check(len(edges) > 0, key, "must list at least one edge")
	for i, e := range edges {
		c.check(!math.IsNaN(e) && !math.IsInf(e, 0), key, "must be finite")
		c.check(i == 0 || edges[i-1] < e, key, "must increase")
	}
}

// bends checks that a number's bends lie in their order between its ends, and apart enough to
// tell numbers between them.
func (c *checker) bends(key string, f *Feature) {
	if len(f.Bends) == 0 {
		return
	}
	apart := true
	for i, knots := 0, f.knots(); i < len(knots)-1; i++ {
		apart = apart && knots[i] < knots[i+1] && f.half(knots[i]) < f.half(knots[i+1])
	}
	c.check(apart, key, "must increase, from above min to below max")
}

func (c *checker) target(t *Task) {
	c.name("target.name", t.Target.Name)
	for i := range t.Features {
		c.check(t.Features[i].Name != t.Target.Name, "target.name", "must not be a feature too")
	}
	classes, kind := t.Target.Classes, t.lossKind()
	switch {
	case kind.target == classTarget:
		c.check(len(classes) >= 2 && len(classes) <= maxClasses, "target.classes", "must list 2 to %d classes, as the data spells them", maxClasses)
	case kind.odds:
		c.check(len(classes) == 0 || len(classes) == 2, "target.classes", "must list the two classes as the data spells them, or be left out where they are 1 and -1 (or 0)")
	default:
		c.check(len(classes) == 0, "target.classes", "belong to the losses %s; leave them out", lossList(func(k *lossKind) bool { return k.odds }))
	}
	if len(classes) > 0 {
		c.values("target.classes", classes)
	}
	if !t.Classifies() {
		c.interval("target.min", t.Target.Min, t.Target.Max)
		c.sizes(&t.Target)
		if t.Target.Log {
			c.logarithm("target", t.Target.Min, t.Target.Max)
		}
		c.check(!(t.Target.Min < t.Target.Max) || t.Target.Center >= t.Target.Min && t.Target.Center <= t.Target.Max, "target.center", "must lie between min and max")
		return
	}
	c.check(t.Target.Min == 0 && t.Target.Max == 0 && t.Target.Center == 0 && !t.Target.Log, "target", "min, max, log and center belong to the losses %s; leave them out", lossList(func(k *lossKind) bool { return k.target == numberTarget }))
}

// sizes checks that a target's numbers are of a size that can be computed with and written out.
func (c *checker) sizes(g *Target) {
	if !(g.Min < g.Max) {
		return
	}
	for _, end := range []struct {
		key   string
		value float64
	}{{"target.min", g.Min}, {"target.max", g.Max}} {
		c.check(math.Abs(end.value) <= LargestTarget, end.key, "must be between %v and %v; write the target in a larger unit", -LargestTarget, LargestTarget)
	}
	c.check(g.Max-g.Min >= narrowestRange, "target.max", "must be above min by %v or more; write the target in a smaller unit", narrowestRange)
	c.check(!g.Log || g.Min <= 0 || g.Min >= narrowestRange, "target.min", "must be 0, or %v or more, where log is true; write the target in a smaller unit", narrowestRange)
}

func (c *checker) graph(t *Task) {
	g := t.Graph
	if g.Rule == "learned" {
		c.check(false, "graph.rule", "is \"learned\", which no version has any more; write \"released\": it found better neighbours from the same releases")
		return
	}
	c.oneOf("graph.rule", g.Rule, "random", "profile", "released")
	c.check(g.Degree >= 1 && g.Degree <= maxDegree, "graph.degree", "must be between 1 and %d", maxDegree)
	if g.Rule == "profile" {
		c.positive("graph.gamma", g.Gamma)
		c.check(g.Profile >= 1 && g.Profile <= maxProfile, "graph.profile", "must be between 1 and %d", maxProfile)
	}
	if !g.estimates() {
		c.check(g.Kernel == "", "graph.kernel", "belongs to the graph rule released; leave it out")
		return
	}
	c.check(g.Gamma >= 0.02 && !math.IsInf(g.Gamma, 0), "graph.gamma", "must be at least 0.02, so that strangers have a weight to begin with")
	c.check(g.Profile == 0, "graph.profile", "belongs to the graph rule profile; leave it out")
	if g.Kernel == "distance" {
		c.check(false, "graph.kernel", "is \"distance\", which no version has any more; leave it out: directions are compared by \"cosine\", which found the same neighbours")
	} else {
		c.oneOf("graph.kernel", g.Kernel, "", "cosine")
	}
	estimating := withTrait(func(d *descriptor) bool { return d.estimates })
	c.check(slices.Contains(estimating, t.Learner), "graph.rule",
		"released needs the learner %s: only their releases say where a node's own optimum lies, the others' models are one for all", strings.Join(estimating, " or "))
}

func (c *checker) release(r Release) {
	c.positive("release.max_epsilon", r.MaxEpsilon)
	c.check(r.MaxDelta > 0 && r.MaxDelta <= 0.5, "release.max_delta", "must be between 0 and 0.5")
	c.check(r.MaxReleases >= 1, "release.max_releases", "must be at least 1")
	c.check(r.Epsilon > 0 && r.Epsilon <= r.MaxEpsilon, "release.epsilon", "must be positive and at most max_epsilon")
	c.check(r.Delta > 0 && r.Delta <= r.MaxDelta, "release.delta", "must be positive and at most max_delta")
	c.check(r.Releases >= 1 && r.Releases <= r.MaxReleases, "release.releases", "must be between 1 and max_releases")
	c.check(r.MinWake >= leastWake && !math.IsInf(r.MinWake, 0), "release.min_wake", "must be at least %v", leastWake)
	c.check(r.WakeSeconds >= r.MinWake && !math.IsInf(r.WakeSeconds, 0), "release.wake_seconds", "must be at least min_wake")
}
