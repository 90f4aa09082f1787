package sim

import (
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"p2pnode/sums"
)

// privateSum is a sum of people who each add i to every coordinate, in real units.
func privateSum(people, dim int) PrivateSum {
	return PrivateSum{
		Terms: sums.Terms{
			Task: sums.Digest{1}, Recipe: "test", Committee: sums.Committee{Colluding: 1},
			Distance: 1.5, Std: 6, Dimension: dim, Contributors: people, Records: 100,
		},
		Members: 4, Contributors: people,
		Vector: func(i int, s *sums.Sum) ([]int64, int) {
			v := make([]int64, s.Dimension)
			for j := range v {
				v[j] = int64(float64(i%100) / s.Mechanism.Unit())
			}
			return v, i % 100
		},
		Collect: time.Minute, Latency: 100 * time.Millisecond, Until: time.Hour, Seed: 1,
	}
}

// checkTotal compares the result with the sum of all people's vectors, within eight
// standard deviations of the noise and the rounding to float32.
func checkTotal(t *testing.T, r *SumReport, people int) {
	t.Helper()
	if r.Result == nil || int(r.Result.Entries) != people {
		t.Fatalf("%+v of %d people", r.Result, people)
	}
	want := 0.0
	for i := range people {
		want += float64(i % 100)
	}
	for j, x := range r.Result.Values {
		if math.Abs(float64(x)-want) > 8*r.Sum.Noise()+want/(1<<23) {
			t.Errorf("coordinate %d is %v, want %v", j, x, want)
		}
	}
	if r.Result.Records != uint64(want) {
		t.Errorf("%d records, want %v", r.Result.Records, want)
	}
}

func TestPrivateSum(t *testing.T) {
	p := privateSum(100, 5)
	r, err := p.Run()
	if err != nil {
		t.Fatal(err)
	}
	checkTotal(t, r, 100)
	if r.Views != 0 || r.Done > p.Collect+25*time.Second {
		t.Errorf("it ends after %v in view %d", r.Done, r.Views)
	}
}

// A fifth of all messages is lost and members are killed all the time: the sum is the sum,
// and everybody whose upload reached a quorum is in it.
func TestPrivateSumUnderLossAndKills(t *testing.T) {
	seeds := uint64(5)
	if testing.Short() {
		seeds = 1
	}
	kills := 0
	for seed := range seeds {
		p := privateSum(40, 3)
		p.Loss, p.Crash, p.Down, p.Seed = .2, 20*time.Second, 3*time.Second, seed
		r, err := p.Run()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		kills += r.Kills
		if got := int(r.Result.Entries); got < 35 || got > 40 {
			t.Errorf("seed %d: %d of 40 people are listed", seed, got)
		}
		if len(r.Blamed) > 0 {
			t.Errorf("seed %d: honest members are blamed: %v", seed, r.Blamed)
		}
	}
	if kills < 5*int(seeds) {
		t.Errorf("only %d kills", kills)
	}
}

// A member that says nothing when it leads, and opens wrong sums, costs time only.
func TestPrivateSumWithALiar(t *testing.T) {
	p := privateSum(20, 3)
	p.Loss = .1
	p.Lie = func(member int, s *sums.Sum, _ sums.Secrets, l sums.Letter) []sums.Letter {
		m, err := s.ReadMessage(l.Message)
		if member == 0 && err == nil && slices.Contains([]sums.Kind{sums.KindPropose, sums.KindList, sums.KindOpen, sums.KindCommit}, m.Kind) {
			return nil
		}
		return []sums.Letter{l}
	}
	r, err := p.Run()
	if err != nil {
		t.Fatal(err)
	}
	checkTotal(t, r, 20)
	if r.Views == 0 {
		t.Error("the silent leader's view has come to something")
	}
}

// Many contributors in bounded memory: P2PNODE_SUM=100000 at 1,024 coordinates.
func TestPrivateSumOfMany(t *testing.T) {
	people, err := strconv.Atoi(os.Getenv("P2PNODE_SUM"))
	if err != nil {
		t.Skip("runs nightly: a private sum of 100,000 contributors takes minutes")
	}
	p := privateSum(people, 1024)
	p.Collect, p.Until = 10*time.Minute, 2*time.Hour
	start := time.Now()
	r, err := p.Run()
	if err != nil {
		t.Fatal(err)
	}
	checkTotal(t, r, people)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d contributors: %v on the clock of the sum, %v on this one, %d MB from the system, %d letters of %d MB",
		people, r.Done, time.Since(start).Round(time.Second), m.Sys>>20, r.Letters, r.Bytes>>20)
	if m.Sys > 8<<30 {
		t.Errorf("%d MB of memory", m.Sys>>20)
	}
}
