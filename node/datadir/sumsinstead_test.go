package datadir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// edited does to a text what the edits say, as its owner would: a table goes with the lines
// up to the next one, and the IDs of four members are filled in.
func edited(t *testing.T, text []byte, edits []Edit) []byte {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, e := range slices.Backward(edits) {
		what, value, _ := strings.Cut(e.Text, " ")
		switch {
		case what == "write":
			lines[e.Line-1] = value
		case what == "take" && lines[e.Line-1][0] == '[':
			end := e.Line
			for end < len(lines) && !strings.HasPrefix(lines[end], "[") {
				end++
			}
			lines = slices.Delete(lines, e.Line-1, end)
		case e.Line > 0:
			t.Fatalf("line %d, %q: %s", e.Line, lines[e.Line-1], e.Text)
		default:
			lines = append(lines, strings.TrimPrefix(e.Text, "add\n"))
		}
	}
	return []byte(strings.NewReplacer(
		`"ID1"`, `"12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"`, `"ID2"`, `"12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X"`,
		`"ID3"`, `"12D3KooWH3uVF6wv47WnArKHk5p6cvgCJEb74UTmxztmQDc298L3"`, `"ID4"`, `"12D3KooWQYhTNQdmr3ArTeUHRYzFg94BKyTkoWBDWez9kSCVe2Xo"`,
	).Replace(strings.Join(lines, "\n") + "\n"))
}

// Every task of docs/tasks that makes no private sums makes one after the edits and nothing
// else, and has its records, target and budget.
func TestSumsInstead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "tasks", "*.toml"))
	require.NoError(t, err)
	tried := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		task, err := ParseTask(text)
		require.NoError(t, err)
		if len(task.Sums.Recipes) > 0 {
			continue
		}
		whole, err := FormatTask(task)
		require.NoError(t, err)
		for form, text := range map[string][]byte{"as it is": text, "with all keys": whole} {
			into := edited(t, text, SumsInstead(text, "gradient"))
			summing, wrong, _ := CheckTask(into, 0, 0)
			if len(wrong) > 0 {
				t.Errorf("%s, %s: %v in\n%s", file, form, wrong, into)
				continue
			}
			tried[task.Learner] = true
			s := summing.Sums
			if !summing.Silent() || len(s.Recipes) != 1 || s.Recipes[0].Kind != "gradient" || s.Share() != 1 || len(s.Committee) != 4 || s.Colluding != 1 {
				t.Errorf("%s, %s: learner %q, sums %+v", file, form, summing.Learner, s)
			}
			if summing.Dimension() != task.Dimension() || summing.Loss != task.Loss || summing.Release.Epsilon != task.Release.Epsilon {
				t.Errorf("%s, %s: another task", file, form)
			}
		}
	}
	for _, name := range []string{"personal", "propagation", "diffusion", "km", "polar"} {
		if !tried[name] {
			t.Errorf("no task with the learner %s", name)
		}
	}
}

// The edits name lines, in their order.
func TestSumsInsteadNamesLines(t *testing.T) {
	task := "name = \"t\"\n\nlearner = \"diffusion\"\n[rounds]\nseconds = 9.0\n[target]\nname = \"y\"\n[[features]]\nname = \"x\"\nkind = \"number\"\nmin = 0.0\nmax = 1.0\n"
	edits := SumsInstead([]byte(task), "moments")
	if len(edits) != 3 || edits[0] != (Edit{3, `write learner = "sums"`}) || edits[1] != (Edit{4, "take out [rounds] and what is in it"}) {
		t.Fatalf("%+v", edits)
	}
	if last := edits[2]; last.Line != 0 || !strings.Contains(last.Text, "\n[[sums.recipes]]\nkind = \"moments\"") {
		t.Errorf("%+v", last)
	}
	if kept := edited(t, []byte(task), edits); !strings.Contains(string(kept), "[target]") {
		t.Errorf("%s", kept)
	}
}
