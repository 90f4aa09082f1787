package testnet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// network is the driver with real nodes in this process: one for each person,
// with its own directory, key, database and libp2p host on loopback.
func (c *Config) network(ctx context.Context, d *Dataset, seed uint64, m Method) (*Trial, error) {
	if err := fits(len(d.People), d.Task.Graph.Degree, openFiles()); err != nil {
		return nil, err
	}
	if os.Getenv("GOGC") == "" {
		// Hundreds of nodes that connect and send make garbage all the time. Collecting
		// it half as often takes a sixth less processor time, and half as much memory
		// more.
		defer debug.SetGCPercent(debug.SetGCPercent(200))
	}
	f, err := c.newFleet(d, seed, m)
	if err != nil {
		return nil, err
	}
	f.meter = newMeter()
	f.config.Power = datadir.PowerLow // in one process nobody is lost
	log := c.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f.shared = &node.Shared{Catalogue: d.Catalogue}
	// The only interface that they use; otherwise each of hundreds asks the system every
	// five seconds.
	interfaces := []node.Interface{{Name: "lo", Index: 1, Addrs: []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}}}
	f.open = func(i int, dir string) (participant, error) {
		n, err := node.OpenSharing(dir, f.shared, log)
		if err == nil {
			n.SetInterfaces(interfaces)
		}
		p := f.person(i)
		if p == nil || err != nil {
			return insider{n, nil}, err
		}
		records, err := arrived(p.Records)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", p.Name, err), n.Close())
		}
		return insider{n, records}, nil
	}
	return c.learn(ctx, f, seed, m)
}

// learn lets a fleet learn, from its start to its end. When ctx ends, the nodes keep
// running until their models are measured.
func (c *Config) learn(ctx context.Context, f *fleet, seed uint64, m Method) (t *Trial, err error) {
	start := time.Now()
	defer func() { err = errors.Join(err, os.RemoveAll(f.dir)) }()
	defer func() { err = errors.Join(err, f.close()) }()

	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	running, life := errgroup.WithContext(life) // if one node fails, the others stop
	report := func(p Progress) {
		p.Seed, p.Method, p.Nodes = seed, m, len(f.people.People)
		c.report(p)
	}
	if err := f.start(life, running, func(n int) { report(Progress{Started: n}) }); err != nil {
		stop()
		return nil, errors.Join(err, running.Wait())
	}
	t = &Trial{Method: m}
	w := &watch{fleet: f, trial: t, curve: seed == c.Seed && !c.NoCurve && c.Daemons == nil, report: report}
	if m == Private {
		err = w.sum(ctx, life, running)
	} else {
		err = w.run(ctx, life)
	}
	t.Seconds, t.Load = time.Since(start).Seconds(), f.meter.total()
	stop()
	return t, errors.Join(err, running.Wait())
}

// deliveriesPerSecond is how many deliveries two cores carry while they also do other
// work. Late models cost accuracy: when a delivery took .16 ms of processor time, and now
// it takes less, 100 nodes of the task linear ended at an error of 0.125 without privacy
// with 4000 a second, and with 1333 at 0.112, as simulated. 200 of them at (1, 1e-6) end
// at 0.178 with 2000 and with 3000.
const deliveriesPerSecond = 3000

// followWake is minWake if edges follow what is released: renewing and finding them
// takes some seconds.
const followWake = 2

// minWake is the shortest mean time between releases that Run chooses, in seconds. With
// sixteen releases, the slowest of a hundred nodes then takes about fifteen seconds.
const minWake = 0.5

