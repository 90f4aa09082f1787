package node

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"gonum.org/v1/gonum/floats"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// lineTask is a small regression task whose agents wake often.
func lineTask() *learner.Task {
	return &learner.Task{
		Name: "line", Learner: "personal", Loss: "squared",
		Features: []learner.Feature{
			{Name: "a", Kind: "number", Min: -1, Max: 1},
			{Name: "b", Kind: "number", Min: -1, Max: 1},
		},
		Constant: 1,
		Target:   learner.Target{Name: "y", Min: -3, Max: 3},
		Mu:       1, Lambda: 1, Clip: 1, ConfidenceAt: 20, Radius: 10, CohortSize: 1000,
		Graph: learner.Graph{Rule: "random", Degree: 10},
		Local: learner.Local{Eta: 1, EtaConstant: 1, Kappa: 1},
		Release: learner.Release{
			Epsilon: 1, Delta: 1e-6, Releases: 5, MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 1 << 16,
			WakeSeconds: 0.05, MinWake: 0.01,
		},
	}
}

// lineRecords draws m noisy points of a person's own line.
func lineRecords(random *rand.Rand, m int) []learner.Record {
	slope, offset := random.NormFloat64(), random.NormFloat64()/2
	out := make([]learner.Record, m)
	for i := range out {
		// Independent signs make Q well conditioned, so that tests end soon.
		a, b := 0.7*float64(2*random.IntN(2)-1), 0.7*float64(2*random.IntN(2)-1)
		y := slope*a - b + offset + 0.1*random.NormFloat64()
		out[i] = learner.Record{X: []float64{a, b, 1}, Y: min(max(y, -3), 3)} // the range of lineTask
	}
	return out
}

