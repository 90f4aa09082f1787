package testnet

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/privacy"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// madeUp is a result of two seeds with invented numbers: people gain a little by a sum
// without noise, half of that by a private one, and a quarter by broadcast.
func madeUp() *Result {
	r := &Result{
		Data: "people who never lived", LeftOut: 2, Task: "movies", Measure: "RMSE", Driver: "invented",
		Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Seed: 7, Seconds: 42.5, Complete: true,
	}
	for seed := uint64(7); seed < 9; seed++ {
		round := Round{Seed: seed}
		alone := Trial{Method: Alone, Seconds: 0.5}
		together := Trial{Method: Together, Seconds: 2}
		private := Trial{Method: Private, Seconds: 20, Messages: 1, Bytes: 300e3, Expected: 20, Delivered: 20}
		broadcast := Trial{Method: Broadcast, Seconds: 21, Messages: 118, Bytes: 299e3, Expected: 1180, Delivered: 1178, Unfinished: 1, Load: &Load{
			Memory: 2.5e7, Heap: 6e6, Goroutines: 700, OpenFiles: 160, FileLimit: 20000, Connections: 120, CPU: 4, Linking: 3.2,
		}}
		for i := range 10 {
			round.People = append(round.People, Participant{Number: i + 1, Train: 8 << i, Test: 2 << i, Base: 1.1})
			e := 0.9 + 0.01*float64(i) + 0.001*float64(seed)
			saved := 0.02 - 0.005*float64(i%5)
			alone.Errors = append(alone.Errors, e)
			together.Errors = append(together.Errors, e-saved)
			private.Errors = append(private.Errors, e-saved/2)
			private.Newcomers = append(private.Newcomers, e-saved/3)
			private.Spent = append(private.Spent, 1)
			broadcast.Errors = append(broadcast.Errors, e-saved/4)
			broadcast.Spent = append(broadcast.Spent, 1)
		}
		broadcast.Curve = []CurvePoint{{4, 0.96}, {8, 0.945}, {12, 0.935}}
		round.Trials = []Trial{alone, private, together, broadcast}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

func table(t *testing.T, r *Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableGolden(t *testing.T) {
	got := table(t, madeUp())
	golden := filepath.Join("testdata", "table.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the table changed (-update rewrites it). Got:\n%s\nwant:\n%s", got, want)
	}
}

// The sentence says which way the error went and whether zero is inside.
func TestChange(t *testing.T) {
	for name, c := range map[string]struct {
		shift func(i int) float64 // of the private error
		want  string
	}{
		"lower":   {func(i int) float64 { return -0.01 - 0.0001*float64(i) }, "lowers the mean error by 0.0105 (change: 95% interval -0.0107 to -0.0102"},
		"raised":  {func(i int) float64 { return 0.01 + 0.0001*float64(i) }, "RAISES the mean error by 0.010"},
		"either":  {func(i int) float64 { return 0.01 * float64(i%2*2-1) }, "zero is inside it, so this run alone does not show"},
		"nothing": {func(int) float64 { return 0 }, "changes the mean error by +0.0000 (95% interval +0.0000 to +0.0000"},
	} {
		r := madeUp()
		for k := range r.Rounds {
			round := &r.Rounds[k]
			for i, e := range round.trial(Alone).Errors {
				round.trial(Private).Errors[i] = e + c.shift(i)
			}
		}
		if got := r.change(); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q in it", name, got, c.want)
		}
	}
}

// Errors are written with digits that suit the target's unit.
func TestTableOfLargeErrors(t *testing.T) {
	r := madeUp()
	for i := range r.Rounds {
		for _, trial := range r.Rounds[i].Trials {
			for k := range trial.Errors {
				trial.Errors[k] *= 1e4
			}
		}
	}
	text := table(t, r)
	for _, want := range []string{"alone (tuned)                   9525.0 ", "lowers the mean error by 50.0 (change: 95% interval -77.4 to "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if newest := r.Newest(); !strings.Contains(newest, "alone 9530.0;") {
		t.Error(newest)
	}
}

// An interrupted run shows what there is and says so.
func TestTableOfInterruptedRun(t *testing.T) {
	r := madeUp()
	r.Complete = false
	r.Rounds[0].Trials = r.Rounds[0].Trials[:2]
	r.Rounds[1].Trials = r.Rounds[1].Trials[:1]
	got := table(t, r)
	if !strings.Contains(got, "Interrupted") || strings.Contains(got, "without noise") || strings.Contains(got, "NaN") {
		t.Errorf("table of an interrupted run:\n%s", got)
	}
	r.Rounds = r.Rounds[1:]
	if got := table(t, r); !strings.Contains(got, "was not measured") {
		t.Errorf("table without a private trial:\n%s", got)
	}
	r.Rounds = nil
	if got := table(t, r); !strings.Contains(got, "was not measured") || strings.Contains(got, "NaN") {
		t.Errorf("table of nothing:\n%s", got)
	}
}

// A budget that is not used up is shown as what has been spent of it. Half of
// the squared GDP parameter is more than half of epsilon: by the curve of
// (epsilon, delta) at mu/sqrt(2), computed apart, 0.69.
func TestSpentText(t *testing.T) {
	r := madeUp()
	if got := r.spentText(Private); got != "(1, 1e-06)" {
		t.Errorf("a used budget is shown as %q", got)
	}
	for k := range r.Rounds {
		spent := r.Rounds[k].trial(Private).Spent
		for i := range spent {
			spent[i] = 0.5
		}
	}
	if got := r.spentText(Private); got != "(0.69, 1e-06) of (1, 1e-06)" {
		t.Errorf("half a budget is shown as %q", got)
	}
	for k := range r.Rounds {
		r.Rounds[k].trial(Private).Spent = make([]float64, 10)
	}
	if got := r.spentText(Private); got != "(0, 1e-06) of (1, 1e-06)" {
		t.Errorf("an untouched budget is shown as %q", got)
	}
}

func TestByteText(t *testing.T) {
	for n, want := range map[float64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 312_400: "312 kB", 4_560_000: "4.6 MB"} {
		if got := byteText(n); got != want {
			t.Errorf("%v bytes: got %q, want %q", n, got, want)
		}
	}
}

func TestAligned(t *testing.T) {
	got := aligned([][]string{{"", "RMSE"}, {"é", "1"}, {"long", "22"}})
	if want := "      RMSE\né        1\nlong    22\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDelivery(t *testing.T) {
	r := madeUp()
	if got, want := r.delivery(), (20.0+1178)/(20+1180); got != want {
		t.Errorf("delivery %v, want %v", got, want)
	}
	r.Rounds[0].trial(Private).Delivered = 5000 // late listeners
	if got := r.delivery(); got != 1 {
		t.Errorf("delivery %v, want it cut off at 1", got)
	}
	r.Rounds = nil
	if got := r.delivery(); got != 0 {
		t.Errorf("delivery of nothing is %v", got)
	}
}

// Where nobody's model predicts the rare class, the verdict, the table and the JSON show by
// the log losses what was learned.
func TestRareClass(t *testing.T) {
	r := &Result{Data: "people who never lived", Task: "alarm", Measure: learner.ErrorShare, Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Seed: 7, Complete: true}
	round := Round{Seed: 7}
	alone, private := Trial{Method: Alone}, Trial{Method: Private, Majority: 20}
	for i := range 20 {
		loss := 0.17 + 0.001*float64(i)
		round.People = append(round.People, Participant{Number: i + 1, Train: 100, Test: 25, Base: 0.04, BaseLogLoss: 0.1875})
		alone.Errors, private.Errors = append(alone.Errors, 0.04), append(private.Errors, 0.04)
		alone.LogLosses, private.LogLosses = append(alone.LogLosses, loss), append(private.LogLosses, 0.95*loss)
	}
	round.Trials = []Trial{alone, private}
	r.Rounds = []Round{round}
	text := table(t, r)
	if !strings.HasPrefix(text, "worth it: 20 of 20 nodes better, mean log loss -5.00 % [-5.08, -4.92]; the probabilities are better") {
		t.Errorf("the verdict: %s", text)
	}
	line := regexp.MustCompile(`(?m)^constant: one's most frequent class +0\.0400 +0\.1875 `)
	if !line.MatchString(text) {
		t.Errorf("no log loss of the constant in\n%s", text)
	}
	if got := r.report(); !got.ByLogLoss || got.BaseLog == nil || *got.BaseLog != 0.1875 || got.Change == nil || math.Abs(got.Change.Mean+0.05) > 1e-12 {
		t.Errorf("the report: %+v", got)
	}
	for i := range private.LogLosses {
		private.LogLosses[i] = 0.19
	}
	if v := r.verdict(); v.Word != NotWorthIt || v.ByLogLoss {
		t.Errorf("probabilities worse than a constant's: %v", v)
	}
}
