package learner

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// exchange lets servers with the given inputs mask them once: the masks each gave,
// and the shares.
func exchange(source rand.Source, inputs ...[]uint64) (given [][][]uint64, shares [][]uint64) {
	servers := make([]masking, len(inputs))
	for j := range servers {
		servers[j] = masking{round: 1, input: inputs[j]}
		given = append(given, servers[j].start(0, source, len(inputs)-1))
	}
	for j := range servers {
		var received [][]uint64
		for l := range servers {
			if l != j {
				received = append(received, given[l][place(l, j)])
			}
		}
		shares = append(shares, servers[j].complete(received))
	}
	return given, shares
}

// place is where server j stands in the list of server l, which has not l itself.
func place(l, j int) int {
	if j > l {
		return j - 1
	}
	return j
}

// Algorithm 2, corrected: the masks cancel and the mean is that of the rounded
// states, exactly, for states anywhere in the box, its corners included. The twin
// adds up in integers without end.
func TestSecureMeanIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		servers, dim, box := 2+r.IntN(7), 1+r.IntN(5), math.Exp(6*r.NormFloat64())
		ring := newResidues(box, servers)
		inputs := make([][]uint64, servers)
		sums := make([]big.Int, dim)
		for j := range inputs {
			state := make([]float64, dim)
			for k := range state {
				state[k] = min(max(1.5*(2*r.Float64()-1), -1), 1) * box // a third on the boundary
			}
			inputs[j] = ring.encode(state)
			for k, units := range inputs[j] {
				if got := math.Ldexp(float64(int64(units)), -ring.bits); math.Abs(got-state[k]) > math.Ldexp(0.5, -ring.bits) {
					t.Errorf("%v was written as %v", state[k], got)
				}
				sums[k].Add(&sums[k], big.NewInt(int64(units)))
			}
		}
		if limit := math.Ldexp(float64(servers)*box, ring.bits); limit >= 1<<47 || limit < 1<<46 {
			t.Errorf("box %v, %d servers: sums up to 2^%v units", box, servers, math.Log2(limit))
		}
		_, shares := exchange(chacha(byte(r.IntN(256))), inputs...)
		mean, ok := ring.mean(shares...)
		if !ok {
			t.Fatalf("box %v: the sum of %d states was refused", box, servers)
		}
		for k := range mean {
			want, _ := new(big.Rat).SetFrac(&sums[k], big.NewInt(int64(servers))).Float64()
			if want = math.Ldexp(want, -ring.bits); mean[k] != want {
				t.Errorf("mean %v, want %v", mean[k], want)
			}
		}
	}
}

// The printed algorithm 2 works modulo 2|X|: of S = 2 states 1/2 in [-1, 1] it makes
// -1/2. With five states of ten coordinates it is right four times in a thousand
// (|sum| <= 1 has probability .57 for one coordinate), so less than 90 wrong
// of 100 has no chance.
func TestPrintedModulusWraps(t *testing.T) {
	printed := func(states []float64) float64 {
		var sum float64
		for _, x := range states {
			sum += x
		}
		sum = math.Mod(sum+1, 2) // [-1, 1) is what is kept of the numbers modulo 2
		if sum < 0 {
			sum += 2
		}
		return (sum - 1) / float64(len(states))
	}
	if got := printed([]float64{0.5, 0.5}); got != -0.5 {
		t.Errorf("the printed algorithm gives %v", got)
	}
	ring := newResidues(1, 2)
	_, shares := exchange(chacha(1), ring.encode([]float64{0.5}), ring.encode([]float64{0.5}))
	if got, ok := ring.mean(shares...); !ok || got[0] != 0.5 {
		t.Errorf("the corrected algorithm gives %v", got)
	}
	r, wrong := rand.New(rand.NewPCG(1, 9)), 0
	for range 100 {
		failed := false
		for range 10 {
			states, mean := make([]float64, 5), 0.0
			for j := range states {
				states[j] = 2*r.Float64() - 1
				mean += states[j] / 5
			}
			failed = failed || math.Abs(printed(states)-mean) > 1e-9
		}
		if failed {
			wrong++
		}
	}
	if wrong < 90 {
		t.Errorf("the printed algorithm failed %d times of 100 only", wrong)
	}
}

// scripted is a source of given words.
type scripted []uint64

func (s *scripted) Uint64() uint64 {
	w := (*s)[0]
	*s = (*s)[1:]
	return w
}