// testNode makes a node in a fresh directory, with records and on loopback.
func testNode(t testing.TB, task *learner.Task, records []learner.Record, change func(*datadir.Config)) *Node {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "node")
	c := datadir.DefaultConfig(task)
	c.Listen = []string{"/ip4/127.0.0.1/tcp/0"}
	c.MDNS = false
	if change != nil {
		change(&c)
	}
	if err := datadir.Init(dir, task, c); err != nil {
		t.Fatal(err)
	}
	n := openNode(t, dir)
	if len(records) > 0 {
		if err := n.Add(t.Context(), records); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func openNode(t testing.TB, dir string) *Node {
	t.Helper()
	n, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// start runs the node; stop ends it and waits.
func start(t *testing.T, n *Node) (stop func()) { return startWhich(t, n, nil) }

// startWhich runs a node that may also end by itself, with that error.
func startWhich(t *testing.T, n *Node, may error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	once := false
	stop = func() {
		if once {
			return
		}
		once = true
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, may) {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func status(t *testing.T, n *Node) api.Status {
	t.Helper()
	s, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// startNetwork starts count nodes, waits until each listens to all others, and
// only then gives them records: a model sent while two nodes are still setting
// up their streams can be lost.
func startNetwork(t *testing.T, count int, task *learner.Task, change func(*datadir.Config)) (nodes []*Node, stop func()) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	nodes, stop = startWithoutRecords(t, count, task, change)
	for _, n := range nodes {
		if err := n.Add(t.Context(), lineRecords(random, 15+random.IntN(20))); err != nil {
			t.Fatal(err)
		}
	}
	return nodes, stop
}

// startWithoutRecords is startNetwork before the records.
func startWithoutRecords(t *testing.T, count int, task *learner.Task, change func(*datadir.Config)) (nodes []*Node, stop func()) {
	t.Helper()
	nodes = make([]*Node, count)
	stops := make([]func(), count)
	var bootstrap []string
	for i := range nodes {
		nodes[i] = testNode(t, task, nil, func(c *datadir.Config) {
			c.Bootstrap = bootstrap
			change(c)
		})
		stops[i] = start(t, nodes[i])
		if i == 0 {
			require.Eventually(t, "the first node listens", func() bool { bootstrap = status(t, nodes[0]).Addrs; return len(bootstrap) > 0 })
		}
	}
	require.Eventually(t, "a complete graph", func() bool {
		return !slices.ContainsFunc(nodes, func(n *Node) bool { return status(t, n).Listening < count-1 })
	})
	return nodes, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// Without noise the nodes, over real libp2p, reach the minimiser of Q (Bellet
// et al. 2018, eq. 2) that is computed directly, to 1e-6 relative.
func TestNetworkReachesMinimiserOfQ(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	task := lineTask()
	task.Mu, task.Release.WakeSeconds = 5, 0.02 // with a smaller one, and longer pauses, it takes longer
	count := 6
	if testing.Short() {
		count = 4
	}
	nodes, stop := startNetwork(t, count, task, func(c *datadir.Config) { c.Unprotected, c.Releases = datadir.Consent, 0 })
	defer stop()
	weights := make([][]float64, count)
	stored := make([][]learner.Record, count)
	for i, n := range nodes {
		weights[i] = make([]float64, count)
		for j := range nodes {
			if i != j {
				weights[i][j] = 1
			}
		}
		stored[i], _ = storedRecords(t, n)
	}
	want, err := learner.MinimiseQ(task, stored, weights)
	if err != nil {
		t.Fatal(err)
	}
	worst := math.Inf(1)
	require.Eventually(t, "the minimiser of Q", func() bool {
		worst = 0
		for i, n := range nodes {
			state, err := n.state()
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, floats.Distance(state.Model, want[i], 2)/floats.Norm(want[i], 2))
		}
		return worst < 1e-6
	})
	t.Logf("largest relative distance to the minimiser: %.2g", worst)
}

// A private network spends each budget exactly, delivers everything, and goes
// silent; new records begin a new cohort with a budget of its own.
func TestBudgetIsSpentExactly(t *testing.T) {
	t.Parallel()
	task := lineTask()
	nodes, stop := startNetwork(t, 4, task, func(*datadir.Config) {})
	defer stop()
	done := func() bool {
		for _, n := range nodes {
			if !status(t, n).Done {
				return false
			}
		}
		return true
	}
	require.Eventually(t, "all budgets used", done)
	var published, expected, delivered uint64
	require.Eventually(t, "everything delivered", func() bool {
		published, expected, delivered = 0, 0, 0
		for _, n := range nodes {
			c := status(t, n).Traffic
			published, expected, delivered = published+c.Published, expected+c.Expected, delivered+c.Delivered
		}
		return published == 4*5 && delivered == expected
	})
	for _, n := range nodes {
		b, err := n.Budget(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Cohorts) != 1 || b.Cohorts[0].Releases != 5 || b.Cohorts[0].Left != 0 || b.Cohorts[0].Spent > 1 || b.Unbounded {
			t.Errorf("budget %+v, want one cohort with 5 of 5 releases", b)
		}
	}
	if err := nodes[0].Add(t.Context(), lineRecords(rand.New(rand.NewPCG(5, 6)), 35)); err != nil { // as many as before, and more
		t.Fatal(err)
	}
	require.Eventually(t, "the new cohort's budget used", func() bool { s := status(t, nodes[0]); return s.Done && s.Round == 10 })
	b, err := nodes[0].Budget(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Cohorts) != 2 || b.Cohorts[0].Releases != 5 || b.Cohorts[1].Releases != 5 {
		t.Errorf("cohorts %+v, want two with 5 releases each", b.Cohorts)
	}
}

// With nobody listening nothing is released: budget spent on an empty room is
// gone.
func TestAloneSpendsNothing(t *testing.T) {
	t.Parallel()
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(7, 8)), 20), nil)
	stop := start(t, n)
	require.Eventually(t, "running", func() bool { return status(t, n).Running })
	// A second node comes, learns, and leaves: after that the first is alone.
	other := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(9, 10)), 20), func(c *datadir.Config) {
		c.Bootstrap = status(t, n).Addrs
		c.Releases = 1
	})
	if s := status(t, n); s.Round != 0 || s.Privacy.Spent != 0 {
		t.Fatalf("round %d before anybody listened", s.Round)
	}
	leave := start(t, other)
	require.Eventually(t, "the first release", func() bool { return status(t, n).Round > 0 })
	leave()
	require.Eventually(t, "nobody listening", func() bool { return status(t, n).Listening == 0 })
	before := status(t, n).Round
	stop()
	if s := status(t, n); s.Round > before+1 { // one may have been under way
		t.Errorf("round %d, was %d when the last listener left", s.Round, before)
	}
}

// leaks are goroutines that libp2p keeps for the whole process.
func leaks() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreCurrent(),
		// One per process, counts bytes for every host.
		goleak.IgnoreTopFunction("github.com/libp2p/go-flow-metrics.(*sweeper).runActive"),
	}
}
