package testnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
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
	if before := lines[len(lines)-2]; !strings.Contains(before, "4 people who were dealt the lines in turn") || !strings.Contains(before, "--node-column NAME") {
		t.Errorf("before the verdict stands %q", before)
	}
	if got := r.report().Dealt; got != 4 {
		t.Errorf("the JSON says that the lines were dealt out to %d people", got)
	}
	wantEmpty(t, c.Dir)
	r.Complete = false
	text.Reset()
	require.NoError(t, r.WriteRehearsal(&text))
	if !strings.HasSuffix(text.String(), "\nno verdict: the run was interrupted\n") {
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

// lines are the file of people with so many records each of a law that all share, or of a
// law that each has of her own.
func lines(people, records int, shared bool) string {
	dice := rand.New(rand.NewPCG(7, 7))
	text := "node,x0,x1,x2,x3,y\n"
	law := []float64{1, -1, 1, 1}
	for i := range people {
		for k := range law {
			if !shared {
				law[k] = dice.NormFloat64()
			}
		}
		for range records {
			text += fmt.Sprintf("p%d", i)
			y := 0.5 * dice.NormFloat64()
			for _, w := range law {
				x := 2*dice.Float64() - 1
				y += w * x
				text += fmt.Sprintf(",%.3f", x)
			}
			text += fmt.Sprintf(",%.3f\n", y)
		}
	}
	return text
}

// linesTask is a task of four numbers in a file; its nodes broadcast.
const linesTask = `name = "lines"
learner = "diffusion"
[rounds]
seconds = 60.0
[target]
name = "y"
min = -4.0
max = 4.0
[[features]]
name = "x0"
kind = "number"
min = -1.0
max = 1.0
[[features]]
name = "x1"
kind = "number"
min = -1.0
max = 1.0
[[features]]
name = "x2"
kind = "number"
min = -1.0
max = 1.0
[[features]]
name = "x3"
kind = "number"
min = -1.0
max = 1.0
`

// broadcasting is a rehearsal of so many people of that file, under virtual time.
func broadcasting(t *testing.T, csv string, people int) Config {
	t.Helper()
	task, err := datadir.ParseTask([]byte(linesTask))
	require.NoError(t, err)
	all, err := ReadPeople(strings.NewReader(csv), "lines.csv", task, Owners{Column: NodeColumn})
	require.NoError(t, err)
	c := simulatedConfig()
	c.Source = func(seed uint64) (*Dataset, error) { return all.Draw(seed, people) }
	c.Rehearse, c.Methods, c.Text, c.NoCurve = true, RehearsedMethods(task), []byte(linesTask), true
	return c
}

// ending is how the report of a rehearsal ends, from the verdicts on, and its JSON.
func ending(t *testing.T, r *Result) (text string, object map[string]any) {
	t.Helper()
	var report, form bytes.Buffer
	require.NoError(t, r.WriteRehearsal(&report))
	require.NoError(t, r.WriteJSON(&form))
	_, text, _ = strings.Cut(report.String(), "\nbroadcasts: ")
	return "broadcasts: " + text, decodeOne(t, form.Bytes())
}

// Where a private sum pays and broadcasts give nothing that is seen, the rehearsal of these ends with what to
// change, and its verdict stays that on what the nodes did.
func TestRehearsalTellsOfASumThatPays(t *testing.T) {
	r := mustRun(t, t.Context(), broadcasting(t, lines(80, 9, true), 0))
	text, object := ending(t, r)
	said := strings.Split(text, "\n")
	if !strings.HasPrefix(said[0], "broadcasts: cannot tell: ") || !strings.HasPrefix(said[1], "private sum (simulated): worth it: ") || !strings.HasPrefix(said[3], "A private sum pays here, and of broadcasts one cannot tell.") {
		t.Errorf("the rehearsal ends with\n%s", text)
	}
	for _, want := range []string{"\n  line 2: write learner = \"sums\"\n", "\n  line 3: take out [rounds]", "\n  at the end: add\n    [sums]\n", "\n    kind = \"mean\"\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	sum := object["sum"].(map[string]any)
	schema{"verdict": "string", "change": "object", "advice": "string", "edits": "array"}.check(t, sum)
	if "broadcasts: "+object["verdict"].(string) != said[0] || "private sum (simulated): "+sum["verdict"].(string) != said[1] || object["newcomers"] == nil {
		t.Errorf("JSON: %v", object)
	}
	table := aligned(r.methodCells())
	for _, want := range []string{"\nprivate broadcast ", "\nprivate sum (simulated) ", "\n  newcomers, who added nothing ", "\nsum without noise "} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

// Where neither pays nothing is advised.
func TestRehearsalOfPeopleWhoShareNothing(t *testing.T) {
	text, object := ending(t, mustRun(t, t.Context(), broadcasting(t, lines(20, 150, false), 0)))
	said := strings.Split(strings.TrimSpace(text), "\n")
	if len(said) != 2 || !strings.HasPrefix(said[0], "broadcasts: not worth it: ") || !strings.HasPrefix(said[1], "private sum (simulated): not worth it: ") {
		t.Errorf("the rehearsal ends with\n%s", text)
	}
	if sum := object["sum"].(map[string]any); sum["advice"] != nil || sum["edits"] != nil {
		t.Errorf("JSON: %v", sum)
	}
}

// If the noise hides from some people of a file what all of them would gain, a sum of all of
// them is worked out, and what to change follows from that. Else all of them can be asked.
func TestRehearsalOfTooFewPeople(t *testing.T) {
	c := broadcasting(t, lines(80, 6, true), 6)
	c.All = broadcasting(t, lines(80, 6, true), 80).Source
	text, object := ending(t, mustRun(t, t.Context(), c))
	said := strings.Split(text, "\n")
	if !strings.HasPrefix(said[2], "private sum (simulated) of all 80 people of the file: worth it: ") || strings.HasPrefix(said[1], "private sum (simulated): worth it") || !strings.HasPrefix(said[4], "A private sum pays here") {
		t.Errorf("the rehearsal ends with\n%s", text)
	}
	all := object["all"].(map[string]any)
	schema{"nodes": "number", "verdict": "string", "change": "object"}.check(t, all)
	if sum := object["sum"].(map[string]any); all["nodes"] != 80.0 || !strings.HasSuffix(said[2], all["verdict"].(string)) || sum["edits"] == nil {
		t.Errorf("JSON: %v", object)
	}

	r := mustRun(t, t.Context(), broadcasting(t, lines(40, 10, true), 6))
	if text, _ := ending(t, r); !strings.Contains(text, "The noise of a sum is the same for 6 people as for all 40 of the file: testnet --sim --nodes all") {
		t.Errorf("the rehearsal ends with\n%s", text)
	}
	r.Of = 6
	if text, _ := ending(t, r); strings.Contains(text, "testnet --sim") {
		t.Errorf("of all people the rehearsal ends with\n%s", text)
	}
}

// What follows from both verdicts.
func TestAdvice(t *testing.T) {
	flat := func(by float64) func(int) float64 {
		return func(i int) float64 { return by + 0.01*float64(i%3-1) }
	}
	wide := func(i int) float64 { return 0.4*float64(i%2) - 0.2 }
	for name, c := range map[string]struct {
		broadcast, sum func(i int) float64
		want           string // how the advice begins
	}{
		"neither":            {flat(0.1), flat(0.1), ""},
		"broadcasts alone":   {flat(-0.1), flat(0.1), ""},
		"the sum alone":      {flat(0.1), flat(-0.1), "A private sum pays here, and broadcasts do not. It takes a committee"},
		"broadcasts unknown": {wide, flat(-0.1), "A private sum pays here, and of broadcasts one cannot tell."},
		"both, and the same": {flat(-0.1), flat(-0.1), ""},
		"the sum less":       {flat(-0.2), flat(-0.1), ""},
		"the sum more":       {flat(-0.1), flat(-0.2), "A private sum surely gives more than broadcasts: mean error -11."},
	} {
		r := &Result{Broadcasts: true, Complete: true, Edits: []datadir.Edit{{Line: 3, Text: "do this"}}}
		round := Round{}
		trials := []Trial{{Method: Alone}, {Method: Broadcast}, {Method: Private}}
		for i := range 40 {
			round.People = append(round.People, Participant{Number: i + 1})
			for k, shift := range []func(int) float64{flat(0), c.broadcast, c.sum} {
				trials[k].Errors = append(trials[k].Errors, 1+shift(i))
			}
		}
		round.Trials = trials
		r.Rounds = []Round{round}
		text, edits := r.advice(r.verdict())
		if !strings.HasPrefix(text, c.want) || c.want == "" && text != "" || (len(edits) > 0) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, text, edits)
		}
	}
}

// A simulated sum is the mean of draws of its noise, and stops with ctx in the middle.
func TestRehearsedSum(t *testing.T) {
	c := broadcasting(t, lines(10, 10, true), 0)
	d, err := c.Source(5)
	require.NoError(t, err)
	mean, err := c.workOut(t.Context(), d, 5, Private)
	require.NoError(t, err)
	want := make([]float64, len(d.People))
	for k := range uint64(rehearsedDraws) {
		one, err := c.draw(t.Context(), d, 5+k<<32, Private)
		require.NoError(t, err)
		for i := range want {
			want[i] += one.Errors[i] / rehearsedDraws
		}
	}
	for i := range want {
		if math.Abs(mean.Errors[i]-want[i]) > 1e-12 {
			t.Errorf("person %d: %v, want %v", i+1, mean.Errors[i], want[i])
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.Progress = func(p Progress) {
		if p.Method == Private {
			cancel()
		}
	}
	if r := mustRun(t, ctx, c); r.Complete || len(r.Trials(Broadcast)) != 1 || len(r.Trials(Private)) != 0 {
		t.Errorf("a rehearsal that was stopped in a sum: %+v", r)
	}
}

// A sum that is stopped is no error of the sum, whose contributions are missing then, and
// nobody's model is fitted any more.
func TestStoppedSum(t *testing.T) {
	c := simulatedConfig()
	d, err := c.Source(5)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.workOut(ctx, d, 5, Private); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped sum: %v", err)
	}
	if _, err := newcomersErrors(ctx, d, new(learner.Known)); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped fits: %v", err)
	}
}

// Whoever contributed to sums of several rounds knows what newcomers know, and is measured once.
func TestNewcomersOfRounds(t *testing.T) {
	c := broadcasting(t, lines(10, 10, true), 0)
	numbers, err := c.Source(5)
	require.NoError(t, err)
	classes, err := Linear(5, 60)
	require.NoError(t, err)
	for kind, d := range map[string]*Dataset{"gradient": numbers, "mean": numbers, "moments": classes} {
		task := *d.Task
		task.Sums.Recipes = []learner.Recipe{{Kind: kind, Share: 1}}
		summing := *d
		summing.Task = &task
		got, err := c.draw(t.Context(), &summing, 5, Private)
		require.NoError(t, err)
		var records [][]learner.Record
		for i := range d.People {
			records = append(records, d.People[i].Records)
		}
		summed, err := PrivateSum{Task: &task, Recipes: task.Sums.Recipes, Budget: c.Budget, Seed: 5}.Learn(records)
		require.NoError(t, err)
		want, err := newcomersErrors(t.Context(), &summing, summed.Population.Newcomer())
		require.NoError(t, err)
		if !slices.Equal(got.Newcomers, want) || slices.Equal(got.Newcomers, got.Errors) != (kind != "moments") {
			t.Errorf("%s: newcomers err %v, want %v; contributors %v", kind, got.Newcomers, want, got.Errors)
		}
	}
}

// Of wide records gradients are summed up, whose sums are read at once, and the task's file
// is to say so.
func TestRehearsedRecipes(t *testing.T) {
	for width, kind := range map[int]string{200: "mean", 300: "gradient"} {
		task, err := datadir.ParseTask(fmt.Appendf(nil, "name = \"wide\"\n[target]\nname = \"y\"\nmin = -1.0\nmax = 1.0\n[[features]]\nname = \"e\"\nkind = \"vector\"\nlength = %d\n", width))
		require.NoError(t, err)
		c := Config{Rehearse: true, Text: []byte(linesTask)}
		d := &Dataset{Task: task}
		edits := c.edits(d)
		if got := c.recipes(d)[0].Kind; got != kind || !strings.Contains(edits[len(edits)-1].Text, kind) {
			t.Errorf("of %d numbers the recipe is %q, and the edits are %v", width, got, edits)
		}
		if got := (&Config{Simulate: true}).recipes(d)[0].Kind; got != "mean" {
			t.Errorf("of %d numbers a simulation sums up %q", width, got)
		}
	}
}

// What is simulated beside real nodes is no message that arrives.
func TestSimulationsBesideNodesDeliverNothing(t *testing.T) {
	c := broadcasting(t, lines(10, 10, true), 0)
	c.Simulate, c.Dir = false, t.TempDir()
	drive, _, err := c.driver()
	require.NoError(t, err)
	d, err := c.Source(5)
	require.NoError(t, err)
	for _, m := range []Method{Open, Private, Together} {
		trial, err := drive(t.Context(), d, 5, m)
		require.NoError(t, err)
		if trial.Expected != 0 || trial.Delivered != 0 {
			t.Errorf("%s: %d of %d messages arrived", m, trial.Delivered, trial.Expected)
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
	var bad []api.BadLine
	skipping := Owners{Column: "house", Skipped: func(b *BadLines) { bad = b.First }}
	if d, err = ReadPeople(strings.NewReader(named+",1,2\n"), "houses.csv", task, skipping); err != nil || len(d.People) != 2 || len(bad) != 1 || !strings.Contains(bad[0].Reason, `column "house" is empty`) {
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
