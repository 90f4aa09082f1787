package testnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Daemons makes every node a process of its own, p2pnode run, with a directory and
// a socket. Some may be phones: each in a network namespace, behind a link that
// loses, delays, and is often cut.
type Daemons struct {
	Program string // the p2pnode to run; required
	// Phones is how many of the nodes, the last ones, are phones. The other nodes are
	// then in one more namespace; without phones all nodes are on loopback.
	Phones int
	// Loss is the share of packets that a phone's link loses in either direction, in
	// [0, 1). Latency is the delay that it adds to each packet.
	Loss    float64
	Latency time.Duration
	// Online is the share of the time that a phone is online, in (0, 1]. Spell is the
	// mean length of an online period.
	Online float64
	Spell  time.Duration
}

// leastAtHome is the least number of nodes that are not phones: the others start from
// them.
const leastAtHome = leastFirst

// Validate checks the numbers against the number of nodes.
func (p *Daemons) Validate(nodes int) error {
	switch {
	case p.Program == "":
		return errors.New("testnet: Daemons.Program is required")
	case p.Phones < 0 || p.Phones > 0 && p.Phones > nodes-leastAtHome:
		return fmt.Errorf("testnet: %d phones among %d nodes: %d nodes must be at home, for the others to start from", p.Phones, nodes, leastAtHome)
	case p.Phones == 0:
		return nil
	case !(p.Loss >= 0 && p.Loss < 1):
		return fmt.Errorf("testnet: loss %g: must be at least 0 and less than 1", p.Loss)
	case p.Latency < 0:
		return fmt.Errorf("testnet: latency %v: must not be negative", p.Latency)
	case !(p.Online > 0 && p.Online <= 1):
		return fmt.Errorf("testnet: online %g: must be more than 0 and at most 1", p.Online)
	case p.Online < 1 && p.Spell <= 0:
		return fmt.Errorf("testnet: spell %v: must be more than 0", p.Spell)
	}
	return nil
}

// String describes the nodes for the report.
func (p *Daemons) String() string {
	if p.Phones == 0 {
		return "a daemon each on this machine"
	}
	return fmt.Sprintf("a daemon each on this machine, %d of them phones with %g %% loss, %v latency, online %g %% of the time",
		p.Phones, 100*p.Loss, p.Latency, 100*p.Online)
}

// wakesPerSpell is how often a phone may release while it is online. If it made all
// releases at once, the interruptions would not matter.
const wakesPerSpell = 8

// wake is the shortest mean time between releases that suits the interruptions, in
// seconds.
func (p *Daemons) wake() float64 {
	if p == nil || p.Phones == 0 || p.Online == 1 {
		return 0
	}
	return p.Spell.Seconds() / wakesPerSpell
}

// away is how long a phone is offline, on average.
func (p *Daemons) away() time.Duration {
	return time.Duration(float64(p.Spell) * (1 - p.Online) / p.Online)
}

// processes is the driver with a daemon for each person.
func (c *Config) processes(ctx context.Context, d *Dataset, seed uint64, m Method) (t *Trial, err error) {
	if err := c.Daemons.Validate(len(d.People)); err != nil {
		return nil, err
	}
	f, err := c.newFleet(d, seed, m)
	if err != nil {
		return nil, err
	}
	s, err := newSite(len(f.nodes), c.Daemons)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	f.listen = s.listen
	if c.Daemons.Phones > 0 {
		// For some offline periods of a phone no other node may have anything to do, and who did
		// not reach a phone asks it again after twenty seconds, when it may be away as well.
		const spells, missed = 4, 2 * time.Minute
		f.stallTimeout = max(f.stallTimeout, missed, spells*c.Daemons.away())
	}
	daemons := make([]*Daemon, len(f.nodes))
	f.open = func(i int, dir string) (participant, error) {
		var records bytes.Buffer
		if p := f.person(i); p != nil {
			if err := d.writeRecords(&records, p); err != nil {
				return nil, err
			}
		}
		daemons[i] = NewDaemon(dir, records.Bytes(), s.program(i))
		return daemons[i], nil
	}
	stop := s.weather(context.WithoutCancel(ctx), seed)
	t, err = c.learn(ctx, f, seed, m)
	if err = errors.Join(err, stop()); err != nil {
		return nil, err
	}
	var each []Footprint
	for _, d := range daemons[len(f.identities):] {
		each = append(each, d.footprint)
	}
	t.Processes = meanFootprint(each)
	return t, nil
}
