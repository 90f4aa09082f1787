package audit

import (
	"crypto/ed25519"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/node/summing"
	"p2pnode/privacy"
	"p2pnode/sums"
	"p2pnode/testnet/sim"
)

// Sums is the learner whose devices add to private sums and release nothing.
const Sums = "sums"

// ofClasses is the recipe "mean" of two classes.
const ofClasses = "mean of classes"

// recipes are what a private sum can add up.
func recipes() []string { return []string{"items", "mean", ofClasses, "moments", "gradient"} }

// The size of the audited committee, and how many of its members collude with the
// auditor.
const (
	committeeSize = 4
	colluding     = 1
)

// sumPath is a recipe's private sums under audit. The auditor is the colluding members
// together with all devices but one: they subtract what they added themselves, which
// leaves the vector of that device and the honest members' parts of the noise.
type sumPath struct {
	task     *learner.Task
	recipe   *learner.Summing
	sum      *sums.Sum
	admitted int // how many sums the account of a record pays for
	parts    int // number of parts of the noise that the auditor does not know
	of       int // number of parts in which the noise is drawn
}

// newSumPath returns the product's sums for a task that has only this recipe.
func newSumPath(recipe string, o Options) (*sumPath, error) {
	t := sumTask(recipe, o)
	plan, err := summing.NewPlan(t, t.Hashed(), sums.Digest{})
	if err != nil {
		return nil, err
	}
	p := &sumPath{task: t, recipe: plan.Recipe(0), parts: committeeSize - colluding, of: committeeSize - colluding}
	if p.sum, err = plan.Sum(0, 1, 1); err != nil {
		return nil, err
	}
	p.admitted, err = p.affordable(o.Claim)
	return p, err
}

// sumTask is a task whose records can move the recipe's vector as far as any record
// can, with about dimension coordinates.
func sumTask(recipe string, o Options) *learner.Task {
	t := &learner.Task{
		Name: "audit", Learner: Sums, Loss: "squared", Normalise: true, CohortSize: 1000,
		Target:  learner.Target{Name: "y", Min: -1, Max: 1},
		Release: learner.Release{Epsilon: o.Claim.Epsilon, Delta: o.Claim.Delta},
		Sums: learner.Sums{
			Recipes:   []learner.Recipe{{Kind: recipe, Share: 1}},
			Colluding: colluding, Contributors: 100, Records: 100, Epochs: 1, CloseSeconds: 60,
		},
	}
	features := o.Dimension
	switch recipe {
	case "items":
		features = 1
		t.Features = []learner.Feature{{Name: "key", Kind: "key", Buckets: max(2, o.Dimension/2)}}
	case "mean":
		features = largest(func(p int) int { return p + p*(p+1)/2 }, o.Dimension)
	case ofClasses:
		t.Loss, t.Constant, t.Sums.Recipes[0].Kind = "logistic", 0.5, "mean"
		features = largest(func(p int) int { return 2*(p+1) + (p+1)*(p+2)/2 }, o.Dimension)
	case "moments":
		t.Loss = "logistic"
		features = largest(func(p int) int { return p * (p + 1) / 2 }, o.Dimension)
	case "gradient":
		t.Sums.Recipes[0].Rounds = o.Releases
	}
	t.Features = append(t.Features, learner.NumberFeatures(features)...)
	for i := range committeeSize {
		who, err := summing.PeerOf(sums.Identity(sim.DeviceKey(-1 - i).Public().(ed25519.PublicKey)))
		if err != nil {
			panic(err) // every public key has a peer ID
		}
		t.Sums.Committee = append(t.Sums.Committee, who.String())
	}
	return t
}

// largest is the largest number of features, at least 2, with at most limit
// coordinates.
func largest(coordinates func(features int) int, limit int) int {
	p := 2
	for coordinates(p+1) <= limit {
		p++
	}
	return p
}

