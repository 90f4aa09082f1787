package datadir

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/ticket"
)

// Each finding names the line of its key, in every form that TOML has for it.
func TestFindingsNameTheirLines(t *testing.T) {
	const text = `name = "forms"
mu = "much" # a text
graph.degree = 0
target = {name = "y", min = 3,
  max = 1, centre = 2}
"clip" = [1]

[[features]]
name = "a"
kind = "number"
min = 0.0

[[features]]
kind = "set"
name = "b"
values = [
  "one",
  2,
]

[release]
epsilon = 20.0
max_epsilon = 10.0
wake_second = 5

[sums]
committee = [
  "A",
]
recipes = [
  {kind = "mean"},
  {kind = "man"},
]
[polar]
delta = 1.5
`
	task, wrong, doubtful := CheckTask([]byte(text), 0, 0)
	if task != nil || doubtful != nil {
		t.Errorf("%+v, doubts %v", task, doubtful)
	}
	var got []string
	for _, f := range wrong {
		got = append(got, fmt.Sprintf("%d %s", f.Line, f.Key))
	}
	for _, want := range []string{
		"2 mu", "3 graph.degree", "4 target.min", "5 target.centre", "6 clip", "11 features[0].min", "16 features[1].values",
		"22 release.epsilon", "24 release.wake_second", "27 sums.committee", "32 sums.recipes[1].kind", "35 polar.delta",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q among %q", want, got)
		}
	}
	if len(wrong) != 12 {
		t.Errorf("%d findings: %q", len(wrong), wrong)
	}
	if _, err := ParseTask([]byte(text)); err == nil || strings.Count(err.Error(), "task: line ") != 12 {
		t.Errorf("parsed: %v", err)
	}
}

// What is no TOML is told with what to write instead.
func TestUsualMistakesOfTOML(t *testing.T) {
	for text, want := range map[string]string{
		"\xef\xbb\xbfname = \"a\"\n":                   "without one",
		"\xff\xfen\x00a\x00m\x00e\x00":                 "save it in the editor as UTF-8",
		"mu = 1,5\n":                                   "decimal point, as 0.5",
		"mu = -,5 # small\n":                           "decimal point, as 0.5",
		"name = “heating”\n":                           `straight quotation marks, as "one"`,
		"name = „heating“\n":                           `straight quotation marks, as "one"`,
		"name = heating\n":                             `write quotation marks, as "one"`,
		"normalise = yes\n":                            "yes is true",
		"[features]\nname = 'a'\n[features]\nname='b'": "two brackets, [[features]]",
		"name = \"a\nmu = 1\n":                         "",
	} {
		_, wrong, _ := CheckTask([]byte(text), 0, 0)
		if len(wrong) != 1 || wrong[0].Line == 0 || !strings.Contains(wrong[0].Text, want) || want == "" && strings.Contains(wrong[0].Text, ";") {
			t.Errorf("%q: %v, want %q", text, wrong, want)
		}
	}
}

// A key that is spelled wrong, or stands in the wrong table, is told its place.
func TestUnknownKeysAreToldTheirPlace(t *testing.T) {
	for key, want := range map[string]string{
		"clpi":              "do you mean clip?",
		"confidence":        "do you mean confidence_at?",
		"epsilon":           "do you mean release.epsilon?",
		"graph.gama":        "do you mean graph.gamma?",
		"release.clip":      "do you mean clip, before the first table?",
		"colour":            "leave it out",
		"sums.close_second": "do you mean sums.close_seconds?",
	} {
		_, wrong, _ := CheckTask([]byte(key+" = 1.0\n"), 0, 0)
		if len(wrong) == 0 || wrong[0].Key != key || !strings.Contains(wrong[0].Text, want) {
			t.Errorf("%s: %+v", key, wrong)
		}
	}
}

// No text makes a check panic; what it finds is in the text, and it finds nothing wrong
// exactly where a task can be parsed, but for peer IDs.
func FuzzCheckTask(f *testing.F) {
	for _, text := range minimal() {
		f.Add([]byte(text))
	}
	f.Add([]byte("[[features]]\n[features.x]\n[[features]]\na = [{b = 1}, [2]]\n\"\" = 1\n[a.\"b.c\"]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		task, wrong, doubtful := CheckTask(text, 3, 10)
		lines := strings.Count(string(text), "\n") + 1
		for _, found := range append(wrong, doubtful...) {
			if found.Line < 0 || found.Line > lines || found.Text == "" {
				t.Fatalf("%+v in %d lines", found, lines)
			}
		}
		parsed, err := ParseTask(text)
		if task != nil && (err != nil || NetworkName(parsed) != NetworkName(task)) {
			t.Fatalf("sound, and parsed: %v", err)
		}
		if (task == nil) != (len(wrong) > 0) {
			t.Fatalf("%v, errors %v", task, wrong)
		}
	})
}

