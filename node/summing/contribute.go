package summing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/sums"
)

// Contribution is what a device adds to a sum. The zero value adds nothing and only waits
// for the result.
type Contribution struct {
	Ledger *storage.Ledger
	// Opens is the time before which the sum does not begin, see [Course]. The device asks
	// less often before it. Zero: there is none.
	Opens time.Time
	// Adding is locked while records are added. The device holds it while it pays, as a record
	// that joined a cohort meanwhile would pay for a sum that it is not in. If it is locked, the
	// device pays later. nil: no records are added.
	Adding *sync.Mutex
	// Cohorts returns the cohorts that may pay now.
	Cohorts func() ([]privacy.Cohort, error)
	// Vector returns what the records of the cohorts that paid add, in real units, and
	// the number of their slots. Replacing one record must not move the vector by more
	// than the sum's distance. Vector is called at most once, and must not call the
	// ledger.
	Vector func(paid []privacy.Cohort) (v []float64, records int, err error)
}

// Outcome is what a device knows of a sum when it has ended.
type Outcome struct {
	Result *sums.Published // nil: the sum is dead and will never have a result
	List   *sums.List      // names the contributions that are in the result
	Voters []int           // the members that certified the list, ascending
	Listed bool            // the device's own contribution is in the list
	Paid   bool            // a contribution was paid for and sent, even if it is not listed
}

// Closes returns when the sum closed; zero if it is dead.
func (o *Outcome) Closes() time.Time {
	if o.Result == nil {
		return time.Time{}
	}
	return time.Unix(o.Result.Opening.Closes, 0)
}

// Contribute takes part in a sum until its result is here, or until the sum is dead: so
// many members say that they erased their keys without a result that one of them is
// honest. It pays once, when a certified opening says that the sum is open, and sends the
// same bytes every time, also after a restart. A device that cannot pay, or comes too
// late, waits for the result.
//
// The error is [storage.ErrRolledBack] if the committee lists another contribution of
// this device, ErrPoisoned after a failed write, and that of ctx if it ends first.
func (d *Desk) Contribute(ctx context.Context, s *sums.Sum, c Contribution) (Outcome, error) {
	if o, err := d.resume(s, c.Ledger); o != nil || err != nil {
		return *cmp.Or(o, &Outcome{}), err
	}
	upload, err := uploaded(c.Ledger, s)
	if err != nil {
		return Outcome{}, err
	}
	machine, err := sums.NewContributor(s, d.self, upload)
	if err != nil {
		return Outcome{}, err
	}
	k := &contributor{desk: d, sum: s, c: c, machine: machine, patience: d.config.Fetch, dead: make(map[peer.ID]bool), decided: make(map[peer.ID]bool)}
	if err := k.serve(upload); err != nil {
		return Outcome{}, err
	}
	return k.run(ctx)
}

// contributor drives one [sums.Contributor], from one goroutine.
type contributor struct {
	desk    *Desk
	sum     *sums.Sum
	c       Contribution
	machine *sums.Contributor
	part    *part
	open    *sums.Opening    // the opening under which the device may still pay; nil: it may not, or not any more
	toured  bool             // all members were visited since the opening was read
	slot    time.Time        // when the device's own contribution may be sent
	entry   []byte           // digest of the device's own contribution; nil: it has none
	checked []byte           // the certified list, after the device's own contribution was looked for in it
	dead    map[peer.ID]bool // members that say that the sum is dead
	decided map[peer.ID]bool // members that say that the list of contributions is decided
	// patience is how long a fetch may take, so that a member that sends a byte now and
	// then does not keep the device from the others. It grows only once the sum is closed:
	// before, a member that lies would keep the device from paying and sending in time.
	patience time.Duration
}

func (k *contributor) run(ctx context.Context) (Outcome, error) {
	p, err := k.desk.part(k.sum)
	if err != nil {
		return Outcome{}, err
	}
	k.part = p
	if err := k.desk.started(ctx); err != nil {
		return Outcome{}, err
	}
	retry, rest := k.desk.config.Retry, k.desk.config.Rest
	turn := int(k.desk.self[0]) // devices begin with different members
	for while := retry; ; turn++ {
		if err := k.round(ctx, turn); err != nil {
			return Outcome{}, err
		}
		if k.desk.resultOf(k.sum.ID) != nil && k.checked != nil {
			return k.finish()
		}
		if len(k.dead) > k.sum.Committee.Colluding && k.desk.resultOf(k.sum.ID) == nil {
			k.withdraw()
			p.bury()
			return Outcome{Paid: k.entry != nil}, k.desk.bury(k.sum, k.c.Ledger)
		}
		pause, again := k.pause(while)
		if wait(ctx, pause, p.changed) || again {
			while = retry
		} else {
			while = min(2*while, rest)
		}
		if ctx.Err() != nil {
			return Outcome{}, ctx.Err()
		}
	}
}

