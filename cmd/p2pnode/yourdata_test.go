package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"p2pnode/draft"
	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// readings are made-up lines of so many houses, each of which heats in its own way, on
// two clocks: of a sensor that misses a cell now and then.
func readings(houses, lines int, named bool) string {
	dice := rand.New(rand.NewPCG(7, 7))
	header := "time,outside,wind,day,power\n"
	if named {
		header = "node," + header
	}
	var b strings.Builder
	b.WriteString(header)
	for house := range houses {
		at := time.Date(2024, 1, 1, 0, 7*house, 0, 0, time.UTC)
		base := 4 + 0.7*dice.NormFloat64()
		for range lines {
			at = at.Add(37 * time.Minute)
			outside, wind := 8+6*dice.NormFloat64(), fmt.Sprintf("%.1f", 5*dice.ExpFloat64())
			if dice.IntN(40) == 0 {
				wind = ""
			}
			day, more := "work", 0.
			if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
				day, more = "weekend", 0.5
			}
			power := max(0, base-0.12*(outside-8)+more+0.8*math.Cos(float64(at.Hour()-19)/24*2*math.Pi)+0.4*dice.NormFloat64())
			if named {
				fmt.Fprintf(&b, "house%d,", house)
			}
			fmt.Fprintf(&b, "%s,%.1f,%s,%s,%.2f\n", at.Format("2006-01-02 15:04"), outside, wind, day, power)
		}
	}
	return b.String()
}

// What docs/your-data.md says to paste works, from a file to a verdict and to three nodes
// that have learned from each other, on a machine of its own.
func TestLabYourData(t *testing.T) {
	inNamespaces(t)
	const page = "docs/your-data.md"
	host, dir := readersMachine(t), checkout(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "readings.csv"), []byte(readings(8, 40, true)), 0o600))
	paste := func(block string) string {
		t.Helper()
		shell := host.Command(t.Context(), "sh", "-e", "-c", block)
		shell.Dir = dir
		said, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", block, err, said)
		}
		return string(said)
	}
	if said := paste(pasted(t, page, "## A task for the file")[0]); !strings.Contains(said, "The task \"power\" is sound") || !strings.Contains(said, "WHAT A NODE SENDS") {
		t.Errorf("the task: %s", said)
	}
	said := paste(pasted(t, page, "## A rehearsal")[0])
	_, verdicts, _ := strings.Cut(said, "\nbroadcasts: ")
	if !strings.Contains(said, "8 people of readings.csv") || !strings.Contains(said, "are empty and taken for unknown (wind") || strings.Count(verdicts, " of 8 nodes better") < 2 || !strings.Contains(verdicts, "\nprivate sum (simulated): ") {
		t.Errorf("the rehearsal does not end with two verdicts:\n%s", said)
	}
	blocks := pasted(t, page, "## Three nodes")
	if len(blocks) != 3 {
		t.Fatalf("%s has %q", page, blocks)
	}
	paste(blocks[0])
	threeTerminals(t, host, dir, blocks[1])
	for _, n := range []string{"1", "2", "3"} {
		require.Eventually(t, "node "+n+" hears two others", func() bool { return heard(t, filepath.Join(dir, "try", "house"+n)) == 2 })
	}
	if said := paste(blocks[2]); !strings.Contains(said, "neighbours  2; 2 listening now, 2 heard") || !strings.Contains(said, "alone: ") {
		t.Errorf("the fourth terminal:\n%s", said)
	}
}

// What the README says of your own data works as it is pasted into a terminal, by somebody
// who takes every guess.
func TestLabReadmeOwnData(t *testing.T) {
	inNamespaces(t)
	host, dir := readersMachine(t), checkout(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "people.csv"), []byte(readings(8, 40, true)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "paste"), []byte(pasted(t, "README.md", "## Your own data")[0]), 0o600))
	terminal := host.Command(t.Context(), "script", "--quiet", "--return", "--command", "sh -e paste", "/dev/null")
	terminal.Dir, terminal.Env = dir, append(os.Environ(), "HOME="+dir)
	terminal.Stdin = strings.NewReader(strings.Repeat("ok\n", 30))
	said, err := terminal.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "of 8 nodes better") {
		t.Fatalf("%v\n%s", err, said)
	}
	_, err = os.Stat(filepath.Join(dir, ".p2pnode", "config.toml"))
	require.NoError(t, err)
}

