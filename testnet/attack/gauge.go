package attack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The limits of bar 1, for whatever people without membership do with at most 256
// identities in ten minutes.
const (
	allowedMemory    = 64   // MB by which the victim may grow
	allowedProcessor = 0.25 // of a core, beyond what it uses without the attack
	allowedDrift     = 4    // MB between the third and the last quarter: memory that the collector has not freed yet
	allowedDelivery  = 0.99 // share of the models of honest neighbours
)

// usage is what a process uses.
type usage struct {
	memory float64 // resident, MB
	cpu    float64 // seconds since it began, user and system
}

// ticks is how many units of /proc/PID/stat make a second: Linux shows programs 100
// everywhere.
const ticks = 100

// usageOf reads what the kernel knows about a process.
func usageOf(pid int) (u usage, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, fmt.Errorf("attack: read what the victim uses: %w", err)
	}
	return parseStat(string(text))
}

// parseStat reads /proc/PID/stat. utime, stime and rss are its fields 14, 15 and 24,
// counted after the name of the program, which is in parentheses and may contain
// anything.
func parseStat(text string) (u usage, err error) {
	const first = 3 // the number of the field after the name
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= 24-first {
		return u, errors.New("attack: /proc does not say what the victim uses")
	}
	var numbers [3]float64
	for i, n := range []int{14, 15, 24} {
		if numbers[i], err = strconv.ParseFloat(fields[n-first], 64); err != nil {
			return u, fmt.Errorf("attack: read what the victim uses: %w", err)
		}
	}
	return usage{memory: numbers[2] * float64(os.Getpagesize()) / 1e6, cpu: (numbers[0] + numbers[1]) / ticks}, nil
}

// course holds what a process used over some time, one sample after another.
type course struct {
	when   []time.Time
	sample []usage
}

func (c *course) add(pid int) error {
	u, err := usageOf(pid)
	c.when, c.sample = append(c.when, time.Now()), append(c.sample, u)
	return err
}

// share is the average share of a core.
func (c *course) share() float64 {
	last := len(c.sample) - 1
	return (c.sample[last].cpu - c.sample[0].cpu) / c.when[last].Sub(c.when[0]).Seconds()
}

// peak is the largest memory, and mean the average memory in a part of the time, from
// and to in [0, 1].
func (c *course) peak() (most float64) {
	for _, u := range c.sample {
		most = max(most, u.memory)
	}
	return most
}

func (c *course) mean(from, to float64) (mean float64) {
	n := float64(len(c.sample))
	part := c.sample[int(from*n):int(to*n)]
	for _, u := range part {
		mean += u.memory / float64(len(part))
	}
	return mean
}

// costs returns the bars for what an attack of some identities cost a process, from what it
// used before and during the attack. For more than 256 identities the memory is as much more.
func costs(name string, before, during *course, identities int, long bool) []Bar {
	bars := []Bar{
		AtMost("1 memory: "+name, during.peak()-before.mean(0, 1), allowedMemory*max(1, float64(identities)/256), "MB"),
		AtMost("1 processor: "+name, during.share()-before.share(), allowedProcessor, "cores"),
	}
	if long {
		bars = append(bars, AtMost("1 growth at the end: "+name, during.mean(0.75, 1)-during.mean(0.5, 0.75), allowedDrift, "MB"))
	}
	return bars
}

// flood runs an attack for its length and measures bar 1, and then, while the attack goes on,
// what else there is to measure. The daemons learn with each other. attack must return when its
// context ends.
func (f *field) flood(ctx context.Context, name string, attack func(context.Context), then ...func() ([]Bar, error)) ([]Bar, error) {
	ears, blamed := newReceptions(f), make(map[string]bool)
	bars, stop, err := f.besiege(ctx, map[string]*person{name: f.victim()}, attack,
		func() error { return errors.Join(ears.listen(ctx), f.blames(ctx, blamed)) })
	var more []Bar
	for _, measure := range then {
		if err == nil {
			more, err = measure()
			bars = append(bars, more...)
		}
	}
	stop()
	if err != nil {
		return nil, err
	}
	if err := ears.wait(ctx); err != nil {
		return nil, err
	}
	if ears.expected == 0 {
		return nil, errors.New("attack: the honest daemons published nothing, so that nothing is known of delivery")
	}
	n := len(f.honest)
	return append(bars, atLeast("1 delivery: "+name, ears.share(), allowedDelivery, "of the models"),
		AtMost("3 honest nodes blamed: "+name, float64(len(blamed)), 0, fmt.Sprintf("of %d pairs", n*(n-1)))), nil
}

