package node

import (
	"encoding/json"

	"github.com/pelletier/go-toml/v2"

	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// Every sensible choice gives a node that can release and account for it, and no share is
// lost: all releases together use the budget.
func TestNoiseChoices(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*datadir.Config){
		"gaussian":          func(*datadir.Config) {},
		"gaussian renyi":    func(c *datadir.Config) { c.Accounting = "renyi" },
		"gaussian growing":  func(c *datadir.Config) { c.Pace, c.Contraction = "growing", 0.9 },
		"gaussian one-shot": func(c *datadir.Config) { c.Pace, c.Releases = "one-shot", 1 },
		"laplace":           func(c *datadir.Config) { c.Noise, c.Accounting = "laplace", "" },
		"laplace renyi":     func(c *datadir.Config) { c.Noise, c.Accounting = "laplace", "renyi" },
		"laplace growing": func(c *datadir.Config) {
			c.Noise, c.Accounting, c.Pace, c.Contraction = "laplace", "pure", "growing", 0.9
		},
		"truncated gaussian": func(c *datadir.Config) { c.Noise, c.Accounting = "truncated-gaussian", "plan" },
		"truncated laplace":  func(c *datadir.Config) { c.Noise, c.Accounting = "truncated-laplace", "plan" },
		"batch":              func(c *datadir.Config) { c.Accounting, c.Batch = "plan", 25 },
	} {
		if testing.Short() && (strings.HasSuffix(name, " renyi") || strings.HasSuffix(name, " growing")) {
			continue // one way of accounting for each law is enough between two edits
		}
		t.Run(name, func(t *testing.T) {
			n := testNode(t, lineTask(), lineRecords(fixed(1), 10), change)
			releases := n.files.Config.Releases
			b := budget(t, n)
			if b.Left != releases || !(b.Next > 0 && b.Next <= 1) || len(b.Cohorts) != 1 {
				t.Fatalf("before: %+v, want %d releases left", b, releases)
			}
			d := newDoor(n.ledger, &n.files.Config)
			for round := range releases {
				m, ok := n.policy.Next(round)
				if !ok {
					t.Fatalf("no mechanism for release %d", round+1)
				}
				before := budget(t, n)
				if a, err := d.release(query(m, uint64(round+1), 1)); err != nil || a.Exhausted() {
					t.Fatalf("release %d: %v, %v", round+1, a, err)
				}
				after := budget(t, n)
				if after.Left > 0 && before.Rising != (after.Next > before.Next*(1+1e-9)) {
					t.Errorf("release %d costs %v and the next %v; announced as rising: %v", round+1, before.Next, after.Next, before.Rising)
				}
				if got := after.Cohorts[0].Spent - before.Cohorts[0].Spent; math.Abs(got-before.Next) > 1e-9 {
					t.Errorf("release %d cost %v of the budget, announced were %v", round+1, got, before.Next)
				}
				if after.Left != releases-round-1 {
					t.Errorf("after release %d: %d left", round+1, after.Left)
				}
			}
			s := status(t, n)
			if !s.Done || s.Privacy.Left != 0 || s.Privacy.Releases != releases || s.Privacy.Spent < 1-1e-6 || s.Privacy.Spent > 1 {
				t.Errorf("at the end: %+v, done %v", s.Privacy, s.Done)
			}
		})
	}
}

