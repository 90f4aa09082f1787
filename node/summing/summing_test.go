package summing

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/sums"
)

// device is a node with a host, a ledger and a desk.
type device struct {
	desk   *Desk
	host   host.Host
	ledger *storage.Ledger
	key    ed25519.PrivateKey
	root   string
	stop   func() // ends the network; may be called twice

	stopMember func()

	mu    sync.Mutex
	heard map[string]bool // acceptances that reached the member that runs, by peer and content
}

func newIdentity(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return key
}

// fast is a desk's times in tests: a member's journal, not its clock, decides.
func fast(key ed25519.PrivateKey, results string) Config {
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("SUMMING_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return Config{Identity: key, Results: results, Logger: log, Tick: 100 * time.Millisecond, Retry: 200 * time.Millisecond, Rest: time.Second, View: 10 * time.Second}
}

// newDevice starts a node on loopback; dir is where its database and its member live.
func newDevice(t testing.TB, key ed25519.PrivateKey, dir string) *device {
	t.Helper()
	d := new(device)
	require.NoError(t, d.begin(fast(key, filepath.Join(dir, "results")), dir, "/ip4/127.0.0.1/tcp/0", d.listening))
	t.Cleanup(d.stop)
	return d
}

// begin starts a node at an address; service is how its network reaches its desk.
func (d *device) begin(c Config, dir, listen string, service func() *gossip.Service) error {
	private, err := crypto.UnmarshalEd25519PrivateKey(c.Identity)
	if err != nil {
		return err
	}
	h, err := libp2p.New(
		libp2p.Identity(private), libp2p.ListenAddrStrings(listen), libp2p.Transport(tcp.NewTCPTransport),
		libp2p.ResourceManager(&network.NullResourceManager{}), libp2p.DisableRelay(), libp2p.DisableMetrics(), libp2p.DisableIdentifyAddressDiscovery(),
	)
	if err != nil {
		return err
	}
	d.desk, d.host, d.key, d.root = NewDesk(c), h, c.Identity, filepath.Join(dir, "sums")
	g, err := gossip.New(h, gossip.Config{
		Network: "net", Signer: gossip.NewSigner(private, "net"), Depth: 1, Logger: slog.New(slog.DiscardHandler),
		Rules:   learner.Rules{learner.KindModel: {Reals: 1, Radius: 1}},
		OnEdge:  func(context.Context, peer.ID, gossip.EdgeRequest) gossip.EdgeReply { return gossip.EdgeReply{} },
		Service: service(),
	})
	if err != nil {
		return err
	}
	d.desk.Use(g)
	store, ledger, err := openLedger(dir)
	if err != nil {
		return err
	}
	d.ledger = ledger
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = g.Run(ctx) })
	d.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := errors.Join(h.Close(), store.Close()); err != nil {
			panic(err)
		}
	})
	return nil
}

// openLedger opens a device's database.
func openLedger(dir string) (*storage.Store, *storage.Ledger, error) {
	store, err := storage.Open(filepath.Join(dir, "node.db"))
	if err != nil {
		return nil, nil, err
	}
	policy, err := privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: 1 << 16, Clip: 1, Releases: 4}.Policy()
	if err != nil {
		return nil, nil, err
	}
	ledger, err := store.OpenLedger(policy)
	return store, ledger, err
}

// listening is the desk's service; it notes which acceptances have reached it.
func (d *device) listening() *gossip.Service {
	service := d.desk.Service()
	answer := service.OnCall
	service.OnCall = func(ctx context.Context, from peer.ID, call []byte) ([]byte, bool) {
		kind, sum, body, ok := decodeCall(call)
		running := ok && d.desk.runs(sum) // else nobody takes it in
		reply, sound := answer(ctx, from, call)
		if running && sound && kind == callSay && sums.Kind(body[0]) == sums.KindAccept {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.heard[string(from)+string(body)] = true
		}
		return reply, sound
	}
	return service
}

// runs reports whether a member of the sum runs here.
func (d *Desk) runs(sum sums.Digest) bool {
	p := d.known(sum)
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.member != nil
}

// hears reports whether a member has heard all acceptances of another one.
func (d *device) hears(from *device, sum sums.Digest) bool {
	p := from.desk.known(sum)
	p.mu.Lock()
	defer p.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, message := range p.accepts {
		if !d.heard[string(from.host.ID())+string(message)] {
			return false
		}
	}
	return true
}

// knows lets a device dial others.
func (d *device) knows(others ...*device) {
	for _, o := range others {
		d.host.Peerstore().AddAddrs(o.host.ID(), o.host.Addrs(), time.Hour)
	}
}

// testSum is a sum of a committee of four, at (1, 1e-6).
func testSum(t testing.TB, dim int, members []ed25519.PrivateKey) *sums.Sum {
	t.Helper()
	terms := sums.Terms{
		Task: sums.Digest{1}, Recipe: "items", Epoch: 1, Committee: sums.Committee{Colluding: 1},
		Distance: 1.5, Std: 6.5, Dimension: dim, Contributors: 100, Records: 100,
	}
	for _, k := range members {
		terms.Committee.Members = append(terms.Committee.Members, sums.Identity(k.Public().(ed25519.PublicKey)))
	}
	s, err := sums.New(terms)
	require.NoError(t, err)
	return s
}

// vectorOf is what a device adds.
func vectorOf(device, dim int) []float64 {
	v := make([]float64, dim)
	for j := range v {
		v[j] = math.Sin(float64(device+1) * float64(j+1))
	}
	return v
}

// exact adds up integers, for what the members report of their noise and the devices of
// what they quantised.
type exact struct {
	mu    sync.Mutex
	total []int64
	parts int
}

func (e *exact) add(v []int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.total == nil {
		e.total = make([]int64, len(v))
	}
	for j := range v {
		e.total[j] += v[j]
	}
	e.parts++
}

// check compares a result with the integers: rounded to float32, equal.
func (e *exact) check(t testing.TB, s *sums.Sum, r *sums.Result) {
	t.Helper()
	for j := range e.total {
		if want := float32(float64(e.total[j]) * s.Mechanism.Unit()); r.Values[j] != want {
			t.Fatalf("coordinate %d is %v, and what was added up is %v", j, r.Values[j], want)
		}
	}
}

// committee starts four members that know each other.
func committee(t testing.TB) (members []*device, keys []ed25519.PrivateKey) {
	t.Helper()
	for range 4 {
		keys = append(keys, newIdentity(t))
		members = append(members, newDevice(t, keys[len(keys)-1], t.TempDir()))
	}
	for _, m := range members {
		m.knows(members...)
	}
	return members, keys
}

// trial is a committee that runs one sum.
type trial struct {
	t       *testing.T
	sum     *sums.Sum
	members []*device
	truth   exact
	opens   time.Time // for the members that start from now on
	running sync.WaitGroup
}