// nodeConfig is the configuration that all nodes share.
func (c *Config) nodeConfig(d *Dataset, m Method) datadir.Config {
	nc := datadir.DefaultConfig(d.Task)
	nc.Listen = []string{"/ip4/127.0.0.1/tcp/0"}
	nc.MDNS = false // its cost is quadratic on one machine
	nc.DHT = "off"  // it is for nodes that know nobody
	nc.Epsilon, nc.Delta = c.Budget.Epsilon, c.Budget.Delta
	nc.WakeSeconds = c.Wake.Seconds()
	if c.Wake == 0 {
		load := float64(len(d.People)*d.Task.Graph.Degree) / deliveriesPerSecond
		least := minWake
		if d.Task.Graph.Rule == "released" {
			least = followWake
		}
		if c.Rehearse {
			least = min(least, max(leastWake, rehearsalSeconds/float64(nc.Releases)))
		}
		nc.WakeSeconds = max(least, load, d.Task.Release.MinWake, c.Daemons.wake())
	}
	if m == Open {
		nc.Unprotected = datadir.Consent
	}
	return nc
}

// participant is a person's node, in this process or in one of its own.
type participant interface {
	Run(ctx context.Context) error // runs until ctx ends
	Addrs(ctx context.Context) ([]string, error)
	feed(ctx context.Context) error // gives the node its person's records
	Progress(ctx context.Context) (api.Status, error)
	Personal(ctx context.Context) (node.Fitted, error)
	AddPeer(ctx context.Context, address string) (api.Addition, error)
	Close() error // to be called after Run
}

// insider is a node in this process.
type insider struct {
	*node.Node
	records []learner.Record
}

func (n insider) feed(ctx context.Context) error { return n.Add(ctx, n.records) }

// fleet holds the nodes of one trial: a committee's, if there is one, and then those of
// the people in their order.
type fleet struct {
	people     *Dataset
	dir        string
	config     datadir.Config                               // shared by all nodes, except for profile and bootstrap peers
	identities []string                                     // files of the committee's members
	open       func(i int, dir string) (participant, error) // opens a node on an existing directory
	nodes      []participant
	first      []string // addresses of the nodes that others start from
	// For nodes in this process; else nil.
	meter  *meter
	shared *node.Shared
	// listen holds the listening address of each node; nil: that of config.
	listen []string
	// stallTimeout is how long no node may release anything before the trial ends.
	stallTimeout time.Duration
}

func (c *Config) newFleet(d *Dataset, seed uint64, m Method) (*fleet, error) {
	f := &fleet{people: d, dir: filepath.Join(c.Dir, fmt.Sprintf("%s-%d", m, seed))}
	var ids []string
	if m == Private {
		var err error
		if ids, err = f.appoint(c.members(d.Task)); err != nil {
			return nil, err
		}
	}
	f.people = c.staged(d, m, ids)
	f.config = c.nodeConfig(f.people, m)
	f.nodes = make([]participant, len(f.identities)+len(d.People))
	f.stallTimeout = max(giveUp, time.Duration(giveUpWakes*f.config.WakeSeconds*float64(time.Second)))
	return f, nil
}

// person returns the owner of node i, or nil for a node of the committee.
func (f *fleet) person(i int) *Person {
	if i < len(f.identities) {
		return nil
	}
	return &f.people.People[i-len(f.identities)]
}

// The first nodes are those that the others start from; nodes tell each other about the
// rest. The number of first nodes grows with the network, so that few nodes call each
// of them at the same time.
const (
	leastFirst    = 4
	nodesPerFirst = 40
	firstEach     = 2 // number of them that a node starts from
)

// start opens all nodes, still without records, and runs them in running until ctx
// ends. It calls started with their number now and then. The first node of a committee
// is left for later.
func (f *fleet) start(ctx context.Context, running *errgroup.Group, started func(int)) error {
	from, first := 0, min(len(f.nodes), max(leastFirst, len(f.nodes)/nodesPerFirst))
	if n := len(f.identities); n > 0 {
		from, first = 1, n
	}
	for i := from; i < first; i++ {
		if err := f.launchFirst(ctx, running, i); err != nil {
			return err
		}
	}
	var launching errgroup.Group
	launching.SetLimit(atOnce())
	for i := first; i < len(f.nodes); i++ {
		started(i - len(f.identities))
		launching.Go(func() error { return f.launch(ctx, running, i) })
	}
	return launching.Wait()
}

