package attack

import "testing"

// A third of every neighbourhood takes nobody along and slows nobody down threefold, on the
// seeds of the gate.
func TestRoundsHold(t *testing.T) {
	for _, s := range rounds() {
		bars, err := s.Run(t.Context(), Options{Quick: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bars {
			t.Logf("%s: %.3g %s", b.Name, b.Measured, b.Unit)
			if !b.Held {
				t.Errorf("%s: %.3g %s, allowed %g", b.Name, b.Measured, b.Unit, b.Allowed)
			}
		}
	}
}
