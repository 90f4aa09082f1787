package mobile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/storage"
)

// linearConfig is a node of the task linear: 20 numbers between -1 and 1, two classes.
func linearConfig(t testing.TB) *Config {
	c := testConfig(t)
	c.Task, c.Settings = "linear", "profile = [1.0, 0.0]"
	return c
}

// example is a vector of the task linear and its label, which is that of the first
// number.
func example(r *rand.Rand) (x []float64, label float64) {
	x = make([]float64, 20)
	for i := range x {
		x[i] = 2*r.Float64() - 1
	}
	if x[0] > 0 {
		label = 1
	}
	return x, label
}

func rows(r *rand.Rand, n int) []byte {
	var v []float64
	for range n {
		x, label := example(r)
		v = append(append(v, x...), label)
	}
	return encodeVector(v)
}

// parse reads what a method answered.
func parse(t testing.TB, text string, err error) (v map[string]any) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(text, err)
	}
	return v
}

// rowJSON are values of the task linear by column, all the same.
func rowJSON(value string) string {
	var columns []string
	for i := range 20 {
		columns = append(columns, `"x`+string(json.Number(jsonNumber(i+1)))+`":`+value)
	}
	return "{" + strings.Join(columns, ",") + "}"
}

func jsonNumber(i int) string {
	text, _ := json.Marshal(i)
	return string(text)
}

