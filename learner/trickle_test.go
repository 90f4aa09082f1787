package learner

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// Records that come one at a time after the first budget is gone do not spoil what is
// published: with fixed seeds its squared distance from the truth, in the mean over
// twenty devices and while 200 records come, is at most twice that from before. It was 27
// times as far while each of them paid alone.
func TestRecordsThatTrickleIn(t *testing.T) {
	const devices, first, later, wakes = 20, 100, 200, 8
	var before, meanwhile float64
	for seed := range uint64(devices) {
		d := newDevice(t, seed)
		for range first {
			d.record()
		}
		for range 80 { // more than the budget has releases
			d.wake()
		}
		before += d.distance() / devices
		for range later {
			d.record()
			for range wakes {
				d.wake()
			}
			meanwhile += d.distance() / (later * devices)
		}
	}
	t.Logf("squared distance %.2f before, %.2f meanwhile", before, meanwhile)
	if meanwhile > 2*before {
		t.Errorf("what is published lies %.2f from the truth while records trickle in, and lay %.2f from it before", meanwhile, before)
	}
}

// device is a lone agent at (1, 1e-6) over 64 releases, with the account of its node.
type device struct {
	*testing.T
	agent   *personal
	account *privacy.Account
	next    privacy.Mechanism
	noise   *privacy.SeededNoise
	random  *rand.Rand
	truth   []float64
	seq     Seq
	cohort  privacy.Cohort
}

func newDevice(t *testing.T, seed uint64) *device {
	task := plainTask("squared", 5)
	task.ConfidenceAt = 100
	policy := must(task.Design(privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Releases: 64}).Policy())
	d := &device{
		T: t, account: must(privacy.NewAccount(policy)), noise: privacy.NewSeededNoise(seed),
		random: rand.New(rand.NewPCG(seed, 99)), truth: make([]float64, 5), cohort: 1,
	}
	d.next, _ = policy.Next(0) // all are alike
	d.agent = must(New(Config{
		Self: "a", Task: task, Policy: policy, WakeMean: 1, Schedule: rand.New(rand.NewPCG(seed, 5)),
		Spent: func(c privacy.Cohort) bool { return d.account.Exhausted(c, d.next) },
	})).(*personal)
	d.agent.Neighbours(0, []Edge{{Peer: "b", Weight: 1, Live: true}})
	d.unit(d.truth, 2)
	return d
}

// unit draws a vector of that length.
func (d *device) unit(v []float64, length float64) {
	for i := range v {
		v[i] = d.random.NormFloat64()
	}
	floats.Scale(length/floats.Norm(v, 2), v)
}

// record adds a training record, to a new cohort if the last one is used up.
func (d *device) record() {
	if d.account.Exhausted(d.cohort, d.next) {
		d.cohort++
	}
	if d.seq++; d.seq.HeldOut() {
		d.seq++
	}
	r := Record{Seq: d.seq, Cohort: d.cohort, X: make([]float64, len(d.truth))}
	d.unit(r.X, 1)
	r.Y = floats.Dot(r.X, d.truth) + 0.1*d.random.NormFloat64()
	if err := d.agent.Records([]Record{r}, nil); err != nil {
		d.Fatal(err)
	}
}

// wake lets the agent wake, and answers as the door does.
func (d *device) wake() {
	now := d.agent.next
	q := d.agent.Tick(now).Ask
	if q == nil {
		return
	}
	var cohorts []privacy.Cohort
	for i := range q.Sums {
		cohorts = append(cohorts, q.Sums[i].Cohort())
	}
	var paid []privacy.Sum
	for _, debit := range d.account.Admit(q.Mechanism, cohorts) {
		if err := d.account.Apply(debit); err != nil {
			d.Fatal(err)
		}
		paid = append(paid, q.Sums[slices.Index(cohorts, debit.Cohort)])
	}
	d.agent.Released(now, d.noise.Answer(q.Mechanism, paid))
}

// distance is that of what is published from the truth, squared.
func (d *device) distance() float64 {
	off := floats.Distance(d.agent.model, d.truth, 2)
	return off * off
}
