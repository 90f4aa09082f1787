package learner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// signs are 40 records whose label is the sign of their first coordinate.
func signs() *Rows {
	rows := new(Rows)
	for i := range 40 {
		x := float64(i%8) - 3.5
		y := 1.
		if x < 0 {
			y = -1
		}
		rows.Add(Record{Seq: 1, X: []float64{x / 4, float64(i%5)/5 - 0.4}, Y: y})
	}
	return rows
}

func twoNumbers() *Task {
	t := Linear()
	t.Features = t.Features[:2]
	return t
}

func TestMisleads(t *testing.T) {
	for _, c := range []struct {
		model []float64
		want  bool
	}{{[]float64{1, 0}, false}, {[]float64{-1, 0}, true}, {[]float64{-0.001, 0}, true}, {[]float64{0, 1}, false}, {[]float64{0, -1}, false}, {[]float64{0, 0}, false}} {
		if got := twoNumbers().misleads(signs(), c.model); got != c.want {
			t.Errorf("%v misleads: %v", c.model, got)
		}
	}
}

// Records that are all alike say nothing against a model, whatever is rounded.
func TestOneRecordManyTimesAccusesNobody(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	for _, loss := range lossNames {
		for _, m := range []int{1, 3, 10, 33} {
			for range 20 {
				task, rows := plainTask(loss, 2), new(Rows)
				record := draw(r, task, normals(r, task.Dimension()), 1, 1)[0]
				for range m {
					rows.Add(record)
				}
				if model := normals(r, task.Dimension()); task.misleads(rows, model) {
					t.Fatalf("%s: %d times %+v: %v misleads", loss, m, record, model)
				}
			}
		}
	}
}

func heardFrom(models ...[]float64) State {
	s := State{Model: make([]float64, 2)}
	for i, m := range models {
		s.Heard = append(s.Heard, Heard{Peer: ID(rune('a' + i)), Weight: 1, Round: 1, Model: m})
	}
	return s
}

func TestPrior(t *testing.T) {
	own := State{Model: []float64{1, 2}}
	if got := Prior(own); !floats.Equal(got, own.Model) {
		t.Errorf("nobody was heard, and the prior is %v", got)
	}
	if got := Prior(heardFrom([]float64{1, 0}, []float64{3, 2})); !floats.Equal(got, []float64{2, 1}) {
		t.Errorf("of two it is %v", got)
	}
	// The middle is (1, 0), the distances 0, 0, 0, 0 and 1,000: a liar moves nothing.
	s := heardFrom([]float64{1, 0}, []float64{1, 0}, []float64{1, 0}, []float64{1, 0}, []float64{1, 1000})
	if got := Prior(s); !floats.EqualApprox(got, []float64{1, 0}, 1e-12) {
		t.Errorf("with a liar it is %v", got)
	}
}

func TestPriorForLeavesOutWhoMisleads(t *testing.T) {
	task, rows := twoNumbers(), signs()
	s := heardFrom([]float64{1, 0}, []float64{-1, 0})
	if got, _ := PriorFor(task, rows, s); !floats.Equal(got, []float64{1, 0}) {
		t.Errorf("one of two misleads: %v", got)
	}
	if got, _ := PriorFor(task, rows, heardFrom([]float64{-1, 0})); !floats.Equal(got, []float64{0, 0}) {
		t.Errorf("all mislead: %v", got)
	}
	if got, _ := PriorFor(task, new(Rows), s); !floats.Equal(got, []float64{0, 0}) {
		t.Errorf("without records: %v", got)
	}
	if len(s.Heard) != 2 || s.Heard[0].Peer != "a" {
		t.Error("the state was changed")
	}
}

// Noise weakens the pull to a prior of classes only where it is known how much it is.
func TestNoiseOfClassesCountsWhereItIsKnown(t *testing.T) {
	bent, mapped, timed := plainTask("multinomial", 3), plainTask("multinomial", 3), plainTask("multinomial", 2)
	bent.Features[0].Bends = []float64{-0.5, 0.5}
	mapped.Map = Map{Kind: "fourier", Features: 4, Width: 1}
	timed.Features = append(timed.Features, Feature{Name: "t", Kind: "time", Parts: []string{"hours"}})
	for name, task := range map[string]*Task{
		"two classes": plainTask("logistic", 3), "three": plainTask("multinomial", 3), "with bends": bent, "with a map": mapped, "with hours": timed,
	} {
		r := rand.New(rand.NewPCG(6, 15))
		truth := normals(r, task.Dimension())
		rows := RowsOf(draw(r, task, truth, 20, 0.1))
		fit := func(n Noise) PersonalModel { return last(PersonalModels(task, rows, truth, n)) }
		without := fit(Noise{})
		if got := fit(Noise{1, 3}); !floats.Equal(got.Theta, without.Theta) {
			t.Errorf("%s: noise of 1 to 3 changed the model", name)
		}
		if got := fit(Noise{3, 3}); floats.Equal(got.Theta, without.Theta) || !finite(got.Theta) {
			t.Errorf("%s: noise of 3 gave %v, and none %v", name, got.Theta, without.Theta)
		}
	}
}

