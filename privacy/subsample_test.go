package privacy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// numbered returns a subsampled sum of n records, of which record i contributes
// 2^i units to its one coordinate: the total tells who was in the batch.
func numbered(m Mechanism, c Cohort, n int) Sum {
	s := m.NewSum(c, 1)
	for i := range n {
		s.Add([]float64{math.Ldexp(1, i+m.grid)})
	}
	return s
}

// unprotectedBatch takes batch of slots records and adds no noise.
func unprotectedBatch(t *testing.T, batch, slots int) Mechanism {
	t.Helper()
	m := must(t)(NewUnprotected(1))
	return must(t)(m.Subsampled(batch, slots))
}

// Every batch of the right size has the same probability (chi-square).
func TestEveryBatchIsEquallyLikely(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ batch, slots, records, taken, batches int }{
		{3, 6, 6, 3, 20}, {1, 5, 5, 1, 5}, {2, 3, 8, 5, 56}, {4, 4, 4, 4, 1},
	} {
		m := unprotectedBatch(t, c.batch, c.slots)
		s := numbered(m, 1, c.records)
		noise, counts, probability := NewSeededNoise(3), map[int64]int{}, map[int64]float64{}
		const trials = 50_000
		for range trials {
			a := noise.Answer(m, []Sum{s})
			if a.Slots != c.taken {
				t.Fatalf("%+v: %d slots in the answer", c, a.Slots)
			}
			counts[units(t, m, a)[0]]++
		}
		for set := range int64(1) << c.records {
			if ones(set) == c.taken {
				probability[set] = 1 / float64(c.batches)
			}
		}
		if len(probability) != c.batches || len(counts) != c.batches {
			t.Fatalf("%+v: %d of %d batches were drawn", c, len(counts), len(probability))
		}
		if c.batches > 1 {
			checkCounts(t, counts, trials, probability)
		}
	}
}

func ones(set int64) int {
	n := 0
	for ; set > 0; set >>= 1 {
		n += int(set & 1)
	}
	return n
}

// A record is never taken with a higher probability than batch/slots.
func TestBatchIsNeverMoreThanItsShare(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 10_000 {
		slots := 1 + rng.IntN(MaxSlots)
		batch, n := 1+rng.IntN(slots), rng.IntN(MaxSlots+1)
		m := Mechanism{batch: batch, slots: slots}
		taken, share := int64(m.taken(n)), int64(batch)*int64(n)
		if taken < 0 || taken*int64(slots) > share || (taken+1)*int64(slots) <= share {
			t.Fatalf("%d of %d records for a batch of %d of %d", taken, n, batch, slots)
		}
	}
}

// Each cohort has its own batch; one too small for a batch stays in the answer.
func TestBatchOfEachCohort(t *testing.T) {
	m := unprotectedBatch(t, 1, 3)
	a := NewSeededNoise(1).Answer(m, []Sum{numbered(m, 4, 2), numbered(m, 2, 7), numbered(m, 9, 0), numbered(m, 7, 3)})
	if a.Slots != 3 || !slices.Equal(a.Cohorts, []Cohort{4, 2, 9, 7}) {
		t.Errorf("%d slots of cohorts %v", a.Slots, a.Cohorts)
	}
	a = NewSeededNoise(1).Answer(m, []Sum{numbered(m, 4, 2)})
	if a.Exhausted() || a.Slots != 0 || a.Sum[0] != 0 {
		t.Errorf("an empty batch gives %+v", a)
	}
}

// No release of a random batch has a mu, however small the lottery.
func TestABatchHasNoMu(t *testing.T) {
	m := must(t)(NewGaussian(1, 4))
	if mu := m.Mu(); mu < 0.5 || mu > 0.5+1e-8 {
		t.Errorf("of all records: %v", mu)
	}
	if mu := must(t)(m.Subsampled(1, 1)).Mu(); !math.IsInf(mu, 1) {
		t.Errorf("of a batch of one of one: %v", mu)
	}
}

// Empty slots have their place in the lottery, or their number would show.
func TestEmptySlotsAreDrawn(t *testing.T) {
	m := unprotectedBatch(t, 1, 2)
	s := m.NewSum(1, 1)
	s.Add([]float64{1})
	s.AddEmpty([]float64{1})
	noise, hits := NewSeededNoise(6), 0
	const trials = 20_000
	for range trials {
		if a := noise.Answer(m, []Sum{s}); a.Slots != 1 {
			t.Fatalf("%d slots", a.Slots)
		} else if a.Sum[0] != 0 {
			hits++
		}
	}
	checkFrequency(t, "the record in the batch", hits, trials, 0.5)
}

// With the batch fixed by the seed, a subsampled answer is the full answer of the
// records in it, in every coordinate and under every law.
func TestSubsampledAgainstFullSum(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	for seed := range uint64(100) {
		full := must(t)(laws[seed%4].make(1, 3))
		m := must(t)(full.Subsampled(2, 5))
		const dim, records = 3, 20
		gradients := make([][]float64, records)
		s := m.NewSum(1, dim)
		for i := range gradients {
			gradients[i] = randomGradient(rng, dim, 1)
			s.Add(gradients[i])
		}
		got := units(t, m, NewSeededNoise(seed).Answer(m, []Sum{s}))

		draws, left := seeded(seed), 8
		twin := full.NewSum(1, dim)
		for i, g := range gradients {
			if draws.uniform(uint64(records-i)) < uint64(left) {
				twin.Add(g)
				left--
			}
		}
		for j := range got {
			if want := twin.total[j] + full.draw(draws); got[j] != want {
				t.Fatalf("coordinate %d is %d, want %d", j, got[j], want)
			}
		}
		if left != 0 || twin.Slots() != 8 {
			t.Fatalf("%d records in the batch", twin.Slots())
		}
	}
}

func TestSubsampledErrors(t *testing.T) {
	m := mustGaussian(t, 1, 3)
	for _, c := range []struct{ batch, slots int }{{0, 5}, {-1, 5}, {6, 5}, {1, 0}, {1, MaxSlots + 1}, {math.MinInt, math.MaxInt}} {
		if got, err := m.Subsampled(c.batch, c.slots); err == nil || got != (Mechanism{}) {
			t.Errorf("a batch of %d out of %d is accepted", c.batch, c.slots)
		}
	}
	batch := must(t)(m.Subsampled(5, 5))
	if batch == m {
		t.Error("a batch of all records is taken for no batch")
	}
	for _, taken := range []Mechanism{batch, must(t)(m.Subsampled(1, 1))} {
		if _, err := taken.Subsampled(1, 5); err == nil {
			t.Error("a batch of a batch is accepted")
		}
	}
	if _, err := batch.Bounded(1, 3); err == nil {
		t.Error("a bounded sum is subsampled")
	}
	if _, err := must(t)(m.Bounded(1, 3)).Subsampled(1, 5); err == nil {
		t.Error("a subsampled sum is bounded")
	}
}

// BenchmarkSubsampled times an answer of 1000 out of 10,000 records.
func BenchmarkSubsampled(b *testing.B) {
	m := must(b)(mustGaussian(b, 1, 5).Subsampled(1, 10))
	sums := []Sum{filled(m, 1, 30, 10_000)}
	n := NewLiveNoise()
	for b.Loop() {
		n.Answer(m, sums)
	}
}
