package sums

// A committee opens one list. Two openings with the same noise and with lists that
// differ by one device show that device's vector, so members vote by views with locks,
// as in PBFT (Castro, Liskov, "Practical Byzantine Fault Tolerance", 1999). All of that
// depends on the voter, a part of each member. It is told of proofs only: its caller
// has checked the signatures.

// Lock says that a quorum prepared a digest in a view. The zero Lock means none.
type Lock struct {
	View   uint32
	Digest Digest
}

// voter is what a member must never forget of its votes for one sum. The zero value
// has not voted. Every change must be durable before it is told to anybody.
type voter struct {
	View     uint32 // it votes in no earlier view
	Prepared Digest // the digest for which it signed PREPARE in View; zero: none
	Lock     Lock   // the newest lock on which it signed COMMIT
	Opened   Digest // the list it opens; zero: none
}

// advance gives up all views before w, and reports whether to sign VIEW for w with the
// voter's lock.
func (v *voter) advance(w uint32) bool {
	if w <= v.View {
		return false
	}
	v.View, v.Prepared = w, Digest{}
	return true
}

// prepare reports whether to sign PREPARE for the digest that the leader of view w
// proposes. For a view after the first, locks are those in the VIEW messages of a
// quorum: if any of them is locked, the highest lock decides what may be proposed.
func (v *voter) prepare(w uint32, digest Digest, locks []Lock) bool {
	if w < v.View || digest == (Digest{}) {
		return false
	}
	if lock := highest(locks); lock != (Lock{}) && lock.Digest != digest {
		return false
	}
	if w > v.View {
		v.View, v.Prepared = w, Digest{}
	}
	if v.Prepared == (Digest{}) {
		v.Prepared = digest
	}
	return v.Prepared == digest
}

// commit reports whether to sign COMMIT for the digest that a quorum prepared in view
// w. If so, it locks the digest.
func (v *voter) commit(w uint32, digest Digest) bool {
	if w != v.View {
		return false
	}
	v.Lock = Lock{w, digest}
	return true
}

// open reports whether to open the list that a quorum committed, in whatever view. It
// allows only one digest, whatever it is shown.
func (v *voter) open(digest Digest) bool {
	if v.Opened == (Digest{}) {
		v.Opened = digest
	}
	return v.Opened == digest
}

// highest returns the lock of the latest view, or the zero Lock if there is none.
func highest(locks []Lock) Lock {
	var best Lock
	for _, l := range locks {
		if l.Digest != (Digest{}) && (best == Lock{} || l.View > best.View) {
			best = l
		}
	}
	return best
}
