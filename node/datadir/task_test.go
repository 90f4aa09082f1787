package datadir

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"p2pnode/learner"
)

func builtins(t testing.TB) []*learner.Task {
	t.Helper()
	var out []*learner.Task
	for _, name := range []string{"movies", "linear", "clusters"} {
		task, err := BuiltinTask(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, task)
	}
	return out
}

func TestTaskSurvivesTOML(t *testing.T) {
	for _, task := range append(builtins(t), lineTask()) {
		text, err := FormatTask(task)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseTask(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", task.Name, err, text)
		}
		if !reflect.DeepEqual(back, task) {
			t.Errorf("%s: read back as %+v, want %+v", task.Name, back, task)
		}
		if NetworkName(back) != NetworkName(task) {
			t.Errorf("%s: the network changed its name", task.Name)
		}
	}
}

// Private sums are part of what a network agrees on.
func TestTaskWithSums(t *testing.T) {
	without := learner.Movies()
	without.Learner = "sums"
	text, err := FormatTask(without)
	if err != nil {
		t.Fatal(err)
	}
	with, err := ParseTask(append(text, []byte(`
[sums]
committee = ["12D3KooWA", "12D3KooWB", "12D3KooWC", "12D3KooWD"]
colluding = 1
contributors = 1000
records = 10000
epochs = 4
close_seconds = 86400.0

[[sums.recipes]]
kind = "items"
share = 1.0
`)...))
	if err != nil {
		t.Fatal(err)
	}
	if with.Sums.Recipes[0].Kind != "items" || len(with.Sums.Committee) != 4 || NetworkName(with) == NetworkName(without) {
		t.Errorf("read %+v", with.Sums)
	}
	if text, err = FormatTask(with); err != nil {
		t.Fatal(err)
	}
	if back, err := ParseTask(text); err != nil || !reflect.DeepEqual(back, with) {
		t.Errorf("read back as %+v, %v", back, err)
	}
}

// The networks of the built-in tasks have the names they had under wire version 2,
// before there were other learners and losses: keys that are not used name nothing.
func TestNetworkNamesOfBefore(t *testing.T) {
	movies := learner.Movies()
	movies.Features = movies.Features[:2] // there was no key then
	for task, want := range map[*learner.Task]string{
		movies:           "32dd49be02eb5b80643e5ce7765d4874",
		learner.Linear(): "86a9dd0032fc1ebb04aca5c64fa73906",
	} {
		if got := networkName(task, 2); got != want {
			t.Errorf("%s: %s, want %s", task.Name, got, want)
		}
	}
}

// Tasks that say every key name the networks that they named before keys could be left
// out, under wire version 5, and the built-in tasks too.
func TestWholeTasksKeepTheirNetworks(t *testing.T) {
	names := map[string]string{
		"movies":   "d370e9b1813d87c9f6c19c04375da701",
		"linear":   "9d1539381526323ca624ec89f4a34d4e",
		"clusters": "1350bf4df48bf4096403d6026111d3ab",
		"line":     "e4e718605ec506029940b0d6a7bf74f3",
	}
	const wire = 5
	for _, task := range append(builtins(t), lineTask()) {
		if got := networkName(task, wire); got != names[task.Name] {
			t.Errorf("%s: %s, want %s", task.Name, got, names[task.Name])
		}
	}
	for file, want := range map[string]string{
		"../../../../docs/tasks/activity": "382d21ba74ff562d100220418e143ef0",
		"../../../../docs/tasks/polar":    "430ae4fbbfc79fb2f1e0ae6423410685",
		"diffusion":                       "571ccab911fe111205f6fb9aaa13d4c1",
		"km":                              "d954cece187af0b1e9a0ec99c02a1f9b",
		"polar":                           "430ae4fbbfc79fb2f1e0ae6423410685",
		"propagation":                     "0a9284e1ea5e96b14424ef41371e4aee",
		"sums":                            "1f749f97a3f53080d0b0ab3418332ea1",
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "whole", file+".toml"))
		if err != nil {
			t.Fatal(err)
		}
		if task, err := ParseTask(text); err != nil || networkName(task, wire) != want {
			t.Errorf("%s: %v, another network", file, err)
		}
	}
}

// minimal are tasks that leave out what they can.
func minimal() map[string]string {
	const features = `
[[features]]
name = "x"
kind = "number"
min = 0.0
max = 10.0
[[features]]
name = "day"
kind = "set"
values = ["work", "holiday"]
[target]
name = "y"
`
	return map[string]string{
		"numbers": "name = 'a'" + features + "min = 10.0\nmax = 20.0\n",
		"sides":   "name = 'a'" + features,
		"classes": "name = 'a'" + features + "classes = ['a', 'b', 'c']\n",
		"summed":  "name = 'a'\nsums.committee = ['A', 'B', 'C', 'D']" + features + "min = 10.0\nmax = 20.0\n",
		"km":      "name = 'a'\nlearner = 'km'" + features,
		"polar":   "name = 'a'\nlearner = 'polar'\npolar.servers = ['A', 'B', 'C']" + features,
	}
}

