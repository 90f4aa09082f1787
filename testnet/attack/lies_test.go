package attack

import "testing"

// Liars at the border of the ball, one in ten, leave most of the gain of 100 people with one
// seed, and three in ten do no harm: without the defence nothing is left. With noise they
// hide in it; docs/learners.md has what is left then.
func TestLiesHold(t *testing.T) {
	l := lesson{learner: "personal", open: true, people: 100}
	n, err := l.classroom(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kindsOfLies {
		if kind.name != "border" {
			continue
		}
		bars, err := l.underLiars(t.Context(), []*classroom{n}, kind)
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