// A file without a column that says whose its lines are becomes a task as well, and that
// of a table with keys and a committee names what records are about.
func TestStrangersFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ratings, notes := "user;book_id;price;rating\n", "id,text,topic\n"
	for i := range 300 {
		ratings += fmt.Sprintf("u%d;B%d;%d,%02d;%d\n", i/30, i*i%90, 5+i%60, i%100, i*i*7%5+1)
		notes += fmt.Sprintf("%d,\"a %s, with %d words of text in it\",%s\n", 1000+i, []string{"cheese", "train", "match"}[i%3], i%17, []string{"food", "travel", "sport"}[i%3])
	}
	for name, text := range map[string]string{"readings.csv": readings(1, 200, false), "ratings.csv": ratings, "notes.csv": notes} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	members := "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN,12D3KooWPjceQrSwdWXPyLLeABRXmuqt69Rg3sBYbU1Nft9HyQ6X," +
		"12D3KooWH3uVF6wv47WnArKHk5p6cvgCJEb74UTmxztmQDc298L3,12D3KooWQYhTNQdmr3ArTeUHRYzFg94BKyTkoWBDWez9kSCVe2Xo"
	for _, c := range []struct {
		name  string
		flags []string
		want  []string // in the task
	}{
		{"readings", nil, []string{`kind = "time"`, `kind = "number"`, `kind = "set"`, `name = "power"`, `learner = "diffusion"`}},
		{"notes", nil, []string{`kind = "text"`, "letters = [3, 4]", `classes = ["food", "sport", "travel"]`}},
		{"ratings", []string{"--node-column", "user", "--committee", members}, []string{`kind = "key"`, `name = "price"`, `learner = "sums"`, "committee = "}},
		{"ratings", []string{"--node-column", "user"}, []string{`kind = "text"`, "words = [1, 1]", "buckets = 64"}},
	} {
		out := filepath.Join(dir, fmt.Sprintf("%s%d.toml", c.name, len(c.flags)))
		cli(t, nil, append([]string{"task", "new", "--from", filepath.Join(dir, c.name+".csv"), "--public", "--out", out}, c.flags...)...)
		cli(t, nil, "task", "check", out)
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s %v: no %q in\n%s", c.name, c.flags, want, text)
			}
		}
		node := filepath.Join(dir, "node-"+filepath.Base(out))
		cli(t, nil, "init", "--dir", node, "--no-mdns", "--task", out)
		cli(t, nil, "data", "import", "--dir", node, filepath.Join(dir, c.name+".csv"))
	}
}

// The next steps after task new have the numbers of the file, or those that were said.
func TestNewTaskSaysHowManyThereAre(t *testing.T) {
	file := filepath.Join(t.TempDir(), "readings.csv")
	require.NoError(t, os.WriteFile(file, []byte(readings(3, 20, true)+"Total,,,,,99\n"), 0o600))
	for flag, want := range map[string]string{"": " --nodes 4 --records 15\n", "--nodes=50": " --nodes 50 --records 15\n", "--leave-out=node": " --nodes 4 --records 15\n"} {
		out := filepath.Join(t.TempDir(), "t.toml")
		var said strings.Builder
		command := newCommand(&options{})
		command.SetArgs(slices.DeleteFunc([]string{"task", "new", "--public", "--from", file, "--out", out, flag}, func(arg string) bool { return arg == "" }))
		command.SetOut(&said)
		require.NoError(t, command.Execute())
		survey, err := (&newTask{from: file}).survey(command)
		require.NoError(t, err)
		plan, err := draft.NewPlan(survey, draft.Wishes{Public: true})
		require.NoError(t, err)
		if flags := rehearsalFlags(survey, plan, "-", ""); !strings.HasPrefix(flags, " --data FILE.csv") {
			t.Errorf("of standard input testnet is to read %q", flags)
		}
		if !strings.Contains(said.String(), "task check "+out+want) || !strings.Contains(strings.Join(strings.Fields(said.String()), " "), "Line 62 looks like the total of others") {
			t.Errorf("%s: no %q in\n%s", flag, want, &said)
		}
	}
}

// Of many columns the first are printed, and how many there are more; the file has all.
func TestNewTaskOfManyColumns(t *testing.T) {
	var names, cells [5 * mostListed]string
	for i := range names {
		names[i] = fmt.Sprintf("c%dx", i)
	}
	text := strings.Join(names[:], ",") + ",y\n"
	for row := range 30 {
		for i := range cells {
			cells[i] = fmt.Sprint(float64((row*7+i)%29) / 4)
			if i%2 == 1 {
				cells[i] = "1"
			}
		}
		text += strings.Join(cells[:], ",") + fmt.Sprintf(",%d.5\n", row*row%31)
	}
	dir := t.TempDir()
	file, out := filepath.Join(dir, "wide.csv"), filepath.Join(dir, "wide.toml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	var said strings.Builder
	command := newCommand(&options{})
	command.SetArgs([]string{"task", "new", "--public", "--from", file, "--out", out})
	command.SetOut(&said)
	require.NoError(t, command.Execute())
	for _, want := range []string{"\n  c38x  number\n  and 30 more: 30 of kind number\nLeft out  c1x: ", "Left out  c39x: all its cells are the same.\nLeft out  30 more, which --json lists.\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, &said)
		}
	}
	task, err := datadir.LoadTask(out)
	if err != nil || len(task.Features) != len(names)/2 {
		t.Errorf("%v: %d features", err, len(task.Features))
	}
}

// The name of a column may have the end of a line in it, and is printed on one.
func TestNewTaskOfANameInTwoLines(t *testing.T) {
	if said := (proposedTask{Features: []proposedFeature{{"price\n(EUR)", "number"}}}).String(); !strings.Contains(said, "\n  price (EUR)  number\n") {
		t.Errorf("%q", said)
	}
}

// Without a terminal, whoever has not said which column names the owners is told how,
// before she copies their names into a public task.
func TestMissingAnswersNameTheNodeColumn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "readings.csv")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(readings(3, 20, true), "node,", "household,", 1)), 0o600))
	for _, c := range []struct {
		flags []string
		told  bool
	}{{nil, true}, {[]string{"--node-column", "household"}, false}} {
		command := newCommand(&options{})
		command.SetArgs(append([]string{"task", "new", "--from", file}, c.flags...))
		command.SetIn(strings.NewReader(""))
		err := command.Execute()
		if err == nil || !strings.Contains(err.Error(), "--range outside=") || strings.Contains(err.Error(), "name it with --node-column") != c.told {
			t.Errorf("%v: %v", c.flags, err)
		}
	}
}