func fixed(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// awaitCurrent predicts until the model knows everything.
func awaitCurrent(t testing.TB, n *Node, row string) map[string]any {
	t.Helper()
	var p map[string]any
	require.Nothing(t, func() string {
		text, err := n.PredictJSON(row)
		if p = parse(t, text, err); p["current"] == true {
			return ""
		}
		return text + " is not current"
	})
	return p
}

// Offline and before any neighbour is known, examples count at once; and after a
// restart.
func TestPredictionsOffline(t *testing.T) {
	c := linearConfig(t)
	r := &recorder{}
	n := open(t, c, r)
	if y, err := n.Predict(encodeVector(make([]float64, 20))); y != 0.5 || err != nil {
		t.Errorf("without examples %v, %v; want undecided", y, err)
	}
	check(t, n.AddExamples(rows(fixed(1), 200)))
	x, label := example(fixed(2))
	check(t, n.AddExample(encodeVector(x), label), n.Flush())
	if p := awaitCurrent(t, n, rowJSON("0.5")); p["examples"] != 201.0 || p["value"].(float64) != p["alone"].(float64) {
		t.Errorf("%v, want 201 examples, and no neighbour's help", p)
	}
	awaitHeard(t, r, `stored {"examples":200,"queued":0}`)
	awaitHeard(t, r, `stored {"examples":201,"queued":0}`)
	awaitHeard(t, r, `model {"examples":201,"current":true}`)
	want := accuracy(t, n)
	if want < 0.9 {
		t.Errorf("%v of the predictions are right", want)
	}
	model, err := n.ExportModel()
	check(t, err, n.Stop())
	if len(model) != 8*20 {
		t.Errorf("a model of %d bytes", len(model))
	}
	n = open(t, c, nil)
	awaitCurrent(t, n, rowJSON("0.5"))
	if got := accuracy(t, n); got != want {
		t.Errorf("after a restart %v of the predictions are right, before %v", got, want)
	}
	again, err := n.ExportModel()
	if check(t, err); string(again) != string(model) {
		t.Error("another model after a restart")
	}
}

func accuracy(t *testing.T, n *Node) (right float64) {
	r := fixed(7)
	for range 200 {
		x, label := example(r)
		p, err := n.Predict(encodeVector(x))
		q, err2 := n.Probabilities(encodeVector(x))
		check(t, err, err2)
		if v, _ := decodeVector(q); len(v) != 2 || v[1] != p || v[0] != 1-p {
			t.Fatalf("probabilities %v, predicted %v", v, p)
		}
		if math.Round(p) == label {
			right += 1. / 200
		}
	}
	return right
}

// What is queued when the node stops is on disk when it is opened again.
func TestStopWritesTheQueue(t *testing.T) {
	c := linearConfig(t)
	n := open(t, c, nil)
	r := fixed(3)
	for range 50 {
		x, label := example(r)
		check(t, n.AddExample(encodeVector(x), label))
	}
	check(t, n.Stop())
	n = open(t, c, nil)
	text, err := n.StatusJSON()
	s := parse(t, text, err)
	if got := s["node"].(map[string]any)["records"]; got != 50.0 || s["queued"] != 0.0 {
		t.Errorf("%v of 50 examples are there: %s", got, text)
	}
}

func TestExamplesInAndOut(t *testing.T) {
	c := linearConfig(t)
	c.MaxExamples = 6
	n := open(t, c, nil)
	withTarget := strings.Replace(rowJSON("0.25"), "}", `,"y":"1"}`, 1)
	check(t, n.AddExampleJSON(withTarget), n.AddExamples(rows(fixed(1), 2)))
	csv := filepath.Join(t.TempDir(), "a.csv")
	var header []string
	for i := range 20 {
		header = append(header, "x"+jsonNumber(i+1))
	}
	text := strings.Join(header, ",") + ",y\n" + strings.Repeat("0,", 20) + "1\n" + strings.Repeat("0,", 20) + "7\n"
	check(t, os.WriteFile(csv, []byte(text), 0o600))
	if _, err := n.ImportCSV(csv, false, false); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a file with a bad line: %v", err)
	}
	long := filepath.Join(t.TempDir(), "b.csv")
	check(t, os.WriteFile(long, []byte(text+strings.Repeat(strings.Repeat("0,", 20)+"1\n", 7)), 0o600))
	if _, err := n.ImportCSV(long, true, false); errorCode(err) != CodeFull || !strings.Contains(err.Error(), "at most 6") {
		t.Errorf("eight of six: %v", err)
	}
	report, err := n.ImportCSV(csv, true, false)
	if p := parse(t, report, err); p["records"] != 1.0 || p["bad"] != 1.0 {
		t.Errorf("imported %s", report)
	}
	check(t, n.AddExamples(nil))
	for _, many := range []int{3, 7} {
		if err := n.AddExamples(rows(fixed(1), many)); errorCode(err) != CodeFull || !strings.Contains(err.Error(), "at most 6") {
			t.Errorf("%d more than four of six: %v", many, err)
		}
	}
	if _, err := n.ImportCSV(csv, true, false); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "imported before") {
		t.Errorf("a file again: %v", err)
	}
	if _, err := n.ImportCSV(csv, true, true); err != nil {
		t.Error(err)
	}
	var list []struct {
		Number  int
		Deleted bool
		Target  float64
	}
	c0 := new(api.Comparison)
	n.comparison.Store(c0)
	check(t, n.DeleteExamples("[2, 1]"), n.DeleteExamples("[]"))
	if n.comparison.Load() == c0 {
		t.Error("the status compares a model that knew what was deleted")
	}
	page, err := n.ExamplesJSON(2, 3)
	if check(t, err, json.Unmarshal([]byte(page), &list)); len(list) != 3 || list[0].Number != 2 || !list[0].Deleted || list[2].Target != 1 {
		t.Errorf("a page of three from 2: %s", page)
	}
	check(t, n.AddExamples(rows(fixed(1), 3))) // in the room of those deleted
	if p := awaitCurrent(t, n, rowJSON("0.5")); p["examples"] != 6.0 {
		t.Errorf("%v, want 6 examples", p)
	}
	x, label := example(fixed(4))
	if err := n.AddExample(encodeVector(x), label); errorCode(err) != CodeFull || !strings.Contains(err.Error(), "delete") {
		t.Errorf("seven of six: %v", err)
	}
}

// Once a write has failed nothing is written any more, so nothing is released: the state
// says so at once, and not with the next release.
func TestFailedWriteEndsTheNetwork(t *testing.T) {
	r := &recorder{}
	n, err := NewNode(linearConfig(t), r)
	if err != nil {
		t.Fatal(err)
	}
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	awaitState(t, n, stateRunning)
	n.queue.store = func([]learner.Record) error { return fmt.Errorf("%w: %w", storage.ErrPoisoned, syscall.ENOSPC) }
	if err := n.AddExamples(rows(fixed(1), 1)); errorCode(err) != CodeFull {
		t.Error(err)
	}
	if s := n.driver.now(); s.State != stateFailed || !strings.Contains(s.Reason, "no space left") {
		t.Errorf("the state is %+v", s)
	}
	check(t, n.Pause(""))
	if n.driver.current != nil {
		t.Error("it is still in the network")
	}
	x, label := example(fixed(1))
	if err := n.AddExample(encodeVector(x), label); errorCode(err) != CodeFull {
		t.Errorf("an example more: %v", err)
	}
	check(t, n.Stop())
}

