package learner

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"p2pnode/learner/population"
	"p2pnode/privacy"
)

// Recipe says what a private sum adds up. A task has it in the table "sums".
type Recipe struct {
	// Kind is "items": what people think of each key; "mean": where a personal model
	// starts, for the squared loss and for classes with probabilities; "moments": in which
	// directions people's models differ; or "gradient": where a personal model starts, for
	// any loss. See package population.
	Kind string `toml:"kind"`
	// Share is the recipe's share of each record's budget, in squares of the noise. The
	// shares of all recipes add up to 1, or to less if releases need the rest.
	Share float64 `toml:"share"`
	// Bound, Spread and Noise are constants of the kind "items", see
	// [population.Votes]. 0 stands for a sixth of the width of the target's range, or
	// for a value derived from it.
	Bound  float64 `toml:"bound,omitempty" json:",omitzero"`
	Spread float64 `toml:"spread,omitempty" json:",omitzero"`
	Noise  float64 `toml:"noise,omitempty" json:",omitzero"`
	// Rounds is how many sums the kind "gradient" makes; they share its budget. 0: 16.
	Rounds int `toml:"rounds,omitempty" json:",omitzero"`
}

// recipes lists the allowed values of a recipe's key "kind". To add a kind, add a file
// that describes it and a line here. Nothing changes the list at run time.
var recipes = [...]recipeKind{itemsRecipe(), meanRecipe(), momentsRecipe(), gradientRecipe()}

// recipeKind describes a kind of recipe.
type recipeKind struct {
	name string
	// check checks the recipe of a task that is otherwise valid.
	check func(c *checker, key string, t *Task, r *Recipe)
	make  func(s *Summing) summing
}

// summing is a recipe for a task: it makes a device's contribution, and reads the sum.
type summing interface {
	// dimension is the length of a device's vector.
	dimension() int
	// distance bounds how far, in l2, replacing one record moves that vector.
	distance() float64
	// rounds is how many sums it makes, and walk leads through them.
	rounds() int
	walk() Walk
	// vector is the vector of a device with these training records, in order, at what
	// the round's walk has.
	vector(train []Record, at []float64) []float64
	// learn adds to known what the opened sum says, which may be nothing. The device's own
	// vector, own, made from slots record slots, is taken out first; it is nil if the
	// device added nothing, and of no use after several rounds.
	learn(known *Known, o *Opened, own []float64, slots int) error
}

// Walk leads through the sums of a recipe, each of which is made at public values that the one
// before led to. It is not safe for concurrent use.
type Walk interface {
	// At has the public values of this round, nil if it has none. The caller must not
	// change them.
	At() []float64
	// Take reads the opened sum of a round: with noise of this standard deviation in each
	// coordinate, and of so many record slots.
	Take(sum []float64, sd float64, slots int) error
	// Model is where the walk has led to, and Noise the covariance of the noise in it; nil:
	// not known. The caller must not change them.
	Model() []float64
	Noise() *mat.SymDense
}

// oneSum is the part of a recipe that makes one sum, which its walk leads to.
type oneSum struct{}

func (oneSum) rounds() int { return 1 }
func (oneSum) walk() Walk  { return new(standing) }

// standing is the walk to the sum itself.
type standing struct{ sum []float64 }

// At implements [Walk].
func (*standing) At() []float64 { return nil }

// Model implements [Walk].
func (w *standing) Model() []float64 { return w.sum }

// Noise implements [Walk].
func (*standing) Noise() *mat.SymDense { return nil }

// Take implements [Walk].
func (w *standing) Take(sum []float64, _ float64, _ int) error {
	w.sum = sum
	return nil
}

// toModel is the part of a recipe whose sums lead to a model, where personal models start.
type toModel struct{}

func (toModel) learn(known *Known, o *Opened, _ []float64, _ int) error {
	known.mean, known.noise = o.Sum, o.Noise
	return nil
}

// Summing is a recipe of a task, ready to make contributions and to read sums. It never
// changes and is safe for concurrent use.
type Summing struct {
	task      *Task
	recipe    Recipe
	catalogue *Catalogue
	summing
}

// Summing returns the task's recipe r. Recipes that need a catalogue use the one of the
// task's key.
func (t *Task) Summing(r Recipe, catalogue *Catalogue) (*Summing, error) {
	var c checker
	kind := c.recipe("recipe", t, &r)
	if len(c.faults) > 0 {
		return nil, c.faults[0]
	}
	if kind.name == "items" && catalogue == nil {
		return nil, fmt.Errorf("learner: the recipe \"items\" needs the catalogue of the task's key %q", t.key().Name)
	}
	s := &Summing{task: t, recipe: r, catalogue: catalogue}
	s.summing = kind.make(s)
	return s, nil
}

