package learner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// recipeCases are recipes with a task for each.
func recipeCases() map[string]struct {
	task   *Task
	recipe Recipe
} {
	type c = struct {
		task   *Task
		recipe Recipe
	}
	items := plainTask("squared", 2)
	items.Features = append(items.Features, Feature{Name: "key", Kind: "key", Buckets: 3})
	constant := plainTask("squared", 2)
	constant.Constant = 0.5
	constant.Local.EtaConstant = 0.1
	classes := map[string]*Task{}
	for _, loss := range []string{"logistic", "multinomial"} {
		task := plainTask(loss, 2)
		task.Constant, task.Local.EtaConstant = 0.5, 0.1
		classes[loss] = task
	}
	return map[string]c{
		"two classes": {classes["logistic"], Recipe{Kind: "mean", Share: 1}},
		"classes":     {classes["multinomial"], Recipe{Kind: "mean", Share: 1}},
		"items":       {items, Recipe{Kind: "items", Share: 1, Bound: 2}},
		"mean":        {constant, Recipe{Kind: "mean", Share: 1}},
		"moments":     {plainTask("logistic", 2), Recipe{Kind: "moments", Share: 1}},
		"gradient":    {constant, Recipe{Kind: "gradient", Share: 1}},
		"multinomial": {plainTask("multinomial", 2), Recipe{Kind: "gradient", Share: 1, Rounds: 3}},
	}
}

// drawPublic draws what everybody may know at some round of a recipe: a model, or scales of features.
func drawPublic(r *rand.Rand, s *Summing) []float64 {
	if s.recipe.Kind == "gradient" {
		return normals(r, s.task.Dimension())
	}
	if s.Rounds() == 1 || r.IntN(2) == 0 { // the first round
		return nil
	}
	scales := normals(r, 2*s.task.featureCount())
	for i := s.task.featureCount(); i < len(scales); i++ {
		scales[i] = math.Exp(3 * scales[i])
	}
	if !s.task.Classifies() {
		return append(scales, normals(r, s.task.Width())...) // and a model
	}
	return scales
}

// drawRecord draws one that the task admits, now and then an extreme one or a deleted one.
func drawRecord(r *rand.Rand, t *Task) Record {
	x := []float64{r.NormFloat64(), r.NormFloat64()}
	if r.IntN(3) == 0 {
		x = []float64{float64(r.IntN(3) - 1), float64(r.IntN(3) - 1)}
	}
	record := Record{Seq: 1, X: t.finish(x), Y: 200*r.Float64() - 100, Key: r.Uint64N(5)}
	switch t.Loss {
	case "logistic":
		record.Y = float64(2*r.IntN(2) - 1)
	case "multinomial":
		record.Y = float64(r.IntN(3))
	default:
		if r.IntN(3) == 0 {
			record.Y = 100 * sign(record.Y)
		}
	}
	return record
}

// A search over neighbouring data sets finds no vector that one record moves further than
// Distance says; and some that it moves a good part of that, so that the search can fail.
func TestDistanceHolds(t *testing.T) {
	for name, c := range recipeCases() {
		t.Run(name, func(t *testing.T) {
			s, err := c.task.Summing(c.recipe, c.task.Hashed())
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			var farthest float64
			for range 5000 {
				records := make([]Record, 0, 14)
				for i := range 10 + r.IntN(4) {
					one := drawRecord(r, c.task)
					if r.IntN(2) == 0 && i > 0 { // alike ones add up
						one = records[0]
					}
					records = append(records, one)
				}
				at := drawPublic(r, s)
				before := s.Contribution(records, at).Vector
				changed := r.IntN(len(records))
				if records[changed] = drawRecord(r, c.task); r.IntN(10) == 0 {
					records[changed].X = nil // deleted
				}
				farthest = max(farthest, floats.Distance(before, s.Contribution(records, at).Vector, 2))
			}
			if d := s.Distance(); farthest > d || farthest < d/4 {
				t.Errorf("a record moves the vector by %v, the distance is %v", farthest, d)
			}
		})
	}
}

