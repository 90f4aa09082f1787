package learner

import "time"

// maxFaulty is how many of n neighbours may lie or be silent without harm: a third of them,
// as in every agreement without signatures on who said what (Lamport, Shostak, Pease,
// "The Byzantine Generals Problem", 1982).
func maxFaulty(n int) int { return n / 3 }

// quorum is how many of n neighbours a round needs.
func quorum(n int) int { return n - maxFaulty(n) }

// needed is how many of n neighbours must be heard before a round may end early: a quorum
// of them, not counting those that were silent in the last round, and at least half of
// all.
func needed(n, silent int) int { return max((n+1)/2, min(quorum(n), n-silent)) }

// gracePeriod decides how long an agent waits for the last of its neighbours once
// enough of them have been heard. It waits five times as long as the first maxFaulty +
// 1 took, but no longer than a stored allowance, to which each round adds the time that
// those took. So it waits for neighbours that are late now and then. Neighbours that
// are late on purpose, in whatever pattern, use up the store once, and afterwards no
// more than the honest ones among the first add. The time until a quorum was heard does
// not count: an agent that waits in vain keeps its own neighbours waiting, and their
// stores would grow by it.
type gracePeriod struct {
	least time.Duration // a hundredth of the deadline: the shortest wait, if the store has that much
	left  time.Duration // the store: at most 20 times what the first maxFaulty + 1 took
	begun time.Duration
	first time.Duration // when more than maxFaulty were heard; Never: not yet
	heard time.Duration // when a quorum was heard; Never: not yet
}

func newGracePeriod(deadline time.Duration) gracePeriod {
	return gracePeriod{least: deadline / 100, left: deadline, first: Never, heard: Never}
}

// begin begins a round.
func (p *gracePeriod) begin(now time.Duration) { p.begun, p.first, p.heard = now, Never, Never }

// quorumHeard reports whether enough neighbours were heard in this round.
func (p *gracePeriod) quorumHeard() bool { return p.heard != Never }

// hears takes note that heard of n neighbours were heard; silent were silent in the
// last round. It returns the time until which to wait for the others, or Never before
// enough were heard.
func (p *gracePeriod) hears(now time.Duration, heard, n, silent int) time.Duration {
	if p.first == Never && heard > maxFaulty(n) {
		p.first = now
	}
	if heard < needed(n, silent) {
		return Never
	}
	if !p.quorumHeard() {
		p.first = min(p.first, now)
		p.heard = now
		took := p.first - p.begun
		p.left = min(max(p.least, 20*took), p.left+took)
	}
	return p.heard + min(p.left, p.inTransit(p.first))
}

// inTransit is how long messages on their way may still take, judging by how long the round
// has taken until now.
func (p *gracePeriod) inTransit(now time.Duration) time.Duration {
	return max(p.least, 5*(now-p.begun))
}

// end ends the round.
func (p *gracePeriod) end(now time.Duration) {
	if p.quorumHeard() {
		p.left = max(0, p.left-(now-p.heard))
	}
}