// round visits members. It visits all of them until one says that the sum is open, so
// that the owner learns who is missing; once more before the device pays; and while there
// is something to send. Otherwise it visits only until one answers, and it begins with
// another member in each turn. Then it pays if it should.
func (k *contributor) round(ctx context.Context, turn int) error {
	for i := range k.part.peers {
		answered, err := k.visit(ctx, k.part.peers[(turn+i)%len(k.part.peers)])
		if err != nil {
			return err
		}
		if answered && k.machine.Opening() != nil && (k.open == nil || k.toured) && !k.due() && len(k.dead) == 0 {
			return k.pay()
		}
	}
	k.toured = k.machine.Opening() != nil
	return k.pay()
}

// due reports whether the device must send something now.
func (k *contributor) due() bool { return k.machine.Send() != nil && !time.Now().Before(k.slot) }

// pause returns how long to wait if no news arrives. It is the duration while, unless
// something is due earlier: the slot for sending, another try while no quorum holds what
// was sent, the time at which the sum begins, or its closing once the device has done all
// that it can do before. again reports that the short pauses begin again afterwards.
func (k *contributor) pause(while time.Duration) (pause time.Duration, again bool) {
	retry, o := k.desk.config.Retry, k.machine.Opening()
	switch {
	case k.machine.Send() != nil && !k.due():
		return time.Until(k.slot), true
	case k.machine.Send() != nil:
		return retry, true
	case o != nil && k.open == nil && time.Now().Before(time.Unix(o.Closes, 0)):
		return min(time.Until(time.Unix(o.Closes, 0))+retry, longestPause), true
	case o == nil && time.Now().Before(k.c.Opens):
		return min(time.Until(k.c.Opens)+retry, mostRests*k.desk.config.Rest), true
	}
	return while, false
}

const (
	// longestPause is how long a device waits at most for the closing of a sum without
	// asking the committee: its own clock may be hours wrong.
	longestPause = time.Hour
	// mostRests is how many rests it waits at most for the opening of a sum. All together
	// they are no longer than the sum takes contributions.
	mostRests = 8
)

// visit asks a member what it knows, and sends it what is due. After an error of the
// network or a lie it tries again later or with another member; the error that it returns
// is the ledger's.
func (k *contributor) visit(ctx context.Context, who peer.ID) (answered bool, err error) {
	n, err := k.ask(ctx, who)
	if err != nil {
		k.complain(who, "news", err)
		return false, nil
	}
	if n.dead {
		k.dead[who] = true
	} else {
		delete(k.dead, who)
	}
	if n.decision.size > 0 {
		k.decided[who] = true
	}
	k.look(n.opening, who)
	if n.accept != nil {
		k.complain(who, "acceptance", k.machine.Accepted(n.accept))
	}
	if k.due() && !k.self(who) { // a member here gets it from those who have it
		_, err := k.desk.call(ctx, who, encodeCall(callUpload, k.sum.ID, k.entry))
		k.complain(who, "upload", err)
	}
	if k.machine.Opening() == nil { // who has a result or a list shows the opening, too
		return true, nil
	}
	if n.result.size > 0 && k.desk.resultOf(k.sum.ID) == nil {
		k.complain(who, "result", k.patiently(ctx, func(ctx context.Context) error {
			return k.desk.fetchResult(ctx, k.part, n.result, who)
		}))
	}
	if n.decision.size > 0 && k.checked == nil {
		return true, k.decide(ctx, n.decision, who)
	}
	return true, nil
}

// look reads an opening, unless it is the one that was read before.
func (k *contributor) look(opening []byte, who peer.ID) {
	if opening == nil || k.machine.Holds(opening) {
		return
	}
	o, err := k.machine.Open(opening)
	if err != nil {
		k.complain(who, "opening", err)
		return
	}
	if o != nil {
		k.open = o
	}
	k.toured = false
	k.part.opened(k.machine.Opening())
}

// self reports whether a member of the committee is this node.
func (k *contributor) self(who peer.ID) bool {
	id, err := PeerOf(k.desk.self)
	return err == nil && id == who
}

// ask asks another peer, or this node itself if this node is the member.
func (k *contributor) ask(ctx context.Context, who peer.ID) (*news, error) {
	if k.self(who) {
		reply, _ := k.part.tell(k.entry)
		return decodeNews(reply)
	}
	return k.desk.ask(ctx, k.part, who, k.entry)
}

// finish stores the result.
func (k *contributor) finish() (Outcome, error) {
	pub := k.desk.resultOf(k.sum.ID)
	o, err := outcomeOf(k.sum, k.desk.self, pub, k.checked, k.entry)
	if err != nil {
		return Outcome{}, err
	}
	root, result := k.desk.config.Results, pub.Bytes()
	if err := keepResult(root, k.sum, result, k.checked); err != nil {
		return Outcome{}, err
	}
	k.part.shelve(root, pub, result, k.checked)
	k.withdraw()
	return *o, settle(k.sum, k.c.Ledger)
}