// A node without room for examples keeps what was accepted, goes on, and stores it where
// there is room again.
func TestFullNodeGoesOn(t *testing.T) {
	c, r := linearConfig(t), &recorder{}
	c.Settings += "\nmax_megabytes = 1\n"
	n := open(t, c, r)
	var full error
	for range 100 {
		if full = n.AddExamples(rows(fixed(1), 1000)); full != nil {
			break
		}
	}
	x, label := example(fixed(2))
	check(t, n.AddExample(encodeVector(x), label))
	for name, err := range map[string]error{"AddExamples": full, "Flush": n.Flush()} {
		if errorCode(err) != CodeFull || !strings.Contains(err.Error(), "the database takes 1 MB") || strings.Count(err.Error(), "full: ") != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := n.Train(1)
	parse(t, text, err)
	if s := n.driver.now(); s.State == stateFailed {
		t.Errorf("the state is %+v", s)
	}
	stored, queued := n.queue.lengths()
	if queued != 1 {
		t.Errorf("%d wait, want one", queued)
	}
	settings := filepath.Join(c.DataDir, "config.toml")
	told, err := os.ReadFile(settings)
	check(t, err, os.WriteFile(settings, bytes.Replace(told, []byte("max_megabytes = 1"), []byte("max_megabytes = 100"), 1), 0o600))
	_, err = n.node.Reload(t.Context())
	check(t, err, n.Flush())
	if now, queued := n.queue.lengths(); now != stored+1 || queued != 0 {
		t.Errorf("%d stored and %d wait, want one more than %d, and none", now, queued, stored)
	}
}

// Until the first fit after an opening has a result, an answer says that it is a guess.
func TestGuessesSaySo(t *testing.T) {
	c := linearConfig(t)
	n := open(t, c, nil)
	check(t, n.AddExamples(rows(fixed(1), 3000)), n.Stop())
	n = open(t, c, nil)
	require.Eventually(t, "a model knows all examples", func() bool {
		text, err := n.PredictJSON(rowJSON("0.5"))
		p := parse(t, text, err)
		if (p["guess"] == true) != (p["examples"] == 0.0) {
			t.Errorf("not both a guess and of no example: %s", text)
		}
		return p["current"] == true
	})
}

func TestAnswersOfANodeAtRest(t *testing.T) {
	n := open(t, testConfig(t), nil) // movies
	text, err := n.TaskJSON()
	task := parse(t, text, err)
	columns := task["columns"].([]any)
	year := columns[1].(map[string]any)
	if len(columns) != 3 || task["length"] != 21.0 || year["at"] != 19.0 || year["length"] != 1.0 || task["target"].(map[string]any)["max"] != 5.0 {
		t.Errorf("the task is %s", text)
	}
	text, err = n.StatusJSON()
	status := parse(t, text, err)
	if status["state"] != "off" || status["node"].(map[string]any)["task"] != "movies" || status["node"].(map[string]any)["personal"] != nil {
		t.Errorf("the status is %s", text)
	}
	text, err = n.BudgetJSON()
	if b := parse(t, text, err); b["epsilon"] != 1.0 {
		t.Errorf("the budget is %s", text)
	}
	text, err = n.PeersJSON()
	if p := parse(t, text, err); len(p["neighbours"].([]any)) != 0 || len(p["acquaintances"].([]any)) != 0 {
		t.Errorf("the peers are %s", text)
	}
	text, err = n.DiagnoseJSON()
	if d := parse(t, text, err); d["running"] != false {
		t.Errorf("the diagnosis is %s", text)
	}
	if y, err := n.Predict(encodeVector(make([]float64, 21))); y != 3.5 || err != nil {
		t.Errorf("predicted %v, %v; want the centre", y, err)
	}
	if _, err := n.Probabilities(encodeVector(make([]float64, 21))); errorCode(err) != CodeInput {
		t.Errorf("probabilities of a number: %v", err)
	}
}

// A phone keeps what its settings say: older examples go, and make room.
func TestKeptExamples(t *testing.T) {
	c := linearConfig(t)
	c.Settings += "\nkeep_records = 4\n"
	c.MaxExamples = 6
	n := open(t, c, nil)
	for range 5 {
		check(t, n.AddExamples(rows(fixed(1), 2)))
	}
	require.Eventually(t, "four of ten examples are kept", func() bool { // a busy node tells of a moment ago
		text, err := n.StatusJSON()
		s := parse(t, text, err)["node"].(map[string]any)
		return s["records"] == 4.0 && s["keep"].(map[string]any)["records"] == 4.0
	})
	if stored, _ := n.queue.lengths(); stored != 4 {
		t.Errorf("the queue counts %d examples, want 4", stored)
	}
}
