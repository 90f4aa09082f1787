//go:build linux && amd64

package node

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pointsVariable is the number of points, 100 if it is not set.
const pointsVariable = "P2PNODE_TORTURE"

// enumerate lists every fault that can befall the first start of a directory and
// the next, as undisturbed children go through them.
func enumerate(t *testing.T, base string) (points []point) {
	t.Helper()
	c := &chain{base: base}
	for _, fresh := range []bool{true, false} {
		o, err := c.torture(point{fault: fault{action: killAfter, after: 1 << 30}, fresh: fresh})
		needPtrace(t, err)
		if o.reached || o.rounds != tortureReleases {
			t.Fatalf("an undisturbed child made %d releases (%s)", o.rounds, o.how)
		}
		for _, a := range actions() {
			after := 0
			for _, s := range o.steps {
				if a.befalls(s) {
					points = append(points, point{fault{a, after, uint64(len(points))}, fresh, s})
					after++
				}
			}
		}
	}
	return points
}

// needPtrace fails the test if err is not nil, and skips it where a process may
// not trace its children.
func needPtrace(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("this machine does not allow ptrace: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// choose takes n points, spread evenly over all there are, in random order; what
// is missing is drawn at random.
func choose(all []point, n int, random *rand.Rand) []point {
	chosen := make([]point, 0, n)
	for i := range min(n, len(all)) {
		chosen = append(chosen, all[i*len(all)/min(n, len(all))])
	}
	for len(chosen) < n {
		p := all[random.IntN(len(all))]
		p.fault.seed = random.Uint64()
		chosen = append(chosen, p)
	}
	random.Shuffle(n, func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen
}

// tally counts what the points led to.
type tally struct {
	mu       sync.Mutex
	outcomes map[string]int
	errors   []error
	rounds   int
	missed   int
}

// tortureAll puts the points through the directories of two workers at once,
// until enough violations are found. One directory of a worker is begun anew for
// every first start, the other lives long.
func tortureAll(base string, points []point, f flaw, enough func([]error) bool) *tally {
	const workers = 2
	y := &tally{outcomes: make(map[string]int)}
	plans := len(points) > 1000
	var working sync.WaitGroup
	for w := range workers {
		begun := &chain{flaw: f, plans: plans, base: filepath.Join(base, strconv.Itoa(w), "begun")}
		lives := &chain{flaw: f, plans: plans, base: filepath.Join(base, strconv.Itoa(w), "lives")}
		working.Go(func() {
			for i := w; i < len(points) && !y.enough(enough); i += workers {
				c := lives
				if points[i].fresh || i%8 < workers {
					c = begun
				}
				y.put(c, points[i])
			}
		})
	}
	working.Wait()
	return y
}

// put counts what a point leads to. One that is not reached, because this child
// makes fewer steps, is moved nearer.
func (y *tally) put(c *chain, p point) {
	o, err := c.torture(p)
	for err == nil && !o.reached && p.fault.after > 0 {
		p.fault.after /= 2
		o, err = c.torture(p)
	}
	if err != nil {
		c.dir = "" // keep it to look at, go on in a new one
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.rounds += o.rounds
	switch {
	case err != nil:
		y.errors = append(y.errors, err)
	case !o.reached:
		y.missed++
	default:
		y.outcomes[fmt.Sprintf("%s: %s", p.fault.action, o.how)]++
	}
}

func (y *tally) enough(enough func([]error) bool) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return enough(y.errors)
}

// kill -9 and I/O errors at every step of a release: the spent budget never
// falls, no two different releases exist for one round, and nothing released is
// unpaid. The points before and after a step are system calls of a real process
// on its files.
func TestTorture(t *testing.T) {
	t.Parallel()
	n := 100
	if text := os.Getenv(pointsVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("%s=%q is not a number of points", pointsVariable, text)
		}
	} else if testing.Short() {
		n = 20
	}
	start := time.Now()
	base := t.TempDir()
	all := enumerate(t, filepath.Join(base, "undisturbed"))
	y := tortureAll(base, choose(all, n, rand.New(rand.NewPCG(1, 3))), "",
		func(violations []error) bool { return len(violations) >= 10 })
	for _, err := range y.errors {
		t.Error(err)
	}
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(y.outcomes)) {
		fmt.Fprintf(&text, "\n%6d %s", y.outcomes[key], key)
	}
	t.Logf("%d points of %d different ones in %.1fs, %d rounds paid, %d not reached, %d violations%s",
		n, len(all), time.Since(start).Seconds(), y.rounds, y.missed, len(y.errors), &text)
}

// A start that is cut while it writes the anchor, after a first start that was cut
// at any step around it, leaves an anchor that can be read.
func TestTortureOfTheAnchor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: it starts 80 processes")
	}
	base := t.TempDir()
	pairs := 0
	c := &chain{base: filepath.Join(base, "pairs")}
	for _, p := range enumerate(t, filepath.Join(base, "undisturbed")) {
		if !p.fresh || p.fault.action != killBefore || p.step.file == "store" {
			continue
		}
		for _, a := range []action{tornKill, powerCut} {
			if _, err := c.torture(p); err != nil {
				t.Fatal(err)
			}
			if _, err := c.torture(point{fault: fault{action: a, seed: uint64(pairs)}}); err != nil {
				t.Fatalf("after %v, at %v: %v", p.fault, p.step, err)
			}
			pairs++
		}
	}
	t.Logf("%d pairs of faults", pairs)
}

// The torture finds each mistake in the order of a release within its first 100
// points, and for the right reason.
func TestTortureFindsFlaws(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: it starts up to 400 processes")
	}
	base := t.TempDir()
	all := enumerate(t, filepath.Join(base, "undisturbed"))
	for f, reason := range flaws() { // in any order: each is a case of its own
		t.Run(string(f), func(t *testing.T) {
			found := func(violations []error) bool {
				return slices.ContainsFunc(violations, func(err error) bool { return strings.Contains(err.Error(), reason) })
			}
			y := tortureAll(t.TempDir(), choose(all, 100, rand.New(rand.NewPCG(1, 3))), f, found)
			if !found(y.errors) {
				t.Fatalf("not found in 100 points: %v", errors.Join(y.errors...))
			}
			t.Logf("found by violation %d: %v", len(y.errors), y.errors[len(y.errors)-1])
		})
	}
}
