// Package privacy is the only source of privacy protection in p2pnode: it clips and
// adds up what records contribute, draws exact noise, and decides whether the budget
// can still pay for a release. It is pure: no files, no clock, no network, no
// goroutines. The durable half of the door (debit first, then noise, then publish)
// belongs to the caller.
//
// # What is guaranteed
//
// Let the device release, over its whole life, any number of noisy sums
//
//	Answer.Sum = sum over record slots of clip(gradient) + noise
//
// where each gradient is any function of ONE record and of what was public before, the
// noise was drawn by a [LiveNoise], and every cohort in every sum was admitted by one
// [Account] whose debits are never lost. Then for any two data sets of the device that
// differ in one record of one cohort, and any set S of transcripts (everything ever
// published, by anyone, colluding or not),
//
//	P[S] <= e^epsilon P'[S] + delta
//
// with the [Budget] of the [Policy] the account was opened with. The same holds for
// vectors of [Mechanism.NewBounded], if one record moves them no further than their
// mechanism says, given the same transcript; [CarriedSensitivity] has that distance for
// learners that need it.
//
// A private sum adds up such vectors of many devices, each in grid units
// ([Mechanism.Units]), and the noise once, in parts that the members of a committee
// draw ([LiveNoise.Part]). Each device pays for it as for a release of its own. The
// same holds against all who know less than as many of the parts as make up the noise;
// how vectors and parts stay hidden from them is for package sums. [ItemsSensitivity],
// [GramSensitivity] and [MomentsSensitivity] have the distances.
//
// The accounting determines when the decisions may be made.
//
//   - Under a filter the mechanism, the cohorts, the timing and the decision to
//     stop may depend on everything published so far. The Gaussian filter adds
//     up squares of sensitivity over sigma (Smith, Thakurta, "Fully Adaptive
//     Composition for Gaussian Differential Privacy", 2022; Koskela, Tobaben,
//     Honkela, "Individual Privacy Accounting with Gaussian Differential
//     Privacy", 2022) and loses nothing over the best account of the same
//     noise. The pure filter adds up epsilons of Laplace noise (Rogers, Roth,
//     Ullman, Vadhan 2016); its guarantee even has delta = 0. The Renyi filter
//     adds up divergences at one order, fixed when it is opened, of both
//     (Feldman, Zrnic 2021).
//   - Under a plan the mechanisms of all releases are fixed before the first,
//     and the whole schedule is accounted for at once by composing its exact
//     privacy loss. Every noise is allowed, truncated and on random batches
//     too. The decision to stop, and when and for which cohorts a step is used,
//     may depend on what was published: a cohort that joins late or leaves
//     takes part in some of the steps, each once at most, which costs no more
//     than all. Nothing may be changed and nothing is refunded.
//
// # An offline account cannot be spent
//
// Package accountant computes what a FIXED list of releases costs together. To spend by
// it while choosing the list is wrong: the sum may end over the budget (Rogers et al.
// 2016). So none of its numbers can be spent. An [Account] is opened only from a
// [Policy]; it takes mechanisms and computes their prices itself. The terms of a plan
// hold the hash of the whole schedule, the ledger holds the terms, and the account
// admits for its k-th release the schedule's k-th mechanism and nothing else.
//
// # Terms
//
//   - Unit of protection: one record. For k records of one person, in one
//     cohort or in several, epsilon is k times as large and delta (e^{k
//     epsilon} - 1)/(e^epsilon - 1) times (Vadhan 2017, lemma 2.2). Under the
//     Gaussian filter [Budget.ForRecords] is better: delta stays.
//   - Adjacency: replace one record by another (or by an empty slot). The
//     number of slots, the arrival times and the sizes of cohorts are public. A
//     random batch has a fixed size and is drawn without replacement, so this
//     is the only adjacency.
//   - Sensitivity: one record moves a sum by at most twice the clip, in l2 norm
//     for Gaussian noise and in l1 norm for Laplace noise. Sums are integers in
//     units of a power-of-two grid and the clip is checked in integers, so this
//     bound is exact for every input, hostile ones included.
//   - Noise: the discrete Gaussian and the discrete Laplace law (Canonne,
//     Kamath, Steinke 2020), sampled from uniform integers without floating
//     point. Values become float64 only after the noise was added. A truncated
//     law is one of these, drawn again until it is within its bound; it bounds
//     messages and buys no accuracy.
//   - Cost: the accounts know continuous noise. What the discreteness of
//     Gaussian noise costs is charged when the account is opened; under the
//     Renyi filter it costs nothing. That of Laplace noise is in its price: one
//     grid unit a coordinate. What a truncated Gaussian may tell by staying
//     within its bound is charged, once, to the plan. The proofs stand beside
//     the code: charge.go, laplace.go, plan.go; that the laws are drawn exactly is
//     proved in staircase.go.
//   - A random batch hides who was in it, if nobody learns the batch; it is
//     drawn behind the door and forgotten.
//
// # Use
//
// [Design.Policy] turns a budget and a number of releases into a [Policy]: what an
// account is opened with, and the [Mechanism] of each release. For a release, make one
// [Sum] per cohort with [Mechanism.NewSum] and [Sum.Add] every record's gradient; ask
// [Account.Admit] which cohorts can pay; make the debits durable and [Account.Apply]
// them; then let [LiveNoise.Answer] add the noise, once. Never draw twice for one
// payment.
//
// # What is not guaranteed
//
//   - Nothing at all for a Mechanism of [NewUnprotected]; no account admits
//     one.
//   - Nothing about numbers a caller computes from records by another way than
//     a Sum, nor for a Sum in which one record has two slots or a gradient
//     depends on more than one record.
//   - Nothing for releases of more coordinates than the account's Dimension:
//     the caller sees to it.
//   - How long the noise takes to draw depends on its value. Publish on a
//     schedule fixed beforehand, not when the computation happens to end.
//   - Accuracy: a record whose gradient is longer than the clip is shortened.
//
// Nothing here may be used from several goroutines at once without a lock.
package privacy