// recipe checks a recipe and returns its kind.
func (c *checker) recipe(key string, t *Task, r *Recipe) *recipeKind {
	for i := range recipes {
		if recipes[i].name == r.Kind {
			recipes[i].check(c, key, t, r)
			c.check(r.Share > 0 && r.Share <= 1, key+".share", "must be above 0 and at most 1")
			c.check(r.Kind == "items" || r.Bound == 0 && r.Spread == 0 && r.Noise == 0, key, "bound, spread and noise belong to the kind \"items\"; leave them out")
			c.check(r.Kind == "gradient" || r.Rounds == 0, key+".rounds", "belongs to the kind \"gradient\"; leave it out")
			return &recipes[i]
		}
	}
	c.oneOf(key+".kind", r.Kind, recipeNames()...)
	return &recipes[0]
}

// mostSummed is how many numbers a device can add to a sum.
const mostSummed = 1 << 23

// maxSquared is the largest number of a record's coordinates whose products can be
// summed up: with the bands of a regression's labels they take 64 MiB for each device.
const maxSquared = 4091

// squares checks that the products of all pairs of a record's coordinates can be summed up.
func (c *checker) squares(key string, t *Task) {
	c.check(t.Width() <= maxSquared, key, "sums up products of pairs of coordinates, for at most %d of them, not %d; \"gradient\" takes any number", maxSquared, t.Width())
}

// recipeNames lists the kinds of recipes.
func recipeNames() []string {
	names := make([]string, len(recipes))
	for i := range recipes {
		names[i] = recipes[i].name
	}
	return names
}

// Dimension is the length of what a device adds.
func (s *Summing) Dimension() int { return s.dimension() }

// added is what the records that are not deleted add up to.
func (s *Summing) added(train []Record, add func(sum []float64, r *Record)) []float64 {
	sum := make([]float64, s.Dimension())
	for i := range train {
		if train[i].X != nil {
			add(sum, &train[i])
		}
	}
	return sum
}

// Distance bounds how far, in l2 norm, replacing one record moves what a device adds,
// given the public values. It is for [privacy.Mechanism.Bounded].
func (s *Summing) Distance() float64 { return s.distance() * (1 + sumRounding) }

// Scale is the scale of the noise that hides one record in each sum of the recipe. It
// starts from the noise for a whole budget. The shares of the recipes, and the rounds of
// a recipe, divide the budget in squares of the noise.
func (s *Summing) Scale(whole privacy.Budget) (float64, error) {
	policy, err := privacy.Design{
		Budget:    whole,
		Dimension: s.Dimension(), Releases: s.Rounds(), Carried: privacy.CarriedSensitivity{Step: s.Distance()},
	}.Policy()
	if err != nil {
		return 0, err
	}
	m, _ := policy.Next(0)
	return m.Scale() / math.Sqrt(s.recipe.Share), nil
}

const (
	// maxSumRecords is how many of a device's records a sum takes: the first ones.
	maxSumRecords = 1 << 17
	// sumRounding is the share by which rounding can exceed the distance. In float64,
	// adding up m vectors of length at most b is off by at most 2^-53 m^2 b (Higham
	// 2002, section 4.2). Two data sets are off by twice that, which is below 1e-5 of a
	// distance of at least b/2.
	sumRounding = 1e-5
)

// Rounds is how many sums the recipe makes, one after the other; they share its budget.
func (s *Summing) Rounds() int { return s.rounds() }

// Separable reports whether what a device added can be taken out of what the sums say: of a recipe of
// several rounds it cannot be, as later ones depend on it.
func (s *Summing) Separable() bool { return s.rounds() == 1 }

// Walk returns what leads through these sums, at its start.
func (s *Summing) Walk() Walk { return s.walk() }

// Contribution returns what a device with these records adds. It is a function of the
// training records, without held-out ones and without those beyond 2^17, and of what
// the walk has at this round. Records must be finite, as [Task.Admit] makes sure of what is
// stored: Distance holds for no others. A deleted record has no X and keeps its slot. The vector is
// private: only noise calibrated to Distance may make a sum of it public. The number of slots
// is public.
func (s *Summing) Contribution(records []Record, at []float64) Contribution {
	train := trainingRecords(records)
	train = train[:min(len(train), maxSumRecords)]
	return Contribution{Vector: s.vector(train, at), Slots: len(train)}
}

