package node

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
)

// Many rows are answered by one model as each alone, and what is wrong with one is its
// answer.
func TestPredictRows(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 50), nil)
	good := []map[string]string{{"a": "0.5", "b": "0.5"}, {"a": "7", "b": ""}}
	asked := api.Rows{Rows: append(good, map[string]string{"a": "1"}, map[string]string{"a": "x", "b": "1"}, map[string]string{"a": "1", "b": "1", "c": "1"})}
	got, err := n.PredictRows(t.Context(), asked)
	if err != nil || len(got.Answers) != len(asked.Rows) || got.Fitted.IsZero() {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, row := range good {
		p, err := n.Predict(t.Context(), row)
		if a := got.Answers[i]; err != nil || a.Error != "" || a.Value != p.Value || a.Alone != p.Alone || len(a.Cells) != len(p.Cells) {
			t.Errorf("row %d: %+v; alone %+v, %v", i, a, p, err)
		}
	}
	for i, want := range []string{`column "b" is missing`, `"x" is not a finite number`, `column "c" is none of the task's`} {
		if a := got.Answers[len(good)+i]; a.Prediction != nil || !strings.Contains(a.Error, want) {
			t.Errorf("bad row %d: %+v, want %q", i, a, want)
		}
	}
}

// A prediction says whether it is a guess: there is no record, and nothing was heard.
func TestGuess(t *testing.T) {
	row := map[string]string{"a": "0.5", "b": "0.5"}
	ctx := t.Context()
	empty := testNode(t, lineTask(), nil, nil)
	p, err := empty.Predict(ctx, row)
	rows, errRows := empty.PredictRows(ctx, api.Rows{Rows: []map[string]string{row}})
	require.NoError(t, err, errRows)
	if !p.Guess || !rows.Answers[0].Guess {
		t.Errorf("without records: %+v, %+v", p, rows.Answers[0])
	}
	require.NoError(t, empty.Add(ctx, lineRecords(rand.New(rand.NewPCG(1, 1)), 1)))
	if p, err = empty.Predict(ctx, row); err != nil || p.Guess {
		t.Errorf("with a record: %+v, %v", p, err)
	}
	heard := &Fitted{PersonalModel: learner.PersonalModel{Theta: []float64{0, 0, 1}, Alone: []float64{0, 0, 0}}}
	asked, err := empty.encodeAsked(row)
	require.NoError(t, err)
	if PredictionOf(empty.Task(), heard, asked).Guess {
		t.Error("a model that follows others is a guess")
	}
}

// A file that is asked in parts is answered by the model of the first until a newer one is
// there, which is fitted meanwhile, and never by one that knows what was deleted.
func TestPredictRowsSince(t *testing.T) {
	records := lineRecords(rand.New(rand.NewPCG(1, 1)), 50)
	n := testNode(t, lineTask(), records, nil)
	ask := func(since time.Time) time.Time {
		t.Helper()
		got, err := n.PredictRows(t.Context(), api.Rows{Since: since, Rows: []map[string]string{{"a": "1", "b": "0"}}})
		if err != nil || got.Fitted.Before(since) {
			t.Fatalf("%+v, %v", got, err)
		}
		return got.Fitted
	}
	first := ask(time.Time{})
	if again := ask(first); !again.Equal(first) {
		t.Errorf("a second model at %v without anything new since %v", again, first)
	}
	if err := n.Add(t.Context(), []learner.Record{records[0]}); err != nil {
		t.Fatal(err)
	}
	// The first of these begins a fit.
	require.Eventually(t, "a newer model", func() bool { return ask(first).After(first) })
	if err := n.Delete(t.Context(), []uint64{1}); err != nil {
		t.Fatal(err)
	}
	deleted := time.Now()
	if m := ask(first); m.Before(deleted) {
		t.Errorf("a model fitted at %v answers after a record was deleted at %v", m, deleted)
	}
	if now := ask(time.Time{}); now.Before(deleted) {
		t.Errorf("fitted at %v", now)
	}
}
