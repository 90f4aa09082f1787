package attack

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"golang.org/x/sync/errgroup"

	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
	"p2pnode/testnet"
	"p2pnode/testnet/lab"
)

// field is where daemons are attacked: a lab in which every honest daemon is a host in
// its own subnet, and the attacker is one host with many addresses. The first honest
// daemon is the victim, from which all others start unless there is a relay.
type field struct {
	Options
	task       *learner.Task
	network    string // the name of the task's network
	lab        *lab.Lab
	segment    *lab.Segment
	attacker   *lab.Host // the attacker's host
	relay      *person   // a relay, from which the daemons start if there is one
	running    *errgroup.Group
	life       context.Context // ends when a daemon fails, and with the scenario
	honest     []*person
	made       []*person   // all daemons, also those that are not in honest
	identities []*stranger // all identities of the attacker
}

// The addresses are internet addresses, so that no daemon takes them for addresses of a
// local network: 64.1.0.1, 64.2.0.1 and so on for honest daemons, from 64.128.0.1 for
// the attacker.
const (
	raiders           = 128
	daemonPort        = 4001
	attackerAddresses = 256 // number of the attacker's addresses
)

var everywhere = netip.MustParsePrefix("64.0.0.0/8")

// raid is the k-th address of the attacker. The addresses are in 64 subnets as long as
// those of an internet provider, so that quotas by subnet do not see the attacker as
// one.
func raid(k int) netip.Addr {
	return netip.AddrFrom4([4]byte{64, byte(raiders + k%64), byte(k / 64), 1})
}

// Available returns why no daemons can be attacked here, or nil: attacks need network
// namespaces.
func Available() error { return lab.Available() }

// onField makes the Run of a scenario that attacks daemons with a task.
func onField(task func() *learner.Task, run func(ctx context.Context, f *field) ([]Bar, error)) func(context.Context, Options) ([]Bar, error) {
	return func(ctx context.Context, o Options) (bars []Bar, err error) {
		if err := Available(); err != nil {
			return nil, err
		}
		f, life, err := newField(ctx, o, task())
		if err != nil {
			return nil, err
		}
		bars, err = run(life, f)
		return bars, errors.Join(err, f.close(ctx))
	}
}

// newField makes a field without daemons. The context that it returns ends when one of
// its later daemons fails.
func newField(ctx context.Context, o Options, task *learner.Task) (*field, context.Context, error) {
	l, err := lab.New()
	if err != nil {
		return nil, nil, err
	}
	f := &field{Options: o, task: task, network: datadir.NetworkName(task), lab: l}
	f.running, f.life = errgroup.WithContext(ctx)
	if f.segment, err = l.Segment(everywhere); err == nil {
		f.attacker, err = f.host("the attacker", raid(0))
	}
	if err == nil {
		err = f.widen()
	}
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return f, f.life, nil
}

// host makes a host whose own subnet is small, and which reaches all others directly.
func (f *field) host(name string, addr netip.Addr) (*lab.Host, error) {
	h, err := f.lab.Host(name)
	if err != nil {
		return nil, err
	}
	if _, err := h.Join(f.segment, addr); err != nil {
		return nil, err
	}
	return h, ip(f.life, h,
		fmt.Sprintf("address add %v/24 dev eth0", addr),
		fmt.Sprintf("address delete %v/%d dev eth0", addr, everywhere.Bits()),
		fmt.Sprintf("route replace %v dev eth0 src %v", everywhere, addr))
}

// ip runs the program ip with several commands on a host.
func ip(ctx context.Context, h *lab.Host, commands ...string) error {
	cmd := h.Command(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("attack: set up %s: %w: %s", h.Name, err, bytes.TrimSpace(out))
	}
	return nil
}

// widen gives the attacker all its addresses.
func (f *field) widen() error {
	var commands []string
	for k := 1; k < attackerAddresses; k++ {
		commands = append(commands, fmt.Sprintf("address add %v/32 dev eth0", raid(k)))
	}
	return ip(f.life, f.attacker, commands...)
}

