package linear

import (
	"testing"

	"gonum.org/v1/gonum/stat"
)

// A private sum at (1, 1e-6) is worth more than half of the way from alone to perfect,
// where nobody knows who is alike, and newcomers have as much. Seeds other than those
// that the constants were chosen on.
func TestPrivateSumWithoutAGraph(t *testing.T) {
	d := draw(1, 100, 20)
	n, err := bySum(d, 100)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := lone(d, 100)
	if err != nil {
		t.Fatal(err)
	}
	private, free, fresh := stat.Mean(n[accuracy], nil), stat.Mean(n[withoutNoise], nil), stat.Mean(n[newcomers], nil)
	if a := stat.Mean(alone[accuracy], nil); private < a+.06 || free < private-.005 || fresh < private-.01 {
		t.Errorf("right in %.3f alone, %.3f with a private sum, %.3f without noise, %.3f of newcomers", a, private, free, fresh)
	}
}
