package summing_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/node/netedge"
	"p2pnode/node/summing"
	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/sums"
)

// person is a device of the crowd, or a member: a host with a node's own limits, a desk
// with a node's own times, a ledger on disk.
type person struct {
	host   host.Host
	meter  *netedge.Meter
	desk   *summing.Desk
	ledger *storage.Ledger
	dir    string
	stop   func()
}

// newPerson starts a host to which so many come at once, for a sum that is open for a while.
func newPerson(t testing.TB, key ed25519.PrivateKey, dir string, comers int, open time.Duration) *person {
	t.Helper()
	private, err := crypto.UnmarshalEd25519PrivateKey(key)
	require.NoError(t, err)
	c := datadir.Config{Listen: []string{"/ip4/127.0.0.1/tcp/0"}, DHT: "off"}
	around := netedge.NewSurroundings(&c)
	r, err := c.Reach(around.Announce, false)
	require.NoError(t, err)
	power := netedge.PowerOf(&c, 10).Serving(comers)
	p := &person{dir: dir, meter: netedge.NewMeter()}
	p.host, _, err = netedge.NewHost(private, r, around, power, datadir.Private{}, p.meter)
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	p.desk = summing.NewDesk(summing.Config{
		Identity: key, Results: filepath.Join(dir, "results"), Logger: log, Retry: open / 8, Rest: open / 8,
	})
	g, err := gossip.New(p.host, gossip.Config{
		Network: "net", Signer: gossip.NewSigner(private, "net"), Depth: 1, Logger: log, Pulse: power.Heartbeat,
		Rules:   learner.Rules{learner.KindModel: {Reals: 1, Radius: 1}},
		OnEdge:  func(context.Context, peer.ID, gossip.EdgeRequest) gossip.EdgeReply { return gossip.EdgeReply{} },
		Service: p.desk.Service(),
	})
	require.NoError(t, err)
	p.desk.Use(g)
	store, err := storage.Open(filepath.Join(dir, "node.db"))
	require.NoError(t, err)
	policy, err := privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: 1 << 16, Clip: 1, Releases: 4}.Policy()
	require.NoError(t, err)
	p.ledger, err = store.OpenLedger(policy)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = g.Run(ctx) })
	p.stop = func() {
		cancel()
		running.Wait()
		require.NoError(t, errors.Join(p.host.Close(), store.Close()))
	}
	return p
}

// times is when something had happened, seconds after the start of the first host.
type times struct {
	mu    sync.Mutex
	start time.Time
	list  map[string][]float64
}

func (w *times) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list[what] = append(w.list[what], time.Since(w.start).Seconds())
}

// processor is the time of the processor that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd has so many people make one private sum with a committee of four, and returns how
// long it took from the start of the first host to the last one that has the result.
func crowd(t *testing.T, people, dim int, open time.Duration) time.Duration {
	var keys []ed25519.PrivateKey
	terms := sums.Terms{
		Task: sums.Digest{1}, Recipe: "items", Epoch: 1, Committee: sums.Committee{Colluding: 1},
		Distance: 1.5, Std: 6.5, Dimension: dim, Contributors: 1000, Records: 3000,
	}
	for i := range 4 + people {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		require.NoError(t, err)
		keys = append(keys, key)
		if i < 4 {
			terms.Committee.Members = append(terms.Committee.Members, sums.Identity(key.Public().(ed25519.PublicKey)))
		}
	}
	s, err := sums.New(terms)
	require.NoError(t, err)
	spent := processor()
	w := times{start: time.Now(), list: make(map[string][]float64)}
	all := make([]*person, len(keys))
	var parts sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	var members sync.WaitGroup
	defer func() {
		cancel()
		members.Wait()
		for _, p := range all {
			parts.Go(p.stop)
		}
		parts.Wait()
	}()
	for i, key := range keys {
		comers := 0
		if i < 4 {
			comers = terms.Contributors
		}
		p := newPerson(t, key, t.TempDir(), comers, open)
		all[i] = p
		for _, m := range all[:min(i, 4)] {
			p.host.Peerstore().AddAddrs(m.host.ID(), m.host.Addrs(), time.Hour)
			m.host.Peerstore().AddAddrs(p.host.ID(), p.host.Addrs(), time.Hour)
		}
		w.note("host")
		if i < 4 {
			members.Go(func() {
				o := summing.Membership{Root: filepath.Join(p.dir, "committee"), Open: open, Later: time.Hour}
				if err := p.desk.Member(ctx, s, o); err != nil {
					t.Errorf("member %d: %v", i+1, err)
				}
			})
			continue
		}
		parts.Go(func() {
			o, err := p.desk.Contribute(ctx, s, summing.Contribution{
				Ledger: p.ledger, Cohorts: func() ([]privacy.Cohort, error) { return []privacy.Cohort{1}, nil },
				Vector: func([]privacy.Cohort) ([]float64, int, error) {
					w.note("paid")
					return make([]float64, dim), 10, nil
				},
			})
			if err != nil || !o.Listed || int(o.Result.Result.Entries) != people {
				t.Errorf("person %d: listed %v of %d: %v", i-3, o.Listed, o.Result.Result.Entries, err)
			}
			w.note("result")
		})
	}
	parts.Wait()
	took := time.Since(w.start)
	t.Logf("%d people, %d coordinates: %.1f s, processor %.1f s", people, dim, took.Seconds(), (processor() - spent).Seconds())
	for i, p := range all[:4] {
		in := float64(p.meter.Traffic.GetBandwidthTotals().TotalIn)/float64(people) - 8*float64(dim)
		t.Logf("member %d: 8d + %.1f kB in for each contributor, everything included", i+1, in/1000)
	}
	for _, what := range []string{"host", "paid", "result"} {
		slices.Sort(w.list[what])
		if n := len(w.list[what]); n > 0 {
			t.Logf("%-8s first %6.2f s, median %6.2f s, last %6.2f s, %d times", what, w.list[what][0], w.list[what][n/2], w.list[what][n-1], n)
		}
	}
	return took
}

// A crowd comes to its committee at once, over hosts with the limits of nodes. The night
// has P2PNODE_CROWD=610 people with the vectors of ml-latest-small, three times, of which
// the median holds the bar.
func TestCrowd(t *testing.T) {
	text, all := os.LookupEnv("P2PNODE_CROWD")
	if !all {
		if testing.Short() {
			t.Skip("runs nightly: a crowd")
		}
		crowd(t, 40, 2000, 20*time.Second) // on a busy machine starting forty hosts takes ten
		return
	}
	people, err := strconv.Atoi(text)
	require.NoError(t, err)
	var took []time.Duration
	for i := range 3 {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) { took = append(took, crowd(t, people, 19484, 13*time.Second)) })
	}
	slices.Sort(took)
	if bar := 25 * time.Second; len(took) > 0 && took[len(took)/2] > bar {
		t.Errorf("%d people had the result after %v, in the median of %d; the bar is %v", people, took[len(took)/2], len(took), bar)
	}
}
