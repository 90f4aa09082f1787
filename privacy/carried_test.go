package privacy

import (
	"math"
	"strings"
	"testing"
)

// carriedDesigns are the three schemes of diffusion over ten rounds of ten
// records, and the noises and accountings that have a price for them.
func carriedDesigns(f func(name string, d Design)) {
	for name, carried := range map[string]CarriedSensitivity{
		"iid":               {Step: 0.02},
		"transmit-only":     {Keep: 0.25, Step: 0.02},
		"graph-homomorphic": {Keep: 1, Step: 0.02},
	} {
		for noise, accountings := range map[Noise][]Accounting{
			Gaussian:          {GaussianFilter, RenyiFilter, CommittedPlan},
			Laplace:           {PureFilter, RenyiFilter, CommittedPlan},
			TruncatedGaussian: {CommittedPlan},
			TruncatedLaplace:  {CommittedPlan},
		} {
			for _, accounting := range accountings {
				f(name+"/"+string(noise)+"/"+string(accounting), Design{
					Budget: Budget{1, 1e-6}, Dimension: 5, Releases: 10, Noise: noise, Accounting: accounting, Carried: carried,
				})
			}
		}
	}
}

// The i-th mechanism has the distance of the i-th release, all have one scale,
// an account pays for all of them, and not with a thousandth less noise.
func TestCarriedDesign(t *testing.T) {
	carriedDesigns(func(name string, d Design) {
		t.Run(name, func(t *testing.T) {
			p := mustPolicy(t, d)
			if n := p.Schedule.Releases(); n != d.Releases {
				t.Fatalf("%d releases, want %d", n, d.Releases)
			}
			a := mustOpen(t, p)
			first, _ := p.Next(0)
			for k := range d.Releases {
				m, _ := p.Next(k)
				want := d.Carried.At(k + 1)
				if got := m.Distance(); got < want || got > want*(1+1e-6) || m.dim != d.Dimension {
					t.Errorf("release %d has distance %v in %d coordinates, want %v", k+1, got, m.dim, want)
				}
				if m.Scale() != first.Scale() || m.Noise() != d.Noise {
					t.Errorf("release %d has another noise", k+1)
				}
				if !spend(t, a, m, 1) {
					t.Fatalf("release %d cannot be paid", k+1)
				}
			}
			if s := a.Spent(1); s > 1 || s < 1-1e-6 {
				t.Errorf("%v of the budget is spent at the end", s)
			}
			cost, err := Design{}.costs(p.Terms)
			if err != nil {
				t.Fatal(err)
			}
			if over, err := cost(scaled(p.Schedule, 0.999)); err != nil || over <= 1 {
				t.Errorf("with less noise it costs %v of the budget, %v", over, err)
			}
		})
	})
}

// With nothing carried, a vector that one record moves by 2 C needs the noise of
// a sum clipped to C; carried to the end, that many times more: PRIVACY's ratio
// sqrt((T+1)(2T+1)/6) for squares, (T+1)/2 for epsilons.
func TestCarriedNoiseAgainstSums(t *testing.T) {
	const releases = 10
	for _, c := range []struct {
		noise Noise
		ratio float64
	}{
		{Gaussian, math.Sqrt((releases + 1) * (2*releases + 1) / 6.)},
		{Laplace, (releases + 1) / 2.},
	} {
		scale := func(d Design) float64 {
			d.Budget, d.Dimension, d.Releases, d.Noise = Budget{1, 1e-6}, 5, releases, c.noise
			m, _ := mustPolicy(t, d).Next(0)
			return m.Scale()
		}
		sums, flat := scale(Design{Clip: 0.01}), scale(Design{Carried: CarriedSensitivity{Step: 0.02}})
		if math.Abs(flat/sums-1) > 1e-5 {
			t.Errorf("%s: %v for vectors, %v for sums", c.noise, flat, sums)
		}
		homomorphic := scale(Design{Carried: CarriedSensitivity{Keep: 1, Step: 0.02}})
		if math.Abs(homomorphic/sums/c.ratio-1) > 1e-5 {
			t.Errorf("%s: carried to the end it is %v times the noise, want %v", c.noise, homomorphic/sums, c.ratio)
		}
	}
}