// besiege runs an attack and measures, for its length, what it costs some persons, by the
// names of their bars. Each second it calls more, unless that is nil. The attack goes on until
// the caller calls stop, which waits until it has ended.
func (f *field) besiege(ctx context.Context, watched map[string]*person, attack func(context.Context), more func() error) (bars []Bar, stop func(), err error) {
	calm := 5 * time.Second
	if !f.Quick {
		calm = 20 * time.Second
	}
	f.Say(fmt.Sprintf("%v without the attack", calm))
	stop = func() {}
	before, err := f.sample(ctx, watched, calm, nil)
	if err != nil {
		return nil, stop, err
	}
	f.Say(fmt.Sprintf("%v of the attack", f.length()))
	attacking, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); attack(attacking) }()
	stop = func() { end(); <-ended }
	during, err := f.sample(ctx, watched, f.length(), more)
	if err != nil {
		return nil, stop, err
	}
	for _, name := range slices.Sorted(maps.Keys(watched)) {
		bars = append(bars, costs(name, before[name], during[name], len(f.identities), !f.Quick)...)
	}
	return bars, stop, nil
}

// blames notes which honest daemons hold offences against which.
func (f *field) blames(ctx context.Context, blamed map[string]bool) error {
	for _, p := range f.honest {
		held, err := p.owner.Standings(ctx)
		if err != nil {
			return err
		}
		for _, s := range held {
			if q := f.who(s.Peer); q != nil {
				blamed[p.name+" blames "+q.name] = true
			}
		}
	}
	return nil
}

// sample looks at some persons every second for that time, and calls more each time.
func (f *field) sample(ctx context.Context, watched map[string]*person, length time.Duration, more func() error) (map[string]*course, error) {
	seen := make(map[string]*course)
	for name := range watched {
		seen[name] = new(course)
	}
	for n, end := 0, time.Now().Add(length); ; n++ {
		for name, p := range watched {
			if err := seen[name].add(p.pid); err != nil {
				return nil, err
			}
		}
		if more != nil {
			if err := more(); err != nil {
				return nil, err
			}
		}
		if time.Now().After(end) && n >= 3 {
			return seen, nil
		}
		if err := rest(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// receptions counts how many models of the honest daemons the victim hears: each within
// deliveryTimeout, unless a newer one has overtaken it.
type receptions struct {
	field    *field
	newest   map[string]uint64 // by daemon
	waiting  []pendingModel
	expected int
	heard    int
}

// pendingModel is a model that must be heard.
type pendingModel struct {
	peer  string
	round uint64
	due   time.Time
}

// deliveryTimeout is how long a model may take: the wait for its slot, the way, and
// delays on a busy machine.
const deliveryTimeout = 5 * time.Second

func newReceptions(f *field) *receptions {
	return &receptions{field: f, newest: make(map[string]uint64)}
}

// listen compares what the honest daemons have published with what the victim has heard.
func (e *receptions) listen(ctx context.Context) error {
	peers, err := e.field.victim().owner.Peers(ctx)
	if err != nil {
		return err
	}
	heard := make(map[string]uint64) // newest round of each neighbour
	for _, p := range peers {
		heard[p.ID] = p.Round
	}
	now := time.Now()
	e.hear(heard, now)
	for _, p := range e.field.honest[1:] {
		s, err := p.owner.Progress(ctx)
		if err != nil {
			return err
		}
		if _, neighbour := heard[s.Peer]; neighbour {
			e.published(s.Peer, s.Round, now)
		}
	}
	return nil
}

// hear takes in the newest rounds that the victim has heard of its neighbours. It does
// not wait for a peer that is no longer a neighbour: lost edges are for another bar.
func (e *receptions) hear(newest map[string]uint64, now time.Time) {
	e.waiting = slices.DeleteFunc(e.waiting, func(u pendingModel) bool {
		round, neighbour := newest[u.peer]
		switch {
		case !neighbour:
			e.expected--
			return true
		case round >= u.round:
			e.heard++
			return true
		}
		return now.After(u.due)
	})
}

// published notes the newest round of a daemon.
func (e *receptions) published(id string, round uint64, now time.Time) {
	was, known := e.newest[id]
	e.newest[id] = round
	if known && round > was {
		e.expected++
		e.waiting = append(e.waiting, pendingModel{id, round, now.Add(deliveryTimeout)})
	}
}

// wait listens until no model is waited for.
func (e *receptions) wait(ctx context.Context) error {
	for len(e.waiting) > 0 {
		if err := rest(ctx, time.Second); err != nil {
			return err
		}
		before := e.expected
		if err := e.listen(ctx); err != nil {
			return err
		}
		e.forget(before)
	}
	return nil
}

// forget leaves out what was published after the attack.
func (e *receptions) forget(expected int) {
	late := e.expected - expected
	e.expected = expected
	e.waiting = e.waiting[:len(e.waiting)-late]
}

// share is the share of the models that were heard.
func (e *receptions) share() float64 { return float64(e.heard) / float64(e.expected) }
