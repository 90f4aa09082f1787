package sim

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"time"

	"p2pnode/privacy"
	"p2pnode/sums"
)

// PrivateSum is one private sum under virtual time: a committee and its contributors run
// the state machines of a device, and all arithmetic, keys and signatures are real.
// Messages are lost and late, contributors come when they like, and members are killed
// and come back from their journals.
type PrivateSum struct {
	// Terms of the sum. Its committee's members are filled in: [DeviceKey] of numbers
	// below 0, from -1 down.
	Terms   sums.Terms
	Members int // S
	// Contributors is how many devices take part, and Vector what the i-th of them adds,
	// in grid units, and the number of its records. It is asked once for each.
	Contributors int
	Vector       func(i int, s *sums.Sum) (v []int64, records int)
	// Collect is how long contributors come, each at a time of its own. The sum closes
	// 15 seconds later, so that the last ones can send twice.
	Collect time.Duration
	Latency time.Duration // a message takes half of it to one and a half, > 0
	Loss    float64       // probability, of each message
	// Crash is the mean time between two kills of a member, and Down how long it is gone;
	// 0: none is killed.
	Crash, Down time.Duration
	// Lie, if set, may replace what a member sends, who gives its keys away.
	Lie func(member int, s *sums.Sum, k sums.Secrets, l sums.Letter) []sums.Letter
	// Forge, if set, may add uploads to one on its way.
	Forge func(s *sums.Sum, upload []byte) [][]byte
	// Clock, if set, is read around the arithmetic of contributors and members.
	Clock func() time.Duration
	Until time.Duration // an error if the sum has not ended by then
	Seed  uint64        // of noise, times and losses; keys are drawn anew
}

// SumReport is what came of a [PrivateSum].
type SumReport struct {
	Sum     *sums.Sum
	Result  *sums.Result
	Opened  time.Duration // when the first contributor could have begun
	Done    time.Duration // when the last member that was there had the result, or knew it
	Kills   int
	Views   uint32 // the highest view that was needed
	Letters int    // between members, delivered
	Bytes   int64  // of them
	// Contributing and Adding are what the Clock says that all contributors took, and all
	// members for all they did, drawing noise included.
	Contributing, Adding time.Duration
	Blamed               map[int]int
}

// DeviceKey is the identity of a simulated device; anybody can compute it.
func DeviceKey(i int) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	binary.LittleEndian.PutUint64(seed, uint64(i))
	return ed25519.NewKeyFromSeed(seed)
}

// How often members repeat what may have been lost, how long a view lasts, and how often
// a device sends again, as on a device.
const (
	sumTick  = time.Second
	sumView  = 10 * time.Second
	sumRetry = 15 * time.Second
)

// summing is a run of a private sum.
type summing struct {
	PrivateSum
	sum     *sums.Sum
	random  *rand.Rand
	noise   *privacy.SeededNoise
	now     time.Duration
	events  events
	members []*summingMember
	// What everybody can fetch: uploads by the digest of their entry.
	uploads map[sums.Digest][]byte
	devices map[sums.Digest]*sums.Contributor // whose upload is not yet held by a quorum
	opening *sums.Opening
	report  SumReport
	err     error
}

// summingMember is a member with its disk.
type summingMember struct {
	identity ed25519.PrivateKey
	secrets  sums.Secrets
	pledge   sums.Pledge
	journal  []sums.Input
	machine  *sums.Member
	life     int
	down     bool
	done     bool
}

// Run adds up until all members know the result. Its errors are those of the terms, and
// a sum that has not ended in time.
func (p PrivateSum) Run() (*SumReport, error) {
	p.Terms.Committee.Members = nil
	for i := range p.Members {
		p.Terms.Committee.Members = append(p.Terms.Committee.Members, sums.Identity(DeviceKey(-1-i).Public().(ed25519.PublicKey)))
	}
	s, err := sums.New(p.Terms)
	if err != nil {
		return nil, err
	}
	if p.Latency <= 0 || p.Vector == nil {
		return nil, errors.New("sim: a private sum needs a latency above 0 and the vectors of its contributors")
	}
	r := &summing{
		PrivateSum: p, sum: s, random: rand.New(rand.NewPCG(p.Seed, 17)), noise: privacy.NewSeededNoise(p.Seed),
		uploads: make(map[sums.Digest][]byte), devices: make(map[sums.Digest]*sums.Contributor),
	}
	r.report = SumReport{Sum: s, Blamed: make(map[int]int)}
	if err := r.begin(); err != nil {
		return nil, err
	}
	for r.err == nil && r.events.Len() > 0 && !r.ended() {
		e := r.events.next()
		if r.now = e.at; r.now > p.Until {
			return nil, errors.New("sim: the private sum has not ended in time")
		}
		e.do()
	}
	r.report.Done = r.now
	return &r.report, r.err
}

