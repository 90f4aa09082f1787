package node

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/statement"
	"p2pnode/storage"
)

// stated is a node's statement, which is sound as it would be shown.
func stated(t *testing.T, n *Node) (s api.SignedStatement, page string) {
	t.Helper()
	s, err := n.Statement(t.Context())
	require.NoError(t, err)
	page, err = statement.Page(s)
	require.NoError(t, err)
	c, err := statement.Check([]byte(page), time.Now())
	require.NoError(t, err)
	if !c.Sound || s.Node != n.ID().String() {
		t.Fatalf("the statement of %s: %+v", n.ID(), c)
	}
	return s, page
}

// A statement says what the budget says, and nothing of how many records there are.
func TestStatement(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(3, 4)), 17), nil)
	if s, page := stated(t, n); len(s.Spent) != 0 || s.Ledger != (api.LedgerHead{}) || !strings.Contains(page, "Nothing yet. The ledger has no entries.") {
		t.Errorf("before the first release: %+v", s)
	}
	payAndCommit(t, n, 1, 0.5)
	s, page := stated(t, n)
	b, err := n.Budget(t.Context())
	require.NoError(t, err)
	v, err := n.Verify(t.Context())
	require.NoError(t, err)
	if len(s.Spent) != 1 || s.Spent[0].Spent != b.Cohorts[0].Spent || s.Spent[0].Releases != 1 || s.Ledger.Entries != v.Entries || s.Ledger.CRC != v.CRC || len(v.CRC) != 8 {
		t.Errorf("after a release %+v, the budget is %+v and the ledger %+v", s, b, v)
	}
	if g := s.Guarantee; g == nil || g.Epsilon != 1 || g.Delta != 1e-6 || len(s.Audiences) != 1 || len(s.Audiences[0].Peers) != 0 {
		t.Errorf("it guarantees %+v to %+v", s.Guarantee, s.Audiences)
	}
	for range 3 { // the same but for how many records there are
		require.NoError(t, n.Add(t.Context(), lineRecords(rand.New(rand.NewPCG(3, 5)), 7)))
	}
	more, again := stated(t, n)
	s.Time, s.Signature, s.Page = more.Time, more.Signature, more.Page
	before, _ := json.Marshal(s)
	after, _ := json.Marshal(more)
	if !bytes.Equal(before, after) {
		t.Errorf("with more records it says\n%s\nand said\n%s", again, page)
	}
}

// What a restore retired is in it. A directory that is an old copy states nothing.
func TestStatementOfACopy(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(3, 4)), 17), nil)
	payAndCommit(t, n, 1, 0.5)
	retire(t, n, 9)
	if s, page := stated(t, n); len(s.Spent) != 1 || !s.Spent[0].Retired || s.Spent[0].Spent != 1 || !strings.Contains(page, "retired by a restore, counts as all") {
		t.Errorf("retired: %+v", s)
	}
	require.NoError(t, n.ledger.Contradict(1<<60))
	if s, err := n.Statement(t.Context()); !errors.Is(err, storage.ErrRolledBack) {
		t.Errorf("an old copy states %+v, %v", s, err)
	}
}

// Without a guarantee it claims none.
func TestStatementWithoutGuarantee(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), nil, func(c *datadir.Config) { c.Unprotected = datadir.Consent })
	if s, page := stated(t, n); s.Guarantee != nil || s.Audiences[0].Epsilon != nil || !strings.Contains(page, "**Nothing.**") {
		t.Errorf("it states %+v", s)
	}
}

// Peers are promised something by name only where what is sent goes to them alone, over
// encrypted streams, or where they would have to work together to read it.
func TestStatementNamesPeers(t *testing.T) {
	t.Parallel()
	keys := make([]string, 4)
	for i := range keys {
		keys[i] = filepath.Join(t.TempDir(), "key")
	}
	polar := polarTask(t, keys[:3])
	polar.Polar.Private = true
	for _, c := range []struct {
		task      *learner.Task
		named     int
		colluding int
		way       string
	}{
		{polar, 3, 0, "an encrypted stream to each"},
		{committeeTask(t, []string{keys[0] + "1", keys[1] + "1", keys[2] + "1", keys[3] + "1"}), 4, 1, "keys sealed to the members"},
	} {
		s, _ := stated(t, testNode(t, c.task, nil, nil))
		if len(s.Audiences) != 2 {
			t.Fatalf("%s: the audiences are %+v", c.task.Learner, s.Audiences)
		}
		few, all := s.Audiences[0], s.Audiences[1]
		if len(few.Peers) != c.named || few.Colluding != c.colluding || !strings.Contains(few.Way, c.way) || few.Epsilon == nil || *few.Epsilon != s.Guarantee.Epsilon || len(all.Peers) != 0 {
			t.Errorf("%s: the audiences are %+v", c.task.Learner, s.Audiences)
		}
	}
}
