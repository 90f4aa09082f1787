package audit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// noiseless takes the noise out of an answer: an empty sum answered from the same
// seed is the noise alone. It is what the agent really asked to release.
func noiseless(seed uint64, q *learner.Query) []float64 {
	answer := realDoor(seed, q).Sum
	floats.Sub(answer, noiseOf(q.Mechanism, seed, len(answer), q.Sums[0].Slots()))
	return answer
}

// noiseOf is the noise that a seed gives to one sum.
func noiseOf(m privacy.Mechanism, seed uint64, dim, slots int) []float64 {
	empty := m.NewSum(cohort, dim)
	for range slots {
		empty.AddEmpty(make([]float64, dim))
	}
	return privacy.NewSeededNoise(seed).Answer(m, []privacy.Sum{empty}).Sum
}

// mechanisms is one of each law, with the record's share of the noise large.
func mechanisms(t *testing.T) []privacy.Mechanism {
	t.Helper()
	var all []privacy.Mechanism
	for _, build := range []func() (privacy.Mechanism, error){
		func() (privacy.Mechanism, error) { return privacy.NewGaussian(clip, 2) },
		func() (privacy.Mechanism, error) { return privacy.NewLaplace(clip, 2) },
		func() (privacy.Mechanism, error) { return privacy.NewTruncatedGaussian(clip, 2, 8) },
		func() (privacy.Mechanism, error) { return privacy.NewTruncatedLaplace(clip, 2, 8) },
	} {
		m, err := build()
		if err != nil {
			t.Fatal(err)
		}
		half, err := m.Subsampled(slots/2, slots)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m, half)
	}
	return all
}

// handmade is a path with one mechanism for all its releases.
func handmade(m privacy.Mechanism, dim, releases int) *path {
	p := &path{
		task: extremeTask(dim), releases: releases, slots: slots, batch: slots,
		norm: clipNorm(m.Noise()), door: realDoor,
		policy: privacy.Policy{Schedule: privacy.NewSchedule(privacy.Step{Mechanism: m, Count: releases})},
	}
	p.laws = laws(p.policy, releases)
	return p
}

// The auditor must know the sums: what the agent asks for is, wherever the noise
// has driven its model, what the world says it can be.
func TestAuditorKnowsTheSums(t *testing.T) {
	const dim, releases = 6, 20
	names := releasing()
	for i, m := range mechanisms(t) {
		p := handmade(m, dim, releases)
		var err error
		if p.task, err = of(names[i/2%len(names)], p.task); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			p.batch = slots / 2
		}
		var known [][]float64
		p.door = func(seed uint64, q *learner.Query) privacy.Answer {
			got := noiseless(seed, q)
			if !slices.ContainsFunc(known, func(sum []float64) bool { return floats.EqualApprox(sum, got, 1e-6) }) {
				t.Errorf("%s: the agent's sum is %v, the auditor knows %v", m.Noise(), got, known)
			}
			return realDoor(seed, q)
		}
		for _, c := range canaries(dim) {
			worlds := p.worlds(c)
			for b := range worlds {
				known = worlds[b].sums
				if _, err := p.score(worlds, b, rand.New(rand.NewPCG(uint64(i), 7))); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// A canary is the worst a record can do: it moves the sum by twice the clip, in
// the norm of the clip.
func TestCanaryIsAsFarAsARecordCan(t *testing.T) {
	for _, norm := range []func([]float64) float64{l1, l2} {
		for _, c := range canaries(20) {
			zero, one := c.newWorld(-extreme, slots, slots, norm), c.newWorld(extreme, slots, slots, norm)
			floats.Sub(one.sums[0], zero.sums[0])
			if d := norm(one.sums[0]); math.Abs(d-2*clip) > 1e-12 {
				t.Errorf("the canary moves the sum by %v, want %v", d, 2*clip)
			}
		}
	}
	batches := axisCanary(2).newWorld(1, 4, 2, l2).sums
	if len(batches) != 6 {
		t.Errorf("%d batches of 2 out of 4, want 6", len(batches))
	}
}

func TestAccountDecidesHowManyReleases(t *testing.T) {
	for _, releases := range []int{1, 5} {
		p, err := newPath("personal", privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-3}, Dimension: 3, Clip: clip, Releases: releases}, slots)
		if err != nil {
			t.Fatal(err)
		}
		if p.releases != releases {
			t.Errorf("%d releases admitted, the policy has %d", p.releases, releases)
		}
	}
}

func TestSameSeedSameScores(t *testing.T) {
	p := handmade(mechanisms(t)[0], 3, 2)
	play := func(processors int, seed uint64) [2][]float64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		scores, err := p.games()[0].scores(t.Context(), 200, seed, func() {})
		if err != nil {
			t.Fatal(err)
		}
		return scores
	}
	one, many, other := play(1, 5), play(4, 5), play(4, 6)
	for b := range one {
		if !slices.Equal(one[b], many[b]) {
			t.Errorf("world %d: scores depend on the number of processors", b)
		}
		if slices.Equal(one[b], other[b]) {
			t.Errorf("world %d: scores do not depend on the seed", b)
		}
	}
	if slices.Equal(one[0], one[1]) {
		t.Error("the worlds have the same scores")
	}
}

func TestAuditStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Claim: privacy.Budget{Epsilon: 1, Delta: 1e-3}, Releases: 1, Dimension: 2, Runs: 100, Seed: 1}
	o.Progress = func(played, all int) {
		if all != 800 {
			t.Errorf("%d games in all, want 800", all)
		}
		if played == 500 {
			cancel()
		}
	}
	first := Subjects("personal")[0]
	findings, err := Run(ctx, []Subject{first, first}, o)
	if !errors.Is(err, context.Canceled) || len(findings) != 1 {
		t.Errorf("%d findings and error %v; want the first finding and a cancelled context", len(findings), err)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	good := Options{Claim: privacy.Budget{Epsilon: 1, Delta: 1e-3}, Releases: 1, Dimension: 2, Runs: 4}
	for name, change := range map[string]func(*Options, *Subject){
		"runs":      func(o *Options, _ *Subject) { o.Runs = 1 },
		"releases":  func(o *Options, _ *Subject) { o.Releases = 0 },
		"dimension": func(o *Options, _ *Subject) { o.Dimension = -1 },
		"epsilon":   func(o *Options, _ *Subject) { o.Claim.Epsilon = 0 },
		"delta":     func(o *Options, _ *Subject) { o.Claim.Delta = math.NaN() },
		"learner":   func(_ *Options, s *Subject) { s.Learner = "nobody" },
		"noise":     func(_ *Options, s *Subject) { s.Noise = "salt" },
	} {
		o, s := good, Subjects("personal")[0]
		change(&o, &s)
		if _, err := Run(t.Context(), []Subject{s}, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p := handmade(mechanisms(t)[0], 2, 1)
	p.policy.Terms.Accounting = privacy.CommittedPlan // which ends after one release
	p.laws = append(p.laws, p.laws[0])
	if _, err := p.games()[0].scores(t.Context(), 2, 1, func() {}); err == nil {
		t.Error("an agent that makes fewer releases than the account admits: no error")
	}
}