func TestCarriedDesignErrors(t *testing.T) {
	for says, change := range map[string]func(*Design){
		`"uniform"`:   func(d *Design) { d.Pace, d.Contraction = Growing, 0.5 },
		"batch":       func(d *Design) { d.Accounting, d.Batch, d.Slots = CommittedPlan, 1, 2 },
		"distances":   func(d *Design) { d.Carried.Step = 0 },
		"smaller":     func(d *Design) { d.Carried.Keep, d.Releases = 1e9, 1000 },
		"one scale":   func(d *Design) { d.Pace, d.Contraction = Growing, 0.5 },
		"ordinary":    func(d *Design) { d.Carried.Step = math.NaN() },
		"choose 1 to": func(d *Design) { d.Releases = 0 },
	} {
		d := Design{Budget: Budget{1, 1e-6}, Dimension: 5, Releases: 10, Carried: CarriedSensitivity{Keep: 1, Step: 1}}
		change(&d)
		if _, err := d.Policy(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, law := range []func(clip, scale float64) (Mechanism, error){NewGaussian, NewLaplace} {
		m, err := law(1, 3)
		if err != nil {
			t.Fatal(err)
		}
		if d := m.Distance(); d != 0 {
			t.Errorf("a mechanism for sums has distance %v", d)
		}
		for _, want := range []float64{0.1, 1, math.Pi} {
			b, err := m.Bounded(want, 7)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.Distance(); got < want || got > want+math.Ldexp(1, m.grid) {
				t.Errorf("distance %v, asked for %v", got, want)
			}
			if again, err := b.Bounded(b.Distance(), 7); err != nil || again != b {
				t.Errorf("the distance of %v is not that of the same mechanism: %v", want, err)
			}
		}
	}
}

// Only the ratio of a distance to the clip counts: vectors ten times as far apart, with ten
// times the clip, have the same noise in units of the clip.
func TestShiftIsInUnitsOfTheClip(t *testing.T) {
	for _, c := range []struct{ clip, distance, want float64 }{{1, 0.5, 0.5}, {10, 5, 0.5}, {0.25, 3, 12}, {4, 0, 2}} {
		d := Design{Clip: c.clip}
		if got := d.shift(stretch{noise: 1, count: 1, distance: c.distance}); got != c.want {
			t.Errorf("clip %v, distance %v: %v, want %v", c.clip, c.distance, got, c.want)
		}
	}
}

// Gaussian releases of whole vectors add up as squares, for terms of just their dimension
// too.
func TestGaussianVectorsAreOneGroup(t *testing.T) {
	const dim = 7
	wide := func(sigma float64) Mechanism { return must(t)(mustGaussian(t, 1, sigma).Bounded(0.5, dim)) }
	s := NewSchedule(Step{wide(3), 2}, Step{wide(5), 2})
	for _, d := range []int{dim, dim + 1} {
		if groups, err := s.groups(d); err != nil || len(groups) != 1 || groups[0].Count != 1 {
			t.Errorf("at dimension %d: %d groups, %v", d, len(groups), err)
		}
	}
	if groups, err := s.groups(dim - 1); err == nil {
		t.Errorf("at a smaller dimension: %d groups and no error", len(groups))
	}
}

// The noise of stretches is in multiples of that of the last: all releases have it, unless
// it falls.
func TestUniformStretches(t *testing.T) {
	list, err := Design{Releases: 9}.stretches()
	if want := (stretch{noise: 1, count: 9}); err != nil || len(list) != 1 || list[0] != want {
		t.Errorf("%+v, %v, want %+v alone", list, err, want)
	}
}