// close stops the daemons and takes the lab down. It returns an error if a daemon ended
// before, unless the scenario was interrupted.
func (f *field) close(ctx context.Context) error {
	for _, p := range f.made {
		p.stop()
	}
	err := f.running.Wait()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	for _, p := range f.made {
		if p.Daemon != nil {
			err = errors.Join(err, p.Close())
		}
	}
	return errors.Join(err, leave(f.identities), f.lab.Close())
}

// person is an honest daemon.
type person struct {
	*testnet.Daemon
	name    string
	dir     string
	host    *lab.Host
	records []byte
	owner   *local.Connection // set once it runs
	pid     int
	id      peer.ID
	listen  string // the address on which it listens
	addr    string // that address, with its ID
	stop    context.CancelFunc
	stopped chan struct{} // closed when the process has ended
}

// settings change the configuration that p2pnode init writes.
type settings func(*datadir.Config)

// prepare makes the directory and the host of one more honest daemon, which starts from
// the victim. Its records are made up.
func (f *field) prepare(set settings) (*person, error) {
	number := len(f.made) + 1
	p := &person{name: fmt.Sprintf("daemon %d", number), dir: filepath.Join(f.Dir, strconv.Itoa(number)), stop: func() {}}
	f.made = append(f.made, p)
	addr := netip.AddrFrom4([4]byte{everywhere.Addr().As4()[0], byte(number), 0, 1})
	var err error
	if p.host, err = f.host(p.name, addr); err != nil {
		return nil, err
	}
	c := datadir.DefaultConfig(f.task)
	p.listen = fmt.Sprintf("/ip4/%v/tcp/%d", addr, daemonPort)
	c.Listen = []string{p.listen}
	c.Listeners = 0               // the honest daemons are strangers to each other too
	c.UPnP, c.MDNS = false, false // there is no router, and nobody else on its local network
	switch {
	case f.relay != nil:
		c.Bootstrap = []string{f.relay.addr}
	case len(f.honest) > 0:
		c.Bootstrap = []string{f.victim().addr}
	}
	if set != nil {
		set(&c)
	}
	p.records = records(f.task, uint64(number))
	return p, datadir.Make(p.dir, datadir.New{Task: f.task, Config: c})
}

// start runs the daemon of a person, for the first time or again, and waits until it
// answers.
func (f *field) start(p *person) error {
	if p.Daemon != nil {
		if err := p.Close(); err != nil {
			return err
		}
	}
	p.Daemon = testnet.NewDaemon(p.dir, p.records, func(ctx context.Context, args ...string) *exec.Cmd {
		return p.host.Command(ctx, f.Program, args...)
	})
	own, stop := context.WithCancel(f.life)
	p.stop = stop
	p.stopped = make(chan struct{})
	daemon, stopped := p.Daemon, p.stopped
	f.running.Go(func() error {
		defer close(stopped)
		return daemon.Run(own)
	})
	addrs, err := p.Addrs(f.life)
	if err != nil {
		return errors.Join(err, context.Cause(f.life))
	}
	info, err := peer.AddrInfoFromString(addrs[0])
	if err != nil {
		return fmt.Errorf("attack: a daemon's address: %w", err)
	}
	p.id, p.addr = info.ID, addrs[0]
	if p.owner, err = p.Owner(f.life); err != nil {
		return err
	}
	p.pid, err = p.PID(f.life)
	return err
}

// halt stops the daemon of a person in good order and waits until it has ended.
func (f *field) halt(p *person) {
	p.stop()
	<-p.stopped
}

// settle starts n honest daemons, one after another.
func (f *field) settle(n int, set settings) error {
	f.Say(fmt.Sprintf("starting %d honest daemons", n))
	for range n {
		p, err := f.prepare(set)
		if err != nil {
			return err
		}
		if err := f.start(p); err != nil {
			return err
		}
		f.honest = append(f.honest, p)
	}
	return nil
}