// newTrial starts the members. The sum closes when [trial.close] says so.
func newTrial(t *testing.T, dim int) *trial {
	t.Helper()
	members, keys := committee(t)
	r := &trial{t: t, sum: testSum(t, dim, keys), members: members}
	for _, m := range members {
		r.start(m)
	}
	t.Cleanup(r.running.Wait)
	return r
}

// start runs a member until its device stops, or what it returns is called.
func (r *trial) start(m *device) (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan struct{})
	m.mu.Lock()
	m.heard = make(map[string]bool) // what had not been journaled is lost
	m.mu.Unlock()
	opens := r.opens
	r.running.Go(func() {
		defer close(ended)
		err := m.desk.Member(ctx, r.sum, Membership{Root: m.root, Opens: opens, Open: time.Hour, Later: time.Hour, Noise: r.truth.add})
		if err != nil {
			r.t.Errorf("member: %v", err)
		}
	})
	m.stopMember = func() { cancel(); <-ended }
	return m.stopMember
}

// device starts a device that knows the committee.
func (r *trial) device(key ed25519.PrivateKey) *device {
	d := newDevice(r.t, key, r.t.TempDir())
	d.knows(r.members...)
	return d
}

// contribute runs a device until it has the result.
func (r *trial) contribute(ctx context.Context, d *device, i int) (Outcome, error) {
	return d.desk.Contribute(ctx, r.sum, Contribution{
		Ledger: d.ledger, Cohorts: func() ([]privacy.Cohort, error) { return []privacy.Cohort{1}, nil },
		Vector: func([]privacy.Cohort) ([]float64, int, error) {
			return vectorOf(i, r.sum.Dimension), 10, nil
		},
	})
}

// await gets the result for a device without records.
func (r *trial) await(d *device) (Outcome, error) {
	return d.desk.Contribute(r.t.Context(), r.sum, Contribution{
		Ledger: d.ledger, Cohorts: func() ([]privacy.Cohort, error) { return nil, nil },
	})
}

// held is how many contributions a member holds; -1 while it does not run.
func (r *trial) held(m *device) int {
	p := m.desk.known(r.sum.ID)
	if p == nil {
		return -1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.member == nil {
		return -1
	}
	return len(p.accepts)
}

// close closes the sum once every member holds so many contributions.
func (r *trial) close(contributions int) {
	r.t.Helper()
	require.Eventually(r.t, "all members hold all contributions, and know that the others do", func() bool {
		for _, m := range r.members {
			if r.held(m) < contributions {
				return false
			}
			for _, other := range r.members {
				if other != m && !m.hears(other, r.sum.ID) {
					return false
				}
			}
		}
		return true
	})
	for _, m := range r.members {
		p := m.desk.known(r.sum.ID)
		p.mu.Lock()
		m := p.member
		p.mu.Unlock()
		m.inbox <- sums.Closing{}
	}
}

// check compares a result with the noise that the members have reported and what all
// devices quantised.
func (r *trial) check(outcomes []Outcome) {
	r.t.Helper()
	if r.truth.parts != len(r.members) {
		r.t.Errorf("noise was drawn %d times", r.truth.parts)
	}
	for i := range outcomes {
		r.truth.add(r.sum.Mechanism.Units(vectorOf(i, r.sum.Dimension), r.sum.Limit))
	}
	for i, o := range outcomes {
		if o.Result == nil || !o.Paid || !o.Listed || int(o.Result.Result.Entries) != len(outcomes) || int(o.Result.Result.Records) != 10*len(outcomes) {
			r.t.Fatalf("device %d: %+v", i, o)
		}
		r.truth.check(r.t, r.sum, o.Result.Result)
	}
}

// files lists what a member keeps.
func (d *device) files() (names []string) {
	_ = filepath.WalkDir(d.root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, e.Name())
		}
		return nil
	})
	return names
}

// A device pays for no sum while records are added, and none are added while it pays: from before
// it asks which cohorts may until their records are in what it sends.
func TestNobodyAddsRecordsWhileADevicePays(t *testing.T) {
	r := newTrial(t, 3)
	d := r.device(newIdentity(t))
	var adding sync.Mutex
	var importing atomic.Bool
	alone := func(at string) {
		if importing.Load() || adding.TryLock() {
			t.Errorf("when it asks for the %s, records can be added", at)
		}
	}
	importing.Store(true)
	adding.Lock()
	outcomes := make([]Outcome, 1)
	var contributing sync.WaitGroup
	contributing.Go(func() {
		var err error
		outcomes[0], err = d.desk.Contribute(t.Context(), r.sum, Contribution{
			Ledger: d.ledger, Adding: &adding,
			Cohorts: func() ([]privacy.Cohort, error) {
				alone("cohorts")
				return []privacy.Cohort{1}, nil
			},
			Vector: func([]privacy.Cohort) ([]float64, int, error) {
				alone("vector")
				return vectorOf(0, r.sum.Dimension), 10, nil
			},
		})
		if err != nil {
			t.Error(err)
		}
	})
	require.Eventually(t, "the device knows that the sum is open", func() bool { return !d.desk.State(r.sum.ID).Closes.IsZero() })
	importing.Store(false)
	adding.Unlock()
	r.close(1)
	contributing.Wait()
	r.check(outcomes)
	if !adding.TryLock() {
		t.Error("no records can be added afterwards")
	}
}

// Twenty devices and four members make one private sum over libp2p. The integers that are
// opened are what the devices quantised and the noise of all members, exactly.
func TestPrivateSumOverTheNetwork(t *testing.T) {
	devices := 20
	if testing.Short() { // the race detector's pass
		devices = 5
	}
	r := newTrial(t, 9000) // an upload, and a class's sum, are too long for a call
	outcomes := make([]Outcome, devices)
	var contributing sync.WaitGroup
	for i := range devices {
		d := r.device(newIdentity(t))
		contributing.Go(func() {
			var err error
			if outcomes[i], err = r.contribute(t.Context(), d, i); err != nil {
				t.Errorf("device %d: %v", i, err)
			}
			if spent := d.ledger.Spending(); len(spent) != 1 || spent[0].Sums != 1 {
				t.Errorf("device %d has paid %+v", i, spent)
			}
		})
	}
	r.close(devices)
	contributing.Wait()
	r.check(outcomes)

	// A newcomer gets the result, and pays nothing.
	late := r.device(newIdentity(t))
	o, err := r.await(late)
	if err != nil || len(late.ledger.Spending()) != 0 || len(o.List.Entries) != devices || o.Listed {
		t.Fatalf("a newcomer: %v", err)
	}
	r.truth.check(t, r.sum, o.Result.Result)

	// Members end, once nobody needs them. No keys, journals or uploads are left, and
	// members that start again serve the result.
	for i, m := range r.members {
		require.Eventually(t, fmt.Sprintf("member %d has erased", i), func() bool { return fmt.Sprint(m.files()) == "[list over result]" })
		require.Eventually(t, fmt.Sprintf("member %d ends", i), func() bool { return r.held(m) == -1 })
		m.stopMember()
		m.desk.mu.Lock()
		clear(m.desk.parts) // as after a restart
		m.desk.mu.Unlock()
		r.start(m)
	}
	if o, err = r.await(r.device(newIdentity(t))); err != nil {
		t.Fatalf("after a restart: %v", err)
	}
	r.truth.check(t, r.sum, o.Result.Result)

	// A device that has the result needs nobody any more, and damage is taken for nothing.
	late.stop()
	if kept, err := Kept(late.desk.config.Results, r.sum, late.desk.self, late.ledger); err != nil || kept == nil || kept.Result.Result.Entries != uint32(devices) {
		t.Errorf("what a device keeps: %+v, %v", kept, err)
	}
	file := filepath.Join(late.desk.config.Results, ResultFile(r.sum.ID))
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.WriteFile(file, content, 0o600))
	if kept, err := Kept(late.desk.config.Results, r.sum, late.desk.self, late.ledger); err != nil || kept != nil {
		t.Errorf("damage is kept: %+v, %v", kept, err)
	}
}