// A vector is of training records only.
func TestVectorSkipsHeldOut(t *testing.T) {
	for name, c := range recipeCases() {
		s, err := c.task.Summing(c.recipe, c.task.Hashed())
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(3, 4))
		var all, training []Record
		for i := range 30 {
			one := drawRecord(r, c.task)
			one.Seq = Seq(i + 1)
			all = append(all, one)
			if !one.Seq.HeldOut() {
				training = append(training, one)
			}
		}
		at := drawPublic(r, s)
		got := s.Contribution(all, at)
		if !reflect.DeepEqual(got, s.Contribution(training, at)) || len(got.Vector) != s.Dimension() || got.Slots != 24 {
			t.Errorf("%s: held-out records are in the vector, or its length %d is wrong", name, len(got.Vector))
		}
	}
}

func TestRecipesRefuse(t *testing.T) {
	keyAlone := plainTask("logistic", 1)
	keyAlone.Features, keyAlone.Constant = []Feature{{Name: "key", Kind: "key", Buckets: 3}}, 0.5
	for want, c := range map[string]struct {
		task   *Task
		recipe Recipe
	}{
		`must be one of ["items" "mean" "moments" "gradient"]`: {plainTask("squared", 2), Recipe{Kind: "median", Share: 1}},
		`needs a feature of the kind "key"`:                    {plainTask("squared", 2), Recipe{Kind: "items", Share: 1}},
		"which needs the squared loss, or one that":            {plainTask("huber", 2), Recipe{Kind: "mean", Share: 1}},
		"one that gives classes probabilities":                 {plainTask("hinge", 2), Recipe{Kind: "mean", Share: 1}},
		"by the constant, and that is 0":                       {plainTask("logistic", 2), Recipe{Kind: "mean", Share: 1}},
		"it needs the logistic loss":                           {plainTask("squared", 2), Recipe{Kind: "moments", Share: 1}},
		"tells people apart by columns":                        {keyAlone, Recipe{Kind: "moments", Share: 1}},
		"rounds: belongs":                                      {plainTask("squared", 2), Recipe{Kind: "mean", Share: 1, Rounds: 2}},
		"must be between 1 and 256":                            {plainTask("squared", 2), Recipe{Kind: "gradient", Share: 1, Rounds: 257}},
		"share: must be above 0":                               {plainTask("squared", 2), Recipe{Kind: "gradient"}},
		`belong to the kind "items"`:                           {plainTask("squared", 2), Recipe{Kind: "gradient", Share: 1, Bound: 1}},
		"needs the catalogue of the task's key":                {keyed(), Recipe{Kind: "items", Share: 1}},
	} {
		if _, err := c.task.Summing(c.recipe, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c.recipe, err, want)
		}
	}
}

// openedBy is the population of devices with these records, without noise.
func openedBy(t *testing.T, task *Task, recipe Recipe, devices [][]Record) (*Population, []Contribution) {
	t.Helper()
	s, err := task.Summing(recipe, task.Hashed())
	if err != nil {
		t.Fatal(err)
	}
	var own []Contribution
	var slots []int
	walk := s.Walk()
	for range s.Rounds() {
		sum, all := make([]float64, s.Dimension()), 0
		own, slots = nil, nil
		for _, records := range devices {
			c := s.Contribution(records, walk.At())
			floats.Add(sum, c.Vector)
			own, slots, all = append(own, c), append(slots, c.Slots), all+c.Slots
		}
		if err := walk.Take(sum, 0, all); err != nil {
			t.Fatal(err)
		}
	}
	o := Opened{Summing: s, Sum: walk.Model(), Slots: slots}
	p, err := NewPopulation(o)
	if err != nil {
		t.Fatal(err)
	}
	return p, own
}

