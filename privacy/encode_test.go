package privacy

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// everySchedule has a step of each kind of mechanism.
func everySchedule(t testing.TB) Schedule {
	t.Helper()
	must := func(m Mechanism, err error) Mechanism {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	gaussian := must(NewGaussian(1, 3))
	var steps []Step
	for i, m := range []Mechanism{
		gaussian,
		must(gaussian.Subsampled(3, 10)),
		must(gaussian.Bounded(0.25, 7)),
		must(gaussian.Bounded(math.Ldexp(maxDistance, gaussian.grid), maxDimension)),
		must(NewLaplace(2, 1e-3)),
		must(NewTruncatedGaussian(1e-5, 1e-4, 1e-3)),
		must(NewTruncatedLaplace(1e100, 1e101, 4096e101)),
		must(NewUnprotected(5)),
	} {
		steps = append(steps, Step{m, i + 1})
	}
	return NewSchedule(steps...)
}

// A policy that was kept is the same policy, to the last bit.
// The scale of noise has bounds that its grid sets, and both are within them.
func TestScalesOfSoundMechanisms(t *testing.T) {
	m := must(t)(NewGaussian(1, 1))
	for sigma, sound := range map[int64]bool{minSigma - 1: false, minSigma: true, 1 << 30: true, 1<<30 + 1: false} {
		if m.sigma = sigma; m.sound() != sound {
			t.Errorf("with a scale of %d units it is sound: %v", sigma, m.sound())
		}
	}
}

func TestPolicyKeepsThroughJSON(t *testing.T) {
	s := everySchedule(t)
	p := Policy{
		Terms:    Terms{Budget: Budget{0.1, 1e-6 / 3}, Dimension: 9, Accounting: CommittedPlan, Order: 1.0 / 3, Plan: s.Hash()},
		Schedule: s,
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got Policy
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, p) {
		t.Errorf("%+v came back as %+v", p, got)
	}
}

// Whatever is read is a schedule that a constructor could have made: it can be
// written again, and nothing else hashes alike.
func TestScheduleTextIsCanonical(t *testing.T) {
	good := everySchedule(t).encode()
	rng := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 20000 {
		data := append([]byte(nil), good...)
		switch rng.IntN(3) {
		case 0:
			data = data[:rng.IntN(len(data))]
		case 1:
			data = append(data, byte(rng.Uint32()))
		default:
			data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
		}
		var s Schedule
		if s.UnmarshalText([]byte(base64.StdEncoding.EncodeToString(data))) != nil {
			continue
		}
		accepted++
		if string(s.encode()) != string(data) {
			t.Fatalf("%x was read as %+v", data, s)
		}
		for _, step := range s.steps {
			if !step.Mechanism.sound() || step.Count < 1 {
				t.Fatalf("%+v was accepted", step)
			}
		}
	}
	if accepted == 0 || accepted > 19000 {
		t.Errorf("%d of 20,000 changed texts were accepted", accepted)
	}
}

func TestScheduleTextRefuses(t *testing.T) {
	negative := everySchedule(t)
	negative.steps = append([]Step(nil), negative.steps...)
	negative.steps[0].Mechanism.sigma = 1 // would protect nobody
	// changed is a schedule of one step that no constructor makes.
	changed := func(m Mechanism, change func(*Mechanism)) string {
		change(&m)
		return base64.StdEncoding.EncodeToString(NewSchedule(Step{m, 1}).encode())
	}
	all := everySchedule(t).steps
	sampled, bounded, truncated := all[1].Mechanism, all[2].Mechanism, all[5].Mechanism
	twice := NewSchedule(negative.steps[1])
	twice.steps = append(twice.steps, twice.steps[0]) // should be one step of twice the count
	for name, text := range map[string]string{
		"no base64":   "*",
		"nothing":     "",
		"no header":   base64.StdEncoding.EncodeToString([]byte("p2pnode")),
		"weak noise":  base64.StdEncoding.EncodeToString(negative.encode()),
		"split steps": base64.StdEncoding.EncodeToString(twice.encode()),
		"many slots":  changed(sampled, func(m *Mechanism) { m.slots = MaxSlots + 1 }),
		"no rounding": changed(bounded, func(m *Mechanism) { m.distance = m.roundingDistance(m.dim) }),
		"too far":     changed(bounded, func(m *Mechanism) { m.distance = maxDistance + m.roundingDistance(m.dim) + 1 }),
		"too wide":    changed(bounded, func(m *Mechanism) { m.dim = maxDimension + 1 }),
		"all ends":    changed(truncated, func(m *Mechanism) { m.bound = m.sigma - 1 }),
	} {
		var s Schedule
		if s.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%s is accepted as %+v", name, s)
		}
	}
	var h PlanHash
	for _, text := range []string{"", "00", "zz"} {
		if h.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is accepted as a hash", text)
		}
	}
}
