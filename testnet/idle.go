package testnet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/testnet/lab"
)

// IdleOptions say what [MeasureIdle] measures: daemons without records, which have
// nothing to send to each other.
type IdleOptions struct {
	Program string        // the p2pnode to run; required
	Dir     string        // an empty directory for the daemons, which the caller removes; required
	Nodes   int           // how many daemons, from 2 to 100
	Power   string        // as in [node.Config]
	MDNS    bool          // whether they look at the local network
	Settle  time.Duration // time before the measurement, after all are connected, > 0
	Quiet   time.Duration // length of the measurement, > 0
	// Progress is called about twice a second; it may be nil.
	Progress func(IdleProgress)
}

// IdleProgress is the progress of a measurement.
type IdleProgress struct {
	Linked, Nodes int           // daemons that have their neighbours, and all daemons
	Waited, Whole time.Duration // time since all are linked, and the whole time
}

// IdleCost is what one daemon uses while nothing happens, in the mean over all.
type IdleCost struct {
	Nodes   int     `json:"nodes"`
	Power   string  `json:"power"`
	MDNS    bool    `json:"mdns"`
	Seconds float64 `json:"seconds"` // how long was measured
	// Neighbours is how many neighbours listened at the end, at the daemon with the
	// fewest.
	Neighbours int     `json:"neighbours"`
	RSS        float64 `json:"rss_bytes"`            // memory, with what is shared with others
	PSS        float64 `json:"pss_bytes"`            // its share of that
	CPU        float64 `json:"cpu_seconds_per_hour"` // user and system
	Bytes      float64 `json:"bytes_per_hour"`       // sent, with all headers
	Packets    float64 `json:"packets_per_second"`   // sent
	Wakeups    float64 `json:"wakeups_per_second"`   // of its threads, each counted
	// Alone means that the daemons had a loopback interface of their own. Without it,
	// Bytes and Packets also count what other programs sent over the machine's
	// interface.
	Alone bool `json:"own_interface"`
}

const (
	idleDegree = 10 // number of neighbours each daemon seeks
	// idleLinking is how long the daemons may take to find each other.
	idleLinking = 3 * time.Minute
	mostIdle    = 100
)

// Validate checks the numbers.
func (o *IdleOptions) Validate() error {
	switch {
	case o.Program == "" || o.Dir == "":
		return errors.New("testnet: IdleOptions.Program and Dir are required")
	case o.Nodes < 2 || o.Nodes > mostIdle:
		return fmt.Errorf("nodes %d: choose from 2 to %d", o.Nodes, mostIdle)
	case o.Power != datadir.PowerNormal && o.Power != datadir.PowerLow:
		return fmt.Errorf("power %q: choose %s or %s", o.Power, datadir.PowerNormal, datadir.PowerLow)
	case o.Settle <= 0 || o.Quiet <= 0:
		return fmt.Errorf("settle %v, quiet %v: must be more than 0", o.Settle, o.Quiet)
	}
	return nil
}

// MeasureIdle runs daemons until each is connected to its neighbours, leaves them
// alone, and returns what one uses. It needs the /proc of Linux. If ctx ends while it
// measures, it returns what was measured until then; before that, it returns the error
// of ctx.
func MeasureIdle(ctx context.Context, o IdleOptions) (cost *IdleCost, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if _, err := usageOf(os.Getpid()); err != nil {
		return nil, err
	}
	s, err := quietSite(o.Nodes, &Daemons{Program: o.Program})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	f := o.fleet(s)
	defer func() { err = errors.Join(err, f.close()) }()
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	running, life := errgroup.WithContext(life) // if one daemon fails, the others stop
	m := idling{IdleOptions: o, fleet: f}
	err = f.start(life, running, func(int) { m.report(0, 0) })
	if err == nil {
		cost, err = m.run(ctx, life)
	}
	stop()
	if failed := running.Wait(); failed != nil {
		return nil, failed
	}
	if cost != nil {
		cost.Alone = s.lab != nil
	}
	return cost, err
}

// quietSite is loopback, in its own namespace if one can be made.
func quietSite(n int, p *Daemons) (*site, error) {
	s, err := newSite(n, p)
	if err != nil || lab.Available() != nil {
		return s, err
	}
	if s.lab, err = lab.New(); err != nil {
		return nil, err
	}
	home, err := s.lab.Host("the idle daemons")
	if err != nil {
		return nil, errors.Join(err, s.lab.Close())
	}
	for range n {
		s.hosts = append(s.hosts, home)
	}
	return s, nil
}