// Any S-2 servers see of the other two nothing but their sum. Z_8 is small enough to
// look at every mask the two can give each other: 8 divides 2^64, so reducing what
// is sent modulo 8 is sending what was computed modulo 8. For each pair of states
// with one sum, every pair of shares with that sum comes equally often. The masks
// that the colluders see are fixed, as they may be anything.
func TestColludersSeeTheSumOnly(t *testing.T) {
	for _, servers := range []int{3, 4} {
		var first [8][8]int
		for k, states := range [][2]uint64{{1, 2}, {3, 0}, {7, 4}, {0, 3}} {
			var seen [8][8]int
			for a := range uint64(8) {
				for b := range uint64(8) {
					words := make(scripted, servers*(servers-1))
					for i := range words {
						words[i] = uint64(i * i)
					}
					words[place(0, 1)], words[servers-1+place(1, 0)] = a, b
					inputs := make([][]uint64, servers)
					for j := range inputs {
						inputs[j] = []uint64{uint64(5 * j)}
					}
					inputs[0], inputs[1] = []uint64{states[0]}, []uint64{states[1]}
					_, shares := exchange(&words, inputs...)
					seen[shares[0][0]%8][shares[1][0]%8]++
				}
			}
			if k == 0 {
				first = seen
			} else if seen != first {
				t.Errorf("%d servers: states %v show %v, states 1 and 2 show %v", servers, states, seen, first)
			}
			views := 0
			for _, row := range seen {
				for _, count := range row {
					if count != 0 && count != 8 {
						t.Errorf("%d servers: a view comes %d times of 64, want 8", servers, count)
					}
					if count > 0 {
						views++
					}
				}
			}
			if views != 8 {
				t.Errorf("%d servers: %d views, want the 8 with the right sum", servers, views)
			}
		}
	}
}

// The same with the masks of a real source, for the highest and the lowest four
// bits of a share, whatever is hidden. Chi-square with 15 degrees of freedom is over
// 80 with probability 1e-10; there are 16 looks.
func TestSharesAreUniform(t *testing.T) {
	source := chacha(3)
	const draws = 16000
	for _, state := range []float64{0, 1, -1, 0.123} {
		for _, shift := range []int{0, 60} {
			var counts [2][16]float64
			ring := newResidues(1, 3)
			inputs := [][]uint64{ring.encode([]float64{state}), ring.encode([]float64{-state}), ring.encode([]float64{0.5})}
			for range draws {
				given, shares := exchange(source, inputs...)
				// Server 2 takes off what it knows: the masks it gave and received.
				known := shares[0][0] + given[0][place(0, 2)][0] - given[2][place(2, 0)][0]
				counts[0][shares[0][0]>>shift&15]++
				counts[1][known>>shift&15]++
			}
			for _, c := range counts {
				var chi float64
				for _, n := range c {
					chi += (n - draws/16) * (n - draws/16) / (draws / 16)
				}
				if chi > 80 {
					t.Errorf("state %v, bits from %d: chi-square %v", state, shift, chi)
				}
			}
		}
	}
}

// Why masks are no floating-point numbers: a uniform float64 mask is a multiple of
// 2^-53, so what a state has below that appears in clear whenever the masked value
// is small enough to hold it. 2^-54 is told from 0 for certain in half of the draws:
// 10,000 of them have a standard error of .005.
func TestFloatMasksLeak(t *testing.T) {
	r := rand.New(chacha(2))
	const draws = 10000
	shown := func(state float64) (share float64) {
		for range draws {
			if units := math.Ldexp(r.Float64()+state, 53); units != math.Trunc(units) {
				share += 1. / draws
			}
		}
		return share
	}
	if got := shown(0); got != 0 {
		t.Errorf("0 looks like something else in %v of the draws", got)
	}
	if got := shown(0x1p-54); got < 0.45 || got > 0.55 {
		t.Errorf("2^-54 shows in %v of the draws, want half", got)
	}
}

func TestAttemptsHaveMasksOfTheirOwn(t *testing.T) {
	ring := newResidues(2, 3)
	source := chacha(9)
	states := [][]float64{{1, -2, 0}, {0.5, 2, 0}, {-1, 0, 0}}
	inputs := make([][]uint64, 3)
	for j := range states {
		inputs[j] = ring.encode(states[j])
	}
	before := slices.Clone(inputs[0])
	given, old := exchange(source, inputs...)
	again, fresh := exchange(source, inputs...)
	for j := range given {
		for i := range given[j] {
			for k := range given[j][i] {
				if given[j][i][k] == again[j][i][k] {
					t.Error("a mask was used twice")
				}
			}
		}
	}
	if !slices.Equal(inputs[0], before) {
		t.Error("masking changed the state itself")
	}
	if _, ok := ring.mean(old[0], fresh[1], fresh[2]); ok {
		t.Error("shares of two attempts were added up")
	}
	if mean, ok := ring.mean(fresh...); !ok {
		t.Error("shares of one attempt were refused")
	} else {
		wantClose(t, "mean", mean, []float64{0.5 / 3, 0, 0}, 1e-13)
	}
}