// What a device keeps in files it does not keep in memory, too, and serves it to newcomers, also
// after a restart: nodes run for years, and there are sums all the time.
func TestResultsAreServedFromFiles(t *testing.T) {
	r := newTrial(t, 3)
	d := r.device(newIdentity(t))
	var contributing sync.WaitGroup
	contributing.Go(func() {
		if _, err := r.contribute(t.Context(), d, 0); err != nil {
			t.Errorf("the device: %v", err)
		}
	})
	r.close(1)
	contributing.Wait()
	light := func(when string, d *device) {
		p := d.desk.known(r.sum.ID)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.blobs) > 0 || p.published != nil {
			t.Errorf("%s, %d blobs are in memory, and the result is: %v", when, len(p.blobs), p.published != nil)
		}
	}
	light("after a sum", d)
	for _, m := range r.members { // each is a device, too
		_, err := r.await(m)
		require.NoError(t, err)
		require.Eventually(t, "the member ends", func() bool { return r.held(m) == -1 })
		light("after a sum with a member", m)
		m.desk.mu.Lock()
		clear(m.desk.parts) // as after a restart
		m.desk.mu.Unlock()
		o, err := m.desk.Serve(r.sum, m.ledger)
		require.NoError(t, err)
		if o == nil || o.Closes() != m.desk.State(r.sum.ID).Closes || m.desk.resultOf(r.sum.ID).Result.Digest() != o.Result.Result.Digest() {
			t.Errorf("after a restart it serves %+v", o)
		}
		light("after a restart", m)
	}
	o, err := r.await(r.device(newIdentity(t)))
	require.NoError(t, err)
	if o.Result.Result.Digest() != d.desk.resultOf(r.sum.ID).Result.Digest() {
		t.Error("a newcomer has another result")
	}
}

// A sum whose members are lost, or late, ends without a result once as many as cannot all
// lie say so. Who paid and who did not learn it, also later and after a restart.
func TestDeadSum(t *testing.T) {
	r := newTrial(t, 3)
	d := r.device(newIdentity(t))
	var contributing sync.WaitGroup
	learned := make(chan struct{})
	contributing.Go(func() {
		defer close(learned)
		if o, err := r.contribute(t.Context(), d, 0); err != nil || o.Result != nil || !o.Paid {
			t.Errorf("who paid: %+v, %v", o, err)
		}
	})
	require.Eventually(t, "the device has paid", func() bool { return len(d.ledger.Spending()) == 1 })
	for _, m := range r.members[2:] {
		m.stopMember()
	}
	for _, m := range r.members[:2] {
		p := m.desk.known(r.sum.ID)
		p.mu.Lock()
		m := p.member
		p.mu.Unlock()
		m.inbox <- sums.Deadline{}
	}
	require.Eventually(t, "who paid learns it", func() bool {
		d.desk.Refresh() // if three hold what it sent, it looks again in an hour, when the sum was to close
		select {
		case <-learned:
			return true
		default:
			return false
		}
	})
	contributing.Wait()
	if n := len(d.desk.known(r.sum.ID).blobs); n != 0 {
		t.Errorf("who paid serves %d blobs for a dead sum", n)
	}
	for i, m := range r.members[:2] {
		require.Eventually(t, fmt.Sprintf("member %d has erased", i), func() bool { return fmt.Sprint(m.files()) == "[over]" })
		m.stopMember()
		m.desk.mu.Lock()
		clear(m.desk.parts) // as after a restart
		m.desk.mu.Unlock()
		r.start(m)
	}
	late := r.device(newIdentity(t))
	if o, err := r.await(late); err != nil || o.Result != nil || o.Paid {
		t.Errorf("a newcomer: %+v, %v", o, err)
	}
	for _, device := range []*device{d, late} {
		device.stop()
		o, err := Kept(device.desk.config.Results, r.sum, device.desk.self, nil)
		if err != nil || o == nil || o.Result != nil {
			t.Errorf("what a device keeps: %+v, %v", o, err)
		}
	}
}

// A member whose keys are erased looks for the result only until so many say that the sum is dead
// that one of them is honest.
func TestMemberAsksForNoResultOfADeadSum(t *testing.T) {
	m := newDevice(t, newIdentity(t), t.TempDir())
	keys := []ed25519.PrivateKey{m.key}
	for range 3 {
		other, _ := liar(t, func(callKind) []byte { return (&news{dead: true}).bytes() })
		m.knows(other)
		keys = append(keys, other.key)
	}
	s := testSum(t, 3, keys)
	dir, err := openDirectory(m.root, s.ID)
	require.NoError(t, err, dir.erase(true))
	ended := make(chan error, 1)
	go func() {
		ended <- m.desk.Member(t.Context(), s, Membership{Root: m.root, Open: time.Hour, Later: time.Hour})
	}()
	if o, err := m.desk.Contribute(t.Context(), s, Contribution{}); err != nil || o.Result != nil {
		t.Errorf("its own device hears %+v, %v", o, err)
	}
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Error("it goes on asking for the result")
	}
}

// A device whose clock is behind takes a sum for open that was closed long ago. The committee
// says otherwise, and it pays for nothing; a single member that lies is not believed.
func TestAWrongClockPaysForNothing(t *testing.T) {
	r := newTrial(t, 3) // it closes in an hour, by the clocks of all
	var contributing sync.WaitGroup
	outcomes := make([]Outcome, 2)
	for i := range outcomes {
		d := r.device(newIdentity(t))
		contributing.Go(func() {
			var err error
			if outcomes[i], err = r.contribute(t.Context(), d, i); err != nil {
				t.Errorf("device %d: %v", i, err)
			}
		})
	}
	r.close(len(outcomes))
	contributing.Wait()
	r.check(outcomes)
	late := r.device(newIdentity(t))
	o, err := r.contribute(t.Context(), late, 2)
	if err != nil || o.Result == nil || o.Paid || o.Listed || len(late.ledger.Spending()) != 0 {
		t.Errorf("who comes too late: %+v, %v; spent %v", o, err, late.ledger.Spending())
	}
	for members, pays := range map[int]bool{r.sum.Committee.Colluding: true, r.sum.Committee.Colluding + 1: false} {
		k := &contributor{desk: late.desk, sum: r.sum, decided: make(map[peer.ID]bool), open: &sums.Opening{Closes: time.Now().Add(time.Hour).Unix()}}
		for i := range members {
			k.decided[peer.ID(fmt.Sprint(i))] = true
		}
		if k.open = k.payable(); (k.open != nil) != pays {
			t.Errorf("%d members say that the list is decided: it pays: %v", members, !pays)
		}
	}
}

