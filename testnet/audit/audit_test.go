package audit

import (
	"math"
	"testing"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// Every way of releasing the product has stays below its claim. A sound one fails
// with probability 1e-6 at most, all of them together with 4e-5.
func TestOursHold(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it makes 34,000 runs; other tests make a few the same way")
	}
	findings, err := Run(t.Context(), everySubject(), Options{
		Claim: privacy.Budget{Epsilon: 1, Delta: 1e-3}, Releases: 3, Dimension: 20, Runs: 1000, Seed: 11,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		want := 3
		switch {
		case f.Subject.Recipe == "mean" || f.Subject.Recipe == ofClasses:
			want = 2
		case f.Subject.Learner == Sums && f.Subject.Recipe != "gradient":
			want = 1
		}
		if !f.Holds() || f.Gate > f.Bound || f.Releases != want {
			t.Errorf("finding %+v", f)
		}
	}
}

// The audit must be able to see something: of a valid Gaussian's epsilon 1 at delta
// 0.01 it finds four fifths in 25000 runs. Over 16 other seeds the bound was 0.79
// with a standard deviation of 0.03, so one below 0.63 has a probability of about 1e-7.
func TestPower(t *testing.T) {
	findings, err := Run(t.Context(), Subjects("personal")[:1], Options{
		Claim: privacy.Budget{Epsilon: 1, Delta: 1e-2}, Releases: 2, Dimension: 2, Runs: 25000, Seed: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	f := findings[0]
	t.Logf("lower bound over claim: %.2f at 95 %%, %.2f at 1 - 1e-6", f.Bound/f.Claim.Epsilon, f.Gate/f.Claim.Epsilon)
	if f.Bound < 0.63 || f.Gate > f.Claim.Epsilon || f.Gate > f.Bound-0.05 { // it is surer of less
		t.Errorf("bound %v, gate %v for a claim of 1", f.Bound, f.Gate)
	}
}

func TestHolds(t *testing.T) {
	claim := privacy.Budget{Epsilon: 1, Delta: 1e-3}
	if !(Finding{Claim: claim, Bound: 1.2, Gate: 1}).Holds() || (Finding{Claim: claim, Bound: 1.2, Gate: 1.01}).Holds() {
		t.Error("what holds is not decided by the gate and the claim")
	}
}

// Every subject is another way of releasing, and the sampled ones take a batch.
func TestSubjectsDiffer(t *testing.T) {
	o := Options{Claim: privacy.Budget{Epsilon: 1, Delta: 1e-3}, Releases: 2, Dimension: 3}
	seen := map[privacy.Design]bool{}
	for _, s := range Subjects("personal") {
		d := s.design(o)
		if seen[d] || (d.Batch == slots/2 && d.Slots == slots) != s.Sampled {
			t.Errorf("subject %+v has the design %+v", s, d)
		}
		seen[d] = true
	}
}

// mustCatch audits a broken path and demands that the gate is above the claim.
func mustCatch(t *testing.T, p *path, claim privacy.Budget, runs int) {
	t.Helper()
	_, gate, err := bounds(t.Context(), p.games(), claim.Delta, runs, 21, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("claimed (%g, %g); epsilon is at least %.3f", claim.Epsilon, claim.Delta, gate)
	if gate <= claim.Epsilon {
		t.Errorf("epsilon is at least %v only, the claim is %v", gate, claim.Epsilon)
	}
}

// Broken: the noise is divided by the number of records, as if the mean were
// released. With m = 10 two releases are together 3.9-GDP: the set where world 1 is
// more likely has probabilities of 0.97 and 0.03, which 1000 runs a half
// miss with a probability far below 1e-9.
func TestCatchesNoiseDividedByRecords(t *testing.T) {
	const records = 10
	claim := privacy.Budget{Epsilon: 1, Delta: 1e-3}
	p, err := newPath("personal", privacy.Design{Budget: claim, Dimension: 5, Clip: clip, Releases: 2}, records)
	if err != nil {
		t.Fatal(err)
	}
	p.door = func(seed uint64, q *learner.Query) privacy.Answer {
		a := realDoor(seed, q)
		for j, n := range noiseOf(q.Mechanism, seed, len(a.Sum), records) {
			a.Sum[j] -= n * (1 - 1./records)
		}
		return a
	}
	for k := range p.laws {
		p.laws[k].scale /= records
	}
	mustCatch(t, p, claim, 2000)
}

// Broken: gradients are clipped in l2 and the noise is Laplace noise for that clip.
// At p = 20 the diagonal canary has l1 norm sqrt(20) times the clip, and the
// release claimed to be 2-DP is not even 8.9-DP. Over 16 other seeds the gate was
// 2.9 with a standard deviation of 0.14, so one below 2 has a probability of about
// 1e-9.
func TestCatchesL2ClipWithLaplaceNoise(t *testing.T) {
	claim := privacy.Budget{Epsilon: 2, Delta: 1e-6}
	laplace, err := privacy.NewLaplace(clip, 2*clip/claim.Epsilon)
	if err != nil {
		t.Fatal(err)
	}
	l2Clip, err := privacy.NewGaussian(clip, 2*clip)
	if err != nil {
		t.Fatal(err)
	}
	p := handmade(l2Clip, 20, 1)
	p.door = func(seed uint64, q *learner.Query) privacy.Answer {
		a := privacy.Answer{Sum: noiseless(seed, q), Slots: slots, Cohorts: []privacy.Cohort{cohort}}
		for j, n := range noiseOf(laplace, ^seed, len(a.Sum), slots) {
			a.Sum[j] += n
		}
		return a
	}
	p.laws = []law{lawOf(laplace)}
	mustCatch(t, p, claim, 9000)
}

// Broken: the truncated Gaussian of DP-dKM, theorem 6: density exp(-z^2/sigma^2)
// with sigma^2 = D^2/epsilon, cut off where ONE end holds the mass delta. At
// (0.5, 1e-3) that is a parent standard deviation of D and a bound of 4.0837 D; the
// true delta(0.5) is 0.238. Over 16 other seeds the gate was 1.00 with a standard
// deviation of 0.08, so one below 0.5 has a probability of about 1e-9.
func TestCatchesTheoremSix(t *testing.T) {
	claim := privacy.Budget{Epsilon: 0.5, Delta: 1e-3}
	const distance = 2 * clip
	deviation := distance / math.Sqrt(2*claim.Epsilon)
	m, err := privacy.NewTruncatedGaussian(clip, deviation, 4.083730058646639*distance)
	if err != nil {
		t.Fatal(err)
	}
	mustCatch(t, handmade(m, 1, 1), claim, 4000)
}

// everySubject has every combination of every learner.
func everySubject() []Subject {
	var all []Subject
	for _, name := range Learners() {
		all = append(all, Subjects(name)...)
	}
	return all
}

func TestUnknownLearner(t *testing.T) {
	o := Options{Claim: privacy.Budget{Epsilon: 1, Delta: 1e-3}, Releases: 1, Dimension: 2, Runs: 2, Seed: 1}
	if _, err := Run(t.Context(), Subjects("polar"), o); err == nil {
		t.Error("polar has no sums to audit, and was audited")
	}
}
