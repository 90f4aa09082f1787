package attack

import "testing"

// Liars at the border of the ball, one in ten, leave most of the gain of 100 people with one
// seed, and three in ten do no harm: without the defence nothing is left.
func TestLiesHold(t *testing.T) {
	for _, open := range []bool{true, false} {
		l := lesson{learner: "personal", open: open, people: 100}
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
			t.Logf("%s: %.3f left, harm at most %+.4f", bars[0].Name, bars[0].Measured, bars[1].Measured)
			if !bars[0].Held {
				t.Errorf("%s: %.3f, want at least %g", bars[0].Name, bars[0].Measured, bars[0].Allowed)
			}
		}
	}
}