// Who waits for a sum looks again when the network has changed.
func TestRefresh(t *testing.T) {
	r := newTrial(t, 3)
	desk := NewDesk(fast(newIdentity(t), t.TempDir()))
	p, err := desk.part(r.sum)
	require.NoError(t, err)
	desk.Refresh()
	if !wait(t.Context(), time.Hour, p.changed) {
		t.Error("it waits on")
	}
}

// One member that tells news without end makes nobody ask without end. The others are heard,
// and so is what it tells last.
func TestNewsWithoutEnd(t *testing.T) {
	var keys []ed25519.PrivateKey
	for range 4 {
		keys = append(keys, newIdentity(t))
	}
	s := testSum(t, 3, keys)
	synctest.Test(t, func(t *testing.T) {
		desk := NewDesk(Config{Identity: newIdentity(t), Logger: slog.New(slog.DiscardHandler)})
		p, err := desk.part(s)
		require.NoError(t, err)
		tell := func(author peer.ID, passed bool) {
			t.Helper()
			if desk.onNews(author, s.ID[:]) != passed {
				t.Errorf("news are passed on: %v", !passed)
			}
		}
		wakes := func(want bool) {
			t.Helper()
			synctest.Wait()
			if woken := len(p.changed) > 0; woken != want {
				t.Errorf("those who wait look again: %v", woken)
			}
			for len(p.changed) > 0 {
				<-p.changed
			}
		}
		tell(p.peers[0], true)
		wakes(true)
		for i := range 100 {
			tell(p.peers[0], i == 0)
		}
		wakes(false)
		tell(p.peers[1], true) // another member
		wakes(true)
		time.Sleep(desk.config.Retry)
		wakes(true) // for what came too soon
		tell(p.peers[1], true)
		wakes(true)
		for i := range 100 {
			tell(p.peers[0], i == 0)
		}
		wakes(false)
		time.Sleep(2 * desk.config.Retry)
		wakes(true)
		tell(p.peers[0], true)
		wakes(true)
	})
}

// Members that are stopped go on from their journals, devices from their ledgers: noise is
// drawn once, each device pays once, and the sum is exact.
func TestPrivateSumGoesOnAfterStops(t *testing.T) {
	r := newTrial(t, 50)
	first := r.device(newIdentity(t))
	ctx, cancel := context.WithCancel(t.Context())
	var contributing sync.WaitGroup
	contributing.Go(func() {
		if _, err := r.contribute(ctx, first, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped: %v", err)
		}
	})
	require.Eventually(t, "the first device has paid", func() bool { return len(first.ledger.Contributions()) == 1 })
	cancel()
	contributing.Wait()
	for _, m := range r.members {
		m.stopMember()
		r.start(m)
	}
	outcomes := make([]Outcome, 3)
	for i, d := range []*device{first, r.device(newIdentity(t)), r.device(newIdentity(t))} {
		contributing.Go(func() {
			var err error
			if outcomes[i], err = r.contribute(t.Context(), d, i); err != nil {
				t.Errorf("device %d: %v", i, err)
			}
		})
	}
	r.close(len(outcomes))
	r.members[2].stopMember()
	r.start(r.members[2])
	contributing.Wait()
	r.check(outcomes)

	// A device keeps its contribution's entry only. By that it knows it when it has lost the
	// result, and gets it again.
	upload, err := first.ledger.Upload(storage.SumID(r.sum.ID))
	if err != nil || len(upload) != r.sum.EntrySize() {
		t.Errorf("%d bytes of a contribution are kept, %v", len(upload), err)
	}
	require.NoError(t, os.RemoveAll(first.desk.config.Results))
	first.desk.mu.Lock()
	clear(first.desk.parts) // as after a restart
	first.desk.mu.Unlock()
	if o, err := r.contribute(t.Context(), first, 0); err != nil || !o.Paid || !o.Listed {
		t.Errorf("again: %+v, %v", o, err)
	}

	// A copy of a device, whose ledger knows nothing of this, finds itself in the list.
	first.stop()
	copied := r.device(first.key)
	if _, err := r.contribute(t.Context(), copied, 0); !errors.Is(err, storage.ErrRolledBack) {
		t.Errorf("a copy of a device: %v", err)
	}
	if copied.ledger.Contradicted() == 0 {
		t.Error("it is not written down")
	}
}

// A contribution is sent at a time that says little of how long it took to make.
func TestSlotOfAContribution(t *testing.T) {
	began := time.Unix(1000, 0)
	for took, want := range map[time.Duration]time.Duration{
		0: 1, time.Millisecond: 1, 999 * time.Millisecond: 1, time.Second: 1,
		1001 * time.Millisecond: 2, 3 * time.Second: 4, 100 * time.Second: 128,
	} {
		if at := slotAfter(began, began.Add(took), time.Second).Sub(began); at != want*time.Second {
			t.Errorf("what took %v is sent after %v, not after %d s", took, at, want)
		}
	}
}

// A member that comes back says so to its machine, and notes it: it asks what it signed
// before it signs anything. That it was stopped is not the end of the sum.
func TestRestartedMemberAsks(t *testing.T) {
	r := newTrial(t, 10)
	m := r.members[1]
	require.Eventually(t, "the sum is open", func() bool { return r.held(m) >= 0 && m.desk.opening(r.sum.ID) != nil })
	for life := range 24 {
		m.stopMember()
		d, err := openDirectory(m.root, r.sum.ID)
		require.NoError(t, err)
		restarts := 0
		_, err = d.replay(func(in sums.Input) error {
			switch in.(type) {
			case sums.Restarted:
				restarts++
			case sums.Closing:
				t.Error("a member that was stopped takes the sum for closed")
			}
			return nil
		})
		require.NoError(t, err, d.journal.Close())
		if restarts != life {
			t.Errorf("the journal of life %d has %d restarts", life+1, restarts)
		}
		r.start(m)
		require.Eventually(t, "it runs again", func() bool { return r.held(m) >= 0 })
	}
}

// A member whose keys were erased by a restore is silent, and the sum does not open.
func TestForgottenMemberIsSilent(t *testing.T) {
	r := newTrial(t, 10)
	m := r.members[1]
	require.Eventually(t, "the sum is open", func() bool { return r.held(m) >= 0 && m.desk.opening(r.sum.ID) != nil })
	m.stopMember()
	require.NoError(t, Forget(m.root))
	if names := m.files(); len(names) != 0 {
		t.Fatalf("%v are left", names)
	}
	r.start(m)
	require.Eventually(t, "its peers tell it", func() bool {
		duty := m.desk.State(r.sum.ID).Duty
		return duty != nil && duty.Silent
	})
}