// fleet makes the daemons, with the configuration that p2pnode init writes, except for
// what would reach beyond this machine.
func (o *IdleOptions) fleet(s *site) *fleet {
	task := learner.Movies()
	task.Graph.Degree = min(idleDegree, o.Nodes-1)
	f := &fleet{
		people: &Dataset{Task: task, People: make([]Person, o.Nodes)}, dir: o.Dir,
		config: datadir.DefaultConfig(task), nodes: make([]participant, o.Nodes), listen: s.listen,
	}
	if f.config.Power = o.Power; o.Power == datadir.PowerLow {
		f.config.DHT = "client" // as in the profile lowpower
	}
	f.config.MDNS, f.config.UPnP = o.MDNS, false
	f.open = func(i int, dir string) (participant, error) { return NewDaemon(dir, nil, s.program(i)), nil }
	return f
}

// idling is one measurement.
type idling struct {
	IdleOptions
	fleet *fleet
}

func (m *idling) report(linked int, waited time.Duration) {
	if m.Progress != nil {
		m.Progress(IdleProgress{Linked: linked, Nodes: m.Nodes, Waited: waited, Whole: m.Settle + m.Quiet})
	}
}

func (m *idling) run(ctx, life context.Context) (*IdleCost, error) {
	if err := m.link(ctx, life); err != nil {
		return nil, err
	}
	m.wait(ctx, life, 0, m.Settle)
	if err := errors.Join(ctx.Err(), life.Err()); err != nil {
		return nil, err
	}
	before, err := m.usage()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	m.wait(ctx, life, m.Settle, m.Quiet)
	after, err := m.usage()
	seconds := time.Since(start).Seconds()
	if err != nil {
		return nil, err
	}
	memory := m.memory()
	neighbours, _, err := m.neighbours(life) // only after the measurement: asking costs processor time and memory
	if err != nil {
		return nil, err
	}
	used := after.minus(before).over(float64(m.Nodes) * seconds)
	return &IdleCost{
		Nodes: m.Nodes, Power: m.Power, MDNS: m.MDNS, Seconds: seconds, Neighbours: neighbours,
		RSS: memory.RSS, PSS: memory.PSS,
		CPU: used.cpu * time.Hour.Seconds(), Bytes: used.bytes * time.Hour.Seconds(), Packets: used.packets, Wakeups: used.wakeups,
	}, nil
}

// link waits until every daemon is connected to all the neighbours it wants.
func (m *idling) link(ctx, life context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, idleLinking, errors.New("testnet: the daemons did not find each other in time"))
	defer cancel()
	for {
		_, linked, err := m.neighbours(life)
		if err != nil {
			return err
		}
		m.report(linked, 0)
		if linked == m.Nodes {
			return nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return fmt.Errorf("%w: %d of %d have their neighbours", err, linked, m.Nodes)
		}
	}
}

// neighbours asks all daemons: how many neighbours listen to the daemon with the
// fewest, and how many daemons have all that they want.
func (m *idling) neighbours(ctx context.Context) (fewest, linked int, err error) {
	all, err := m.fleet.progress(ctx)
	if err != nil {
		return 0, 0, err
	}
	fewest = m.Nodes
	for _, s := range all {
		fewest = min(fewest, s.Listening)
		if s.Listening >= m.fleet.people.Task.Graph.Degree {
			linked++
		}
	}
	return fewest, linked, nil
}

// wait leaves the daemons alone until d has passed or one of the contexts ends.
func (m *idling) wait(ctx, life context.Context, before, d time.Duration) {
	for end := time.Now().Add(d); life.Err() == nil; {
		left := time.Until(end)
		m.report(m.Nodes, before+d-left)
		if left <= 0 || pause(ctx, min(left, lookEvery)) != nil {
			return
		}
	}
}

// usage is what all daemons have used so far. They share one interface.
func (m *idling) usage() (sum usage, err error) {
	for _, n := range m.fleet.nodes {
		u, err := usageOf(n.(*Daemon).pid)
		if err != nil {
			return usage{}, err
		}
		sum.cpu, sum.wakeups, sum.bytes, sum.packets = sum.cpu+u.cpu, sum.wakeups+u.wakeups, u.bytes, u.packets
	}
	return sum, nil
}

func (m *idling) memory() *Footprint {
	each := make([]Footprint, len(m.fleet.nodes))
	for i, n := range m.fleet.nodes {
		each[i] = memoryOf(n.(*Daemon).pid)
	}
	return meanFootprint(each)
}