func (r *summing) clock() time.Duration {
	if r.Clock == nil {
		return 0
	}
	return r.Clock()
}

func (r *summing) at(delay time.Duration, do func()) { r.events.add(r.now+delay, do) }

// travel lets something arrive, if it is not lost.
func (r *summing) travel(do func()) {
	if r.random.Float64() >= r.Loss {
		r.at(r.Latency/2+time.Duration(r.random.Float64()*float64(r.Latency)), do)
	}
}

func (r *summing) begin() error {
	for i := range r.Members {
		m := &summingMember{identity: DeviceKey(-1 - i)}
		var err error
		if m.secrets, err = sums.NewSecrets(); err != nil {
			return err
		}
		if m.pledge, err = r.sum.Pledge(m.identity, m.secrets, int64(r.Collect/time.Second)); err != nil {
			return err
		}
		r.members = append(r.members, m)
		r.start(i)
		r.crashLater(i)
	}
	return nil
}

// start makes a member's machine, from its journal if it has one.
func (r *summing) start(i int) {
	m := r.members[i]
	m.life++
	m.machine = sums.NewMember(r.sum, m.secrets, m.pledge)
	for _, in := range m.journal {
		if _, err := m.machine.Step(in); err != nil && r.err == nil {
			r.err = errors.New("sim: a member's journal is refused: " + err.Error())
		}
	}
	if m.life > 1 {
		r.step(i, sums.Restarted{})
	}
	life := m.life
	var tick func()
	tick = func() {
		if m.life == life && !m.down {
			r.step(i, sums.Tick{})
			r.at(sumTick, tick)
		}
	}
	tick()
}

func (r *summing) crashLater(i int) {
	if r.Crash == 0 {
		return
	}
	r.at(time.Duration(r.random.ExpFloat64()*float64(r.Crash)), func() {
		m := r.members[i]
		if m.done {
			return
		}
		r.report.Kills++
		m.down, m.machine = true, nil
		r.at(r.Down, func() {
			m.down = false
			r.start(i)
			if r.now >= r.closing() {
				r.step(i, sums.Closing{})
				r.watchView(i)
			}
			r.crashLater(i)
		})
	})
}

func (r *summing) closing() time.Duration {
	if r.opening == nil {
		return r.Until
	}
	return r.report.Opened + r.Collect + sumRetry
}

// ended reports whether every member knows the result.
func (r *summing) ended() bool {
	for _, m := range r.members {
		if !m.done && !(m.machine != nil && m.machine.Silent()) {
			return false
		}
	}
	return true
}

// step feeds a member, keeps its journal and carries out what it wants.
func (r *summing) step(i int, in sums.Input) {
	m := r.members[i]
	if m.down || r.err != nil {
		return
	}
	began := r.clock()
	out, err := m.machine.Step(in)
	r.report.Adding += r.clock() - began
	if err != nil {
		return
	}
	if out.Took && !m.done {
		m.journal = append(m.journal, in)
	}
	for _, b := range out.Blame {
		r.report.Blamed[b.Member]++
	}
	r.report.Views = max(r.report.Views, m.machine.View())
	if out.Noise != nil {
		r.drawNoise(i, out.Noise)
	}
	r.send(i, out.Send)
	for _, d := range out.Fetch {
		if upload := r.uploads[d]; upload != nil {
			r.travel(func() { r.arrive(i, upload) })
		}
	}
	if out.Add != nil {
		r.add(i, out.Add)
	}
	if out.Done != nil {
		m.done = true
		if out.Done.Result != nil {
			r.report.Result = out.Done.Result
		}
	}
	if out.Erase {
		m.done, m.journal, m.secrets = true, nil, sums.Secrets{}
	}
	if o := m.machine.Opening(); o != nil && r.opening == nil {
		r.open(o)
	}
}

func (r *summing) drawNoise(i int, request *sums.NoiseRequest) {
	m, began := r.members[i], r.clock()
	upload, err := r.sum.ContributeNoise(request, m.identity, r.noise.Part(r.sum.Mechanism, r.sum.Committee.Honest()))
	r.report.Adding += r.clock() - began
	if err != nil {
		r.err = err
		return
	}
	entry, _, _ := r.sum.Split(upload)
	r.keep(upload)
	r.step(i, sums.Drawn{Entry: entry})
}

