package sums_test

import (
	"crypto/ed25519"
	"fmt"
	"log"
	"math"
	"slices"

	"p2pnode/privacy"
	"p2pnode/sums"
)

// Three devices add up what they know, with a committee of four of whom one may collude. All
// of them are in this process, and the driver below has no network, no clock and no disk. Its
// comments say where a real one has.
func Example() {
	d := &driver{uploads: make(map[sums.Digest][]byte)}
	var members []sums.Identity
	for range 4 {
		d.identities = append(d.identities, newIdentity())
		members = append(members, public(d.identities[len(members)]))
	}
	var err error
	d.sum, err = sums.New(sums.Terms{
		Task: sums.Digest{1}, Recipe: "hours and visits", Epoch: 1,
		Committee: sums.Committee{Members: members, Colluding: 1},
		Distance:  2, Std: 4, Dimension: 2, Contributors: 100, Records: 20,
	})
	check(err)

	// Each member makes keys for this sum alone and stores them, and says when it wants to
	// close: in a second, by the clock of 1970.
	for _, identity := range d.identities {
		secrets, err := sums.NewSecrets()
		check(err)
		pledge, err := d.sum.Pledge(identity, secrets, 1)
		check(err)
		d.members = append(d.members, sums.NewMember(d.sum, secrets, pledge))
	}
	d.until(func() bool {
		return !slices.ContainsFunc(d.members, func(m *sums.Member) bool { return m.Opening() == nil })
	})

	// A device pays for the opening, once, and sends the same bytes until a quorum holds them.
	var devices []*sums.Contributor
	for _, v := range [][]float64{{10, 1}, {20, 2}, {30, 3}} {
		identity := newIdentity()
		c, err := sums.NewContributor(d.sum, public(identity), nil) // or with the upload that is on its disk
		check(err)
		opening, err := c.Open(d.members[0].Opening().Bytes()) // as any member gives it out
		check(err)
		// Here the ledger debits 10 records for d.sum.Mechanism, and is on disk.
		upload, err := d.sum.Contribute(opening, identity, 10, d.sum.Mechanism.Units(v, d.sum.Limit))
		check(err)
		check(c.Paid(upload)) // the upload is on disk too
		name := d.keep(c.Send())
		for i := range d.members {
			d.arrive(i, name)
		}
		devices = append(devices, c)
	}
	d.until(func() bool {
		for _, c := range devices {
			for _, message := range d.accepts {
				check(c.Accepted(message))
			}
		}
		return !slices.ContainsFunc(devices, func(c *sums.Contributor) bool { return c.Send() != nil })
	})

	// The time of the opening's Closes has come.
	for i := range d.members {
		d.step(i, sums.Closing{})
	}
	d.until(func() bool { return d.result != nil && d.decision != nil })

	// Whoever has the bytes of the result and of the decision can check them.
	published, err := d.sum.ReadPublished(d.result)
	check(err)
	list, _, err := d.sum.ReadDecision(published, d.decision)
	check(err)
	for _, c := range devices {
		listed, err := c.Decided(d.decision)
		check(err)
		fmt.Println("in the sum:", listed)
	}
	fmt.Printf("%d contributions of %d records\n", len(list.Entries), published.Result.Records)
	for j, want := range []float64{60, 6} {
		off := math.Abs(float64(published.Result.Values[j]) - want)
		fmt.Printf("%v up to the noise: %v\n", want, off < 8*d.sum.Noise())
	}
	// Output:
	// in the sum: true
	// in the sum: true
	// in the sum: true
	// 3 contributions of 30 records
	// 60 up to the noise: true
	// 6 up to the noise: true
}

// driver feeds the members and carries out what they want.
type driver struct {
	sum        *sums.Sum
	identities []ed25519.PrivateKey
	members    []*sums.Member
	uploads    map[sums.Digest][]byte // what anybody may fetch, by the digest of its entry
	onTheirWay []func()
	accepts    [][]byte // messages with which members say what they hold
	decision   []byte
	result     []byte
}