// affordable is how many of the sums a record's account lets it pay for.
func (p *sumPath) affordable(claim privacy.Budget) (int, error) {
	d := p.task.Design(privacy.Design{Budget: claim, Releases: 1, Apart: p.task.Sums.Share()})
	d.Widest = p.task.Sums.Widest(p.task, p.task.Hashed())
	policy, err := d.Policy()
	if err != nil {
		return 0, err
	}
	account, err := privacy.NewAccount(policy)
	if err != nil {
		return 0, err
	}
	for n := 0; ; n++ {
		debits := account.AdmitApart(p.sum.Mechanism, []privacy.Cohort{cohort})
		if len(debits) == 0 {
			return n, nil
		}
		if err := account.Apply(debits[0]); err != nil {
			return 0, err
		}
	}
}

// games returns the game of each canary.
func (p *sumPath) games() (all []game) {
	for _, worlds := range p.canaries() {
		all = append(all, func(b int, random *rand.Rand) (float64, error) { return p.score(worlds, b, random) })
	}
	return all
}

// canaries are pairs of a device's records that differ in one record, as far apart as a
// recipe allows: along one feature, and along all.
func (p *sumPath) canaries() (all [][2][]learner.Record) {
	width := p.task.Width()
	if p.task.Constant > 0 {
		width-- // records have it beside the canary
	}
	for _, direction := range []canary{axisCanary(width), diagonalCanary(width)} {
		var worlds [2][]learner.Record
		for b, y := range []float64{-1, 1} {
			worlds[b] = p.device(direction, y)
		}
		all = append(all, worlds)
	}
	return all
}

// device returns the records of a device; the last one is the canary with this label.
func (p *sumPath) device(direction canary, y float64) (records []learner.Record) {
	if p.task.Sums.Recipes[0].Kind == "moments" {
		records = p.company(direction)
	}
	x := []float64(direction)
	if p.task.Constant > 0 {
		x = append(slices.Clone(x), p.task.Constant)
	}
	return append(records, learner.Record{Seq: sim.TrainingSeq(len(records)), Cohort: cohort, X: x, Y: y, Key: 1})
}

// company returns nine records, the fewest beside which one more counts for second
// moments. They bring the mean to a right angle with the canary, and to the length from
// which it is shortened.
func (p *sumPath) company(direction canary) (records []learner.Record) {
	x := make([]float64, len(direction))
	x[0], x[1] = -direction[1], direction[0]
	const longest, slots = 0.6 / 2.58, 10
	length := math.Sqrt(longest*longest-1./(slots*slots)) * slots / (slots - 1)
	floats.Scale(length/l2(x), x)
	for i := range slots - 1 {
		records = append(records, learner.Record{Seq: sim.TrainingSeq(i), Cohort: cohort, X: x, Y: 1})
	}
	return records
}

// crowd is how many records the auditor's devices have. It is so large that a public model
// stays where the canary shows most. A mean of classes sees that they are not in the sum, and
// so its second round shows the canary somewhat less.
const crowd = 1 << 20

// score lets a device contribute to all the sums that it can pay for, in world b, and
// returns the log-likelihood ratio of world 1 over world 0.
func (p *sumPath) score(worlds [2][]learner.Record, b int, random *rand.Rand) (score float64, err error) {
	noise := privacy.NewSeededNoise(random.Uint64())
	walk, m := p.recipe.Walk(), p.sum.Mechanism
	variance := float64(p.parts) * math.Pow(m.PartStd(p.of)/m.Unit(), 2)
	for range p.admitted {
		var units [2][]int64
		for world, records := range worlds {
			units[world] = m.Units(p.recipe.Contribution(records, walk.At()).Vector, p.sum.Limit)
		}
		opened := p.open(units[b], noise)
		released := make([]float64, len(opened))
		for j, n := range opened {
			zero, one := float64(n-units[0][j]), float64(n-units[1][j])
			score += (zero*zero - one*one) / (2 * variance)
			released[j] = float64(n) * m.Unit()
		}
		if err := walk.Take(released, p.sum.Noise(), crowd); err != nil {
			return 0, err
		}
	}
	return score, nil
}

// open returns what the auditor sees of a vector: the vector with the noise of the
// honest members.
func (p *sumPath) open(units []int64, noise *privacy.SeededNoise) []int64 {
	total := append([]int64(nil), units...)
	for range p.parts {
		for j, n := range noise.Part(p.sum.Mechanism, p.of) {
			total[j] += n
		}
	}
	return total
}
