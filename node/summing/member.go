package summing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/privacy"
	"p2pnode/sums"
)

// Membership says how a member takes part in a sum.
type Membership struct {
	Root string // holds the members' directories; it belongs in no backup
	// Opens is the time before which the sum does not begin, see [Course]. Zero: there is none.
	Opens time.Time
	// Open is for how long the sum takes contributions, counted from when all members are
	// there. Once Later has passed after that, nothing is opened any more, and the keys
	// are erased. Both are public.
	Open, Later time.Duration
	// Noise, if set, receives the member's part of the noise, in grid units. It is for
	// tests only: somebody who knows all parts knows the sum without noise.
	Noise func(part []int64)
}

const (
	// inputs is how many inputs may wait for a member; inputs beyond that are lost, and
	// their senders repeat them. maxTogether is how many inputs are handled with one
	// write to disk at most.
	inputs      = 4096
	maxTogether = 256
	// letters is how many messages may wait for one peer, each once. deliverers is how
	// many are sent to it at a time.
	letters    = 1024
	deliverers = 4
	// fetches is how many uploads are fetched at a time from strangers, and how many from
	// members; fetchesEach is how many messages from each member. Each must arrive within
	// fetchTimeout; otherwise the part that has arrived is lost. Anybody can offer uploads, and
	// a member that was away misses many: waits is how many of both wait for their turn. Each of
	// the two takes no more than a quarter of what can be fetched at a time, or one upload, so
	// that strangers who send slowly leave room for what members say.
	fetches      = 32
	fetchesEach  = 8
	waits        = 256
	fetchTimeout = time.Minute
	// keptMessages is how many messages that are too long for a call are served, besides one
	// for each class, whose sums are all said at once.
	keptMessages = 64
)

// member drives one [sums.Member]. Only its goroutine steps the machine. It writes the
// journal before it carries out what the machine wants.
type member struct {
	desk    *Desk
	part    *part
	options Membership
	dir     *directory
	machine *sums.Member
	self    int
	inbox   chan sums.Input
	queues  []queue         // one for each member
	uploads *turns          // to fetch what others offer
	offers  []chan struct{} // by member, one value for each message of it that is being fetched
	slots   chan struct{}   // one value for each fetch of an upload from members
	turns   int             // counts the fetches that ask all members
	life    context.Context // ends when the desk stops working for the sum
	ctx     context.Context // of the run; it ends together with life or earlier
	running sync.WaitGroup
	ended   sync.WaitGroup // the work that remains after the keys were erased
	erased  bool           // the keys were erased
	closes  time.Time      // when this member wants to close the sum
	timed   uint32         // 1 + the view that a timer is running for
	told    bool           // the others were told that the sum is open

	mu       sync.Mutex
	fetching map[fetch]bool
	missed   int                  // uploads that are being fetched because the machine misses them
	visiting map[peer.ID]bool     // contributors from which something is being fetched
	coming   map[sums.Digest]bool // uploads that are being stored, or of which the machine is to hear
	held     map[sums.Digest]bool
	holds    int // how many uploads in held are held
}

// Member takes part in a sum as a member of its committee until ctx ends, or until the
// sum is over and no other member needs anything; then the desk serves the result. If it
// is started again with the same root, it continues. It returns an error if the disk
// fails, or if this identity is not a member.
func (d *Desk) Member(ctx context.Context, s *sums.Sum, o Membership) (err error) {
	p, err := d.part(s)
	if err != nil {
		return err
	}
	m := &member{
		desk: d, part: p, options: o, self: slices.Index(s.Committee.Members, d.self),
		inbox: make(chan sums.Input, inputs), uploads: newTurns(places(s), waits), slots: make(chan struct{}, places(s)),
		fetching: make(map[fetch]bool), visiting: make(map[peer.ID]bool), coming: make(map[sums.Digest]bool), held: make(map[sums.Digest]bool),
	}
	if m.self < 0 {
		return errors.New("summing: this node's identity is not a member of the committee; the task names the members")
	}
	for range p.peers {
		m.queues = append(m.queues, newQueue())
		m.offers = append(m.offers, make(chan struct{}, fetchesEach))
	}
	defer func() {
		if err != nil {
			p.offDuty(err)
		}
	}()
	if m.dir, err = openDirectory(o.Root, s.ID); err != nil {
		return fmt.Errorf("summing: %w", err)
	}
	if err := d.started(ctx); err != nil {
		return nil
	}
	m.life = ctx
	if m.dir.over() {
		if err := m.dir.erase(m.dir.dead()); err != nil { // it may have been stopped before it erased all
			return fmt.Errorf("summing: erase the keys: %w", err)
		}
		p.ended(m.dir.dead())
		p.onDuty(Duty{Over: true})
		return m.afterwards()
	}
	defer m.ended.Wait()
	err = m.run()
	if err != nil && m.overdue() { // what failed may fail for ever
		err = errors.Join(err, m.dir.erase(!d.State(s.ID).Here))
	}
	return errors.Join(err, m.dir.close())
}

