package testnet

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// texts returns the text of an SVG that must be well-formed.
func texts(t *testing.T, draw func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
		t.Error("the plot has coordinates that are no numbers")
	}
	if strings.Contains(b.String(), "font-family:Liberation Sans;") {
		t.Error("the plot names a font few machines have, and no other")
	}
	var all strings.Builder
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if err == io.EOF {
			return all.String()
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if text, ok := token.(xml.CharData); ok {
			all.WriteString(string(text) + "\n")
		}
	}
}

func TestPlotsSayWhatTheyShow(t *testing.T) {
	r := madeUp()
	curve := texts(t, r.WriteCurve)
	for _, want := range []string{"releases per node (mean)", "test error per person (mean RMSE)", "alone (tuned)", "together, private", "together, no privacy"} {
		if !strings.Contains(curve, want) {
			t.Errorf("the learning curve does not say %q", want)
		}
	}
	gain := texts(t, r.WriteGain)
	for _, want := range []string{"records she learns from (log scale)", "gain (% of her test error alone)", "better (80.0%)", "the same (20.0%)", "median"} {
		if !strings.Contains(gain, want) {
			t.Errorf("the plot of gains does not say %q", want)
		}
	}
	if strings.Contains(gain, "worse") {
		t.Error("nobody lost, but the legend of the gains has an entry for it")
	}
}

func TestPlotsOfLittle(t *testing.T) {
	one := madeUp()
	one.Rounds = one.Rounds[:1]
	one.Rounds[0].People = one.Rounds[0].People[:1]
	for i := range one.Rounds[0].Trials {
		trial := &one.Rounds[0].Trials[i]
		trial.Errors, trial.Curve = trial.Errors[:1], trial.Curve[:min(1, len(trial.Curve))]
	}
	interrupted := madeUp()
	interrupted.Rounds[0].Trials = interrupted.Rounds[0].Trials[:1]
	interrupted.Rounds = interrupted.Rounds[:1]
	for _, r := range []*Result{{}, one, interrupted} {
		texts(t, r.WriteCurve)
		texts(t, r.WriteGain)
	}
}

// Property: ticks are in range, evenly spaced, four to ten, and each label
// reads as its value.
func TestEvenTicks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		low := r.NormFloat64() * math.Pow(10, float64(r.IntN(7)-3))
		high := low + math.Pow(10, 6*r.Float64()-3)
		ticks := evenTicks{}.Ticks(low, high)
		if len(ticks) < 4 || len(ticks) > 10 {
			t.Fatalf("%d ticks on [%v, %v]", len(ticks), low, high)
		}
		labels := make(map[string]bool)
		for i, tick := range ticks {
			if tick.Value < low-1e-9 || tick.Value > high+1e-9 {
				t.Fatalf("tick %v outside [%v, %v]", tick.Value, low, high)
			}
			if i > 1 && math.Abs(tick.Value-2*ticks[i-1].Value+ticks[i-2].Value) > 1e-9*math.Abs(high-low)+1e-12 {
				t.Fatalf("uneven ticks %v", ticks)
			}
			labels[tick.Label] = true
		}
		if len(labels) != len(ticks) {
			t.Fatalf("two ticks with one label on [%v, %v]: %v", low, high, ticks)
		}
	}
	for _, c := range [][2]float64{{1, 1}, {2, 1}, {math.Inf(-1), 1}, {math.NaN(), 1}} {
		if ticks := (evenTicks{}).Ticks(c[0], c[1]); ticks != nil {
			t.Errorf("ticks %v on %v", ticks, c)
		}
	}
}

func TestCountTicks(t *testing.T) {
	var labels []string
	for _, tick := range (countTicks{}).Ticks(8, 1100) {
		labels = append(labels, tick.Label)
	}
	if got, want := strings.Join(labels, " "), "10 20 50 100 200 500 1000"; got != want {
		t.Errorf("ticks %s, want %s", got, want)
	}
}
