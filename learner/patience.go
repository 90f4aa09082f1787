package learner

import "time"

// few is how many of n neighbours may lie or be silent without harm: a third of them, as
// in all agreement without signatures about what was not said (Lamport, Shostak, Pease,
// "The Byzantine Generals Problem", 1982).
func few(n int) int { return n / 3 }

// enough is how many of n neighbours a round needs.
func enough(n int) int { return n - few(n) }

// needed is how many of n neighbours must be heard so that a round may end before its
// deadline: enough of them, but for those that were silent in the last round, as long as
// that is half of all.
func needed(n, silent int) int { return max((n+1)/2, min(enough(n), n-silent)) }

// patience is how long an agent waits for the last of its neighbours when enough of them
// have been heard: five times as long as the first few took, as long as there is a store of
// it, to which each round adds as much as those took. So neighbours that are late now and
// then are waited for. Those that are late on purpose, whatever pattern they choose, take
// the store once, and then no more than what few honest ones take: it does not count how
// long enough took, because who waits in vain keeps its neighbours waiting.
type patience struct {
	least time.Duration // a hundredth of the deadline: this long is always waited, if that is in the store
	left  time.Duration // 20 times as much as the first few took can be stored
	begun time.Duration
	first time.Duration // when more than few were heard; Never: not yet
	heard time.Duration // when enough were; Never: not yet
}

func newPatience(deadline time.Duration) patience {
	return patience{least: deadline / 100, left: deadline, first: Never, heard: Never}
}

// begin begins a round.
func (p *patience) begin(now time.Duration) { p.begun, p.first, p.heard = now, Never, Never }

// met reports whether enough were heard in this round.
func (p *patience) met() bool { return p.heard != Never }

// hears takes note that so many of n neighbours were heard, of whom some were silent in the
// last round. It returns until when the others are waited for, Never before enough were
// heard.
func (p *patience) hears(now time.Duration, heard, n, silent int) time.Duration {
	if p.first == Never && heard > few(n) {
		p.first = now
	}
	if heard < needed(n, silent) {
		return Never
	}
	if !p.met() {
		p.first = min(p.first, now)
		p.heard = now
		took := p.first - p.begun
		p.left = min(max(p.least, 20*took), p.left+took)
	}
	return p.heard + min(p.left, p.way(p.first))
}

// way is how long what is on its way may still take, by how long the round took until now.
func (p *patience) way(now time.Duration) time.Duration {
	return max(p.least, 5*(now-p.begun))
}

// end ends the round.
func (p *patience) end(now time.Duration) {
	if p.met() {
		p.left = max(0, p.left-(now-p.heard))
	}
}