// places is how many uploads of a sum are fetched at a time from strangers, and how many from members.
func places(s *sums.Sum) int { return min(fetches, max(1, gossip.FetchRoom/4/s.UploadSize())) }

// run continues from the journal until it must end or nobody needs this member any more.
func (m *member) run() error {
	var cancel context.CancelFunc
	m.ctx, cancel = context.WithCancel(m.life)
	defer func() {
		m.mu.Lock() // a fetch either has begun by now, or sees that it is too late
		cancel()
		m.mu.Unlock()
		m.running.Wait()
	}()
	if err := m.begin(); err != nil || m.machine == nil {
		return err
	}
	p := m.part
	p.mu.Lock()
	p.member = m
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.member = nil
		p.mu.Unlock()
	}()
	for i := range p.peers {
		for range deliverers {
			if i != m.self {
				m.running.Go(func() { m.deliver(i) })
			}
		}
	}
	tick := time.NewTicker(m.desk.config.Tick)
	defer tick.Stop()
	unopened := time.NewTimer(time.Until(m.deadline()))
	defer unopened.Stop()
	m.watch()
	for late := false; !m.erased || !late && !m.machine.Idle(); {
		var in sums.Input
		select {
		case <-m.ctx.Done():
			return nil
		case <-tick.C:
			in = m.timely()
			_, late = in.(sums.Deadline)
		case <-unopened.C:
			if m.machine.Opening() != nil {
				continue // each tick looks at the clock
			}
			in, late = sums.Deadline{}, true
		case in = <-m.inbox:
		}
		if err := m.step(in); err != nil {
			return err
		}
		m.watch()
	}
	p.forget()
	return nil
}

// step handles an input, and others that wait with it, so that one write to disk serves
// all of them. It carries out what follows from them only after that write.
func (m *member) step(in sums.Input) error {
	var outs []sums.Output
	var took bool
	for more := true; more; {
		more = false
		out, err := m.machine.Step(in)
		m.taken(in, err)
		if err != nil {
			m.part.log.Debug("not taken", "error", err)
		} else {
			if out.Took && m.dir.journal != nil {
				took = true
				if err := m.dir.append(in); err != nil {
					return fmt.Errorf("summing: write the journal: %w", err)
				}
			}
			outs = append(outs, out)
		}
		if len(outs) < maxTogether {
			select {
			case in = <-m.inbox:
				more = true
			default:
			}
		}
	}
	if took {
		if err := m.dir.sync(); err != nil {
			return fmt.Errorf("summing: write the journal: %w", err)
		}
	}
	for i := range outs {
		if err := m.carryOut(&outs[i]); err != nil {
			return err
		}
	}
	m.show()
	return nil
}

// carryOut does what a step wants done, in the order of [sums.Output]. Letters go in any order:
// of those that are too long for a call others fetch a few at a time, and which ones must not
// be the same at each repetition.
func (m *member) carryOut(out *sums.Output) error {
	if out.Noise != nil {
		if err := m.drawNoise(out.Noise); err != nil {
			return err
		}
	}
	for _, i := range rand.Perm(len(out.Send)) {
		m.send(out.Send[i])
	}
	for _, d := range out.Fetch {
		m.fetch(d, m.others())
	}
	if out.Add != nil {
		if err := m.add(out.Add); err != nil {
			return err
		}
	}
	for _, b := range out.Blame {
		m.part.log.Warn("a member of the committee signed what no honest one signs", "member", b.Member+1, "reason", b.Reason)
	}
	return m.end(out)
}

// drawNoise draws this member's part of the noise, once: it is on disk before the machine
// gets it.
func (m *member) drawNoise(r *sums.NoiseRequest) error {
	s := m.part.sum
	part := privacy.NewLiveNoise().Part(s.Mechanism, s.Committee.Honest())
	upload, err := s.ContributeNoise(r, m.desk.config.Identity, part)
	if err != nil {
		return err
	}
	digest, err := s.EntryDigest(upload)
	if err != nil {
		return err
	}
	if err := m.dir.keep(digest, upload); err != nil {
		return fmt.Errorf("summing: keep the noise: %w", err)
	}
	if m.options.Noise != nil {
		m.options.Noise(part)
	}
	entry, _, err := s.Split(upload)
	if err != nil {
		return err
	}
	return m.step(sums.Drawn{Entry: entry})
}

// add adds up the masked vectors that the machine names.
func (m *member) add(a *sums.Addition) error {
	s := m.part.sum
	total := make([]uint64, s.Dimension)
	for _, d := range a.Entries {
		upload, err := m.dir.read(d)
		if err != nil {
			return fmt.Errorf("summing: read an upload: %w", err)
		}
		_, masked, err := s.Split(upload)
		if err == nil {
			err = sums.AddWords(total, masked)
		}
		if err != nil {
			return fmt.Errorf("summing: an upload in %s is damaged: %w", m.dir.path, err)
		}
	}
	return m.step(sums.Added{List: a.List, Total: total})
}