// A task of a stranger costs no more than its length: it may have more mistakes than anybody
// reads, keys within keys without end, and so many that go-toml would compare for minutes.
func TestHostileTasksAreCheckedSoon(t *testing.T) {
	if _, wrong, _ := CheckTask([]byte(strings.Repeat("[[features]]\n", 20_000)), 0, 0); len(wrong) == 0 || len(wrong) > mostFindings {
		t.Errorf("tables: %d findings, expected 1 to %d", len(wrong), mostFindings)
	}
	many := func(each string) string {
		var text strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&text, each, i)
		}
		return text.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"keys":              {many("a%d = 1\n"), "line 5001: has more than 5000 different keys: no file needs so many"},
		"tables":            {many("[a%d]\n"), "line 5001: has more than 5000"},
		"lists of tables":   {many("[[a%d]]\n"), "line 5001: has more than 5000"},
		"names with points": {many("\"a.%d\" = 1\n"), "line 5001: has more than 5000"},
		"tables in lists":   {"a = [" + many("{b%d = 1},") + "]\n", "line 1: has more than 5000"},
		"the same in lists": {"a = [" + strings.Repeat("{b = 1},", 20_000) + "]\n" + strings.Repeat("[[b]]\n", 20_000), "line 1: has more than 5000"},
		"one in another":    {strings.Repeat("a.", 2000) + "a = 1\n", "line 1: has a key inside 16 others: none that means anything lies so deep"},
		"a deep table":      {"[" + strings.Repeat("a.", 2000) + "a]\n", "line 1: has a key inside 16"},
		"tables in a line":  {"a = " + strings.Repeat("{a = ", 2000) + "1" + strings.Repeat("}", 2000) + "\n", "line 1: has a key inside 16"},
		"lists in lists":    {"a = " + strings.Repeat("[", 2000) + "{a = 1}" + strings.Repeat("]", 2000) + "\n", "line 1: has a key inside 16"},
	} {
		if _, wrong, _ := CheckTask([]byte(c.text), 0, 0); len(wrong) != 1 || !strings.HasPrefix(fmt.Sprintf("line %d: %s", wrong[0].Line, wrong[0].Text), c.want) {
			t.Errorf("%s: %v, expected %s", name, wrong, c.want)
		}
	}
	// What comes again in each table of a list is one key.
	if _, wrong, _ := CheckTask([]byte(many("[[features]]\nname = 'a%d'\n")), 0, 0); len(wrong) == 0 || strings.Contains(wrong[0].Text, "different keys") {
		t.Errorf("many features: %v", wrong)
	}
}

// A task that no ticket could lead to is refused before it is read, by whoever would make a
// network of it, also if it is too long only with the keys that its author left out.
func TestLongTasksAreRefused(t *testing.T) {
	t.Parallel()
	whole, err := FormatTask(lineTask())
	require.NoError(t, err)
	longest := append(bytes.Repeat([]byte("#"), ticket.MaxTask-len(whole)-1), "\n"+string(whole)...)
	if task, err := ParseTask(longest); task == nil {
		t.Errorf("a task of %d bytes: %v", len(longest), err)
	}
	file := filepath.Join(t.TempDir(), "long.toml")
	require.NoError(t, os.WriteFile(file, append(bytes.Repeat([]byte("[\n"), ticket.MaxTask), longest...), 0o600))
	text, err := TaskText(file)
	require.NoError(t, err)
	if len(text) != ticket.MaxTask+1 {
		t.Errorf("%d bytes of a file that is too long are read", len(text))
	}
	var values strings.Builder
	for i := range 65_000 {
		fmt.Fprintf(&values, "'%013d',", i)
	}
	grows := "name = 'codes'\ntarget = {name = 'y', min = 0.0, max = 1.0}\nfeatures = [{name = 'a', kind = 'set', values = [" + values.String() + "]}]\n"
	if len(grows) > ticket.MaxTask {
		t.Fatal("the text is too long as it is")
	}
	_, loaded := LoadTask(file)
	_, parsed := ParseTask([]byte(grows))
	_, found, _ := CheckTask([]byte(grows), 0, 0)
	for _, said := range []string{fmt.Sprint(loaded), fmt.Sprint(parsed), fmt.Sprint(found)} {
		if !strings.Contains(said, "more than 1048576 bytes, and nobody could join") {
			t.Errorf("of a task that is too long is said: %s", said)
		}
	}
}

// A task of which nobody can make a node is not sound.
func TestTasksWithoutNoiseAreNotSound(t *testing.T) {
	for text, want := range map[string]string{
		"clip = 1e200\n":                                          "clip is 1e+200",
		"[release]\nepsilon = 1e-300\n":                           "epsilon is 1e-300",
		"[release]\ndelta = 1e-300\n":                             "choose a larger one",
		"[release]\nwake_seconds = 1e9\n":                         "outside the task's [0.05, 1e7]",
		"[release]\nreleases = 100_000\nmax_releases = 100_000\n": "choose 1 to 65536",
	} {
		top, rest, _ := strings.Cut(text, "[")
		if rest != "" {
			rest = "[" + rest
		}
		file := filepath.Join(t.TempDir(), "task.toml")
		text = top + "name = 't'\n" + rest + "[[features]]\nname = 'x'\nkind = 'number'\nmin = 0.0\nmax = 2.0\n[target]\nname = 'y'\nmin = 0.0\nmax = 10.0\n"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		task, err := LoadTask(file)
		require.NoError(t, err)
		made := New{Task: task, Config: DefaultConfig(task)}
		if err := Make(filepath.Join(t.TempDir(), "node"), made); err == nil {
			t.Errorf("%q: a node was made", text)
		}
		if _, wrong, _ := CheckTask([]byte(text), 0, 0); len(wrong) != 1 || !strings.Contains(wrong[0].Text, want) {
			t.Errorf("%q: %v, want %q", text, wrong, want)
		}
	}
}