// Opened is an opened sum. All its content is public.
type Opened struct {
	*Summing
	// Sum is what the recipe's walk led to: of one round the sum of the contributors'
	// vectors, with noise; of several a model.
	Sum []float64
	SD  float64 // of the noise in each coordinate; 0: no noise
	// Noise is the covariance of that in a model; nil: not known.
	Noise *mat.SymDense
	// Slots is the number of record slots of each contributor.
	Slots []int
}

// Population is what private sums say about all people: one public object, the same for
// everybody. It never changes and is safe for concurrent use.
type Population struct {
	opened []Opened
	known  Known // for devices that added nothing
}

// NewPopulation reads opened sums of one task. It returns an error for one that is not of its
// recipe's length, if that makes one sum, or not of finite numbers.
func NewPopulation(opened ...Opened) (*Population, error) {
	for i := range opened {
		if err := opened[i].check(); err != nil {
			return nil, fmt.Errorf("learner: opened sum %d %w", i, err)
		}
	}
	p := &Population{opened: opened}
	k, err := p.without(func(int) Contribution { return Contribution{} })
	if err != nil {
		return nil, err
	}
	p.known = *k
	return p, nil
}

// check returns an error unless the sum is one that the walk of its recipe can have led to.
func (o *Opened) check() error {
	if o.Summing == nil {
		return errors.New("has no recipe: Task.Summing makes one")
	}
	switch {
	case o.Rounds() == 1 && len(o.Sum) != o.Dimension(): // of several rounds it is a model
		return fmt.Errorf("has %d numbers, and its recipe makes %d", len(o.Sum), o.Dimension())
	case !finite(o.Sum) || !deviation(o.SD):
		return errors.New("is not of finite numbers, with noise of a finite standard deviation of at least 0")
	}
	return nil
}

// Contribution is what a device adds to a sum. The zero value adds nothing.
type Contribution struct {
	Vector []float64
	Slots  int
}

// Newcomer is the population as a device sees it that added nothing.
func (p *Population) Newcomer() *Known { return &p.known }

// Contributor is the population as a contributor sees it; own has one contribution for
// each opened sum, in order. What the device added is taken out, so that its fit does
// not count its own records twice; see [Summing.Separable].
func (p *Population) Contributor(own ...Contribution) (*Known, error) {
	if len(own) != len(p.opened) {
		return nil, fmt.Errorf("learner: %d contributions to %d sums", len(own), len(p.opened))
	}
	return p.without(func(i int) Contribution { return own[i] })
}

// Separable reports whether something of what a device added can be taken out; else contributors
// know what newcomers do.
func (p *Population) Separable() bool {
	return slices.ContainsFunc(p.opened, func(o Opened) bool { return o.Summing.Separable() })
}

func (p *Population) without(own func(i int) Contribution) (*Known, error) {
	k := p.known // what does not depend on the contributor is computed once
	for i := range p.opened {
		o, c := &p.opened[i], own(i)
		if c.Vector != nil && len(c.Vector) != o.dimension() {
			return nil, fmt.Errorf("learner: a contribution of %d numbers to a sum of %d", len(c.Vector), o.dimension())
		}
		if err := o.learn(&k, o, c.Vector, c.Slots); err != nil {
			return nil, fmt.Errorf("learner: recipe %s: %w", o.recipe.Kind, err)
		}
	}
	return &k, nil
}

// less returns the sum without a contribution.
func (o *Opened) less(own []float64) []float64 {
	rest := slices.Clone(o.Sum)
	for i, v := range own {
		rest[i] -= v
	}
	return rest
}

// Known is a population as one device sees it: without the device's own contribution, where that can be
// taken out.
type Known struct {
	catalogue *Catalogue
	items     *population.Items // nil: nothing is known of keys
	own       []float64         // the device's vector in the sum of items; nil: none
	mean      []float64         // where personal models start; nil: at zero
	noise     *mat.SymDense     // covariance of the noise in the mean; nil: not known
	// upper is U with P = U'U, where P is the precision of personal models around the
	// mean, without the constant's coordinate; nil: the same in all directions.
	upper *mat.TriDense
}

// numbers reports whether labels are numbers.
func (t *Task) numbers() bool { return t.Loss == "squared" || t.Loss == "huber" }

// featureCount is how many coordinates a record has without the constant.
func (t *Task) featureCount() int {
	if t.Constant > 0 {
		return t.Width() - 1
	}
	return t.Width()
}
