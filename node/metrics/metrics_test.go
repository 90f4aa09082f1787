package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"p2pnode/internal/committee"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// lineTask is a small regression task whose agents wake often, with few releases.
func lineTask() *learner.Task {
	return &learner.Task{
		Name: "line", Learner: "personal", Loss: "squared",
		Features: []learner.Feature{{Name: "a", Kind: "number", Min: -1, Max: 1}},
		Constant: 1,
		Target:   learner.Target{Name: "y", Min: -3, Max: 3},
		Mu:       1, Lambda: 1, Clip: 1, ConfidenceAt: 20, Radius: 10, CohortSize: 1000,
		Graph: learner.Graph{Rule: "random", Degree: 10},
		Local: learner.Local{Eta: 1, EtaConstant: 1, Kappa: 1},
		Release: learner.Release{
			Epsilon: 1, Delta: 1e-6, Releases: 3, MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 1 << 16,
			WakeSeconds: 0.05, MinWake: 0.01,
		},
	}
}

func records(n int) []learner.Record {
	random := rand.New(rand.NewPCG(1, 1))
	out := make([]learner.Record, n)
	for i := range out {
		x := 2*random.Float64() - 1
		out[i] = learner.Record{X: []float64{x, 1}, Y: x}
	}
	return out
}

// daemon is a running node and what Prometheus would ask.
type daemon struct {
	*node.Node
	address string
	scraper http.Handler
}

// start runs a node on loopback until the test ends.
func start(t testing.TB, files datadir.New, bootstrap ...string) *daemon {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "node")
	files.Config = datadir.DefaultConfig(files.Task)
	files.Config.Listen, files.Config.MDNS, files.Config.UPnP, files.Config.Bootstrap = []string{"/ip4/127.0.0.1/tcp/0"}, false, false, bootstrap
	require.NoError(t, datadir.Make(dir, files))
	n, err := node.Open(dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	d := &daemon{Node: n, scraper: Handler(n, true)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended, n.Close())
	})
	addrs, err := n.Addrs(t.Context())
	require.NoError(t, err)
	d.address = addrs[0]
	return d
}

// scrape returns what Prometheus gets.
func (d *daemon) scrape(t testing.TB) string {
	t.Helper()
	answer := httptest.NewRecorder()
	d.scraper.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// value returns a sample by its name and labels, as the text format writes them.
func value(t testing.TB, text, sample string) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, sample+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			require.NoError(t, err)
			return v
		}
	}
	t.Fatalf("there is no %s in\n%s", sample, text)
	return 0
}

// pair returns two nodes that have learned from each other until their budgets were used.
func pair(t testing.TB) (a, b *daemon) {
	t.Helper()
	a = start(t, datadir.New{Task: lineTask()})
	b = start(t, datadir.New{Task: lineTask()}, a.address)
	for _, d := range []*daemon{a, b} {
		require.NoError(t, d.Add(t.Context(), records(40)))
	}
	for _, d := range []*daemon{a, b} {
		require.Eventually(t, "both have used their budgets and heard each other", func() bool {
			s, err := d.Stats(t.Context())
			require.NoError(t, err)
			return s.Status.Done && s.Status.Heard == 1 && s.Refused > 0
		})
	}
	return a, b
}

// still returns what Prometheus and the owner get at a moment at which nothing is sent or
// heard: the last model may wait for its slot when the budget is used already.
func (d *daemon) still(t testing.TB) (text string, status api.Status) {
	t.Helper()
	require.Eventually(t, "nothing happens during a scrape", func() bool {
		before, err := d.Progress(t.Context())
		require.NoError(t, err)
		text = d.scrape(t)
		status, err = d.Progress(t.Context())
		require.NoError(t, err)
		return before.Traffic.Published == status.Traffic.Published && before.Traffic.Delivered == status.Traffic.Delivered
	})
	return text, status
}

