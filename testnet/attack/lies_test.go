package attack

import "testing"

// Liars at the border of the ball, one in ten, leave most of the gain of 100 people with one
// seed, and three in ten do no harm, with noise and without: without the defence nothing is
// left. So do those who boast of noise in "diffusion", where what they claim would spread.
func TestLiesHold(t *testing.T) {
	for _, l := range []lesson{
		{learner: "personal", open: true, people: 100},
		{learner: "personal", people: 100},
		{learner: "diffusion", people: 100},
	} {
		t.Run(l.name(), func(t *testing.T) { l.hold(t) })
	}
}

func (l *lesson) hold(t *testing.T) {
	n, err := l.classroom(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kindsOfLies {
		if kind.name != "border" && (kind.name != "boastful" || l.learner != "diffusion") {
			continue
		}
		bars, _, err := l.underLiars(t.Context(), []*classroom{n}, kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bars {
			t.Logf("%s: %+.4f", b.Name, b.Measured)
			if !b.Held {
				t.Errorf("%s: %.4f, allowed %g", b.Name, b.Measured, b.Allowed)
			}
		}
	}
}
