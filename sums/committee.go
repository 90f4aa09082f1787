package sums

import (
	"crypto/ed25519"
	"fmt"
	"math/bits"
	"slices"
)

// Identity is the Ed25519 public key of a device. The device's peer ID contains it too.
type Identity [ed25519.PublicKeySize]byte

// mostMembers is the size of the largest committee. The seeds of a contribution grow
// with the number of sets of colluding members.
const mostMembers = 10

// Committee is the group that adds up a private sum. Its order is part of the sum's
// name.
type Committee struct {
	Members   []Identity // S members, S >= 3 Colluding + 1
	Colluding int        // t >= 1: how many may work together against the contributors
}

// Class is a set of t members, bit i for member i: those that do NOT hold one of the
// seeds of every contribution.
type Class uint16

// lacks reports whether the member does not hold the class's seeds.
func (c Class) lacks(member int) bool { return c>>member&1 == 1 }

func (c Committee) validate() error {
	s, t := len(c.Members), c.Colluding
	if t < 1 || s < 3*t+1 || s > mostMembers {
		return fmt.Errorf("sums: a committee of %d against %d colluding members, choose 1 or more colluding and 3 times as many and one, up to %d, as members", s, t, mostMembers)
	}
	for i, m := range c.Members {
		if slices.Contains(c.Members[:i], m) {
			return fmt.Errorf("sums: member %d of the committee is named twice", i+1)
		}
	}
	return nil
}

// Quorum is how many signatures stand for the committee: any two sets of that size
// share more than t members, hence an honest one.
func (c Committee) Quorum() int { return (len(c.Members)+c.Colluding)/2 + 1 }

// Honest is S-t, the number of parts of the noise that are enough.
func (c Committee) Honest() int { return len(c.Members) - c.Colluding }

// Classes lists the sets of t members by their bit masks, ascending.
func (c Committee) Classes() []Class {
	var list []Class
	for k := range Class(1) << len(c.Members) {
		if bits.OnesCount16(uint16(k)) == c.Colluding {
			list = append(list, k)
		}
	}
	return list
}

// index is a member's position, or -1 if id is not a member.
func (c Committee) index(id Identity) int { return slices.Index(c.Members, id) }