// What few neighbours that lie claim, of their noise or of how many releases they have made, changes
// nothing. The noise of one release is less in the mean of four models than in each; that of earlier
// ones they have in common, and all of it, spread over the network: four neighbours and the agent, if it
// wants more than four; else as many as are assumed, or any number.
func TestNoiseOfThePrior(t *testing.T) {
	task, rows := twoNumbers(), signs()
	task.Release.Releases = 15
	s := heardFrom([]float64{1, 0}, []float64{1, 0}, []float64{1, 0}, []float64{1, 0})
	told := func(degree int, round uint64) Noise {
		task.Graph.Degree = degree
		for i, claimed := range []float64{2, 2, 2, 1e9} {
			s.Heard[i].NoiseStd, s.Heard[i].Round = claimed, round
		}
		s.Heard[3].Round = 1 << 60
		_, noise := PriorFor(task, rows, s)
		return noise
	}
	common := func(releases, size float64) float64 { return 2 * math.Sqrt(0.25+releases/size) }
	for _, c := range []struct {
		degree int
		round  uint64
		want   Noise
	}{
		{5, 0, Noise{1, 1}},
		{5, 10, Noise{common(10, 5), common(10, 5)}},
		{5, 1000, Noise{common(15, 5), common(15, 5)}},
		{4, 10, Noise{1, common(10, 100)}},
	} {
		if got := told(c.degree, c.round); math.Abs(got.Least-c.want.Least)+math.Abs(got.Most-c.want.Most) > 1e-12 {
			t.Errorf("four models of round %d, of %d wanted: noise of %v, not %v", c.round, c.degree, got, c.want)
		}
	}
	if _, noise := PriorFor(task, new(Rows), s); noise != (Noise{}) {
		t.Errorf("of no records the noise is told as %v", noise)
	}
}

// A prior with noise in a direction in which the owner's few records do not vary would move predictions
// there by as much, and no record of hers could tell. If she knows how much noise it is, it moves them
// by less than half. What all records show is learned as well.
func TestFewRecordsDoubtANoisyPrior(t *testing.T) {
	task := plainTask("squared", 2)
	var records []Record
	for i, x := range []float64{-0.9, -0.4, 0.1, 0.5, 0.8} {
		records = append(records, Record{Seq: Seq(i + 1), X: []float64{x, 0.01 * float64(i%3)}, Y: 3*x + 0.1*float64(i%2)})
	}
	s := State{Model: make([]float64, 2)}
	for _, id := range []ID{"a", "b", "c"} {
		s.Heard = append(s.Heard, Heard{Peer: id, Weight: 1, Round: 1, Model: []float64{3, 40}})
	}
	trusting := FitAmong(task, records, s).Theta
	for i := range s.Heard {
		s.Heard[i].NoiseStd = 40
	}
	doubting := FitAmong(task, records, s).Theta
	if !(math.Abs(doubting[1]) < math.Abs(trusting[1])/2) || math.Abs(doubting[0]-3) > 0.5 {
		t.Errorf("trusting %.3f, doubting %.3f", trusting, doubting)
	}
}

// A neighbour may claim any noise. A claim whose square is no number counts as any other that is far
// too large: not as none, and what comes out is a model.
func TestClaimsOfNoiseBeyondFloat64(t *testing.T) {
	bent := plainTask("squared", 2)
	bent.Features[0].Bends = []float64{-0.5, 0.5}
	for _, task := range []*Task{plainTask("squared", 3), bent} {
		r := rand.New(rand.NewPCG(31, 2))
		truth := normals(r, task.Dimension())
		records := draw(r, task, truth, 20, 0.1)
		fitted := func(claimed float64) []float64 {
			heard := []Heard{{Peer: "a", Weight: 1, Round: 1, NoiseStd: claimed, Model: truth}}
			return FitAmong(task, records, State{Model: make([]float64, len(truth)), Heard: heard}).Theta
		}
		for _, claimed := range []float64{1e155, 1e300, math.MaxFloat64} {
			wantClose(t, fmt.Sprintf("a claim of %g", claimed), fitted(claimed), fitted(1e50), 1e-9)
		}
	}
}

// Neighbours' models that are as long as any task allows leave numbers in an owner's model.
func TestModelsAsLongAsAnyTaskAllows(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 1))
	for _, loss := range []string{"squared", "logistic", "huber", "hinge", "multinomial"} {
		task := plainTask(loss, 3)
		task.Radius = maxRadius
		if err := task.Validate(); err != nil {
			t.Fatal(err)
		}
		s := State{Model: make([]float64, task.Dimension())}
		for i := range 12 {
			model := make([]float64, task.Dimension())
			for k := range model {
				model[k] = random.NormFloat64()
			}
			floats.Scale(maxRadius/floats.Norm(model, 2), model)
			s.Heard = append(s.Heard, Heard{Peer: ID(rune('a' + i)), Weight: 1, Round: 1, NoiseStd: float64(i % 3), Model: model})
		}
		records := testExamples(random, 30, 3, loss)
		m := FitAmong(task, records, s)
		if score := task.Score(m.Theta, slices.Values(records)); !finite(m.Theta) || math.IsNaN(score.Error) {
			t.Errorf("%s: the model is %v, its error %v", loss, m.Theta, score.Error)
		}
	}
}

// A task of a constant alone has no coordinates that noise could be turned in.
func TestNoisyPriorOfAConstantAlone(t *testing.T) {
	task := plainTask("squared", 0)
	task.UsualNorm, task.Constant = 1, 0.5
	s := State{Model: []float64{0}, Heard: []Heard{{Peer: "a", Weight: 1, Round: 1, NoiseStd: 1, Model: []float64{8}}}}
	m := FitAmong(task, []Record{{Seq: 1, X: []float64{0.5}, Y: 3}, {Seq: 2, X: []float64{0.5}, Y: 3.5}}, s)
	if got := 0.5 * m.Theta[0]; !(got > 2.5 && got < 4) {
		t.Errorf("after 3 and 3.5 the model says %v", got)
	}
}