// launchFirst makes a node that others start from.
func (f *fleet) launchFirst(ctx context.Context, running *errgroup.Group, i int) error {
	if err := f.launch(ctx, running, i); err != nil {
		return err
	}
	addrs, err := f.nodes[i].Addrs(ctx)
	if err != nil {
		return fmt.Errorf("testnet: the first nodes did not start: %w", err)
	}
	f.first = append(f.first, addrs[0])
	return nil
}

// startFrom chooses the nodes that node i starts from, spread evenly. If there is a
// committee, they are one of its nodes.
func (f *fleet) startFrom(i int) []string {
	if len(f.identities) > 0 {
		return f.first
	}
	var chosen []string
	for k := range min(firstEach, len(f.first)) {
		chosen = append(chosen, f.first[(i+k)%len(f.first)])
	}
	return chosen
}

// launch makes node i and runs it.
func (f *fleet) launch(ctx context.Context, running *errgroup.Group, i int) error {
	made := datadir.New{Task: f.people.Task, Config: f.config}
	made.Config.Bootstrap = f.startFrom(i)
	if f.listen != nil {
		made.Config.Listen = f.listen[i : i+1]
	}
	p := f.person(i)
	if p != nil {
		made.Config.Profile = p.Profile
	} else {
		made.Identity = f.identities[i]
	}
	switch {
	case f.shared != nil:
		made.Shared = f.shared.Catalogue
	case len(f.identities) > 0:
		made.Catalogue = f.people.CatalogueFile
	}
	dir := filepath.Join(f.dir, fmt.Sprint(i+1))
	if err := datadir.Make(dir, made); err != nil {
		return err
	}
	n, err := f.open(i, dir)
	if err != nil {
		return err
	}
	f.nodes[i] = n
	running.Go(func() error { return n.Run(ctx) })
	return nil
}

// pause waits for d. If ctx ends before, that is an error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// close closes the nodes' directories; their Run must have returned.
func (f *fleet) close() error {
	var err error
	for _, n := range f.nodes {
		if n != nil {
			err = errors.Join(err, n.Close())
		}
	}
	return err
}

// atOnce is how many nodes are started or asked at the same time: more than
// there are processors, because most of them wait for the disk.
func atOnce() int { return 8 * runtime.GOMAXPROCS(0) }

// each calls do for all nodes, several at once, and returns the first error.
func (f *fleet) each(do func(i int, n participant) error) error {
	var calls errgroup.Group
	calls.SetLimit(atOnce())
	for i, n := range f.nodes {
		if n != nil {
			calls.Go(func() error { return do(i, n) })
		}
	}
	return calls.Wait()
}

// eachPerson is each for the nodes of people, in their order.
func (f *fleet) eachPerson(do func(i int, n participant) error) error {
	return f.each(func(i int, n participant) error {
		if i < len(f.identities) {
			return nil
		}
		return do(i-len(f.identities), n)
	})
}

// scores measures every node's personal model on its person's test records.
func (f *fleet) scores(ctx context.Context) ([]learner.Score, error) {
	scores := make([]learner.Score, len(f.people.People))
	err := f.eachPerson(func(i int, n participant) error {
		model, err := n.Personal(ctx)
		if err != nil {
			return err
		}
		scores[i] = model.Score(f.people.Task, slices.Values(f.people.People[i].testRecords()))
		return nil
	})
	return scores, err
}

// feed gives every node its person's records; then the releases begin.
func (f *fleet) feed(ctx context.Context) error {
	return f.eachPerson(func(_ int, n participant) error { return n.feed(ctx) })
}

// progress asks every person's node how far it is.
func (f *fleet) progress(ctx context.Context) ([]api.Status, error) {
	all := make([]api.Status, len(f.people.People))
	err := f.eachPerson(func(i int, n participant) (err error) {
		all[i], err = n.Progress(ctx)
		return err
	})
	return all, err
}