// What a device knows without its own part is what the others' sum says alone.
func TestContributorKnowsTheOthers(t *testing.T) {
	c := recipeCases()["moments"]
	r := rand.New(rand.NewPCG(5, 6))
	devices := make([][]Record, 6)
	for i := range devices {
		for range 20 {
			one := drawRecord(r, c.task)
			one.Y = 2*indicator(one.X[0] > 0) - 1
			devices[i] = append(devices[i], one)
		}
	}
	all, own := openedBy(t, c.task, c.recipe, devices)
	others, _ := openedBy(t, c.task, c.recipe, devices[1:])
	k, err := all.Contributor(own[0])
	if err != nil {
		t.Fatal(err)
	}
	got := FitKnowing(c.task, devices[0], make([]float64, c.task.Dimension()), k).Theta
	want := FitKnowing(c.task, devices[0], make([]float64, c.task.Dimension()), others.Newcomer()).Theta
	if !floats.EqualApprox(got, want, 1e-6) {
		t.Errorf("%v, want %v", got, want)
	}
	with := FitKnowing(c.task, devices[0], make([]float64, c.task.Dimension()), all.Newcomer()).Theta
	if floats.EqualApprox(got, with, 1e-6) {
		t.Error("taking the own part out changes nothing")
	}
	if _, err := all.Contributor(); err == nil {
		t.Error("no contribution is none to each sum")
	}
}

