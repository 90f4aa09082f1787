package testnet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/node"
)

// network is the driver with real nodes: one for each person, with its own
// directory, key, database and libp2p host on loopback. When ctx ends, the
// nodes go on until their models are measured.
func (c *Config) network(ctx context.Context, d *Dataset, seed uint64, m Method) (t *Trial, err error) {
	start := time.Now()
	dir := filepath.Join(c.Dir, fmt.Sprintf("%s-%d", m, seed))
	f := newFleet(d, dir, c.nodeConfig(d, m), c.Logger)
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	defer func() { err = errors.Join(err, f.close()) }()

	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	running, life := errgroup.WithContext(life) // one node that fails stops the others
	if err := f.start(life, running); err != nil {
		stop()
		return nil, errors.Join(err, running.Wait())
	}
	t = &Trial{Method: m}
	w := &watch{fleet: f, trial: t, curve: seed == c.Seed, report: func(p Progress) {
		p.Seed, p.Method = seed, m
		c.report(p)
	}}
	err = w.run(ctx, life)
	t.Seconds = time.Since(start).Seconds()
	stop()
	return t, errors.Join(err, running.Wait())
}

// deliveriesPerSecond is what two cores carry with room to spare (about 0.16 ms
// of processor time each).
const deliveriesPerSecond = 4000

// minWake is the shortest mean time between releases that is chosen, in
// seconds: with sixteen releases the slowest of a hundred nodes then takes
// about fifteen seconds.
const minWake = 0.5

// nodeConfig is the configuration of every node; the addresses to start from
// come later.
func (c *Config) nodeConfig(d *Dataset, m Method) node.Config {
	nc := node.DefaultConfig(d.Task)
	nc.Listen = []string{"/ip4/127.0.0.1/tcp/0"}
	nc.MDNS = false
	nc.Epsilon, nc.Delta = c.Budget.Epsilon, c.Budget.Delta
	nc.WakeSeconds = c.Wake.Seconds()
	if c.Wake == 0 {
		load := float64(len(d.People)*d.Task.Graph.Degree) / deliveriesPerSecond
		nc.WakeSeconds = max(minWake, load, d.Task.Release.MinWake)
	}
	if m == Together {
		nc.Unprotected = node.Consent
	}
	return nc
}

// fleet is the nodes of one trial, in the order of the people.
type fleet struct {
	people *Dataset
	dir    string
	config node.Config
	log    *slog.Logger
	nodes  []*node.Node
}

func newFleet(d *Dataset, dir string, c node.Config, log *slog.Logger) *fleet {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &fleet{people: d, dir: dir, config: c, log: log, nodes: make([]*node.Node, len(d.People))}
}

// servers is how many nodes the others start from. Only they answer questions
// about who is there; in one process more would only repeat the work.
const servers = 4

// start opens all nodes, still without records, and runs them in running until
// ctx ends.
func (f *fleet) start(ctx context.Context, running *errgroup.Group) error {
	first := min(servers, len(f.nodes))
	for i := range first {
		if err := f.launch(ctx, running, i); err != nil {
			return err
		}
		addr, err := f.address(ctx, i)
		if err != nil {
			return err
		}
		f.config.Bootstrap = append(f.config.Bootstrap, addr)
	}
	f.config.DHT = "client"
	var launching errgroup.Group
	launching.SetLimit(atOnce())
	for i := first; i < len(f.nodes); i++ {
		launching.Go(func() error { return f.launch(ctx, running, i) })
	}
	return launching.Wait()
}

// launch makes node i and runs it.
func (f *fleet) launch(ctx context.Context, running *errgroup.Group, i int) error {
	config := f.config
	config.Profile = f.people.People[i].Profile
	dir := filepath.Join(f.dir, fmt.Sprint(i+1))
	if err := node.Init(dir, f.people.Task, config); err != nil {
		return err
	}
	n, err := node.Open(dir, f.log)
	if err != nil {
		return err
	}
	f.nodes[i] = n
	running.Go(func() error { return n.Run(ctx) })
	return nil
}

// address waits until node i listens.
func (f *fleet) address(ctx context.Context, i int) (string, error) {
	for {
		s, err := f.nodes[i].Progress(ctx)
		if err != nil {
			return "", err
		}
		if len(s.Addrs) > 0 {
			return s.Addrs[0], nil
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return "", fmt.Errorf("testnet: the first node did not start: %w", err)
		}
	}
}

// pause waits for d or until ctx ends, which is an error.
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
func (f *fleet) each(do func(i int, n *node.Node) error) error {
	var calls errgroup.Group
	calls.SetLimit(atOnce())
	for i, n := range f.nodes {
		calls.Go(func() error { return do(i, n) })
	}
	return calls.Wait()
}

// errors measures every node's personal model on its person's test records.
func (f *fleet) errors(ctx context.Context) ([]float64, error) {
	errs := make([]float64, len(f.nodes))
	err := f.each(func(i int, n *node.Node) error {
		model, err := n.Personal(ctx)
		if err != nil {
			return err
		}
		errs[i] = f.people.Task.Error(model.Theta, f.people.People[i].TestRecords())
		return nil
	})
	return errs, err
}

// feed gives every node its person's records; with them the releases begin.
func (f *fleet) feed(ctx context.Context) error {
	return f.each(func(i int, n *node.Node) error { return n.Add(ctx, f.people.People[i].Records) })
}

// links counts the neighbours that listen to each node.
func (f *fleet) links(ctx context.Context) ([]int, error) {
	links := make([]int, len(f.nodes))
	err := f.each(func(i int, n *node.Node) error {
		peers, err := n.Peers(ctx)
		for _, p := range peers {
			if p.Listening {
				links[i]++
			}
		}
		return err
	})
	return links, err
}

// progress counts the releases made and the nodes that are through with
// theirs. It reads the ledgers and not the status, which includes a fit.
func (f *fleet) progress(ctx context.Context) (done int, releases float64, err error) {
	var through, made atomic.Int64
	err = f.each(func(_ int, n *node.Node) error {
		budget, err := n.Budget(ctx)
		left := 0
		for _, c := range budget.Cohorts {
			if c.Records > 0 {
				left = max(left, c.Left)
			}
		}
		made.Add(int64(f.config.Releases - left))
		if left == 0 {
			through.Add(1)
		}
		return err
	})
	return int(through.Load()), float64(made.Load()) / float64(len(f.nodes)), err
}