// opening is the certified opening of a sum, as bytes.
func (d *Desk) opening(sum sums.Digest) []byte {
	p := d.known(sum)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.opening
}

// Calls of every length and kind that no honest node makes strike the caller; nothing
// ends the node.
func TestGarbageIsUnsound(t *testing.T) {
	r := newTrial(t, 10)
	m := r.members[0]
	require.Eventually(t, "the member runs", func() bool { return r.held(m) >= 0 })
	stranger, member := peer.ID("stranger"), r.members[1].host.ID()
	for n := range 3 * digestSize {
		for kind := range 8 {
			call := encodeCall(callKind(kind), r.sum.ID, make([]byte, n))
			for _, from := range []peer.ID{stranger, member} {
				_, sound := m.desk.onCall(t.Context(), from, call)
				ask := callKind(kind) == callAsk && (n == 0 || n == digestSize)
				if want := ask || callKind(kind) == callUpload && n == digestSize; sound != want {
					t.Fatalf("kind %d with %d bytes from %s: sound is %v", kind, n, from, sound)
				}
			}
		}
		if n < callHeader {
			if _, sound := m.desk.onCall(t.Context(), stranger, make([]byte, n)); sound {
				t.Errorf("a call of %d bytes is sound", n)
			}
		}
	}
	if m.desk.onNews(stranger, r.sum.ID[:]) || !m.desk.onNews(member, r.sum.ID[:]) || m.desk.onNews(member, nil) {
		t.Error("news of a stranger, or about nothing, is passed on")
	}
}

func FuzzDecodeNews(f *testing.F) {
	f.Add((&news{}).bytes())
	f.Add((&news{dead: true}).bytes())
	f.Add((&news{opening: []byte("opening"), accept: []byte("a"), decision: referenceOf([]byte("list")), result: referenceOf([]byte("r"))}).bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := decodeNews(b); err == nil && !bytes.Equal(n.bytes(), b) {
			t.Fatalf("%x decodes to %+v and not back", b, n)
		}
	})
}

// A journal whose last frame is torn goes on before it; damage in the middle is an error.
func TestJournal(t *testing.T) {
	root := t.TempDir()
	d, err := openDirectory(root, sums.Digest{1})
	require.NoError(t, err)
	inputs := []sums.Input{sums.Closing{}, sums.Timeout{View: 3}, sums.Tick{}}
	read := func() (got []sums.Input, err error) {
		_, err = d.replay(func(in sums.Input) error {
			got = append(got, in)
			return nil
		})
		return got, err
	}
	_, err = read()
	require.NoError(t, err)
	for _, in := range inputs {
		require.NoError(t, d.append(in))
	}
	require.NoError(t, d.sync(), d.journal.Close())
	whole, err := os.ReadFile(d.name(journalName))
	require.NoError(t, err)
	last := len(whole) - len(frame(sums.EncodeInput(sums.Tick{})))
	for cut := last; cut <= len(whole); cut++ {
		require.NoError(t, os.WriteFile(d.name(journalName), whole[:cut], 0o600))
		got, err := read()
		if want := 2 + cut/len(whole); err != nil || len(got) != want {
			t.Errorf("cut to %d of %d bytes: %d inputs, %v", cut, len(whole), len(got), err)
		}
		require.NoError(t, d.append(sums.Closing{}), d.journal.Close())
		if got, err = read(); err != nil || len(got) != 3+cut/len(whole) {
			t.Errorf("continued after a cut to %d bytes: %d inputs, %v", cut, len(got), err)
		}
		require.NoError(t, d.journal.Close())
	}
	for bit := range 8 * last { // whatever it damages, its content or its length
		spoilt := bytes.Clone(whole)
		spoilt[bit/8] ^= 1 << (bit % 8)
		require.NoError(t, os.WriteFile(d.name(journalName), spoilt, 0o600))
		if got, err := read(); err == nil {
			t.Errorf("a journal whose bit %d is damaged was replayed, %d inputs", bit, len(got))
		}
		require.NoError(t, d.journal.Close())
	}
}

// The end of a journal is torn, in a long message that looks as if long frames began everywhere
// in it. That is noticed at once. A long frame that is whole and the last one shows damage.
func TestTornJournalIsReadAtOnce(t *testing.T) {
	torn := bytes.Repeat([]byte{0x00, 0x10, 0xff, 0xff}, 1<<20) // the first two bytes are a megabyte
	binary.BigEndian.PutUint32(torn, 1<<30)
	if _, _, err := firstInput(torn); !errors.Is(err, errTorn) {
		t.Errorf("the end is torn: %v", err)
	}
	made := bytes.Repeat([]byte{0x00, 0x00, 0xff}, 1<<20) // at each third place, a frame of 65 KB begins
	made[0] = 0x40
	if _, _, err := firstInput(made); !errors.Is(err, errFrame) {
		t.Errorf("what was made to be looked at for long: %v", err)
	}
	last := frame(sums.EncodeInput(sums.Heard{Message: make([]byte, 2*shortFrame)}))
	if _, _, err := firstInput(append(torn, last...)); !errors.Is(err, errFrame) {
		t.Errorf("a length is damaged: %v", err)
	}
}

// An upload that has come while the machine has too much to do waits for it: one that the
// machine never heard of would stay on disk, and nobody would drop it.
func TestUploadsWaitForTheMachine(t *testing.T) {
	d, err := openDirectory(t.TempDir(), sums.Digest{1})
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		m := &member{dir: d, ctx: t.Context(), inbox: make(chan sums.Input, 1), coming: make(map[sums.Digest]bool)}
		m.post(sums.Tick{})
		go m.arrived(sums.Digest{2}, []byte("upload"), sums.Arrived{Entry: []byte("entry")})
		synctest.Wait()
		<-m.inbox
		synctest.Wait()
		select {
		case in := <-m.inbox:
			if a, ok := in.(sums.Arrived); !ok || string(a.Entry) != "entry" {
				t.Errorf("the machine hears %+v", in)
			}
		default:
			t.Error("the machine never hears of the upload")
		}
	})
}

