package testnet

import (
	"bytes"
	"encoding/xml"
	"io"
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
	curve := texts(t, r.writeCurve)
	for _, want := range []string{"releases per node (mean)", "test error per person (mean RMSE)", "alone (tuned)", "private sum", "private broadcast", "sum without noise"} {
		if !strings.Contains(curve, want) {
			t.Errorf("the learning curve does not say %q", want)
		}
	}
	gain := texts(t, r.writeGain)
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
		texts(t, r.writeCurve)
		texts(t, r.writeGain)
	}
}