// end stores and announces the result, and erases everything that could open a
// contribution. It does this once.
func (m *member) end(out *sums.Output) error {
	if m.erased {
		return nil
	}
	if out.Done != nil && out.Done.Result != nil {
		m.part.publish(out.Done)
		if err := m.keepResult(); err != nil {
			return err
		}
		m.part.log.Info("a private sum is done", "contributors", out.Done.Result.Entries)
	}
	if !out.Erase {
		return nil
	}
	dead := out.Done == nil
	if err := m.dir.erase(dead); err != nil {
		return fmt.Errorf("summing: erase the keys: %w", err)
	}
	m.erased = true
	m.part.ended(dead)
	m.ended.Go(func() {
		if err := m.afterwards(); err != nil {
			m.part.log.Error("the result of a private sum cannot be kept", "error", err)
		}
	})
	return nil
}

// afterwards announces the result. If this member could not work it out, it fetches it
// first, unless the sum turns out to be dead.
func (m *member) afterwards() error {
	p := m.part
	if err := m.serveKept(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.part.log.Warn("what this node kept of a private sum cannot be read, and counts as lost", "directory", m.dir.path, "error", err)
	}
	for pause := m.desk.config.Retry; !p.over(); pause = min(2*pause, m.desk.config.Rest) {
		m.desk.seekResult(m.life, p)
		if err := m.keepResult(); err != nil {
			return err
		}
		if p.over() {
			break
		}
		if wait(m.life, pause, nil); m.life.Err() != nil {
			return nil
		}
	}
	if m.desk.State(p.sum.ID).Here {
		_ = m.desk.gossip.Announce(m.life, p.sum.ID[:]) // perhaps nobody hears it, but devices also ask
	}
	return nil
}

// serveKept serves the result and the list that are in the directory.
func (m *member) serveKept() error {
	result, err := os.ReadFile(m.dir.name(resultName))
	if err != nil {
		return err
	}
	pub, err := m.part.take(result)
	if err != nil {
		return err
	}
	decision, err := os.ReadFile(m.dir.name(decisionName))
	if err == nil {
		_, _, err = m.part.sum.ReadDecision(pub, decision)
	}
	if err == nil {
		m.part.decide(decision)
	}
	return err
}

// keepResult stores the result, and the certified list to which it belongs, unless there is none
// or the device here keeps them.
func (m *member) keepResult() error {
	result, decision := m.part.contents()
	if result == nil {
		return nil
	}
	err := m.dir.write(resultName, result)
	if decision != nil {
		err = errors.Join(err, m.dir.write(decisionName, decision))
	}
	if err != nil {
		return fmt.Errorf("summing: store the result: %w", err)
	}
	return nil
}

// show publishes what is public of the machine.
func (m *member) show() {
	m.part.onDuty(m.duty())
	o := m.machine.Opening()
	if o == nil {
		return
	}
	if !m.told {
		m.told = true
		m.running.Go(func() { _ = m.desk.gossip.Announce(m.ctx, m.part.sum.ID[:]) }) // a failure does no harm: devices also ask
	}
	m.part.opened(o)
}

// duty says how far the machine has come.
func (m *member) duty() Duty {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := Duty{Missing: m.machine.Missing(), Silent: m.machine.Silent(), Over: m.erased}
	if m.machine.Opening() != nil { // then the noise of all other members is among the uploads
		d.Held = max(0, m.holds-(len(m.part.peers)-1))
	}
	return d
}

// watch sets the timer for a view that has begun.
func (m *member) watch() {
	if m.machine.Voting() && m.timed != m.machine.View()+1 {
		view := m.machine.View()
		m.timed = view + 1
		m.later(m.desk.config.View<<min(view, 6), sums.Timeout{View: view})
	}
}

// later posts an input after a time, unless the run ends first: a member that is stopped
// must not note that a sum has closed.
func (m *member) later(d time.Duration, in sums.Input) {
	m.running.Go(func() {
		if wait(m.ctx, d, nil); m.ctx.Err() != nil {
			return
		}
		select {
		case m.inbox <- in:
		case <-m.ctx.Done():
		}
	})
}

// post leaves an input for the machine. An input that does not fit is lost; its sender
// repeats it.
func (m *member) post(in sums.Input) {
	select {
	case m.inbox <- in:
	default:
	}
}

// wait returns after a time, when something has changed, or when ctx ends. It reports
// whether something has changed.
func wait(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-changed:
		return true
	}
	return false
}

// others returns the other members, as peers. Each time another one comes first, so that one
// that sends a byte now and then does not keep an upload from this member for good.
func (m *member) others() []peer.ID {
	list := slices.Delete(slices.Clone(m.part.peers), m.self, m.self+1)
	m.turns++
	first := m.turns % len(list)
	return slices.Concat(list[first:], list[:first])
}
