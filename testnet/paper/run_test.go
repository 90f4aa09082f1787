package paper

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"p2pnode/internal/require"
)

// madeUpCells is how many cells the made-up experiment has.
const madeUpCells = 4

// madeUp is an experiment of quick cells; ran counts them.
func madeUp(ran *atomic.Int64) Experiment {
	return Experiment{
		Name: "made-up", Title: "Made <up>", About: "Nothing.",
		Plan: func(o Options) (*Plan, error) {
			p := &Plan{Identity: fmt.Sprint(o.Seed), Seeds: madeUpCells}
			for k := range p.Seeds {
				seed := o.Seed + uint64(k)
				p.Cells = append(p.Cells, Cell{Key: fmt.Sprint("seed ", seed), Cost: float64(k + 1), Run: func(context.Context) (Numbers, error) {
					ran.Add(1)
					r := rand.New(rand.NewPCG(seed, 0))
					return Numbers{"x": {r.NormFloat64(), math.SmallestNonzeroFloat64, math.Copysign(0, -1), 1 / r.Float64()}}, nil
				}})
			}
			p.Report = func(done Done) (*Report, error) { return madeUpReport(p, done), nil }
			return p, nil
		},
	}
}

func madeUpReport(p *Plan, done Done) *Report {
	r := &Report{Summary: "So it is.", Notes: []string{"A note."}}
	for _, c := range p.Cells {
		if n, ok := done[c.Key]; ok {
			r.Rows = append(r.Rows, Row{Setting: c.Key, Seeds: 1, Measure: "m", Error: Number(n["x"][0]), Alone: Number(n["x"][3]), Spread: Number(n["x"][1])})
		}
	}
	return r
}

func job(e Experiment, dir string) Job {
	return Job{Experiment: e, Options: Options{Seed: 1}, Dir: dir, Command: "c", Version: "v", Program: "p", Meter: new(Meter), Log: func(string) {}}
}

// jsonWithoutSeconds is what must not depend on how the cells ran.
func jsonWithoutSeconds(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "made-up.json"))
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	if _, ok := all["seconds"].(float64); !ok {
		t.Fatalf("no seconds in %s", text)
	}
	return string(bytes.Join(slices.DeleteFunc(bytes.Split(text, []byte("\n")), func(l []byte) bool {
		return bytes.Contains(l, []byte(`"seconds"`))
	}), []byte("\n")))
}

// Whatever a killed run has left of the file of cells, the next one gives the same
// result, and computes only what is missing.
func TestResumeAfterAKillAtAnyByte(t *testing.T) {
	var ran atomic.Int64
	whole := t.TempDir()
	_, err := Run(t.Context(), job(madeUp(&ran), whole))
	require.NoError(t, err)
	want := jsonWithoutSeconds(t, whole)
	cells, err := os.ReadFile(filepath.Join(whole, "made-up.cells"))
	require.NoError(t, err)
	step := 1
	if testing.Short() {
		step = 13
	}
	for n := 0; n <= len(cells); n += step {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "made-up.cells"), cells[:n], 0o600))
		ran.Store(0)
		_, err := Run(t.Context(), job(madeUp(&ran), dir))
		require.NoError(t, err)
		if got := jsonWithoutSeconds(t, dir); got != want {
			t.Fatalf("killed at byte %d: got\n%s\nwant\n%s", n, got, want)
		}
		if kept := max(0, bytes.Count(cells[:n], []byte("\n"))-1); int(ran.Load()) != madeUpCells-kept {
			t.Fatalf("killed at byte %d: %d cells were kept, yet %d ran", n, kept, ran.Load())
		}
	}
}

func TestResultDoesNotDependOnProcessors(t *testing.T) {
	var got []string
	for _, n := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(n)
		dir := t.TempDir()
		_, err := Run(t.Context(), job(madeUp(new(atomic.Int64)), dir))
		runtime.GOMAXPROCS(before)
		require.NoError(t, err)
		got = append(got, jsonWithoutSeconds(t, dir))
	}
	if got[0] != got[1] || got[0] != got[2] {
		t.Errorf("1, 2 and 5 processors give %s", got)
	}
}

// Cells of other options or another program are not taken up, and it is said.
func TestCellsOfAnotherRun(t *testing.T) {
	var ran atomic.Int64
	dir := t.TempDir()
	for _, c := range []struct {
		change func(*Job)
		want   int64
		log    string
	}{
		{func(*Job) {}, madeUpCells, ""},
		{func(*Job) {}, 0, "4 of 4 cells are taken up"},
		{func(j *Job) { j.Restart = true }, madeUpCells, ""},
		{func(j *Job) { j.Seed = 2 }, madeUpCells, "put aside"},
		{func(j *Job) { j.Seed, j.Program = 2, "q" }, madeUpCells, "put aside"},
		{func(j *Job) { j.Seed, j.Trust = 2, true }, 0, "4 of 4 cells are taken up"},
	} {
		var log strings.Builder
		j := job(madeUp(&ran), dir)
		j.Log = func(text string) { log.WriteString(text) }
		c.change(&j)
		ran.Store(0)
		file := filepath.Join(dir, "made-up.cells")
		before, _ := os.ReadFile(file) // none the first time
		r, err := Run(t.Context(), j)
		if aside, _ := os.ReadFile(file + ".old"); c.log == "put aside" && !bytes.Equal(aside, before) {
			t.Error("the cells that were not taken up are gone")
		}
		require.NoError(t, err)
		if said := strings.Contains(strings.Join(r.Notes, " "), "4 of the 4 cells were computed by another"); said != j.Trust {
			t.Errorf("cells of another program: %v, notes %q", j.Trust, r.Notes)
		}
		if ran.Load() != c.want || !strings.Contains(log.String(), c.log) || c.log == "" && log.Len() > 0 {
			t.Errorf("%d cells ran, want %d; said %q, want %q", ran.Load(), c.want, log.String(), c.log)
		}
	}
}

func TestOneProcessInADirectory(t *testing.T) {
	dir := t.TempDir()
	c, _, err := openCells(filepath.Join(dir, "made-up.cells"), header{"made-up", "1"}, func(kept) bool { return true })
	require.NoError(t, err)
	if _, err := Run(t.Context(), job(madeUp(new(atomic.Int64)), dir)); !errors.Is(err, errLocked) || !strings.Contains(err.Error(), "--out") {
		t.Errorf("a second run says %v", err)
	}
	require.NoError(t, c.close())
	_, err = Run(t.Context(), job(madeUp(new(atomic.Int64)), dir))
	require.NoError(t, err)
}

// An interrupted run reports what is done, does not wait for cells that do not
// listen, and goes on from there.
func TestInterrupted(t *testing.T) {
	for _, solo := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { testInterrupted(t, solo) })
	}
}

func testInterrupted(t *testing.T, solo bool) {
	dir := t.TempDir()
	e := madeUp(new(atomic.Int64))
	ctx, cancel := context.WithCancel(t.Context())
	stuck := make(chan struct{})
	plan := e.Plan
	e.Plan = func(o Options) (*Plan, error) {
		p, err := plan(o)
		p.Cells[0].Solo = solo
		p.Cells[0].Run = func(context.Context) (Numbers, error) { // the shortest, which comes last
			cancel()
			<-stuck
			return nil, errors.New("nobody listens any more")
		}
		return p, err
	}
	r, err := Run(ctx, job(e, dir))
	close(stuck)
	if !errors.Is(err, context.Canceled) || r == nil || r.Complete || len(r.Rows) == 0 || len(r.Rows) == madeUpCells {
		t.Fatalf("%v, %+v", err, r)
	}
	var ran atomic.Int64
	r, err = Run(t.Context(), job(madeUp(&ran), dir))
	require.NoError(t, err)
	if !r.Complete || len(r.Rows) != madeUpCells || ran.Load() == 0 || ran.Load() == madeUpCells {
		t.Errorf("%d cells ran: %+v", ran.Load(), r)
	}
}

func TestBadExperiments(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Plan)
	}{
		{"must return finite numbers", func(p *Plan) {
			p.Cells[2].Run = func(context.Context) (Numbers, error) { return Numbers{"x": {1, math.NaN()}}, nil }
		}},
		{"seed 3: out of luck", func(p *Plan) {
			p.Cells[2].Run = func(context.Context) (Numbers, error) { return nil, errors.New("out of luck") }
		}},
		{"two cells with the key", func(p *Plan) { p.Cells[1].Key = p.Cells[0].Key }},
		{"costs 0", func(p *Plan) { p.Cells[1].Cost = 0 }},
		{"uses 0 seeds", func(p *Plan) { p.Seeds = 0 }},
		{"no ink", func(p *Plan) { p.Report = func(Done) (*Report, error) { return nil, errors.New("no ink") } }},
		{"leave out what is no number", func(p *Plan) {
			p.Report = func(Done) (*Report, error) {
				return &Report{Rows: []Row{{Setting: "s", Error: Number(math.Inf(1))}}}, nil
			}
		}},
	} {
		e := madeUp(new(atomic.Int64))
		plan := e.Plan
		e.Plan = func(o Options) (*Plan, error) {
			p, err := plan(o)
			c.change(p)
			return p, err
		}
		if _, err := Run(t.Context(), job(e, t.TempDir())); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "made-up") {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
