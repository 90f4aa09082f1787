// Package audit tries to break the release path: it measures how well anyone could
// tell, from everything a node ever released, which of two values one record had, and
// compares that with the promise.
//
// # The game
//
// Two worlds differ in one record, the canary: the gradients it gives are opposite and
// at the clip, which is the worst a record can do. A fair number of times in each world
// the real agent learns from its records and the real mechanisms answer it, with seeded
// noise, until its budget is used. The auditor knows everything but the world: the
// other records, the laws of the noise, and each noisy sum, from which everything
// public follows. Records are so extreme that every gradient is clipped at every model,
// so the two sums that may be behind a release are known without asking the agent. The
// score of a run is the exact log-likelihood ratio
//
//	sum over releases of log p(released | world 1) - log p(released | world 0),
//
// by Neyman and Pearson the best test there is. Under sampling the auditor does not
// know the batch, and p is the mean over all batches.
//
// # The bound
//
// If the releases are (epsilon, delta)-DP, then for every set S of scores P1[S] <=
// e^epsilon P0[S] + delta, and with the worlds exchanged. A threshold is chosen on one
// half of the runs; on the other half, bounds of Clopper and Pearson (1934) on the two
// rates give
//
//	epsilon >= ln((low(P1[S]) - delta) / high(P0[S])).
//
// The error probability is shared out over the canaries, the directions and the two
// rates (union bound), so the bound is right with the confidence stated, whatever the
// score: a wrong idea of the path costs power, never soundness. Jagielski, Ullman,
// Oprea, "Auditing Differentially Private Machine Learning" (2020); Nasr et al., "Tight
// Auditing" (2023).
//
// # Private sums
//
// The same game is played with the vectors that a device adds to private sums ([Sums]).
// The auditor is then as many members of a committee as may collude, together with all
// other devices. It subtracts what it knows from an opened sum, which leaves one
// device's vector and the honest members' parts of the noise. [Attack] attacks the
// protocol itself, with all keys and signatures, by a program that shares no code with
// package sums. The same attack by one member more than may collude must succeed, or
// the attack would prove nothing.
package audit
