package sums

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// The votes are checked exhaustively: every order in which honest members can be shown
// every proof that can exist, where the network loses and delays at will, leaders and
// the colluding members do whatever they like, and there are two digests. A crash takes
// nothing away that was told to anybody, since what is told was written down before, so
// it is a delay. A member that was put back to an earlier state is a colluding one.

// world is a committee of honest voters and liars, with two digests, that vote in so
// many views.
type world struct {
	honest, liars, quorum int
	views                 uint32
	rules                 rules
}

// rules are the voter's, or a mistake.
type rules struct {
	prepare func(v *voter, w uint32, d Digest, locks []Lock) bool
	commit  func(v *voter, w uint32, d Digest) bool
}

var theRules = rules{(*voter).prepare, (*voter).commit}

// model is the state of one honest voter, with all that it has ever signed: that stays
// in the network for ever.
type model struct {
	voter    voter
	prepared [3]byte // by view: digest, or 0
	commits  [3][3]bool
	views    [3]byte // by view: 0 not signed, 1 without a lock, else 2 + 2 lock view + lock digest - 1
}

func digestOf(n byte) Digest { return Digest{n} }

func lockOf(code byte) Lock {
	if code < 2 {
		return Lock{}
	}
	return Lock{uint32(code-2) / 2, digestOf((code-2)%2 + 1)}
}

func codeOf(l Lock) byte {
	if l == (Lock{}) {
		return 1
	}
	return 2 + 2*byte(l.View) + l.Digest[0] - 1
}

// signature is one voter's state in a few bytes, and key that of all of them.
type (
	signature [13]byte
	key       [5]signature
)

// signatureOf writes a voter's state down, with the digests' names swapped or not.
func signatureOf(m *model, swap bool) (s signature) {
	name := func(d byte) byte {
		if swap && d != 0 {
			return 3 - d
		}
		return d
	}
	s[0], s[1] = byte(m.voter.View), name(m.voter.Prepared[0])
	s[2], s[3] = byte(m.voter.Lock.View), name(m.voter.Lock.Digest[0])
	for view, code := range m.views {
		commits := byte(0)
		for d := byte(1); d <= 2; d++ {
			if m.commits[view][d] {
				commits |= name(d)
			}
		}
		if l := lockOf(code); code >= 2 {
			l.Digest[0] = name(l.Digest[0])
			code = codeOf(l)
		}
		s[4+3*view], s[5+3*view], s[6+3*view] = name(m.prepared[view]), commits, code
	}
	return s
}

// keyOf is the same for states that differ in the names of voters or digests only.
func keyOf(state []model) key {
	var keys [2]key
	for i, swap := range []bool{false, true} {
		for n := range state {
			s, at := signatureOf(&state[n], swap), n
			for at > 0 && bytes.Compare(keys[i][at-1][:], s[:]) > 0 {
				keys[i][at] = keys[i][at-1]
				at--
			}
			keys[i][at] = s
		}
	}
	for n := range state {
		switch bytes.Compare(keys[0][n][:], keys[1][n][:]) {
		case -1:
			return keys[0]
		case 1:
			return keys[1]
		}
	}
	return keys[0]
}

// provable reports whether a quorum that prepared d in a view can be shown.
func (w world) provable(state []model, view uint32, d byte) bool {
	n := w.liars
	for i := range state {
		if state[i].prepared[view] == d {
			n++
		}
	}
	return n >= w.quorum
}

// certified reports whether a quorum's commits to d in one view can be shown.
func (w world) certified(state []model, d byte) bool {
	for view := range w.views {
		n := w.liars
		for i := range state {
			if state[i].commits[view][d] {
				n++
			}
		}
		if n >= w.quorum {
			return true
		}
	}
	return false
}

// justifications are the highest locks that the VIEWs of a quorum can be made to have.
func (w world) justifications(state []model, view uint32) []Lock {
	if view == 0 {
		return []Lock{{}}
	}
	liars := []Lock{{}}
	for u := range view {
		for d := byte(1); d <= 2; d++ {
			if w.provable(state, u, d) {
				liars = append(liars, Lock{u, digestOf(d)})
			}
		}
	}
	var found []Lock
	for set := range 1 << len(state) {
		var locks []Lock
		for i := range state {
			if set>>i&1 == 1 && state[i].views[view] != 0 {
				locks = append(locks, lockOf(state[i].views[view]))
			} else if set>>i&1 == 1 {
				locks = nil
				break
			}
		}
		if len(locks) != w.quorum-w.liars {
			continue
		}
		for _, l := range liars {
			if h := highest(append(locks, l)); !slices.Contains(found, h) {
				found = append(found, h)
			}
		}
	}
	return found
}

