package learner

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// steep is m records of two classes with labels of 1e4 in place of 1: their loss is
// 1e8 times as curved as the loss's bound says.
func steep(seed uint64, m, p int) []Record {
	records := testExamples(rand.New(rand.NewPCG(seed, 31)), m, p, "logistic")
	for j := range records {
		records[j].Y *= 1e4
	}
	return records
}

// Labels that no two-class task encodes, in the training set all the same, do not
// move a whole vector further than is paid for, in any learner that releases one.
// Taken as they are, steps overshoot the kinks of their losses and drive two data
// sets apart: 13 times as far as is paid for under propagation, 41 under
// Douglas-Rachford and 118 under transmit-only.
func TestImpossibleLabelsKeepTheSensitivity(t *testing.T) {
	const m = 1000
	worst := map[string]float64{}
	far := func(learner string, apart, paid float64) { worst[learner] = max(worst[learner], apart/paid) }
	for seed := range uint64(40) {
		one, other := slots(steep(seed, m, 1)), slots(steep(seed, m, 1))
		replaced := steep(seed+1000, 1, 1)[0]
		other[7].x, other[7].y = replaced.X, replaced.Y

		task := propagationTask("logistic", 1)
		task.Propagation.Ridge, task.Propagation.Tolerance = 0.005, 1e-3
		far("propagation", floats.Distance(task.localFit(one, task.Clip), task.localFit(other, task.Clip), 2),
			task.fitSensitivity(privacy.Gaussian).At(1))

		task, x := kmTask("douglas-rachford", "logistic"), []float64{0}
		task.Features, task.Rounds.Step = task.Features[:1], 20
		far("douglas-rachford", floats.Distance(task.proxLoss(&cohort{slots: one}, task.Clip, x), task.proxLoss(&cohort{slots: other}, task.Clip, x), 2),
			task.proxDistance(task.Clip, m))
	}
	for seed := range uint64(40) {
		task := privateTask("logistic", "transmit-only")
		task.Features, task.Rounds.Step = task.Features[:1], 2/task.loss().smoothness(1)
		one, other := steep(seed, m, 1), steep(seed, m, 1)
		other[7] = Record{Seq: one[7].Seq, X: []float64{1}, Y: 1e4}
		w := newTwoWorlds(t, seed, task, privatePolicy(task, privacy.Gaussian, ""), [2][]Record{})
		w.alone = true
		w.agents[0].training.add(one) // past the check
		w.agents[1].training.add(other)
		for range 12 {
			apart, mechanism := w.turn()
			far("transmit-only", apart*m, mechanism.Distance())
		}
	}
	for learner, ratio := range worst {
		if ratio > 1 {
			t.Errorf("%s: %.3g times as far apart as is paid for", learner, ratio)
		}
	}
}

// What a task admits is what it encodes, and the error says what is wrong without
// quoting the record.
func TestAdmit(t *testing.T) {
	for _, c := range []struct {
		loss string
		x    []float64
		y    float64
		want string // in the error; "" none
	}{
		{"logistic", []float64{0.6, 0.8}, -1, ""},
		{"logistic", []float64{0.6, 0.8}, 0, "neither 1 nor -1"},
		{"logistic", []float64{0.6, 0.8}, 1e4, "neither 1 nor -1"},
		{"hinge", []float64{0.6, 0.8}, 0.5, "neither 1 nor -1"},
		{"hinge", []float64{0.6, 0.8}, math.NaN(), "neither 1 nor -1"},
		{"multinomial", []float64{0.6, 0.8}, 2, ""},
		{"multinomial", []float64{0.6, 0.8}, 3, "0 to 2"},
		{"multinomial", []float64{0.6, 0.8}, 0.5, "no class"},
		{"squared", []float64{0.6, 0.8}, 100, ""},
		{"squared", []float64{0.6, 0.8}, 100.01, "-100 to 100"},
		{"squared", []float64{0.6, 0.8}, math.NaN(), "range"},
		{"huber", []float64{0.6, 0.8}, math.Inf(-1), "range"},
		{"squared", []float64{0.8, 0.8}, 1, "longer than 1"},
		{"squared", []float64{1e300, 1e300}, 1, "longer than 1"},
		{"squared", []float64{math.NaN(), 0}, 1, "finite"},
		{"squared", []float64{1}, 1, "1 coordinates"},
	} {
		err := plainTask(c.loss, 2).Admit(&Record{X: c.x, Y: c.y})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, label %v: %v, want %q", c.loss, c.y, err, c.want)
		}
	}
	off := plainTask("squared", 1)
	off.Target = Target{Name: "y", Min: 1, Max: 5, Center: 3.3}
	for _, v := range []float64{-7, 1, 3.3, 5, 1e9} {
		y, _, err := off.encodeLabel(v)
		if err == nil {
			err = off.Admit(&Record{X: []float64{1}, Y: y})
		}
		if err != nil {
			t.Errorf("%v encoded: %v", v, err)
		}
	}
}