// An upload that comes from two peers at once, and that the machine accepts only at the second
// time it hears of it, because others have accepted it meanwhile, is on disk when it is held.
func TestUploadThatComesTwiceIsKept(t *testing.T) {
	s := testSum(t, 3, []ed25519.PrivateKey{newIdentity(t), newIdentity(t), newIdentity(t), newIdentity(t)})
	p, err := NewDesk(fast(newIdentity(t), "")).part(s)
	require.NoError(t, err)
	d, err := openDirectory(t.TempDir(), s.ID)
	require.NoError(t, err)
	m := &member{part: p, dir: d, ctx: t.Context(), inbox: make(chan sums.Input, 2), coming: make(map[sums.Digest]bool), held: make(map[sums.Digest]bool)}
	entry := make([]byte, s.EntrySize())
	name := s.NameOf(entry)
	arrive := func() { m.arrived(name, []byte("upload"), sums.Arrived{Entry: entry}) }
	arrive()
	arrive()
	for verdict := errors.New("one too many"); len(m.inbox) > 0; verdict = nil {
		m.taken(<-m.inbox, verdict)
	}
	if _, err := d.read(name); m.held[name] && err != nil {
		t.Errorf("it is held, and not there: %v", err)
	}
	arrive()
	m.taken(<-m.inbox, nil)
	if _, err := d.read(name); !m.held[name] || err != nil {
		t.Errorf("at last it is held: %v, and there: %v", m.held[name], err)
	}
}

// Of a million uploads that a member misses only a few wait for their turn, and others can when
// these are here.
func TestFewMissedUploadsWait(t *testing.T) {
	s := testSum(t, 3, []ed25519.PrivateKey{newIdentity(t), newIdentity(t), newIdentity(t), newIdentity(t)})
	p, err := NewDesk(fast(newIdentity(t), "")).part(s)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	m := &member{part: p, ctx: ctx, slots: make(chan struct{}), fetching: make(map[fetch]bool)}
	for i := range 1000 {
		m.fetch(sums.Digest{byte(i >> 8), byte(i)}, m.others())
	}
	if n := len(m.fetching); n != fetches+waits {
		t.Errorf("%d uploads wait, expected %d", n, fetches+waits)
	}
	stop()
	m.running.Wait()
	if len(m.fetching) > 0 || m.missed != 0 {
		t.Errorf("at the end %d uploads wait, and %d are counted", len(m.fetching), m.missed)
	}
}

// Keys are made once, and are gone for good after the end.
func TestKeysAreMadeOnceAndErased(t *testing.T) {
	d, err := openDirectory(t.TempDir(), sums.Digest{1})
	require.NoError(t, err)
	first, closes, err := d.secrets(77)
	require.NoError(t, err)
	again, later, err := d.secrets(99)
	require.NoError(t, err)
	a, _ := first.Bytes()
	b, _ := again.Bytes()
	if !bytes.Equal(a, b) || closes != 77 || later != 77 {
		t.Error("keys were made twice")
	}
	require.NoError(t, d.keep(sums.Digest{2}, []byte("upload")))
	require.NoError(t, d.erase(false), d.erase(false), d.keep(sums.Digest{3}, []byte("one that came late")))
	if entries, err := os.ReadDir(d.path); err != nil || len(entries) != 1 || !d.over() {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// At each tick a member looks at the clock for the time at which its keys must be erased: a timer
// stands still while a machine sleeps. The opening says when that is, and not the member's own
// clock when it made its keys, which may have been years behind.
func TestDeadlineIsLookedUpAtEachTick(t *testing.T) {
	r := newTrial(t, 3) // closes in an hour
	require.Eventually(t, "all know that the sum is open", func() bool {
		return !slices.ContainsFunc(r.members, func(m *device) bool { return m.desk.State(r.sum.ID).Closes.IsZero() })
	})
	d := r.members[0]
	d.stopMember()
	dir, err := openDirectory(d.root, r.sum.ID)
	require.NoError(t, err)
	m := &member{
		desk: d.desk, part: d.desk.known(r.sum.ID), dir: dir, inbox: make(chan sums.Input, inputs),
		held: make(map[sums.Digest]bool), coming: make(map[sums.Digest]bool), options: Membership{Later: time.Hour},
	}
	ctx, stop := context.WithCancel(t.Context())
	defer m.running.Wait()
	defer stop()
	m.ctx, m.life = ctx, ctx
	require.NoError(t, m.begin())
	defer m.dir.close()
	for closes, what := range map[time.Time]string{m.closes: "its clock was right", time.Unix(0, 0): "its clock was years behind"} {
		m.closes = closes
		m.options.Later = time.Hour
		if in := m.timely(); in != (sums.Tick{}) {
			t.Errorf("%s: before the deadline the machine is told %T", what, in)
		}
		m.options.Later = -2 * time.Hour
		if in := m.timely(); in != (sums.Deadline{}) {
			t.Errorf("%s: after the deadline the machine is told %T", what, in)
		}
	}
}

// A member whose disk fails begins again by itself.
func TestMemberBeginsAgainAfterAnError(t *testing.T) {
	root := filepath.Join(t.TempDir(), "committee")
	require.NoError(t, os.WriteFile(root, nil, 0o600)) // in the way of its directory
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		d := NewDesk(Config{Identity: newIdentity(t), Logger: slog.New(slog.DiscardHandler)})
		s := testSum(t, 3, []ed25519.PrivateKey{d.config.Identity, newIdentity(t), newIdentity(t), newIdentity(t)})
		go d.Serving(ctx, s, Membership{Root: root})
		time.Sleep(time.Hour)
		require.NoError(t, os.Remove(root))
		time.Sleep(d.config.Rest)
		synctest.Wait()
		if _, err := os.Stat(directoryOf(root, s.ID)); err != nil {
			t.Errorf("it has not begun again: %v", err)
		}
		stop()
	})
}

