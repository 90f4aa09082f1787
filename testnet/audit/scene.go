package audit

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"slices"
	"time"

	"p2pnode/sums"
	"p2pnode/testnet/sim"
)

// scene is a private sum with what the attackers take from it and do to it.
type scene struct {
	attacker
	config  sim.PrivateSum
	uploads [][]byte // uploads of devices, in the order in which they came
	forge   func(upload []byte) [][]byte
	lie     func(by int, m *sums.Message, l sums.Letter) ([]sums.Letter, error)
	opened  map[sums.Digest][][]byte // streams' sums by list and class, from honest members
	err     error                    // an error of the attacker's program
}

const sceneDimension = 256

// newScene makes a sum of an epoch with this many contributors, in which these members
// collude.
func newScene(seed, epoch uint64, people int, colluders ...int) *scene {
	s := &scene{
		attacker: attacker{keys: make(map[int]sums.Secrets), pledges: make(map[int][]byte)},
		opened:   make(map[sums.Digest][][]byte),
	}
	s.config = sim.PrivateSum{
		Terms: sums.Terms{
			Task: sums.Digest{1}, Recipe: "audit", Epoch: epoch, Committee: sums.Committee{Colluding: colluding},
			Distance: 1.5, Std: 6, Dimension: sceneDimension, Contributors: 100, Records: 100,
		},
		Members: committeeSize, Contributors: people,
		Vector:  func(i int, _ *sums.Sum) ([]int64, int) { return vectorOf(i), i + 1 },
		Collect: time.Minute, Latency: 100 * time.Millisecond, Until: 10 * time.Minute, Seed: seed,
		Forge: func(_ *sums.Sum, upload []byte) [][]byte {
			s.uploads = append(s.uploads, upload)
			if s.forge == nil {
				return nil
			}
			return s.forge(upload)
		},
		Lie: func(member int, sum *sums.Sum, k sums.Secrets, l sums.Letter) []sums.Letter {
			s.sum = sum
			return s.hear(member, slices.Contains(colluders, member), k, l)
		},
	}
	return s
}

// vectorOf is the vector that device i adds: few numbers, all of one size.
func vectorOf(i int) []int64 {
	v := make([]int64, sceneDimension)
	for j := range v {
		v[j] = int64(j%2*1000 - i)
	}
	return v
}

// hear takes in what a member sends, and replaces it if the member colludes.
func (s *scene) hear(member int, colludes bool, k sums.Secrets, l sums.Letter) []sums.Letter {
	m, err := s.sum.ReadMessage(l.Message)
	switch {
	case err != nil:
		s.err = err
	case m.Kind == sums.KindPledge:
		s.pledges[member] = m.Payload
	case m.Kind == sums.KindOpen && !colludes:
		list := sums.Digest(m.Payload)
		if s.opened[list] == nil {
			s.opened[list] = make([][]byte, len(s.sum.Committee.Classes()))
		}
		s.opened[list][m.Number] = m.Payload[len(list):]
	}
	if !colludes {
		return []sums.Letter{l}
	}
	if _, given := s.keys[member]; !given { // later the member erases them
		s.keys[member] = k
	}
	if s.lie == nil || err != nil {
		return []sums.Letter{l}
	}
	letters, err := s.lie(member, m, l)
	if err != nil {
		s.err = err
	}
	return letters
}

// run carries the sum out.
func (s *scene) run() (*sim.SumReport, error) {
	r, err := s.config.Run()
	return r, errors.Join(err, s.err)
}

// reads reports whether these are the numbers that the upload's device added.
func (s *scene) reads(rest []uint64, upload []byte) bool {
	for i := range s.config.Contributors {
		if bytes.Equal(upload[fromAt:][:digestSize], sim.DeviceKey(i).Public().(ed25519.PublicKey)) {
			return slices.EqualFunc(rest, vectorOf(i), func(x uint64, v int64) bool { return int64(x) == v })
		}
	}
	return false
}

// confirmHolding makes a colluding member say, in everything it sends, that it holds
// these uploads.
func (s *scene) confirmHolding(uploads *[][]byte) {
	s.lie = func(by int, m *sums.Message, l sums.Letter) ([]sums.Letter, error) {
		letters := []sums.Letter{l}
		if m.Kind != sums.KindAccept {
			return letters, nil
		}
		for _, upload := range *uploads {
			message, err := s.say(by, sums.KindAccept, 0, s.name(upload))
			if err != nil {
				return nil, err
			}
			letters = append(letters, sums.Letter{To: -1, Message: message})
		}
		return letters, nil
	}
}