// A row is coded as it ever was, to the bit, so that it is known when it comes again.
func TestWideRecordsKeepTheirBits(t *testing.T) {
	random := rand.New(rand.NewPCG(41, 2))
	for _, width := range []int{384, 3000} {
		task := plainTask("logistic", 0)
		task.Features, task.Normalise = []Feature{{Name: "v", Kind: "vector", Length: width}}, true
		want := make([]float64, width)
		for range 20 {
			for k := range want {
				want[k] = random.NormFloat64()
			}
			r := must(task.EncodeExample(want, 1))
			for range 2 { // the vector is scaled, and then the row
				var norm float64
				for _, v := range want {
					norm = math.Hypot(norm, v)
				}
				for k := range want {
					want[k] /= norm
				}
			}
			if !slices.Equal(r.X, want) {
				t.Errorf("a row of %d numbers is coded otherwise", width)
			}
		}
	}
}

// What a task encodes it admits, however wide: the norm of a wide record is off by no more
// than a tenth of what is allowed for.
func TestAdmitTakesWideRecords(t *testing.T) {
	const width = MaxDimension - 1 // and the constant
	random := rand.New(rand.NewPCG(41, 1))
	for _, normalise := range []bool{false, true} {
		task := plainTask("logistic", 0)
		task.Features, task.Normalise = []Feature{{Name: "v", Kind: "vector", Length: width}}, normalise
		task.Constant, task.Local.EtaConstant = 0.5, 1
		if err := task.Validate(); err != nil {
			t.Fatal(err)
		}
		raw := make([]float64, width)
		for i := range 40 {
			level := 0.1 + random.Float64()
			for k := range raw {
				switch i % 4 {
				case 0:
					raw[k] = level
				case 1:
					raw[k] = random.NormFloat64()
				case 2:
					raw[k] = level / float64(k+1)
				case 3:
					raw[k] = level * float64(1+k%3)
				}
			}
			if i%8 > 3 {
				raw[0] = 300
			}
			r := must(task.EncodeExample(raw, 1))
			square := new(big.Float).SetPrec(200)
			for _, v := range r.X {
				exact := new(big.Float).SetPrec(200).SetFloat64(v)
				square.Add(square, exact.Mul(exact, exact))
			}
			norm, _ := square.Sqrt(square).Float64()
			if off := math.Abs(preciseNorm(r.X)/norm - 1); off > normMargin/10 {
				t.Errorf("row %d: the norm is off by %.2g", i, off)
			}
			if err := task.Admit(&r); err != nil {
				t.Errorf("row %d: %v", i, err)
			}
		}
	}
}

// An agent takes none of the records when one of them is not admitted.
func TestAgentsRefuseImpossibleLabels(t *testing.T) {
	task := plainTask("logistic", 3)
	policy := must(task.Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 2}).Policy())
	a := must(New(Config{Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: source()})).(*personal)
	good, bad := steep(1, 2, 3), steep(1, 2, 3)
	good[0].Y, bad[0].Y, good[1].Y = 1, 1, -1
	if err := a.Records(bad, nil); err == nil || !strings.Contains(err.Error(), "record 6 ") || a.training.active(task) {
		t.Errorf("%v; active %v", err, a.training.active(task))
	}
	if err := a.Records(good, nil); err != nil {
		t.Error(err)
	}
}