// keep stores an upload where others can fetch it.
func (r *summing) keep(upload []byte) sums.Digest {
	d, err := r.sum.EntryDigest(upload)
	if err != nil {
		r.err = err
	}
	r.uploads[d] = upload
	return d
}

func (r *summing) send(from int, letters []sums.Letter) {
	for _, l := range letters {
		list := []sums.Letter{l}
		if r.Lie != nil {
			list = r.Lie(from, r.sum, r.members[from].secrets, l)
		}
		for _, l := range list {
			for to := range r.members {
				if to != from && (l.To == to || l.To == -1) {
					r.travel(func() {
						r.report.Letters++
						r.report.Bytes += int64(len(l.Message))
						r.step(to, sums.Heard{From: from, Message: l.Message})
					})
				}
			}
			r.tellDevices(l.Message)
		}
	}
}

// tellDevices lets contributors hear that a member holds what they sent.
func (r *summing) tellDevices(message []byte) {
	m, err := r.sum.ReadMessage(message)
	if err != nil || m.Kind != sums.KindAccept {
		return
	}
	for b := m.Payload; len(b) > 0; b = b[len(sums.Digest{}):] {
		d := sums.Digest(b)
		if c := r.devices[d]; c != nil {
			if err := c.Accepted(message); err == nil && c.Send() == nil {
				delete(r.devices, d)
			}
		}
	}
}

func (r *summing) arrive(to int, upload []byte) {
	entry, masked, err := r.sum.Split(upload)
	if err != nil {
		r.err = err
		return
	}
	began := r.clock()
	hash := sums.HashMasked(masked)
	r.report.Adding += r.clock() - began
	r.step(to, sums.Arrived{Entry: entry, Masked: hash})
}

// open lets the contributors come, and the sum close after them.
func (r *summing) open(o *sums.Opening) {
	r.opening, r.report.Opened = o, r.now
	bytes := o.Bytes()
	for i := range r.Contributors {
		r.at(time.Duration(r.random.Float64()*float64(r.Collect)), func() { r.contribute(i, bytes) })
	}
	r.at(r.Collect+sumRetry, func() {
		for i := range r.members {
			r.step(i, sums.Closing{})
			r.watchView(i)
		}
	})
}

// contribute lets a device pay for the opening and send until a quorum holds its upload.
func (r *summing) contribute(i int, opening []byte) {
	identity, began := DeviceKey(i), r.clock()
	c, err := sums.NewContributor(r.sum, sums.Identity(identity.Public().(ed25519.PublicKey)), nil)
	if err != nil {
		r.err = err
		return
	}
	o, err := c.Open(opening)
	if err != nil {
		r.err = err
		return
	}
	v, records := r.Vector(i, r.sum)
	upload, err := r.sum.Contribute(o, identity, records, v)
	if err == nil {
		err = c.Paid(upload)
	}
	if err != nil {
		r.err = err
		return
	}
	r.report.Contributing += r.clock() - began
	d := r.keep(upload)
	r.devices[d] = c
	r.upload(d)
	if r.Forge != nil {
		for _, upload := range r.Forge(r.sum, upload) {
			r.keep(upload)
			r.offer(upload)
		}
	}
}

// upload sends a device's upload to all members, and again while it is not held.
func (r *summing) upload(d sums.Digest) {
	c := r.devices[d]
	if c == nil || r.now > r.closing() {
		return
	}
	r.offer(c.Send())
	r.at(sumRetry, func() { r.upload(d) })
}

func (r *summing) offer(upload []byte) {
	for to := range r.members {
		r.travel(func() { r.arrive(to, upload) })
	}
}

// add answers a member's question for the sum of masked vectors.
func (r *summing) add(i int, a *sums.Addition) {
	total, began := make([]uint64, r.sum.Dimension), r.clock()
	for _, d := range a.Entries {
		_, masked, err := r.sum.Split(r.uploads[d])
		if err == nil {
			err = sums.AddWords(total, masked)
		}
		if err != nil {
			r.err = err
			return
		}
	}
	r.report.Adding += r.clock() - began
	r.step(i, sums.Added{List: a.List, Total: total})
}

// watchView ends views that last too long, each twice as long as the one before.
func (r *summing) watchView(i int) {
	m, life := r.members[i], r.members[i].life
	if m.down || !m.machine.Voting() {
		return
	}
	view := m.machine.View()
	r.at(sumView<<min(view, 6), func() {
		if m.life == life && !m.down {
			r.step(i, sums.Timeout{View: view})
			r.watchView(i)
		}
	})
}
