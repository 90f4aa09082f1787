package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/testnet/sim"
)

// Attempt is an attack on contributions to a private sum, and its result.
type Attempt struct {
	Attack string `json:"attack"`
	Found  string `json:"found"`
	// Holds reports that the attack learned no more than it may. An attack by more
	// members than may collude must learn everything, or it proves nothing.
	Holds bool `json:"holds"`
}

// Attack attacks private sums of a committee of four with all their arithmetic, keys
// and signatures. It looks at contributions, steals and repeats them, and tries to have
// two lists opened. It takes a second or two. When ctx ends, it returns the attempts so
// far with the error of ctx.
func Attack(ctx context.Context, seed uint64) ([]Attempt, error) {
	var done []Attempt
	for _, try := range []func(seed uint64) (Attempt, error){
		lookAsOne, lookAsTwo, stealContribution, repeatEpoch, payTwice, openTwiceAsOne, openTwiceAsTwo,
	} {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		a, err := try(seed)
		if err != nil {
			return done, fmt.Errorf("audit: the attack %q: %w", a.Attack, err)
		}
		done = append(done, a)
	}
	return done, nil
}

// lookAsOne looks at contributions with the keys of as many members as may collude.
// What is left of them, and of the difference of two, must be uniform: each of the
// eight bytes of a number takes each of the 256 values equally often. A correct
// chi-square is further than seven standard deviations off with a probability below
// 1e-8.
func lookAsOne(seed uint64) (Attempt, error) {
	a := Attempt{Attack: "1 member looks at contributions"}
	s := newScene(seed, 1, 100, 2)
	if _, err := s.run(); err != nil {
		return a, err
	}
	var alone, differences counter
	last := make([]uint64, sceneDimension)
	for _, upload := range s.uploads {
		rest, err := s.view(upload)
		if err != nil {
			return a, err
		}
		alone.count(rest)
		add(last, rest, -1)
		differences.count(last)
		last = rest
	}
	off := max(alone.off(), differences.off())
	a.Found = "uniform numbers: chi-squares within 7 standard deviations"
	if a.Holds = off <= 7; !a.Holds {
		a.Found = fmt.Sprintf("numbers that are not uniform: a chi-square is %.1f standard deviations off", off)
	}
	return a, nil
}

// counter counts, for each byte of numbers, how often it takes each value.
type counter [8][256]int

func (c *counter) count(v []uint64) {
	for _, x := range v {
		for b := range c {
			c[b][byte(x>>(8*b))]++
		}
	}
}

// off is the largest deviation of a chi-square, in standard deviations.
func (c *counter) off() (most float64) {
	for b := range c {
		all := 0
		for _, n := range c[b] {
			all += n
		}
		chi, want := 0.0, float64(all)/256
		for _, n := range c[b] {
			chi += (float64(n) - want) * (float64(n) - want) / want
		}
		most = max(most, math.Abs(chi-255)/math.Sqrt(2*255))
	}
	return most
}

// lookAsTwo looks with the keys of one more member than may collude, and must read
// everything.
func lookAsTwo(seed uint64) (Attempt, error) {
	a := Attempt{Attack: "2 members look at contributions"}
	s := newScene(seed, 1, 10, 0, 2)
	if _, err := s.run(); err != nil {
		return a, err
	}
	read := 0
	for _, upload := range s.uploads {
		rest, err := s.view(upload)
		if err != nil {
			return a, err
		}
		if s.reads(rest, upload) {
			read++
		}
	}
	a.Holds = read == len(s.uploads)
	a.Found = fmt.Sprintf("the vectors of %d of %d devices, as is said of more", read, len(s.uploads))
	return a, nil
}

// stealContribution sends everyone's contributions again under other names, with a
// member's confirmation that they are good. If it succeeded, the sum would hold each
// vector twice.
func stealContribution(seed uint64) (Attempt, error) {
	const people = 5
	a := Attempt{Attack: "a stranger sends copies of contributions as his own, 1 member vouches for them"}
	s := newScene(seed, 1, people, 0)
	var copies [][]byte
	s.forge = func(upload []byte) [][]byte {
		copies = append(copies, s.claim(upload, sim.DeviceKey(people+len(copies))))
		return copies[len(copies)-1:]
	}
	s.confirmHolding(&copies)
	return a.listed(s, people)
}

// repeatEpoch sends the contributions of one epoch again in the next.
func repeatEpoch(seed uint64) (Attempt, error) {
	const before, people = 5, 3
	a := Attempt{Attack: "contributions of the last epoch are sent again, 1 member vouches for them"}
	last := newScene(seed, 1, before)
	if _, err := last.run(); err != nil {
		return a, err
	}
	s := newScene(seed, 2, people, 0)
	repeated := slices.DeleteFunc(last.uploads, func(upload []byte) bool {
		return slices.ContainsFunc([]int{0, 1, 2}, func(i int) bool {
			return bytes.Equal(upload[fromAt:][:digestSize], sim.DeviceKey(i).Public().(ed25519.PublicKey))
		})
	})
	s.forge = func([]byte) [][]byte { return repeated }
	s.confirmHolding(&repeated)
	return a.listed(s, people)
}

// listed checks that a sum holds the contributions of these people and no others.
func (a Attempt) listed(s *scene, people int) (Attempt, error) {
	r, err := s.run()
	if err != nil {
		return a, err
	}
	a.Found = fmt.Sprintf("%d entries, of %d honest devices", r.Result.Entries, people)
	a.Holds = int(r.Result.Entries) == people && r.Result.Records == uint64(people*(people+1)/2)
	return a, nil
}

// payTwice asks a ledger on disk to pay for a sum twice, and for the next epoch's sum
// with the same records.
func payTwice(uint64) (a Attempt, err error) {
	a.Attack = "a device is asked twice for one sum, and in the next epoch for the same records"
	dir, err := os.MkdirTemp("", "p2pnode-audit")
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := storage.Open(filepath.Join(dir, "node.db"))
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	policy, err := privacy.Design{Budget: privacy.Budget{Epsilon: 1, Delta: 1e-6}, Dimension: 1, Releases: 1, Apart: 1, Widest: sceneDimension}.Policy()
	if err != nil {
		return a, err
	}
	ledger, err := store.OpenLedger(policy)
	if err != nil {
		return a, err
	}
	return a, a.ask(ledger)
}

// ask contributes twice to one sum, and once to that of another epoch.
func (a *Attempt) ask(ledger *storage.Ledger) error {
	m, err := privacy.NewGaussian(0.75, 60) // so weak a release that the budget would pay for many sums
	if err == nil {
		m, err = m.Bounded(1.5, sceneDimension)
	}
	if err != nil {
		return err
	}
	made := 0
	contribute := func(sum byte, epoch uint64) ([]byte, error) {
		return ledger.Contribute(storage.Contribution{Sum: storage.SumID{sum}, Epoch: epoch, Mechanism: m, Cohorts: []privacy.Cohort{cohort}},
			func([]privacy.Cohort) ([]byte, error) { made++; return []byte{sum, byte(made)}, nil })
	}
	first, err := contribute(1, 1)
	if err != nil {
		return err
	}
	again, err := contribute(1, 1)
	if err != nil {
		return err
	}
	_, later := contribute(2, 2)
	debits := ledger.Spending()[0].Sums
	a.Holds = bytes.Equal(first, again) && made == 1 && debits == 1 && errors.Is(later, storage.ErrExhausted)
	a.Found = fmt.Sprintf("%d contribution made and %d debit; the next epoch: %v", made, debits, later)
	return nil
}