// until delivers all letters and lets a second pass, until something is so.
func (d *driver) until(so func() bool) {
	for range 100 {
		for len(d.onTheirWay) > 0 {
			next := d.onTheirWay[0]
			d.onTheirWay = d.onTheirWay[1:]
			next()
		}
		if so() {
			return
		}
		for i := range d.members {
			d.step(i, sums.Tick{})
			// While a member is Voting, and has been in one View for twice the time that its
			// leader waits (10 ticks in the first view, 20 in the next one, and so on), it gets
			// sums.Timeout{View: m.View()}. Here all leaders are honest and no letter is lost.
		}
	}
	log.Fatal("the committee does not get on")
}

func (d *driver) later(to int, in sums.Input) {
	d.onTheirWay = append(d.onTheirWay, func() { d.step(to, in) })
}

// step gives a member an input and does what comes out, in the order of the fields.
func (d *driver) step(i int, in sums.Input) {
	out, err := d.members[i].Step(in)
	if err != nil {
		return // it came twice, too late or from a liar, and has changed nothing
	}
	// If out.Took is true, sums.EncodeInput(in) is appended to the member's journal, and on
	// disk before anything else is done.
	if out.Noise != nil { // once: an upload that is on disk from before is the answer
		part := privacy.NewLiveNoise().Part(d.sum.Mechanism, d.sum.Committee.Honest())
		upload, err := d.sum.ContributeNoise(out.Noise, d.identities[i], part)
		check(err)
		d.keep(upload)
		entry, _, err := d.sum.Split(upload)
		check(err)
		d.later(i, sums.Drawn{Entry: entry})
	}
	for _, letter := range out.Send { // over channels that say who sends; a Secret one over one that nobody else reads
		for to := range d.members {
			if to != i && (letter.To == to || letter.To == -1) {
				d.later(to, sums.Heard{From: i, Message: letter.Message})
			}
		}
		d.pass(letter)
	}
	for _, name := range out.Fetch { // from whoever has it; the member asks again if nobody does
		if d.uploads[name] != nil {
			d.arrive(i, name)
		}
	}
	if out.Add != nil {
		total := make([]uint64, d.sum.Dimension)
		for _, name := range out.Add.Entries {
			_, masked, err := d.sum.Split(d.uploads[name])
			check(err)
			check(sums.AddWords(total, masked))
		}
		d.later(i, sums.Added{List: out.Add.List, Total: total})
	}
	if out.Done != nil && out.Done.Result != nil {
		d.result = out.Done.Bytes()
	}
	// out.Blame is for the log. If out.Erase is true, the result is on disk, and then the
	// member's secrets and journal are erased for good.
}

// pass gives devices what they need of a letter between members: the whole message of what a
// member holds, and the payload alone of what a quorum decided.
func (d *driver) pass(letter sums.Letter) {
	message, err := d.sum.ReadMessage(letter.Message)
	check(err)
	switch message.Kind {
	case sums.KindAccept:
		d.accepts = append(d.accepts, letter.Message)
	case sums.KindDecided:
		d.decision = message.Payload
	}
}

// keep stores an upload where others can fetch it, and returns its name.
func (d *driver) keep(upload []byte) sums.Digest {
	name, err := d.sum.EntryDigest(upload)
	check(err)
	d.uploads[name] = upload
	return name
}

// arrive tells a member of an upload. The driver keeps the upload itself, for Add and for the
// other members.
func (d *driver) arrive(i int, name sums.Digest) {
	in, err := d.sum.Receive(name, d.uploads[name])
	check(err)
	d.later(i, in)
}

func newIdentity() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(nil)
	check(err)
	return key
}

func public(key ed25519.PrivateKey) sums.Identity {
	return sums.Identity(key.Public().(ed25519.PublicKey))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