// A sum that says nothing of others leaves what other sums say: one of people who all have too few
// records, and one in which only this device has enough.
func TestMomentsOfNobody(t *testing.T) {
	c := recipeCases()["moments"]
	r := rand.New(rand.NewPCG(11, 12))
	devices := make([][]Record, 3)
	for i := range devices {
		for k := range []int{30, 8, 8}[i] {
			one := drawRecord(r, c.task)
			one.Seq = Seq(k + 1)
			devices[i] = append(devices[i], one)
		}
	}
	gradient, err := c.task.Summing(Recipe{Kind: "gradient", Share: 0.5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	mean := Opened{Summing: gradient, Sum: []float64{0.5, -0.25}, Slots: []int{24, 7, 7}}
	for _, few := range []bool{true, false} {
		there := devices
		if few {
			there = devices[1:]
		}
		moments, own := openedBy(t, c.task, c.recipe, there)
		p, err := NewPopulation(mean, moments.opened[0])
		if err != nil {
			t.Fatalf("few records %v: %v", few, err)
		}
		if got := p.Newcomer(); !slices.Equal(got.mean, mean.Sum) || (got.upper == nil) != few {
			t.Errorf("few records %v: a newcomer knows %+v", few, got)
		}
		k, err := p.Contributor(Contribution{}, own[0])
		if err != nil {
			t.Fatalf("few records %v: %v", few, err)
		}
		if !slices.Equal(k.mean, mean.Sum) || k.upper != nil {
			t.Errorf("few records %v: the first device knows %+v", few, k)
		}
		none := make([]float64, c.task.Dimension())
		alone, err := NewPopulation(mean)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := FitKnowing(c.task, there[0], none, k).Theta, FitKnowing(c.task, there[0], none, alone.Newcomer()).Theta; !slices.Equal(got, want) {
			t.Errorf("few records %v: the fit is %v, want %v", few, got, want)
		}
		if k, err = moments.Contributor(own[0]); err != nil {
			t.Fatal(err)
		}
		if got, want := FitKnowing(c.task, there[0], none, k).Theta, FitPersonal(c.task, there[0], none).Alone; !slices.Equal(got, want) {
			t.Errorf("few records %v: the fit that knows nothing is %v, want %v", few, got, want)
		}
	}
}

// people of keys that all think alike of, and whose features say nothing.
func voters(r *rand.Rand, n, m int) (*Task, [][]Record) {
	task := plainTask("squared", 2)
	task.Target = Target{Name: "y", Min: -3, Max: 3}
	task.Features = append(task.Features, Feature{Name: "key", Kind: "key", Buckets: 50})
	thought := make([]float64, 50)
	for i := range thought {
		thought[i] = 0.8 * sign(r.NormFloat64())
	}
	people := make([][]Record, n)
	for i := range people {
		for range m {
			key := r.Uint64N(50)
			y := thought[key] + 0.3*r.NormFloat64()
			if key == 0 {
				key = 50 // 0 is no key, the bucket is the same
			}
			people[i] = append(people[i], Record{Seq: 1, X: task.finish([]float64{r.NormFloat64(), r.NormFloat64()}), Y: y, Key: key})
		}
	}
	return task, people
}

// With what others think of the keys a person predicts records that her own say nothing
// about; of a newcomer without records the population's opinion is the prediction.
func TestItemsHelpAPerson(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	task, people := voters(r, 60, 20)
	p, own := openedBy(t, task, Recipe{Kind: "items", Share: 1}, people)
	k, err := p.Contributor(own[0])
	if err != nil {
		t.Fatal(err)
	}
	var test []Record
	_, fresh := people[0], people[1][:15] // others' records serve as new ones
	for _, record := range fresh {
		test = append(test, k.Extend(task, record))
	}
	m := FitKnowing(task, people[0], make([]float64, task.Dimension()), k)
	if with, alone := task.Error(m.Theta, test), task.Error(m.Alone, fresh); with > 0.6*alone {
		t.Errorf("error %.3f with the population, %.3f alone", with, alone)
	}
	if alone := FitPersonal(task, people[0], make([]float64, task.Dimension())).Alone; !slices.Equal(m.Alone, alone) {
		t.Errorf("the lone model is %v, want %v", m.Alone, alone)
	}
	none := FitKnowing(task, nil, make([]float64, task.Dimension()), p.Newcomer())
	if got := task.Error(none.Theta, test); got > 0.6*task.Error(none.Alone, fresh) {
		t.Errorf("a newcomer's error is %.3f", got)
	}
}

// An own vote is not taken for others': of a key that only she has voted on, the
// training records see what they would without it.
func TestOwnVotesAreTakenOut(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	task, people := voters(r, 30, 20)
	_, mine := voters(r, 1, 40)
	p, own := openedBy(t, task, Recipe{Kind: "items", Share: 1}, append(people, mine[0]))
	k, err := p.Contributor(own[len(own)-1])
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, record := range mine[0] {
		seen, all := k.extend(task, record, k.own).X, k.Extend(task, record).X
		if !slices.Equal(seen, all) {
			changed++
		}
	}
	if changed != len(mine[0]) {
		t.Errorf("%d of %d records see themselves", len(mine[0])-changed, len(mine[0]))
	}
}

// Exact and lean fits know the same population, within the span of few records and
// outside of it.
func TestLeanFitsKnow(t *testing.T) {
	for _, c := range [][2]int{{20, 30}, {exactParameters + 30, 30}, {exactParameters + 30, 120}} {
		p, m := c[0], c[1]
		task := plainTask("squared", p)
		r := rand.New(rand.NewPCG(11, uint64(p)))
		truth := normals(r, p)
		records := draw(r, task, truth, m, 0.1)
		k := &Known{mean: truth}
		test := draw(r, task, truth, 200, 0.1)
		fit := FitKnowing(task, records, make([]float64, p), k)
		if with, alone := task.Error(fit.Theta, test), task.Error(fit.Alone, test); !(with < 0.8*alone) {
			t.Errorf("p=%d, m=%d: error %v knowing the truth, %v alone", p, m, with, alone)
		}
	}
}

func ExampleTask_Summing() {
	task := Linear()
	s, err := task.Summing(Recipe{Kind: "moments", Share: 1}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Dimension(), "numbers,", s.Rounds(), "round")
	// Output: 210 numbers, 1 round
}

// The widest records whose products are summed up make the longest vector that a sum takes, of 2^23
// numbers, and no longer one.
func TestWidestRegressionFitsASum(t *testing.T) {
	r := plainTask("squared", 1).regression()
	if r.Dimension(maxSquared) > mostSummed || r.Dimension(maxSquared+1) <= mostSummed {
		t.Errorf("%d coordinates make %d numbers, one more %d", maxSquared, r.Dimension(maxSquared), r.Dimension(maxSquared+1))
	}
}

// Where personal models start comes with the noise in it, and not with that of another recipe.
func TestMeanComesWithItsNoise(t *testing.T) {
	c := recipeCases()["gradient"]
	s, err := c.task.Summing(c.recipe, nil)
	if err != nil {
		t.Fatal(err)
	}
	known := &Known{mean: []float64{1, 2, 3}, noise: mat.NewSymDense(3, nil)} // of a mean
	if err := s.learn(known, &Opened{Summing: s, Sum: []float64{4, 5, 6}}, nil, 0); err != nil || known.noise != nil || known.mean[0] != 4 {
		t.Errorf("a sum of gradients leaves %+v, %v", known, err)
	}
}

// What a sum of classes tells a newcomer without records is the right class, of two and of more.
func TestMeanOfClassesPredicts(t *testing.T) {
	for _, name := range []string{"two classes", "classes"} {
		c := recipeCases()[name]
		r := rand.New(rand.NewPCG(7, 8))
		var records []Record
		for range 600 {
			one := drawRecord(r, c.task)
			one.Y = c.task.classLabel(min(c.task.classes()-1, int(1.5*(one.X[0]+1)))) // rises along a feature
			records = append(records, one)
		}
		all, _ := openedBy(t, c.task, c.recipe, [][]Record{records})
		theta := FitKnowing(c.task, nil, make([]float64, c.task.Dimension()), all.Newcomer()).Theta
		if e := c.task.Error(theta, records); e > 0.2 {
			t.Errorf("%s: %.3f of the records are predicted wrongly", name, e)
		}
	}
}

// Classes are summed up once where there are enough records for that.
func TestStartRecipe(t *testing.T) {
	wide := func(loss string, columns int) *Task {
		task := plainTask(loss, columns)
		task.Constant = 0.5
		return task
	}
	onlyKey := wide("logistic", 0)
	onlyKey.Features = []Feature{{Name: "key", Kind: "key", Buckets: 3}}
	for _, c := range []struct {
		task    *Task
		records float64
		want    string
	}{
		{wide("squared", 40), 4, "mean"},
		{wide("huber", 2), 10_000, "gradient"},
		{wide("hinge", 2), 10_000, "gradient"},
		{wide("logistic", 30), 10_000, "mean"}, // 31 coordinates with the constant
		{wide("logistic", 31), 10_000, "gradient"},
		{wide("logistic", 31), 20_000, "mean"},
		{wide("multinomial", 2), 290, "gradient"}, // a count has noise, however few the columns
		{wide("multinomial", 2), 300, "mean"},
		{plainTask("logistic", 2), 10_000, "gradient"}, // no constant
		{onlyKey, 10_000, "gradient"},                  // nothing to tell classes by
	} {
		if got := c.task.StartRecipe(c.records); got != c.want {
			t.Errorf("%s of %d coordinates, %v records: %s, want %s", c.task.Loss, c.task.Width(), c.records, got, c.want)
		}
	}
}

func TestNewPopulationRefuses(t *testing.T) {
	task := plainTask("logistic", 2)
	s, err := task.Summing(Recipe{Kind: "moments", Share: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	right := make([]float64, s.Dimension())
	wrong := slices.Clone(right)
	wrong[0] = math.NaN()
	for name, o := range map[string]Opened{
		"no recipe":   {Sum: right},
		"too short":   {Summing: s, Sum: right[1:], SD: 1},
		"no number":   {Summing: s, Sum: wrong, SD: 1},
		"no noise":    {Summing: s, Sum: right, SD: math.NaN()},
		"less than 0": {Summing: s, Sum: right, SD: -1},
	} {
		if _, err := NewPopulation(o); err == nil || !strings.Contains(err.Error(), "opened sum 0") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewPopulation(Opened{Summing: s, Sum: right, SD: 1, Slots: []int{10, 10}}); err != nil {
		t.Error(err)
	}
}