// It is the same to leave a key out and to say its usual value.
func TestLeavingOutSaysTheUsual(t *testing.T) {
	for name, text := range minimal() {
		bare, err := ParseTask([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		whole, err := FormatTask(bare)
		if err != nil {
			t.Fatal(err)
		}
		required := regexp.MustCompile(`^(name|learner = '(km|polar)|kind = '(number|set)|min|max|values|classes|committee|servers|\[|$)`)
		lines, left := strings.SplitAfter(string(whole), "\n"), 0
		for i, line := range lines {
			if required.MatchString(line) {
				continue
			}
			left++
			without := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
			task, err := ParseTask([]byte(without))
			if err != nil || !reflect.DeepEqual(task, bare) {
				t.Errorf("%s without %s: %v, %+v", name, line, err, task)
			}
		}
		if left < 20 {
			t.Errorf("%s: only %d keys can be left out of\n%s", name, left, whole)
		}
	}
}

// A zero that a file says is no key left out: it stays where it is legal, and is refused
// where it is not.
func TestZeroIsSaid(t *testing.T) {
	numbers := minimal()["numbers"]
	task, err := ParseTask([]byte("constant = 0.0\nlambda = 0.0\n" + numbers + "center = 10.0\n[rounds]\ncount = 0\n"))
	if err != nil || task.Constant != 0 || task.Lambda != 0 || task.Target.Center != 10 {
		t.Errorf("%v, %+v", err, task)
	}
	for _, key := range []string{"mu", "clip", "radius", "confidence_at", "cohort_size", "release.epsilon", "release.wake_seconds", "local.eta", "graph.degree", "rounds.step"} {
		zero := " = 0\n"
		if _, err := ParseTask([]byte(key + zero + numbers)); err == nil || !strings.Contains(err.Error(), "key "+key+":") {
			t.Errorf("%s%s: %v", key, zero, err)
		}
	}
}

// Whatever nodes must agree on changes the network's name, and nothing else
// does.
func TestNetworkName(t *testing.T) {
	base := NetworkName(lineTask())
	for name, change := range map[string]func(*learner.Task){
		"loss":          func(t *learner.Task) { t.Loss = "logistic" },
		"feature range": func(t *learner.Task) { t.Features[0].Max = 2 },
		"feature name":  func(t *learner.Task) { t.Features[1].Name = "c" },
		"center":        func(t *learner.Task) { t.Target.Center = 0.25 },
		"classes":       func(t *learner.Task) { t.Target.Classes = []string{"a", "b"} },
		"threshold":     func(t *learner.Task) { t.Threshold = 1 },
		"smoothing":     func(t *learner.Task) { t.Smoothing = 1 },
		"mu":            func(t *learner.Task) { t.Mu = 2 },
		"lambda":        func(t *learner.Task) { t.Lambda = 2 },
		"clip":          func(t *learner.Task) { t.Clip = 2 },
		"m_ref":         func(t *learner.Task) { t.ConfidenceAt = 21 },
		"radius":        func(t *learner.Task) { t.Radius = 11 },
		"graph":         func(t *learner.Task) { t.Graph.Degree = 11 },
		"bound":         func(t *learner.Task) { t.Release.MaxEpsilon = 9 },
	} {
		task := lineTask()
		change(task)
		if NetworkName(task) == base {
			t.Errorf("%s: the network keeps its name", name)
		}
	}
	for name, change := range map[string]func(*learner.Task){
		"epsilon":  func(t *learner.Task) { t.Release.Epsilon = 2 },
		"releases": func(t *learner.Task) { t.Release.Releases = 6 },
		"wake":     func(t *learner.Task) { t.Release.WakeSeconds = 3 },
		"eta":      func(t *learner.Task) { t.Local.Eta = 2 },
	} {
		task := lineTask()
		change(task)
		if NetworkName(task) != base {
			t.Errorf("%s: each node's own choice renames the network", name)
		}
	}
}

func TestTaskErrorsNameTheKey(t *testing.T) {
	good, err := FormatTask(lineTask())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"clip = 1.0", "clipp = 1.0", "clipp"},
		{"rule = 'random'", "rule = 'random'\nfoo = 1", "graph.foo"},
		{"clip = 1.0", "clip = 'x'", "clip"},
		{"clip = 1.0", "clip = -1.0", "clip"},
		{"clip = 1.0", "clip = nan", "clip"},
		{"loss = 'squared'", "loss = 'cubic'", "loss"},
		{"degree = 10", "degree = 0", "graph.degree"},
		{"degree = 10", "degree = 101", "graph.degree"},
		{"clip = 1.0", "clip = ", "line"},
	} {
		text := strings.Replace(string(good), c.from, c.to, 1)
		if text == string(good) {
			t.Fatalf("%q is not in the task:\n%s", c.from, good)
		}
		if _, err := ParseTask([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v does not name %q", c.to, err, c.want)
		}
	}
}

func TestLoadTask(t *testing.T) {
	text, err := FormatTask(lineTask())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "line.toml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if task, err := LoadTask(file); err != nil || task.Name != "line" {
		t.Errorf("LoadTask(%q) = %v, %v", file, task, err)
	}
	for _, bad := range []string{"nope", filepath.Join(t.TempDir(), "none.toml")} {
		if _, err := LoadTask(bad); err == nil {
			t.Errorf("LoadTask(%q) succeeds", bad)
		}
	}
}

// No text makes ParseTask panic, and a task it accepts is written and read
// back the same.
func FuzzParseTask(f *testing.F) {
	for _, task := range append(builtins(f), lineTask()) {
		text, err := FormatTask(task)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("name = 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		task, err := ParseTask(text)
		if err != nil {
			return
		}
		again, err := FormatTask(task)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseTask(again)
		if err != nil {
			t.Fatalf("an accepted task is refused when written out: %v\n%s", err, again)
		}
		if NetworkName(back) != NetworkName(task) {
			t.Fatal("the network changed its name")
		}
	})
}

// A task as init takes it, in the place of a node's own, is named as that.
func TestTaskForInitInADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	task := lineTask()
	if err := Init(dir, task, DefaultConfig(task)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks", "sums.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, TaskFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "Another task is another network") || strings.Contains(err.Error(), "task key") {
		t.Errorf("a task for init in a directory: %v", err)
	}
}