// steps calls visit with every state that one step of one voter leads to.
func (w world) steps(state []model, visit func([]model)) {
	try := func(i int, change func(m *model) bool) {
		next := slices.Clone(state)
		if change(&next[i]) && next[i] != state[i] {
			visit(next)
		}
	}
	for view := range w.views {
		justified := w.justifications(state, view)
		for i := range state {
			try(i, func(m *model) bool {
				ok := m.voter.advance(view)
				if ok {
					m.views[view] = codeOf(m.voter.Lock)
				}
				return ok
			})
			for d := byte(1); d <= 2; d++ {
				for _, lock := range justified {
					try(i, func(m *model) bool {
						ok := w.rules.prepare(&m.voter, view, digestOf(d), []Lock{lock})
						if ok {
							m.prepared[view] = d
						}
						return ok
					})
				}
				if w.provable(state, view, d) {
					try(i, func(m *model) bool {
						ok := w.rules.commit(&m.voter, view, digestOf(d))
						if ok {
							m.commits[view][d] = true
						}
						return ok
					})
				}
			}
		}
	}
}

// explore counts the states, up to the names of voters and digests, until two digests
// can be certified; safe if that never happens.
func (w world) explore() (states int, safe bool) {
	first := make([]model, w.honest)
	seen := map[key]struct{}{keyOf(first): {}}
	frontier := [][]model{first}
	certified := false
	for len(frontier) > 0 {
		state := frontier[len(frontier)-1]
		frontier = frontier[:len(frontier)-1]
		if w.certified(state, 1) || w.certified(state, 2) {
			certified = true
		}
		if w.certified(state, 1) && w.certified(state, 2) {
			return len(seen), false
		}
		w.steps(state, func(next []model) {
			k := keyOf(next)
			if _, old := seen[k]; !old {
				seen[k] = struct{}{}
				frontier = append(frontier, next)
			}
		})
	}
	return len(seen), certified
}

func TestVotesNeverCertifyTwoDigests(t *testing.T) {
	w, least := world{honest: 3, liars: 1, quorum: 3, views: 3, rules: theRules}, 600_000
	if testing.Short() {
		w.views, least = 2, 1000
	}
	states, safe := w.explore()
	t.Logf("(4,1), %d views: %d states", w.views, states)
	if !safe {
		t.Error("two digests can be certified, or none can")
	}
	if states < least {
		t.Errorf("only %d states were looked at", states)
	}
}

// Of several locks the latest view's decides: it is the only one that can be certified.
func TestHighestLock(t *testing.T) {
	a, b := Lock{0, digestOf(1)}, Lock{2, digestOf(2)}
	for _, locks := range [][]Lock{{a, b, {}}, {b, a}, {{}, b, a}} {
		if got := highest(locks); got != b {
			t.Errorf("of %v the highest is %v", locks, got)
		}
	}
	if got := highest([]Lock{{}, {}}); got != (Lock{}) {
		t.Errorf("of no lock the highest is %v", got)
	}
}

func TestVotesOfSeven(t *testing.T) {
	if os.Getenv("P2PNODE_VOTES") == "" {
		t.Skip("runs nightly: the votes of seven members take minutes")
	}
	w := world{honest: 5, liars: 2, quorum: 5, views: 2, rules: theRules}
	states, safe := w.explore()
	t.Logf("(7,2), two views: %d states", states)
	if !safe {
		t.Error("two digests can be certified, or none can")
	}
	if states < 300_000 {
		t.Errorf("only %d states were looked at", states)
	}
}

// A checker that finds nothing must be able to find something.
func TestMistakesInTheVotesAreFound(t *testing.T) {
	right := world{honest: 3, liars: 1, quorum: 3, views: 3, rules: theRules}
	for name, mistake := range map[string]func(w *world){
		"no locks": func(w *world) {
			w.rules.commit = func(v *voter, n uint32, d Digest) bool { return n == v.View }
		},
		"a leader need not keep to the highest lock": func(w *world) {
			w.rules.prepare = func(v *voter, n uint32, d Digest, _ []Lock) bool { return v.prepare(n, d, nil) }
		},
		"two prepares in one view": func(w *world) {
			w.rules.prepare = func(v *voter, n uint32, d Digest, locks []Lock) bool {
				if n == v.View {
					v.Prepared = Digest{}
				}
				return v.prepare(n, d, locks)
			}
		},
		"commits in views that were given up": func(w *world) {
			w.rules.commit = func(v *voter, n uint32, d Digest) bool {
				if n < v.View {
					return true
				}
				return v.commit(n, d)
			}
		},
		"one signature too few": func(w *world) { w.quorum = 2 },
		"one liar more":         func(w *world) { w.honest, w.liars = 2, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			w := right
			mistake(&w)
			if states, safe := w.explore(); safe {
				t.Errorf("the checker finds nothing in %d states", states)
			}
		})
	}
}
