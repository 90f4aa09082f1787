package learner

import (
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// timingSlots is 100 records of 20 features of one kind, as they come into a training
// set.
func timingSlots(kind string) []slot {
	records := testExamples(rand.New(rand.NewPCG(41, 1)), 100, 20, "logistic")
	for i := range records {
		switch kind {
		case "deleted":
			records[i].X = nil
		case "denormal":
			floats.Scale(0x1p-1060, records[i].X[1:])
		case "zero":
			clear(records[i].X)
		}
	}
	return slots(records)
}

// BenchmarkSlots is how long a release of 100 slots takes by what is in them.
func BenchmarkSlots(b *testing.B) {
	task := plainTask("logistic", 20)
	m := must(privacy.NewGaussian(1, 100))
	theta := normals(rand.New(rand.NewPCG(42, 1)), 20)
	for _, kind := range []string{"ordinary", "deleted", "denormal", "zero"} {
		data := &training{cohorts: []cohort{{number: 1, slots: timingSlots(kind)}}}
		b.Run("sum/"+kind, func(b *testing.B) {
			var s Workspace
			for b.Loop() {
				s.clippedSums(data, task.loss(), m, theta)
			}
		})
	}
	fit := propagationTask("logistic", 20)
	fit.Propagation.Tolerance = 1e-4
	for _, kind := range []string{"ordinary", "deleted", "denormal", "zero"} {
		data := timingSlots(kind)
		b.Run("fit/"+kind, func(b *testing.B) {
			for b.Loop() {
				fit.localFit(data, fit.Clip)
			}
		})
	}
}

// counted is a loss that counts the gradients it is asked for.
type counted struct {
	loss
	gradients int
}

func (c *counted) gradient(dst, theta, x []float64, y float64) {
	c.gradients++
	c.loss.gradient(dst, theta, x, y)
}

// A deleted record takes the work of one that is there, and adds nothing, under every
// loss, in sums and in whole vectors.
func TestEmptySlotsTakeTheWorkOfRecords(t *testing.T) {
	for _, loss := range lossNames {
		task := plainTask(loss, 3)
		all := testExamples(rand.New(rand.NewPCG(43, 1)), 9, 3, loss)
		some := append([]Record(nil), all...)
		for _, i := range []int{0, 4, 8} {
			some[i].X = nil
		}
		theta := normals(rand.New(rand.NewPCG(44, 1)), task.Dimension())
		m := must(privacy.NewUnprotected(task.GradientBound()))

		count := &counted{loss: task.loss()}
		data := &training{cohorts: []cohort{{number: 1, slots: slots(some)}}}
		sums := new(Workspace).clippedSums(data, count, m, theta)
		if count.gradients != 9 || sums[0].Slots() != 9 {
			t.Errorf("%s: %d gradients for %d slots, want 9", loss, count.gradients, sums[0].Slots())
		}
		there := make([]Record, 0, 6)
		for _, r := range some {
			if r.X != nil {
				there = append(there, r)
			}
		}
		without := new(Workspace).clippedSums(&training{cohorts: []cohort{{number: 1, slots: slots(there)}}}, task.loss(), m, theta)
		wantClose(t, loss+": the sum", new(privacy.SeededNoise).Answer(m, sums).Sum, new(privacy.SeededNoise).Answer(m, without).Sum, 0)

		by := task.clipper(task.GradientBound())
		count = &counted{loss: by.loss}
		by.loss = count
		got, want := make([]float64, len(theta)), make([]float64, len(theta))
		(&cohort{slots: slots(some)}).clippedMean(got, by, theta)
		if count.gradients != 9 {
			t.Errorf("%s: %d gradients for the mean of 9 slots", loss, count.gradients)
		}
		(&cohort{slots: slots(there)}).clippedMean(want, by, theta)
		floats.Scale(6./9, want)
		wantClose(t, loss+": the mean", got, want, 1e-14)
	}
}

// No number that arithmetic takes longer over comes out of the encoding, into a
// training set, or to a gradient from the model it is taken at.
func TestTinyNumbersAreZero(t *testing.T) {
	task := plainTask("squared", 3)
	raw := []float64{1e-310, 0.5, -1e-40}
	r, err := task.EncodeVector(raw)
	x := r.X
	if err != nil || x[0] != 0 || x[1] == 0 || x[2] != 0 {
		t.Errorf("%v becomes %v (%v)", raw, x, err)
	}
	task.Normalise = true
	if r, err = task.EncodeVector([]float64{1e-40, 1e-40, 0}); err != nil || r.X[0] != r.X[1] || r.X[0] < 0.7 {
		t.Errorf("small numbers that are scaled up become %v (%v)", x, err)
	}
	if y, _, err := task.encodeLabel(1e-310); err != nil || y != 0 {
		t.Errorf("the label becomes %v (%v)", y, err)
	}
	var data training
	given := []float64{0.25, -1e-310, 0}
	if err := data.change(task, []Record{{Seq: 1, X: given, Y: 1e-320}}, nil); err != nil {
		t.Fatal(err)
	}
	if s := data.cohorts[0].slots[0]; s.x[0] != 0.25 || s.x[1] != 0 || s.y != 0 || given[1] != -1e-310 {
		t.Errorf("the slot has %v, %v; the record %v", s.x, s.y, given)
	}
	count := &watchful{loss: task.loss()}
	new(Workspace).clippedSums(&data, count, must(privacy.NewGaussian(1, 1)), []float64{1e-310, 1, 2})
	if count.tiny || count.asked == 0 {
		t.Errorf("%d gradients, one at a tiny number: %v", count.asked, count.tiny)
	}
}

// watchful is a loss that looks for tiny numbers in what it is asked.
type watchful struct {
	loss
	asked int
	tiny  bool
}

func (w *watchful) gradient(dst, theta, x []float64, y float64) {
	w.asked++
	for _, v := range append(append([]float64{y}, theta...), x...) {
		w.tiny = w.tiny || v != flush(v)
	}
	w.loss.gradient(dst, theta, x, y)
}

// BenchmarkAcknowledgement is how long after a neighbour's model its acknowledgement is
// ready, when that ends the round, by what is in the slots.
func BenchmarkAcknowledgement(b *testing.B) {
	for _, kind := range []string{"ordinary", "deleted", "denormal", "zero"} {
		b.Run(kind, func(b *testing.B) {
			task := plainTask("logistic", 20)
			task.Learner, task.Diffusion.Noise, task.Rounds = "diffusion", "iid", Rounds{Seconds: 1, Step: 0.1}
			policy := repeated(must(privacy.NewGaussian(1, 100)))
			a := must(New(Config{Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: source()})).(*diffusion)
			a.training.cohorts = []cohort{{number: 1, slots: timingSlots(kind)}}
			model := make([]float64, 20)
			answer := privacy.Answer{Sum: model, Slots: 100, Cohorts: []privacy.Cohort{1}}
			now := a.Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}}).Next
			out := a.Tick(now)
			var spent time.Duration
			for round := uint64(1); b.Loop(); round++ {
				if out.Ask == nil {
					now = out.Next
					a.Tick(now)
				}
				a.Released(now, answer)
				if _, err := a.Receive(now, ack("b", round, 0)); err != nil {
					b.Fatal(err)
				}
				m := modelOf("b", round, 1, model...)
				began := time.Now()
				var err error
				if out, err = a.Receive(now, m); err != nil || len(out.Send) == 0 {
					b.Fatalf("says %+v, %v", out, err)
				}
				spent += time.Since(began)
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/ack")
		})
	}
}
