package testnet

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/lab"
)

// noiseDraws is how many simulated draws of the noise real nodes are compared with.
const noiseDraws = 40

// agreeAboutSums compares the errors that real nodes reach by a private sum with what a
// committee's noise gives to the same split, drawn anew forty times. Where both are alike
// it is outside of those forty with probability 4.9 %, so another split has a go then: two
// are outside with probability 0.24 %.
func agreeAboutSums(t *testing.T, people int, daemons *Daemons) {
	t.Helper()
	all, err := ReadMovieLens(os.DirFS("../cmd/testnet/ml-latest-small"), "small", learner.Movies())
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range []uint64{1, 2} {
		d, err := all.Draw(seed, people)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Agree(t.Context(), Twins{
			Data: d, Method: Private, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6},
			Seed: 1000 * seed, Simulations: noiseDraws, Dir: t.TempDir(), Daemons: daemons,
		})
		if err != nil {
			t.Fatal(err)
		}
		low, high, within := a.within()
		t.Logf("%d people, seed %d: error %.4f alone, %.4f of real nodes in %.0f s, %.4f to %.4f of %d draws of noise; %d unfinished, delivery %.3f",
			len(a.Real), seed, mean(a.Alone), mean(a.Real), a.Seconds, low, high, noiseDraws, a.Unfinished, a.Delivery)
		if a.Unfinished > 0 {
			t.Errorf("%d nodes have no result", a.Unfinished)
		}
		if within {
			return
		}
	}
	t.Error("the errors of real nodes are outside of what the noise gives, for two splits")
}

// agreeing leaves a test to the night.
func agreeing(t *testing.T) {
	t.Helper()
	if os.Getenv("P2PNODE_AGREE") == "" {
		t.Skip("runs nightly: 610 nodes make a private sum, beside 40 draws of its noise")
	}
}

func TestSumsOfRealNodesAreAsSimulated(t *testing.T) {
	agreeing(t)
	agreeAboutSums(t, 0, nil)
}

func TestSumsOfDaemonsAreAsSimulated(t *testing.T) {
	agreeing(t)
	agreeAboutSums(t, 20, &Daemons{Program: builtDaemon(t)})
}

// Of 24 people 20 have phones, whose links lose a tenth of the packets and are there a
// fifth of the time.
func TestSumsOfPhonesAreAsSimulated(t *testing.T) {
	agreeing(t)
	if err := lab.Available(); err != nil {
		t.Skip(err)
	}
	agreeAboutSums(t, 24, &Daemons{
		Program: builtDaemon(t), Phones: 20, Loss: 0.1, Latency: 40 * time.Millisecond, Online: 0.2, Spell: 10 * time.Second,
	})
}

func builtDaemon(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "p2pnode")
	if out, err := exec.Command("go", "build", "-o", program, "p2pnode/cmd/p2pnode").CombinedOutput(); err != nil {
		t.Fatalf("build p2pnode: %v\n%s", err, out)
	}
	return program
}

func TestWithin(t *testing.T) {
	a := Agreement{Simulated: [][]float64{{1, 2}, {2, 3}, {3, 4}}}
	for real, want := range map[float64]bool{1.4: false, 1.5: true, 2: true, 3.5: true, 3.6: false} {
		a.Real = []float64{real, real}
		if low, high, within := a.within(); low != 1.5 || high != 3.5 || within != want {
			t.Errorf("%v: within %v of %v to %v", real, within, low, high)
		}
	}
}

// within reports whether the real nodes' mean error lies between low and high, the
// errors of two of the simulations. If both kinds are alike, it is outside with
// probability 2/(n+1) for n simulations, whatever the law of the noise: 4.9 % for 40.
func (a *Agreement) within() (low, high float64, within bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, errs := range a.Simulated {
		low, high = min(low, mean(errs)), max(high, mean(errs))
	}
	real := mean(a.Real)
	return low, high, low <= real && real <= high
}
