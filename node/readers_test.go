package node

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// readerTasks are the built-in tasks, the examples in docs/tasks, one with every kind of
// feature, and others for what these lack. A short run is without the examples and with one
// task of each loss and kind of key: each starts two programs.
func readerTasks(t *testing.T) map[string]*learner.Task {
	t.Helper()
	tasks := map[string]*learner.Task{"movies": learner.Movies(), "linear": learner.Linear(), "clusters": learner.Clusters()}
	examples, err := filepath.Glob(filepath.Join("..", "docs", "tasks", "*.toml"))
	if err != nil || len(examples) < 8 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, file := range examples {
		task, err := datadir.LoadTask(file)
		if err != nil {
			t.Fatal(err)
		}
		tasks[filepath.Base(file)] = task
	}
	for name, text := range readerTaskTexts {
		task, err := datadir.ParseTask([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		tasks[name] = task
	}
	if testing.Short() {
		few := []string{"movies", "every kind", "two names", "unit map", "hinge"}
		maps.DeleteFunc(tasks, func(name string, _ *learner.Task) bool { return !slices.Contains(few, name) })
	}
	return tasks
}

const everyKind = `
features = [
  {name = 'plain', kind = 'number', min = 0.0, max = 1.0},
  {name = 'signed', kind = 'number', min = -1.0, max = 1.0},
  {name = 'wide', kind = 'number', min = -1.5e308, max = 1.5e308},
  {name = 'late', kind = 'number', min = 1.7e9, max = 1.7000001e9},
  {name = 'income', kind = 'number', min = 0.0, max = 1e6, log = true},
  {name = 'frequency', kind = 'number', min = 20.0, max = 20000.0, log = true},
  {name = 'hour', kind = 'number', min = 0.0, max = 24.0, bends = [6.0, 8.5, 20.0]},
  {name = 'size', kind = 'number', min = 0.0, max = 1.0, bends = [0.25]},
  {name = 'sum', kind = 'number', min = 0.0, max = 1e6, log = true, bends = [10.0, 1000.0]},
  {name = 'far', kind = 'number', min = -1.5e308, max = 1.5e308, bends = [0.0]},
  {name = 'age', kind = 'range', edges = [18.0, 30.0, 65.5]},
  {name = 'tags', kind = 'set', values = ['a', 'b c', 'none', 'é']},
  {name = 'at', kind = 'time', utc_offset = '-03:30'},
  {name = 'on', kind = 'time', parts = ['year', 'hours', 'day']},
  {name = 'photo', kind = 'vector', length = 5},
  {name = 'sound', kind = 'vector', length = 3, scale = 2.0},
  {name = 'note', kind = 'text', buckets = 64},
  {name = 'words', kind = 'text', buckets = 500, words = [1, 3], seed = 4000000000},
  {name = 'letters', kind = 'text', buckets = 7, letters = [2, 8]},
  {name = 'thing', kind = 'key', buckets = 7},
]
`

// readerTaskTexts are tasks for what the examples lack.
var readerTaskTexts = map[string]string{
	"every kind": "name = 'every kind'\nloss = 'huber'\nthreshold = 1.0\n" + everyKind + "[target]\nname = 'y'\nmin = -3.0\nmax = 8.0\ncenter = 1.0\n",
	"normalised": "name = 'normalised'\nloss = 'multinomial'\nnormalise = true\n" + everyKind + "[target]\nname = 'y'\nclasses = ['low', 'mid', 'ünd', '9']\n",
	"two names":  "name = 'two names'\nloss = 'logistic'\nconstant = 0.0\nusual_norm = 0.5\n" + everyKind + "[target]\nname = 'y'\nclasses = ['no', 'yes']\n",
	"map":        "name = 'map'\nloss = 'squared'\n" + everyKind + "[map]\nkind = 'fourier'\nfeatures = 34\nwidth = 0.75\nseed = 9007199254740991\n[target]\nname = 'y'\nmin = -3.0\nmax = 8.0\n",
	"unit map":   "name = 'unit map'\nloss = 'multinomial'\nnormalise = true\n" + everyKind + "[map]\nkind = 'fourier'\nfeatures = 8\n[target]\nname = 'y'\nclasses = ['a', 'b', 'c']\n",
	"log":        "name = 'log'\nloss = 'squared'\n" + everyKind + "[target]\nname = 'y'\nmin = 0.5\nmax = 900.0\nlog = true\n",
	"log1p":      "name = 'log1p'\nloss = 'huber'\n" + everyKind + "[target]\nname = 'y'\nmin = 0.0\nmax = 900.0\nlog = true\ncenter = 3.0\n",
	"hinge":      "name = 'hinge'\nloss = 'hinge'\nsmoothing = 0.5\n" + everyKind + "[target]\nname = 'y'\n",
}

// readerCase is a model file and rows with what p2pnode predicts for them.
type readerCase struct {
	file string
	rows []map[string]string
	want []api.ModelTest
}

// newReaderCase makes a model with random weights, and with what a private sum told if the
// task has a key.
func newReaderCase(t *testing.T, task *learner.Task, random *rand.Rand) readerCase {
	t.Helper()
	m := Fitted{Known: knownKeys(t, task, random)}
	m.Theta, m.Alone = make([]float64, task.Dimension()), make([]float64, task.Dimension())
	if m.Known != nil {
		m.Theta = append(m.Theta, 0, 0)
	}
	for i := range m.Theta {
		m.Theta[i] = 2 * random.NormFloat64()
	}
	c := readerCase{file: filepath.Join(t.TempDir(), "model.json"), rows: m.Known.MadeRows(task)}
	text, err := json.Marshal(task.ModelFile(m.Theta, m.Known))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	many, oneOf := 100, rune(1)
	if testing.Short() {
		many, oneOf = 15, 11
	}
	for range many {
		c.rows = append(c.rows, randomRow(task, c.rows[:len(c.rows):len(c.rows)], random))
	}
	if slices.ContainsFunc(task.Features, func(f learner.Feature) bool { return f.Kind == "text" }) {
		c.rows = append(c.rows, letterRows(task, c.rows[0], oneOf)...)
	}
	for _, row := range c.rows {
		asked, err := task.EncodeFeatures(func(name string) (string, bool) { v, ok := row[name]; return v, ok })
		if err != nil {
			t.Fatalf("row %v: %v", row, err)
		}
		p := PredictionOf(task, &m, asked)
		c.want = append(c.want, api.ModelTest{Value: p.Value, Class: p.Class, Probabilities: p.Probabilities})
	}
	return c
}

// randomRow has a cell of some row in each column, or a random number.
func randomRow(task *learner.Task, rows []map[string]string, random *rand.Rand) map[string]string {
	row := make(map[string]string, len(task.Features))
	for _, f := range task.Features {
		row[f.Name] = rows[random.IntN(len(rows))][f.Name]
		if width := f.Max - f.Min; f.Kind == "number" && width < 1e300 && random.IntN(3) > 0 {
			row[f.Name] = fmt.Sprint(f.Min + width*(1.5*random.Float64()-0.25))
		}
	}
	return row
}

// letterRows have the characters of many scripts, or one of so many of them, a few dozen in
// each row, in the task's texts.
func letterRows(task *learner.Task, like map[string]string, oneOf rune) (rows []map[string]string) {
	const few = 64
	for _, block := range [][2]rune{{0, 0x530}, {0x1e00, 0x2c00}, {0x3040, 0x3100}, {0xff00, 0xffe8}} {
		for first := block[0]; first < block[1]; first += few * oneOf {
			var text strings.Builder
			for r := first; r < min(first+few*oneOf, block[1]); r += oneOf {
				if !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf) {
					continue // another version of Unicode may know it
				}
				text.WriteRune(r)
				text.WriteString([]string{"", "x", " "}[r%3])
			}
			row := maps.Clone(like)
			for _, f := range task.Features {
				if f.Kind == "text" {
					row[f.Name] = text.String()
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// knownKeys is a population that knows the keys of a task that has one and numbers to
// predict; nil: there is none.
func knownKeys(t *testing.T, task *learner.Task, random *rand.Rand) *learner.Known {
	t.Helper()
	recipe := learner.Recipe{Kind: "items", Share: 1}
	catalogue := task.Hashed()
	for _, f := range task.Features {
		if f.Catalogue != "" {
			catalogue = listOf(t, task, f.Name)
		}
	}
	if catalogue == nil || task.Classifies() {
		return nil
	}
	s, err := task.Summing(recipe, catalogue)
	if err != nil {
		t.Fatal(err)
	}
	o := learner.Opened{Summing: s, Sum: make([]float64, s.Dimension()), SD: 0.5, Slots: []int{10, 20}}
	for i := range o.Sum {
		o.Sum[i] = 3 * random.Float64()
	}
	p, err := learner.NewPopulation(o)
	if err != nil {
		t.Fatal(err)
	}
	return p.Newcomer()
}

// listOf is a catalogue of a few keys.
func listOf(t *testing.T, task *learner.Task, column string) *learner.Catalogue {
	t.Helper()
	var rows iter.Seq[learner.Row] = func(yield func(learner.Row) bool) {
		for i, key := range []string{"1", "tt 2", "é3", "4"} {
			cell := func(name string) (string, bool) { return map[string]string{column: key}[name], name == column }
			if !yield(learner.Row{Line: i + 2, Cell: cell}) {
				return
			}
		}
	}
	c, err := task.NewCatalogue(rows)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The readers in docs/readers predict what p2pnode predicts, to 1e-9 of it, for every
// task and kind of feature: also what is beyond its range, unknown or empty.
func TestReaders(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name    string
		program []string // prints where the program itself is: in the path may be a script that chooses among versions, and takes longer than a reader
	}{
		{"predict.py", []string{"python3", "-c", "import sys; print(sys.executable)"}},
		{"predict.js", []string{"node", "-p", "process.execPath"}},
	} {
		t.Run(r.program[0], func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(r.program[0]); err != nil {
				t.Skipf("%s is missing, so %s was not tried", r.program[0], r.name)
			}
			path, err := exec.Command(r.program[0], r.program[1:]...).Output()
			if err != nil {
				t.Fatal(err)
			}
			program := strings.TrimSpace(string(path))
			reader := filepath.Join("..", "docs", "readers", r.name)
			if text, err := os.ReadFile(reader); err != nil || bytes.Count(text, []byte("\n")) > 60 {
				t.Errorf("%d lines, %v: a reader has 60 at most", bytes.Count(text, []byte("\n")), err)
			}
			random := rand.New(rand.NewPCG(1, 2))
			tasks := readerTasks(t)
			for _, about := range slices.Sorted(maps.Keys(tasks)) {
				c := newReaderCase(t, tasks[about], random)
				for i, got := range c.read(t, program, reader) {
					if !agree(got, c.want[i]) {
						t.Errorf("%s: %+v, want %+v, for the row %.400q", about, got, c.want[i], fmt.Sprint(c.rows[i]))
					}
				}
			}
		})
	}
}

// read asks a reader for the predictions of the rows.
func (c *readerCase) read(t *testing.T, program, reader string) []api.ModelTest {
	t.Helper()
	var in, stderr bytes.Buffer
	for _, row := range c.rows {
		if err := json.NewEncoder(&in).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), program, reader, c.file)
	command.Stdin, command.Stderr = &in, &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, &stderr)
	}
	var predictions []api.ModelTest
	for line := range strings.Lines(string(out)) {
		var p api.ModelTest
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatalf("%s printed %q: %v", program, line, err)
		}
		predictions = append(predictions, p)
	}
	if len(predictions) != len(c.rows) {
		t.Fatalf("%s printed %d predictions for %d rows", program, len(predictions), len(c.rows))
	}
	return predictions
}

// agree reports whether a reader's prediction is p2pnode's.
func agree(got, want api.ModelTest) bool {
	if got.Class != want.Class || len(got.Probabilities) != len(want.Probabilities) || !near(got.Value, want.Value) {
		return false
	}
	for class, p := range want.Probabilities {
		if q, ok := got.Probabilities[class]; !ok || !near(q, p) {
			return false
		}
	}
	return true
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }
