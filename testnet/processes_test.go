package testnet

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/testnet/lab"
)

// fewDaemons is fewNodes with every node a process.
func fewDaemons(t *testing.T) Config {
	t.Helper()
	c := fewNodes(t)
	c.Daemons = &Daemons{Program: builtDaemon(t)}
	return c
}

func TestDaemonsLearnTogether(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	c := fewDaemons(t)
	r := mustRun(t, t.Context(), c)
	if !r.Complete || r.delivery() != 1 {
		t.Errorf("complete %v, delivery %v", r.Complete, r.delivery())
	}
	for _, m := range []Method{Private, Broadcast} {
		trial := r.Rounds[0].trial(m)
		if trial.Unfinished != 0 || trial.Expected == 0 || trial.Bytes == 0 || len(trial.Curve) != 0 {
			t.Errorf("%s: %d unfinished, %d arrivals expected, %v bytes, curve %v", m, trial.Unfinished, trial.Expected, trial.Bytes, trial.Curve)
		}
		if slices.Equal(trial.Errors, r.Rounds[0].trial(Alone).Errors) {
			t.Errorf("%s: the daemons learned nothing from each other", m)
		}
		if trial.Processes == nil || trial.Processes.CPU <= 0 || trial.Processes.RSS < trial.Processes.PSS {
			t.Errorf("%s: footprint %+v", m, trial.Processes)
		}
	}
	for i, spent := range r.Rounds[0].trial(Private).Spent {
		if spent < 0.99 || spent > 1 {
			t.Errorf("node %d has spent %v of its budget", i+1, spent)
		}
	}
	wantEmpty(t, c.Dir)
}

// A daemon that ends ends the trial, and the error has its last words.
func TestDaemonThatFails(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	c := fewNodes(t)
	program := filepath.Join(t.TempDir(), "p2pnode")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho the disk is full >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.Daemons = &Daemons{Program: program}
	_, err := Run(t.Context(), c)
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v, want the daemon's last words", err)
	}
	wantEmpty(t, c.Dir)
}

// Two of six daemons are phones that are offline half of the time, a second at a
// stretch: too short for anybody to notice.
func TestLabPhonesLearn(t *testing.T) {
	if os.Getenv("P2PNODE_LAB") == "" {
		t.Skip("runs in a step of its own: set P2PNODE_LAB=yes to run daemons in network namespaces")
	}
	if err := lab.Available(); err != nil {
		t.Skip(err)
	}
	defer goleak.VerifyNone(t, leaks()...)
	c := fewDaemons(t)
	c.Daemons.Phones, c.Daemons.Loss, c.Daemons.Latency = 2, 0.1, 20*time.Millisecond
	c.Daemons.Online, c.Daemons.Spell = 0.5, time.Second
	r := mustRun(t, t.Context(), c)
	if !r.Complete || r.unfinished() != 0 || r.delivery() == 0 {
		t.Errorf("complete %v, %d unfinished, delivery %v", r.Complete, r.unfinished(), r.delivery())
	}
	var table bytes.Buffer
	if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "the 2 phones have a mean error") {
		t.Errorf("%v; the report does not set the phones apart:\n%s", err, &table)
	}
	wantEmpty(t, c.Dir)
}

// What a daemon imports is what a node in this process is given, to the last bit.
func TestRecordsSurviveCSV(t *testing.T) {
	linear, err := Linear(3, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Dataset{linear, mustRead(t, people(20, 20))} {
		c := datadir.DefaultConfig(d.Task)
		c.Profile = d.People[0].Profile
		var alone [2][]float64
		for k := range alone {
			dir := t.TempDir()
			if err := datadir.Init(dir, d.Task, c); err != nil {
				t.Fatal(err)
			}
			n, err := node.Open(dir, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			if k == 0 {
				err = insider{n, d.People[0].Records}.feed(t.Context())
			} else {
				var text bytes.Buffer
				if err := d.writeRecords(&text, &d.People[0]); err != nil {
					t.Fatal(err)
				}
				_, err = n.Import(t.Context(), &text, api.ImportOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			model, err := n.Personal(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			alone[k] = model.Alone
		}
		if !slices.Equal(alone[0], alone[1]) {
			t.Errorf("%s: from records the model is %v, from their CSV %v", d.Name, alone[0], alone[1])
		}
	}
}

func TestDaemonsValidate(t *testing.T) {
	good := Daemons{Program: "p2pnode", Phones: 6, Loss: 0.1, Latency: time.Millisecond, Online: 0.2, Spell: time.Second}
	for _, c := range []struct {
		change func(*Daemons)
		want   string
	}{
		{func(*Daemons) {}, ""},
		{func(d *Daemons) { *d = Daemons{Program: "p2pnode"} }, ""},
		{func(d *Daemons) { d.Online, d.Spell = 1, 0 }, ""},
		{func(d *Daemons) { d.Program = "" }, "Program"},
		{func(d *Daemons) { d.Phones = 10 }, "nodes must be at home"},
		{func(d *Daemons) { d.Phones = -1 }, "-1 phones"},
		{func(d *Daemons) { d.Loss = 1 }, "loss 1"},
		{func(d *Daemons) { d.Loss = -0.1 }, "loss -0.1"},
		{func(d *Daemons) { d.Latency = -1 }, "latency"},
		{func(d *Daemons) { d.Online = 0 }, "online 0"},
		{func(d *Daemons) { d.Online = 1.5 }, "online 1.5"},
		{func(d *Daemons) { d.Spell = 0 }, "spell 0s"},
	} {
		d := good
		c.change(&d)
		err := d.Validate(10)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", d, err, c.want)
		}
	}
}

// Online for a fifth of the time means away four times as long.
func TestWeather(t *testing.T) {
	d := Daemons{Phones: 1, Online: 0.2, Spell: 8 * time.Second}
	if got := d.away(); got != 32*time.Second {
		t.Errorf("away for %v, want 32s", got)
	}
	if got := d.wake(); got != 1 {
		t.Errorf("a release every %v s, want 1", got)
	}
	if d.Online = 1; d.wake() != 0 || (*Daemons)(nil).wake() != 0 {
		t.Error("calm nodes wait for the weather")
	}
}

func TestPhonesAreSetApart(t *testing.T) {
	r := Result{Phones: 1, Rounds: make([]Round, 2)}
	for i := range r.Rounds {
		k := float64(10 * i)
		r.Rounds[i].Trials = []Trial{{Method: Alone, Errors: []float64{k + 1, k + 2, k + 3}}, {Method: Broadcast, Errors: []float64{k + 4, k + 5, k + 6}}}
	}
	phones, others := r.split(Broadcast)
	if !slices.Equal(phones.alone, []float64{3, 13}) || !slices.Equal(phones.with, []float64{6, 16}) ||
		!slices.Equal(others.alone, []float64{1, 2, 11, 12}) || !slices.Equal(others.with, []float64{4, 5, 14, 15}) {
		t.Errorf("phones %v, others %v", phones, others)
	}
}

func TestFootprint(t *testing.T) {
	mean := meanFootprint([]Footprint{{RSS: 4, PSS: 2, CPU: 1}, {RSS: 8, PSS: 4, CPU: 2}})
	if *mean != (Footprint{RSS: 6, PSS: 3, CPU: 1.5}) {
		t.Errorf("mean %+v", mean)
	}
	if f := memoryOf(os.Getpid()); f != (Footprint{}) && (f.RSS < f.PSS || f.PSS < 1<<20) {
		t.Errorf("this process takes %+v", f)
	}
	if f := memoryOf(-1); f != (Footprint{}) {
		t.Errorf("no process takes %+v", f)
	}
}