// What members keep is overwritten before it is removed: keys, and the journal, in which there
// are seeds. A file that is no member's is in nobody's way.
func TestForgetOverwrites(t *testing.T) {
	root, links := t.TempDir(), t.TempDir()
	d, err := openDirectory(root, sums.Digest{1})
	require.NoError(t, err)
	_, _, err = d.secrets(77)
	require.NoError(t, err, d.write(journalName, []byte("a seed")), os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	for _, name := range []string{keysName, journalName} {
		require.NoError(t, os.Link(d.name(name), filepath.Join(links, name)))
	}
	require.NoError(t, Forget(root))
	for _, name := range []string{keysName, journalName} {
		if text, err := os.ReadFile(filepath.Join(links, name)); err != nil || len(text) == 0 || len(bytes.Trim(text, "\x00")) > 0 {
			t.Errorf("of the %s %q is left, %v", name, text, err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// drip is a blob of which a byte comes now and then.
type drip struct{}

const dripSize = 6000

func (drip) ReadAt(b []byte, _ int64) (int, error) {
	time.Sleep(20 * time.Millisecond) // the liar's pace, nobody waits for it
	b[0] = 1
	return 1, nil
}
func (drip) Size() int64  { return dripSize }
func (drip) Close() error { return nil }

// A member says all the time that it has the list and the result, and sends them a byte at a
// time. It keeps a device from the other members only for as long as a fetch may take, which
// does not grow while the device must pay and send: the device is in the sum.
func TestMemberThatDrips(t *testing.T) {
	liar, asked := new(device), make(chan struct{}, 1)
	lie := reference{gossip.BlobName{1}, dripSize}
	keys := []ed25519.PrivateKey{newIdentity(t)}
	dir := t.TempDir()
	require.NoError(t, liar.begin(fast(keys[0], filepath.Join(dir, "results")), dir, "/ip4/127.0.0.1/tcp/0", func() *gossip.Service {
		s := liar.listening()
		answer, open := s.OnCall, s.OnBlob
		s.OnCall = func(ctx context.Context, from peer.ID, call []byte) ([]byte, bool) {
			reply, sound := answer(ctx, from, call)
			if n, err := decodeNews(reply); err == nil && callKind(call[0]) == callAsk {
				n.decision, n.result = lie, lie
				reply = n.bytes()
				select {
				case asked <- struct{}{}:
				default:
				}
			}
			return reply, sound
		}
		s.OnBlob = func(from peer.ID, name gossip.BlobName) gossip.Blob {
			if name == lie.name {
				return drip{}
			}
			return open(from, name)
		}
		return s
	}))
	t.Cleanup(liar.stop)
	members := []*device{liar}
	for range 3 {
		m := newDevice(t, newIdentity(t), t.TempDir())
		members, keys = append(members, m), append(keys, m.key)
	}
	for _, m := range members {
		m.knows(members...)
	}
	r := &trial{t: t, sum: testSum(t, 200, keys), members: members}
	if lie.size > int64(r.sum.LongestResult()) || lie.size > int64(r.sum.LongestDecision()) {
		t.Fatal("nobody would fetch so much")
	}
	d := r.device(newIdentity(t))
	d.desk.config.Fetch = 300 * time.Millisecond
	outcomes := make([]Outcome, 1)
	var contributing sync.WaitGroup
	contributing.Go(func() {
		var err error
		if outcomes[0], err = r.contribute(t.Context(), d, 0); err != nil {
			t.Errorf("the device: %v", err)
		}
	})
	t.Cleanup(contributing.Wait)
	for i := range 10 { // the sum does not open for a long time
		select {
		case <-asked:
		case <-time.After(20 * time.Second):
			t.Fatalf("after %d rounds the device waits for the liar", i)
		}
	}
	t.Cleanup(r.running.Wait)
	for _, m := range members {
		r.start(m)
	}
	r.close(1)
	contributing.Wait()
	r.check(outcomes)
}

// slowly is a blob of any size of which a byte comes now and then.
type slowly struct {
	drip
	size int
}

func (s slowly) Size() int64 { return int64(s.size) }

// In a sum with as many coordinates as there may be, strangers who send their uploads a byte at a
// time leave room for what a member says.
func TestSlowUploadsLeaveRoomForMembers(t *testing.T) {
	said, asked := liar(t, func(callKind) []byte { return (&news{}).bytes() })
	members, keys := []*device{said}, []ed25519.PrivateKey{said.key}
	for range 3 {
		m := newDevice(t, newIdentity(t), t.TempDir())
		members, keys = append(members, m), append(keys, m.key)
	}
	r := &trial{t: t, sum: testSum(t, 1<<23, keys), members: members}
	begun := make(chan struct{}, 100)
	var strangers []*device
	for range 8 {
		s := new(device)
		require.NoError(t, s.begin(fast(newIdentity(t), ""), t.TempDir(), "/ip4/127.0.0.1/tcp/0", func() *gossip.Service {
			service := s.desk.Service()
			service.OnBlob = func(peer.ID, gossip.BlobName) gossip.Blob {
				begun <- struct{}{}
				return slowly{size: r.sum.UploadSize()}
			}
			return service
		}))
		t.Cleanup(s.stop)
		strangers = append(strangers, s)
	}
	for _, m := range members {
		m.knows(slices.Concat(members, strangers)...)
	}
	m := members[1]
	for _, other := range members[2:] {
		p, err := other.desk.part(r.sum) // they are there, but for what they would do
		require.NoError(t, err)
		p.onDuty(Duty{})
	}
	r.start(m)
	t.Cleanup(r.running.Wait)
	t.Cleanup(func() { m.stopMember() })
	require.Eventually(t, "the member runs", func() bool { return r.held(m) >= 0 })
	for i, s := range strangers {
		_, _ = m.desk.onCall(t.Context(), s.host.ID(), encodeCall(callUpload, r.sum.ID, (&sums.Digest{byte(i)})[:]))
	}
	for range min(places(r.sum), gossip.FetchRoom/r.sum.UploadSize()) {
		<-begun
	}
	message := reference{gossip.BlobName{1}, int64(r.sum.LongestMessage())}
	if _, sound := m.desk.onCall(t.Context(), said.host.ID(), encodeCall(callOffer, r.sum.ID, message.bytes())); !sound {
		t.Error("the message is taken for a lie")
	}
	select {
	case <-asked:
	case <-time.After(20 * time.Second):
		t.Error("nobody fetches what a member says")
	}
}

// liar starts a node that answers a call as the function says, and sends every blob a byte at
// a time. asked receives a value for each blob.
func liar(t *testing.T, answer func(kind callKind) []byte) (l *device, asked <-chan struct{}) {
	l = new(device)
	blobs := make(chan struct{}, 1)
	require.NoError(t, l.begin(fast(newIdentity(t), ""), t.TempDir(), "/ip4/127.0.0.1/tcp/0", func() *gossip.Service {
		s := l.desk.Service()
		s.OnCall = func(_ context.Context, _ peer.ID, call []byte) ([]byte, bool) { return answer(callKind(call[0])), true }
		s.OnBlob = func(peer.ID, gossip.BlobName) gossip.Blob {
			select {
			case blobs <- struct{}{}:
			default:
			}
			return drip{}
		}
		return s
	}))
	t.Cleanup(l.stop)
	return l, blobs
}

// A member offers messages without end, and sends none. The others fetch a few at a time, and
// nothing that is longer than a message can be.
func TestMemberThatOffersWithoutEnd(t *testing.T) {
	l, asked := liar(t, func(callKind) []byte { return (&news{}).bytes() })
	members, keys := []*device{l}, []ed25519.PrivateKey{l.key}
	for range 3 {
		m := newDevice(t, newIdentity(t), t.TempDir())
		members, keys = append(members, m), append(keys, m.key)
	}
	for _, m := range members {
		m.knows(members...)
	}
	r := &trial{t: t, sum: testSum(t, 10, keys), members: members}
	m := members[1]
	for _, other := range members[2:] {
		p, err := other.desk.part(r.sum) // they are there, but for what they would do
		require.NoError(t, err)
		p.onDuty(Duty{})
	}
	r.start(m)
	t.Cleanup(r.running.Wait)
	require.Eventually(t, "the member runs", func() bool { return r.held(m) >= 0 })
	offer := func(name, size int) (sound bool) {
		ref := reference{gossip.BlobName{1, byte(name), byte(name >> 8)}, int64(size)}
		_, sound = m.desk.onCall(t.Context(), l.host.ID(), encodeCall(callOffer, r.sum.ID, ref.bytes()))
		return sound
	}
	if offer(0, gossip.MaxBlob) || offer(0, r.sum.LongestMessage()+1) || !offer(1, r.sum.LongestMessage()) {
		t.Error("what is longer than a message is fetched, or the longest is not")
	}
	running := m.desk.known(r.sum.ID).member
	fetching := func() int {
		running.mu.Lock()
		defer running.mu.Unlock()
		return len(running.fetching)
	}
	require.Eventually(t, "what the liar sends is shorter, and not taken for the longest", func() bool { return fetching() == 0 })
	for k := range 1000 {
		offer(2+k, dripSize)
	}
	<-asked
	if n := fetching(); n != fetchesEach {
		t.Errorf("%d messages of a member are being fetched, expected %d", n, fetchesEach)
	}
	m.stopMember()
	first := make(map[peer.ID]bool)
	for range 3 {
		first[running.others()[0]] = true
	}
	if len(first) != 3 {
		t.Errorf("of three members, %d come first in their turn", len(first))
	}
}

// A peer that offers what is another's, and sends it slowly, keeps a member neither from the
// other's offer nor from what members have.
func TestSlowOfferKeepsNothingBack(t *testing.T) {
	m := &member{ctx: t.Context(), fetching: make(map[fetch]bool), visiting: make(map[peer.ID]bool)}
	name, end := gossip.BlobName{1}, make(chan struct{})
	get := func(from ...peer.ID) bool {
		return m.get(name, 1, from, func() (func(), bool) { <-end; return nil, false }, nil, nil)
	}
	if !get("slow") || get("slow") || !get("owner") || !get("one", "other") || get("other", "one") {
		t.Error("a blob is fetched once from each that offers it, and once from members")
	}
	close(end)
	m.running.Wait()
	if len(m.fetching) > 0 || m.missed != 0 || !get("slow") {
		t.Errorf("%v are being fetched, and %d from members", m.fetching, m.missed)
	}
	m.running.Wait()
}

// In the largest committee a member opens 84 classes at once, in messages that are too long for
// calls. All of them are served until the others have fetched them, however often it repeats
// them, and no more than that is.
func TestLargestCommitteeServesWhatItOpens(t *testing.T) {
	var keys []ed25519.PrivateKey
	for range 10 {
		keys = append(keys, newIdentity(t))
	}
	terms := testSum(t, 10, keys).Terms
	terms.Committee.Colluding = 3
	s, err := sums.New(terms)
	require.NoError(t, err)
	p, err := NewDesk(fast(keys[0], "")).part(s)
	require.NoError(t, err)
	m := &member{part: p}
	say := func(number int) (name gossip.BlobName) {
		message := sums.Message{Kind: sums.KindOpen, Number: uint32(number), Payload: make([]byte, gossip.MaxCall)}
		m.keep(sums.Letter{Message: message.Bytes()})
		return referenceOf(message.Bytes()).name
	}
	for range 2 {
		var names []gossip.BlobName
		for i, class := range s.Committee.Classes() {
			if class&1 == 0 {
				names = append(names, say(i))
			}
		}
		for i, name := range names {
			if p.blobs[name] == nil {
				t.Fatalf("of %d classes, that at place %d is not served", len(names), i)
			}
		}
	}
	for i := range 300 {
		say(1000 + i)
	}
	if n := len(p.blobs); n > 200 {
		t.Errorf("%d messages are served", n)
	}
}

// When a member repeats more long messages than others fetch at a time, each of them is among the
// first in its turn: otherwise a slow one would fetch the same ones again and again.
func TestRepetitionsBeginWithOthers(t *testing.T) {
	desk := NewDesk(fast(newIdentity(t), ""))
	p, err := desk.part(testSum(t, 3, []ed25519.PrivateKey{desk.config.Identity, newIdentity(t), newIdentity(t), newIdentity(t)}))
	require.NoError(t, err)
	m := &member{desk: desk, part: p, queues: []queue{newQueue(), newQueue()}}
	var out sums.Output
	for i := range byte(28) {
		out.Send = append(out.Send, sums.Letter{To: -1, Message: []byte{i}})
	}
	first := make(map[byte]bool)
	for range 200 {
		require.NoError(t, m.carryOut(&out))
		for i := range out.Send {
			message := <-m.queues[1].messages
			m.queues[1].took(message)
			if i < fetchesEach {
				first[message[0]] = true
			}
		}
	}
	if len(first) < len(out.Send) {
		t.Errorf("of %d messages, %d are ever among the first %d", len(out.Send), len(first), fetchesEach)
	}
}

// A member says that there is a result and a list which are longer than they can be. A device
// does not fetch them.
func TestResultsHaveALength(t *testing.T) {
	var told atomic.Pointer[news]
	told.Store(&news{})
	calls := make(chan struct{}, 1)
	l, asked := liar(t, func(kind callKind) []byte {
		if kind == callAsk {
			select {
			case calls <- struct{}{}:
			default:
			}
		}
		return told.Load().bytes()
	})
	keys := []ed25519.PrivateKey{l.key}
	for range 3 {
		keys = append(keys, newIdentity(t))
	}
	s := testSum(t, 3, keys)
	told.Store(&news{decision: reference{gossip.BlobName{1}, int64(s.LongestDecision()) + 1}, result: reference{gossip.BlobName{2}, int64(s.LongestResult()) + 1}})
	d := newDevice(t, newIdentity(t), t.TempDir())
	d.knows(l)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _, _ = d.desk.Contribute(ctx, s, Contribution{Ledger: d.ledger}) })
	for range 3 {
		<-calls
	}
	cancel()
	running.Wait()
	select {
	case <-asked:
		t.Error("a device fetches what is longer than a list or a result can be")
	default:
	}
}

// A member whose result and list are damaged asks the others for the result, and serves
// neither. If it was stopped before all keys were erased, it erases them now.
func TestDamagedResultIsNotServed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, _ := liar(t, func(callKind) []byte {
		cancel()
		return (&news{}).bytes()
	})
	m := newDevice(t, newIdentity(t), t.TempDir())
	m.knows(l)
	s := testSum(t, 3, []ed25519.PrivateKey{m.key, l.key, newIdentity(t), newIdentity(t)})
	dir, err := openDirectory(m.root, s.ID)
	require.NoError(t, err)
	require.NoError(t, dir.erase(false), dir.write(resultName, []byte("damaged")), dir.write(decisionName, []byte("damaged")))
	_, _, err = dir.secrets(1)
	require.NoError(t, err)
	require.NoError(t, m.desk.Member(ctx, s, Membership{Root: m.root, Open: time.Hour, Later: time.Hour}))
	if dir.begun() || dir.dead() {
		t.Errorf("keys are left: %v; the sum is dead: %v", dir.begun(), dir.dead())
	}
	if ctx.Err() == nil {
		t.Error("nobody is asked for the result")
	}
	if reply, _ := m.desk.known(s.ID).tell(nil); !bytes.Equal(reply, (&news{}).bytes()) {
		t.Error("something damaged is served")
	}
}
