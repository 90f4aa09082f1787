package testnet

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// heating is a task with a committee that nobody here is in. Half of the budget is for
// releases, if they are wanted.
func heating(share float64) *learner.Task {
	t := learner.Movies()
	t.Features = []learner.Feature{{Name: "outside", Kind: "number", Min: -10, Max: 10}}
	t.Target = learner.Target{Name: "power", Min: 0, Max: 10, Center: 4}
	t.Sums = learner.Sums{
		Recipes: []learner.Recipe{{Kind: "mean", Share: share}}, Colluding: 1, Contributors: 100, Records: 100, Epochs: 52, CloseSeconds: 604800,
	}
	for i := range 5 {
		t.Sums.Committee = append(t.Sums.Committee, fmt.Sprintf("12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXT%d", i))
	}
	if t.Release.Releases = 2; share == 1 {
		t.Learner = "sums"
	}
	return t
}

// houses are the lines of so many houses, with a cell that is too high and one that is empty.
func houses(n int) string {
	text := "outside,power\n"
	for i := range 20 * n {
		text += fmt.Sprintf("%d,%d\n", i%7-3, 7-i%7)
	}
	return text + "12,1\n,4\n"
}

// rehearsal is of the people of that file.
func rehearsal(t *testing.T, task *learner.Task) Config {
	t.Helper()
	require.NoError(t, task.Validate())
	all, err := ReadPeople(strings.NewReader(houses(4)), "houses.csv", task, Owners{Column: NodeColumn, Deal: 4})
	require.NoError(t, err)
	c := simulatedConfig()
	c.Simulate, c.Dir = false, t.TempDir()
	c.Source = func(seed uint64) (*Dataset, error) { return all.Draw(seed, 0) }
	c.Rehearse, c.Methods = true, RehearsedMethods(task)
	return c
}

// Daemons make the sum that the task asks for, with a committee of five in place of that
// of the task, and the report ends with the verdict.
func TestRehearseSums(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	c := rehearsal(t, heating(1))
	c.Daemons = &Daemons{Program: builtDaemon(t)}
	r := mustRun(t, t.Context(), c)
	if n := r.unfinished(); !r.Complete || n != 0 || r.delivery() != 1 {
		t.Errorf("complete %v, %d unfinished, delivery %v", r.Complete, n, r.delivery())
	}
	var text bytes.Buffer
	require.NoError(t, r.WriteRehearsal(&text))
	for _, want := range []string{
		"5 new identities stand in for the committee", "168h0m0s", "dealt out to 4 people",
		"1 cell is outside the task's range and taken for its nearest end, in the test too (outside 1)",
		"1 cell is empty and taken for unknown (outside 1)",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if last := lines[len(lines)-1]; last != r.verdict().String() {
		t.Errorf("the last line is %q, want the verdict", last)
	}
	wantEmpty(t, c.Dir)
	r.Complete = false
	text.Reset()
	require.NoError(t, r.WriteRehearsal(&text))
	if !strings.HasSuffix(text.String(), "\nno verdict: the rehearsal was interrupted\n") {
		t.Errorf("an interrupted rehearsal ends with\n%s", &text)
	}
}

// Nodes with half of their budget for releases make these besides the sum.
func TestRehearseSumsAndReleases(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	c := rehearsal(t, heating(0.5))
	r := mustRun(t, t.Context(), c)
	if n := r.unfinished(); !r.Complete || n != 0 {
		t.Errorf("complete %v, %d unfinished", r.Complete, n)
	}
	for i, spent := range r.Rounds[0].trial(Private).Spent {
		if spent < 0.99 || spent > 1 {
			t.Errorf("node %d has spent %v of its budget on the sum and its releases", i+1, spent)
		}
	}
}

// Only who adds up and how long things take is not what the task says.
func TestRehearsedTask(t *testing.T) {
	task := heating(1)
	task.Rounds.Seconds, task.Release.MinWake = 60, 30
	before := *task
	quick := rehearsed(task, []string{"a", "b", "c", "d", "e"}, 5*time.Second)
	if !reflect.DeepEqual(*task, before) {
		t.Error("the task was changed")
	}
	if quick.Sums.Epochs != 1 || quick.Sums.CloseSeconds != 5 || quick.Sums.Committee[0] != "a" || quick.Rounds.Seconds > 2 || quick.Release.MinWake > 0.1 {
		t.Errorf("rehearsed: %+v", quick)
	}
	quick.Sums.Committee, quick.Sums.Epochs, quick.Sums.CloseSeconds = task.Sums.Committee, 52, 604800
	quick.Rounds, quick.Release.MinWake = task.Rounds, 30
	if !reflect.DeepEqual(quick, task) {
		t.Errorf("rehearsed: %+v, want %+v", quick, task)
	}
}

// No identities stand in for servers.
func TestRehearsable(t *testing.T) {
	require.NoError(t, Rehearsable(heating(1)))
	polar, err := datadir.LoadTask("../docs/tasks/polar.toml")
	require.NoError(t, err)
	if err := Rehearsable(polar); err == nil || !strings.Contains(err.Error(), "servers") {
		t.Errorf("a task with servers: %v", err)
	}
}

// Without a column that says whose they are, lines go to people in turn; with one, to
// whom it names, whatever its name.
func TestReadPeople(t *testing.T) {
	task := heating(1)
	dealt, err := ReadPeople(strings.NewReader(houses(3)), "houses.csv", task, Owners{Column: NodeColumn, Deal: 3})
	require.NoError(t, err)
	if len(dealt.People) != 3 || dealt.Dealt != 3 || len(dealt.People[0].Records) != 21 || len(dealt.People[2].Records) != 20 {
		t.Errorf("dealt %+v", dealt)
	}
	named := strings.ReplaceAll("house,"+houses(1), "\n", "\nx,")
	named = strings.TrimSuffix(named, "x,") + strings.Repeat("y,1,2\n", 5)
	d, err := ReadPeople(strings.NewReader(named), "houses.csv", task, Owners{Column: "house", Deal: 3})
	require.NoError(t, err)
	if len(d.People) != 2 || d.Dealt != 0 || d.People[1].Name != "y" {
		t.Errorf("named %+v", d)
	}
	if _, err := ReadPeople(strings.NewReader(houses(1)), "houses.csv", task, Owners{Column: "house"}); err == nil || !strings.Contains(err.Error(), `no column "house"`) {
		t.Errorf("without the column: %v", err)
	}
	var bad []string
	skipping := Owners{Column: "house", Skipped: func(b *BadLines) { bad = b.First }}
	if d, err = ReadPeople(strings.NewReader(named+",1,2\n"), "houses.csv", task, skipping); err != nil || len(d.People) != 2 || len(bad) != 1 || !strings.Contains(bad[0], `column "house" is empty`) {
		t.Errorf("with a bad line left out: %v, %v, %v", d, err, bad)
	}
	if _, err = ReadPeople(strings.NewReader(named+"y,#N/A,2\n"), "houses.csv", task, Owners{Column: "house"}); err == nil || !strings.Contains(err.Error(), "mend the cell, or empty it") {
		t.Errorf("with an error of a spreadsheet: %v", err)
	}
}

func TestMost(t *testing.T) {
	d := mustRead(t, people(20, 6))
	short := d.Most(8)
	if len(d.People[0].Records) != 20 || len(short.People[0].Records) != 8 || len(short.People[0].rows) != 8 || len(short.People[1].Records) != 6 {
		t.Errorf("%d, %d and %d records", len(d.People[0].Records), len(short.People[0].Records), len(short.People[1].Records))
	}
}