// The numbers are those of nodes that learn, and are what the owner is told too.
func TestNumbersOfNodesThatLearn(t *testing.T) {
	a, _ := pair(t)
	_, err := a.Fitted(t.Context())
	require.NoError(t, err)
	require.Eventually(t, "the bytes are counted, which takes a second", func() bool {
		return value(t, a.scrape(t), `p2pnode_network_sent_bytes_total{protocol="/p2pnode/edge/1"}`) > 0
	})
	text, status := a.still(t)
	for sample, want := range map[string]float64{
		"p2pnode_running":                                            1,
		"p2pnode_learning_neighbours":                                1,
		"p2pnode_learning_neighbours_listening":                      1,
		"p2pnode_learning_neighbours_heard":                          1,
		`p2pnode_learning_records{kind="held_out"}`:                  float64(status.HeldOut),
		`p2pnode_learning_records{kind="training"}`:                  float64(status.Records - status.HeldOut),
		"p2pnode_learning_round":                                     float64(status.Round),
		"p2pnode_learning_fit_duration_seconds_count":                1,
		"p2pnode_learning_fit_failures_total":                        0,
		"p2pnode_privacy_epsilon":                                    1,
		"p2pnode_privacy_delta":                                      1e-6,
		"p2pnode_privacy_spent_ratio":                                status.Privacy.Spent,
		"p2pnode_privacy_releases_left":                              0,
		"p2pnode_privacy_releases_total":                             3,
		"p2pnode_privacy_exhausted":                                  1,
		"p2pnode_privacy_unprotected":                                0,
		"p2pnode_privacy_unprotected_releases_total":                 0,
		"p2pnode_gossip_messages_published_total":                    float64(status.Traffic.Published),
		"p2pnode_gossip_messages_delivered_total":                    float64(status.Traffic.Delivered),
		`p2pnode_gossip_messages_rejected_total{reason="malformed"}`: 0,
		"p2pnode_storage_failed":                                     0,
		`p2pnode_sums{state="open"}`:                                 0,
	} {
		if got := value(t, text, sample); got != want {
			t.Errorf("%s is %g, want %g", sample, got, want)
		}
	}
	for _, sample := range []string{
		"p2pnode_privacy_releases_refused_total", "p2pnode_learning_last_fit_timestamp_seconds", "p2pnode_storage_size_bytes",
		`p2pnode_storage_write_duration_seconds_count{file="anchor"}`, `p2pnode_storage_write_duration_seconds_sum{file="database"}`,
		"process_resident_memory_bytes", "go_goroutines",
	} {
		if got := value(t, text, sample); got <= 0 {
			t.Errorf("%s is %g, want more", sample, got)
		}
	}
	inbound := value(t, text, `p2pnode_network_connections{direction="inbound",relayed="false"}`)
	if outbound := value(t, text, `p2pnode_network_connections{direction="outbound",relayed="false"}`); inbound+outbound != float64(status.Connections) {
		t.Errorf("%g connections in and %g out, want %d", inbound, outbound, status.Connections)
	}
}

// A node that was paused and goes on has a new host, which libp2p counts with the same metrics.
func TestNumbersOfAPausedNode(t *testing.T) {
	d := start(t, datadir.New{Task: lineTask()})
	for _, paused := range []float64{1, 0} {
		if paused == 1 {
			require.NoError(t, d.Pause(t.Context(), ""))
		} else {
			require.NoError(t, d.Resume(t.Context(), ""))
		}
		require.Eventually(t, "it pauses, and goes on", func() bool {
			text := d.scrape(t)
			return value(t, text, "p2pnode_paused") == paused && value(t, text, "p2pnode_running") == 1-paused
		})
	}
}

// A task with private sums says how they get on.
func TestNumbersOfPrivateSums(t *testing.T) {
	task := committee.Task()
	address := committee.Start(t, task)
	d := start(t, datadir.New{Task: task, Catalogue: []byte(committee.Catalogue)}, address)
	require.Eventually(t, "a sum takes contributions", func() bool { return value(t, d.scrape(t), `p2pnode_sums{state="open"}`) == 1 })
	text := d.scrape(t)
	for sample, want := range map[string]float64{
		"p2pnode_sums_planned": 1000, "p2pnode_sums_committee_members": 4, `p2pnode_sums_contributions{part="listed"}`: 0,
	} {
		if got := value(t, text, sample); got != want {
			t.Errorf("%s is %g, want %g", sample, got, want)
		}
	}
}

// Names, help and units are as Prometheus wants them.
func TestNamesAreAsUsual(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(ours(start(t, datadir.New{Task: lineTask()}).scrape(t)))).Lint()
	require.NoError(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// ours leaves out the metrics of libraries.
func ours(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")[:8], "p2pnode_") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// Nothing that is said depends on what records hold, or on how well a model predicts them:
// two nodes that differ in that alone have the same samples, but for time and bytes.
func TestRecordsAreNotTold(t *testing.T) {
	var texts [2]string
	for i, target := range []float64{0, 3} {
		d := start(t, datadir.New{Task: lineTask()})
		list := records(40)
		for k := range list {
			list[k].Y = target
		}
		require.NoError(t, d.Add(t.Context(), list))
		_, err := d.Fitted(t.Context())
		require.NoError(t, err)
		for line := range strings.Lines(ours(d.scrape(t))) {
			if name, _, _ := strings.Cut(line, "{"); !strings.Contains(name, "seconds") && !strings.Contains(name, "bytes") && !strings.Contains(name, "info") {
				texts[i] += line
			}
		}
	}
	if texts[0] != texts[1] || len(texts[0]) < 1000 {
		t.Errorf("with other targets\n%s\nbecomes\n%s", texts[0], texts[1])
	}
}

// A node that cannot say how it gets on says so.
func TestAScrapeOfAClosedNodeFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, datadir.Init(dir, lineTask(), datadir.DefaultConfig(lineTask())))
	n, err := node.Open(dir, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	d := &daemon{Node: n, scraper: Handler(n, true)}
	if got := value(t, d.scrape(t), "p2pnode_running"); got != 0 {
		t.Errorf("a node at rest is running: %g", got)
	}
	require.NoError(t, n.Close())
	answer := httptest.NewRecorder()
	d.scraper.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusInternalServerError {
		t.Errorf("a closed node answers %d: %s", answer.Code, answer.Body)
	}
}

// What a scrape costs is what it costs to count, not to fit.
func BenchmarkScrape(b *testing.B) {
	for _, n := range []int{40, 20_000} {
		b.Run(fmt.Sprint(n, " records"), func(b *testing.B) {
			d := start(b, datadir.New{Task: lineTask()})
			require.NoError(b, d.Add(b.Context(), records(n)))
			for b.Loop() {
				d.scrape(b)
			}
		})
	}
}