// A plan counts its steps, for all cohorts together, and new records do not
// prolong it.
func TestPlanIsNotProlonged(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(fixed(1), 10), func(c *datadir.Config) { c.Accounting, c.Releases = "plan", 3 })
	d := newDoor(n.ledger, &n.files.Config)
	for round := uint64(1); round <= 2; round++ {
		m, _ := n.policy.Next(int(round) - 1)
		if _, err := d.release(query(m, round, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if b := budget(t, n); b.Plan == nil || *b.Plan != (api.PlanBudget{Steps: 3, Done: 2, Left: 1}) || b.Left != 1 {
		t.Errorf("plan %+v, %d left; want 2 of 3 steps done", b.Plan, b.Left)
	}
	m, _ := n.policy.Next(2)
	if _, err := d.release(query(m, 3, 1)); err != nil {
		t.Fatal(err)
	}
	if r, err := n.Import(t.Context(), strings.NewReader("a,b,y\n0.5,0.5,0\n"), api.ImportOptions{}); err != nil || !r.NeverShared {
		t.Errorf("records that come too late: %+v, %v; want a warning", r, err)
	}
	if s := status(t, n); !s.Done || s.Privacy.Plan == nil || s.Privacy.Plan.Left != 0 || s.Privacy.Left != 0 {
		t.Errorf("status %+v, done %v; want a plan at its end", s.Privacy, s.Done)
	}
}

// Choices that contradict each other are refused with the names of the keys, when a
// directory is made and when one is opened.
func TestNoiseChoicesThatDoNotFit(t *testing.T) {
	for want, change := range map[string]func(*datadir.Config){
		`"noise", "accounting"`: func(c *datadir.Config) { c.Noise, c.Accounting = "laplace", "gdp" },
		`"noise"`:               func(c *datadir.Config) { c.Noise = "none" },
		`"accounting"`:          func(c *datadir.Config) { c.Accounting = "moments" },
		`"pace"`:                func(c *datadir.Config) { c.Pace = "shrinking" },
		`contraction = 0.9`:     func(c *datadir.Config) { c.Pace = "growing" },
		`"contraction": 1.5`:    func(c *datadir.Config) { c.Pace, c.Contraction = "growing", 1.5 },
		`"contraction": is for`: func(c *datadir.Config) { c.Contraction = 0.9 },
		`"releases": is 5`:      func(c *datadir.Config) { c.Pace = "one-shot" },
		`"batch"`:               func(c *datadir.Config) { c.Batch = 10 },
		`"batch": 101`:          func(c *datadir.Config) { c.Batch, c.Accounting = 101, "plan" },
		`"cohort_hours"`:        func(c *datadir.Config) { c.CohortHours = math.NaN() },
		`"cohort_hours": -1`:    func(c *datadir.Config) { c.CohortHours = -1 },
	} {
		c := datadir.DefaultConfig(lineTask())
		change(&c)
		dir := filepath.Join(t.TempDir(), "node")
		if err := datadir.Init(dir, lineTask(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if _, err := Open(dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "p2pnode init") {
			t.Errorf("%s: something was left behind: %v", want, err)
		}
	}
}

// The guarantee for several records: exact under the Gaussian filter, else by the
// group privacy lemma, without a delta under pure accounting, and never over 1.
func TestPersonBudget(t *testing.T) {
	c := datadir.DefaultConfig(lineTask()) // epsilon 1, delta 1e-6
	if one, ten := c.Person(1), c.Person(10); one.Epsilon != 1 || one.Delta != 1e-6 || math.Abs(one.Belief-0.731) > 1e-3 ||
		ten.Delta != 1e-6 || ten.Epsilon != (privacy.Budget{Epsilon: 1, Delta: 1e-6}).ForRecords(10).Epsilon {
		t.Errorf("gdp: %+v, %+v", one, ten)
	}
	c.Accounting = "plan"
	for k := 1; k <= 10; k++ {
		want := 0.0 // the lemma's sum, term by term
		for i := range k {
			want += 1e-6 * math.Exp(float64(i))
		}
		if p := c.Person(k); p.Epsilon != float64(k) || math.Abs(p.Delta-want) > 1e-12 {
			t.Errorf("plan, %d records: %+v, want delta %v", k, p, want)
		}
	}
	if p := c.Person(1000); p.Delta != 1 {
		t.Errorf("plan, 1000 records: delta %v", p.Delta)
	}
	c.Accounting = "pure"
	if p := c.Person(1000); p.Delta != 0 || p.Epsilon != 1000 || p.Belief != 1 {
		t.Errorf("pure: %+v", p)
	}
}

// An owner who changes what a plan was made of is told which keys to restore.
func TestChangedPlanNamesItsKeys(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Accounting = string(privacy.CommittedPlan) })
	pay(t, n, 1)
	changed := n.files.Config
	changed.Releases, changed.Pace, changed.Contraction = 6, "growing", 0.9
	text, err := toml.Marshal(changed)
	if err := errors.Join(err, n.Close(), os.WriteFile(filepath.Join(n.dir, datadir.ConfigFile), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = Open(n.dir, slog.New(slog.DiscardHandler))
	want := "(in config.toml, releases is 6 and was 5, pace is growing and was uniform, contraction is 0.9 and was 0)"
	if !errors.Is(err, storage.ErrBudget) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not say %s", err, want)
	}
}

// A plan is worked out once: the next start finds the one that was committed,
// even if this version would come to another.
func TestCommittedPlanIsKept(t *testing.T) {
	t.Parallel()
	task := lineTask()
	n := testNode(t, task, nil, func(c *datadir.Config) { c.Accounting = string(privacy.CommittedPlan) })
	dir, made := n.dir, n.policy
	if _, err := newDoor(n.ledger, &n.files.Config).release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	// Another version's answer to the same design: a plan that costs less.
	design := n.files.Config.Design(task)
	other := design
	other.Budget.Epsilon *= 0.99
	cheaper, err := other.Policy()
	if err != nil {
		t.Fatal(err)
	}
	cheaper.Terms.Budget = made.Terms.Budget
	keepPolicy(t, n.store, design, cheaper)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, slog.New(slog.DiscardHandler)); !errors.Is(err, storage.ErrBudget) {
		t.Fatalf("another plan than the committed one: %v, want ErrBudget", err)
	}

	store, err := storage.Open(filepath.Join(dir, datadir.StoreFile))
	if err != nil {
		t.Fatal(err)
	}
	keepPolicy(t, store, design, made)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, dir)
	if !reflect.DeepEqual(n.policy, made) || n.ledger.Position() != 1 {
		t.Errorf("after the restart the policy is %+v at step %d, it was %+v", n.policy.Terms, n.ledger.Position(), made.Terms)
	}
}

// keepPolicy makes a store remember a policy for a design.
func keepPolicy(t *testing.T, store *storage.Store, d privacy.Design, p privacy.Policy) {
	t.Helper()
	text, err := json.Marshal(struct {
		Design privacy.Design
		Policy privacy.Policy
	}{d, p})
	if err == nil {
		err = store.PutMeta("policy", string(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}
