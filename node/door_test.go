package node

import (
	"github.com/pelletier/go-toml/v2"

	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
)

// query asks for one sum per cohort, each of one record with gradient (1, 1, 1).
func query(m privacy.Mechanism, round uint64, cohorts ...privacy.Cohort) *learner.Query {
	q := &learner.Query{Round: round, Mechanism: m}
	for _, c := range cohorts {
		s := m.NewSum(c, 3)
		s.Add([]float64{1, 1, 1})
		q.Sums = append(q.Sums, s)
	}
	return q
}

// mechanism is that of a node's next release.
func mechanism(n *Node) privacy.Mechanism {
	m, _ := n.policy.Next(0)
	return m
}

// Without the owner's consent nothing leaves unprotected, whatever an agent asks.
func TestDoorNeedsConsent(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	m, err := privacy.NewUnprotected(1)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := newDoor(n.ledger, &n.files.Config).release(query(m, 1, 1)); err == nil || !a.Exhausted() {
		t.Errorf("an unprotected release without consent: %v, %v", a, err)
	}
	if n.ledger.Unbounded() || n.ledger.Round() != 0 {
		t.Error("the refusal left a trace in the ledger")
	}
}

// A cohort pays for every release that it is in, and leaves when it cannot pay any more,
// while the others continue.
func TestDoorLeavesOutWhatCannotPay(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	d := newDoor(n.ledger, &n.files.Config)
	for round := uint64(1); round <= 5; round++ {
		if a, err := d.release(query(mechanism(n), round, 1)); err != nil || a.Slots != 1 {
			t.Fatalf("round %d: %d slots, %v", round, a.Slots, err)
		}
	}
	a, err := d.release(query(mechanism(n), 6, 1, 2))
	if err != nil || len(a.Cohorts) != 1 || a.Cohorts[0] != 2 || a.Slots != 1 {
		t.Errorf("answer with cohorts %v, %d slots, %v; want cohort 2 alone", a.Cohorts, a.Slots, err)
	}
	if a, err := d.release(query(mechanism(n), 7, 1)); err != nil || !a.Exhausted() {
		t.Errorf("an exhausted cohort: %v, %v", a, err)
	}
	if n.ledger.Round() != 6 {
		t.Errorf("round %d is paid, want 6: a refused query costs nothing", n.ledger.Round())
	}
}

// A round is released once: a second query for it is refused, before any noise.
func TestDoorReleasesARoundOnce(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	d := newDoor(n.ledger, &n.files.Config)
	if _, err := d.release(query(mechanism(n), 3, 1)); err != nil {
		t.Fatal(err)
	}
	for _, round := range []uint64{1, 3} {
		if _, err := d.release(query(mechanism(n), round, 1)); err == nil {
			t.Errorf("round %d is released again", round)
		}
	}
}

// A crash between the debit and the commit burns the round: the budget stays
// spent, the old message is still the one served, and the next round is new.
func TestCrashBetweenDebitAndCommit(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 10), nil)
	d := newDoor(n.ledger, &n.files.Config)
	if _, err := d.release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := n.ledger.Commit(1, []byte("first"), []byte(`{"Round":1,"Model":[0,0,0]}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.release(query(mechanism(n), 2, 1)); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil { // as after kill -9: nothing more is written
		t.Fatal(err)
	}
	again, err := Open(n.dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	s := status(t, again)
	if s.Privacy.Left != 3 || s.Privacy.Releases != 2 || s.Round != 2 {
		t.Errorf("%d releases made, %d left at round %d, want 2 and 3 at round 2", s.Privacy.Releases, s.Privacy.Left, s.Round)
	}
	if round, message := again.ledger.Outgoing(); round != 1 || string(message) != "first" {
		t.Errorf("round %d, %q is served, want the first", round, message)
	}
	agent, err := again.newAgent()
	if err != nil {
		t.Fatal(err)
	}
	out := agent.Neighbours(0, []learner.Edge{{Peer: "other", Weight: 1, Live: true}})
	out = agent.Tick(out.Next)
	if out.Ask == nil || out.Ask.Round != 3 {
		t.Errorf("the agent asks %+v, want round 3", out.Ask)
	}
}

// The unprotected door is marked in the ledger for ever, and has a limit too.
func TestUnprotectedDoor(t *testing.T) {
	n := testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Unprotected, c.Releases = datadir.Consent, 2 })
	d := newDoor(n.ledger, &n.files.Config)
	for round := uint64(1); round <= 2; round++ {
		a, err := d.release(query(mechanism(n), round, 1))
		if err != nil || a.Sum == nil || a.Sum[0] < 0.999999 || a.Sum[0] > 1 {
			t.Fatalf("round %d: %v, %v; want the plain sum", round, a.Sum, err)
		}
	}
	if a, err := d.release(query(mechanism(n), 3, 1)); err != nil || !a.Exhausted() {
		t.Errorf("beyond the limit: %v, %v", a, err)
	}
	if b, err := n.Budget(t.Context()); err != nil || !b.Unbounded {
		t.Errorf("budget %+v, %v; want unbounded", b, err)
	}
}

// The ledger remembers for ever that something was released without a guarantee,
// also after protection is back.
func TestUnboundedForEver(t *testing.T) {
	n := testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Unprotected = datadir.Consent })
	if _, err := newDoor(n.ledger, &n.files.Config).release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	c := n.files.Config
	c.Unprotected = ""
	text, err := toml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(n.dir, datadir.ConfigFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	again := openNode(t, n.dir)
	if m := mechanism(again); !m.Protected() {
		t.Error("the next release is unprotected without consent")
	}
	b := budget(t, again)
	if s := status(t, again); !b.Unbounded || b.Unprotected || !s.Privacy.Unbounded {
		t.Errorf("budget %+v, summary %+v; want unbounded for ever", b, s.Privacy)
	}
}

// Nothing but the exact sentence is consent.
func TestConsentIsExact(t *testing.T) {
	for _, text := range []string{"yes", "true", datadir.Consent + ".", " " + datadir.Consent, "Send my models without privacy", datadir.Consent[:len(datadir.Consent)-1]} {
		c := datadir.DefaultConfig(lineTask())
		c.Unprotected = text
		if err := c.Validate(lineTask()); err == nil || !strings.Contains(err.Error(), datadir.Consent) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A deleted record keeps its slot, also across a restart, and the others keep
// their order of arrival.
func TestRestartWithDeletedRecord(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 12), nil)
	if err := n.store.DeleteRecords(2); err != nil {
		t.Fatal(err)
	}
	agent, err := n.newAgent()
	if err != nil {
		t.Fatal(err)
	}
	out := agent.Neighbours(0, []learner.Edge{{Peer: "other", Weight: 1, Live: true}})
	out = agent.Tick(out.Next)
	if out.Ask == nil || len(out.Ask.Sums) != 1 || out.Ask.Sums[0].Slots() != 10 {
		t.Errorf("the agent asks %+v, want one sum of 10 slots (12 records, 2 held out)", out.Ask)
	}
}

// A node without a limit never has nothing left to do.
func TestUnlimitedNodeIsNotDone(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 10), func(c *datadir.Config) { c.Unprotected, c.Releases = datadir.Consent, 0 })
	if _, err := newDoor(n.ledger, &n.files.Config).release(query(mechanism(n), 1, 1)); err != nil {
		t.Fatal(err)
	}
	if status(t, n).Done {
		t.Error("done, though nothing limits its releases")
	}
}