// acquaint makes the owners of all honest daemons add each other, so that they learn
// with each other whatever other nodes are there.
func (f *field) acquaint(ctx context.Context) error {
	for _, p := range f.honest {
		for _, q := range f.honest {
			if p == q {
				continue
			}
			if _, err := p.owner.AddPeer(ctx, q.addr); err != nil {
				return fmt.Errorf("attack: %s adds %s: %w", p.name, q.name, err)
			}
		}
	}
	return nil
}

// learning starts n honest daemons that learn with each other, because their owners
// have added each other. Each releases several times in ten seconds.
func (f *field) learning(ctx context.Context, n int, also ...settings) error {
	err := f.settle(n, func(c *datadir.Config) {
		c.WakeSeconds, c.Releases, c.Epsilon = 2, f.task.Release.MaxReleases, f.task.Release.MaxEpsilon
		for _, set := range also {
			set(c)
		}
	})
	if err == nil {
		err = f.acquaint(ctx)
	}
	if err == nil {
		err = f.together(ctx, n-1)
	}
	if err == nil {
		err = f.feed(ctx)
	}
	return err
}

// feed gives the honest daemons their records; then their releases begin.
func (f *field) feed(ctx context.Context) error {
	for _, p := range f.honest {
		if _, err := p.owner.Import(ctx, bytes.NewReader(p.records), api.ImportOptions{}); err != nil {
			return fmt.Errorf("attack: %s imports its records: %w", p.name, err)
		}
	}
	return nil
}

func (f *field) victim() *person { return f.honest[0] }

// who returns the honest daemon with an ID, or nil for another ID.
func (f *field) who(id string) *person {
	i := slices.IndexFunc(f.honest, func(p *person) bool { return p.id.String() == id })
	if i < 0 {
		return nil
	}
	return f.honest[i]
}

// links counts the connected honest neighbours of a daemon.
func (f *field) links(ctx context.Context, p *person) (n int, err error) {
	peers, err := p.owner.Peers(ctx)
	for _, q := range peers {
		if q.Connected && f.who(q.ID) != nil {
			n++
		}
	}
	return n, err
}

// together waits until every honest daemon has at least least of the others as
// neighbours.
func (f *field) together(ctx context.Context, least int) error {
	f.Say("waiting until they are neighbours")
	for _, p := range f.honest {
		err := until(ctx, time.Minute, func() (bool, error) {
			n, err := f.links(ctx, p)
			return n >= least, err
		})
		if err != nil {
			return fmt.Errorf("attack: %s finds no %d honest neighbours, before any attack: %w", p.name, least, err)
		}
	}
	return nil
}

// errTimeout says that something did not happen in time.
var errTimeout = errors.New("it took too long")

// until asks repeatedly whether something has happened, until the timeout.
func until(ctx context.Context, timeout time.Duration, happened func() (bool, error)) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(timeout); ; {
		yes, err := happened()
		if yes || err != nil {
			return err
		}
		if time.Now().After(end) {
			return errTimeout
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// rest waits for d. If ctx ends before, that is an error.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// records makes up the records of a person, as CSV: numbers in the ranges of the features,
// and a target that follows from the first.
func records(t *learner.Task, seed uint64) []byte {
	const count = 1000 // enough to find out who is similar despite the noise of many releases
	r := rand.New(rand.NewPCG(seed, 18))
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	var header []string
	for i := range t.Features {
		header = append(header, t.Features[i].Name)
	}
	lines := [][]string{append(header, t.Target.Name)}
	for range count {
		var line []string
		sign := 0.0
		for i := range t.Features {
			x := r.Float64()
			if i == 0 {
				sign = x
			}
			line = append(line, strconv.FormatFloat(t.Features[i].Min+x*(t.Features[i].Max-t.Features[i].Min), 'g', 6, 64))
		}
		target := "-1"
		switch {
		case t.Target.Max > t.Target.Min:
			target = strconv.FormatFloat(t.Target.Min+sign*(t.Target.Max-t.Target.Min), 'g', 6, 64)
		case sign > 0.5:
			target = "1"
		}
		lines = append(lines, append(line, target))
	}
	_ = w.WriteAll(lines) // a write to a buffer never fails
	return out.Bytes()
}
