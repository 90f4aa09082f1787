package privacy

import (
	"math"
	"testing"
)

// The order that was chosen allows less noise than all others, up to a millionth.
func TestBestOrder(t *testing.T) {
	t.Parallel()
	for _, b := range []Budget{{0.05, 1e-9}, {1, 1e-6}, {8, math.Exp(-5)}, {300, 1e-3}, {1e-9, 1e-300}, {1e6, 0.5}} {
		for _, noise := range []Noise{Gaussian, Laplace} {
			d := Design{Budget: b, Noise: noise}
			list := []stretch{{noise: 3, count: 5}, {noise: 1, count: 7}}
			best, least := d.bestOrder(list)
			if math.IsInf(least, 1) || least != d.renyiNoise(best, list) {
				t.Errorf("%+v, %s: order %v, noise %v", b, noise, best, least)
			}
			for x := math.Log(1e-4); x < math.Log(1e13); x += 0.01 {
				if n := d.renyiNoise(1+math.Exp(x), list); n < least*(1-2e-6) {
					t.Errorf("%+v, %s: order %v allows %v, the chosen %v allows %v", b, noise, 1+math.Exp(x), n, best, least)
					break
				}
			}
		}
	}
}