// withdraw serves the upload no more: the sum is over.
func (k *contributor) withdraw() {
	k.part.mu.Lock()
	defer k.part.mu.Unlock()
	if k.entry != nil {
		delete(k.part.blobs, gossip.BlobName(k.entry))
	}
}

func (k *contributor) complain(who peer.ID, about string, err error) {
	if err != nil {
		k.part.log.Debug("a member was of no use", "peer", who, "about", about, "error", err)
	}
}

// pay goes through the door, if the machine asks for that, there is still time to send,
// and there are records. If the present cohorts cannot pay, later ones may.
func (k *contributor) pay() error {
	k.open = k.payable()
	o, s, began := k.open, k.sum, time.Now()
	if o == nil || k.c.Ledger == nil {
		return nil
	}
	if k.c.Adding != nil {
		if !k.c.Adding.TryLock() {
			return nil
		}
		defer k.c.Adding.Unlock()
	}
	cohorts, err := k.c.Cohorts()
	if err != nil {
		return fmt.Errorf("summing: %w", err)
	}
	upload, err := k.c.Ledger.Contribute(storage.Contribution{
		Sum: storage.SumID(s.ID), Epoch: s.Epoch, Mechanism: s.Mechanism, Cohorts: cohorts,
	}, func(paid []privacy.Cohort) ([]byte, error) {
		v, records, err := k.c.Vector(paid)
		if err != nil {
			return nil, err
		}
		return s.Contribute(o, k.desk.config.Identity, records, s.Mechanism.Units(v, s.Limit))
	})
	switch {
	case errors.Is(err, storage.ErrExhausted):
		return nil
	case errors.Is(err, storage.ErrBurned):
		k.open = nil
		k.part.log.Warn("no contribution to this private sum", "reason", err)
		return nil
	case err != nil:
		return fmt.Errorf("summing: pay for a contribution: %w", err)
	}
	k.open, k.slot = nil, slotAfter(began, time.Now(), k.desk.config.Tick)
	if err := k.machine.Paid(upload); err != nil {
		return err
	}
	return k.serve(upload)
}

// payable returns the opening under which there is still time to pay; nil if there is
// none. The device's own clock must say so. Because it may be wrong, the members are
// heard too: it is too late when so many of them say that the list is decided that one of
// them is honest. A contribution that is sent too late is paid for and is in no sum.
func (k *contributor) payable() *sums.Opening {
	if k.open == nil || k.closed(k.open) {
		return nil
	}
	return k.open
}

// closed reports whether the time for contributions is over.
func (k *contributor) closed(o *sums.Opening) bool {
	return !time.Now().Before(time.Unix(o.Closes, 0)) || len(k.decided) > k.sum.Committee.Colluding
}

// slotAfter returns when a contribution is sent: one tick after it was begun, or two,
// four, eight and so on ticks, at the first of these times at which it is ready. So the
// time says little about how long the work took.
func slotAfter(began, ready time.Time, tick time.Duration) time.Time {
	at := began.Add(tick)
	for ; at.Before(ready); tick *= 2 {
		at = at.Add(tick)
	}
	return at
}

// serve lets members fetch the upload.
func (k *contributor) serve(upload []byte) error {
	if upload == nil {
		return nil
	}
	p, err := k.desk.part(k.sum)
	if err != nil {
		return err
	}
	digest, err := k.sum.EntryDigest(upload)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(upload) > k.sum.EntrySize() {
		p.blobs[gossip.BlobName(digest)] = upload
	}
	k.entry = digest[:]
	return nil
}

// patiently fetches something for as long as patience says. If that was too short and the sum
// is closed, it is more patient the next time.
func (k *contributor) patiently(ctx context.Context, fetch func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, k.patience)
	defer cancel()
	err := fetch(limited)
	if err != nil && limited.Err() != nil && k.closed(k.machine.Opening()) {
		k.patience = min(2*k.patience, longestPause)
	}
	return err
}

// decide looks for the device's own contribution in the certified list.
func (k *contributor) decide(ctx context.Context, r reference, who peer.ID) error {
	var decision []byte
	err := k.patiently(ctx, func(ctx context.Context) (err error) {
		if r.size > int64(k.sum.LongestDecision()) {
			return errLong
		}
		decision, err = k.desk.gossip.Fetch(ctx, r.name, r.size, []peer.ID{who}, r.check)
		return err
	})
	if err != nil {
		k.complain(who, "list", err)
		return nil
	}
	_, err = k.machine.Decided(decision)
	if errors.Is(err, sums.ErrRolledBack) && k.c.Ledger != nil {
		// ContradictSum returns nil if a restore explains the difference.
		if err := k.c.Ledger.ContradictSum(storage.SumID(k.sum.ID), k.sum.Epoch); err != nil {
			return fmt.Errorf("summing: %w", err)
		}
	} else if err != nil {
		k.complain(who, "list", err)
		return nil
	}
	k.checked = decision
	k.part.decide(decision)
	return nil
}
