// Package privacy is the only source of privacy protection in p2pnode: it clips
// and adds up what records contribute, draws exact noise, and decides whether a
// release can still be paid for. It is pure: no files, no clock, no network, no
// goroutines. The durable half of the door (debit first, then noise, then
// publish) belongs to the caller.
//
// # What is guaranteed
//
// Let the device release, over its whole life, any number of noisy sums
//
//	Answer.Sum = sum over record slots of clip(gradient) + Gaussian noise
//
// where each gradient is any function of ONE record and of what was public
// before, the noise was drawn by a [LiveNoise], and every cohort in every sum
// was admitted by one [Account] whose debits are never lost. Then for any two
// data sets of the device that differ in one record of one cohort, and any set
// S of transcripts (everything ever published, by anyone, colluding or not),
//
//	P[S] <= e^epsilon P'[S] + delta
//
// with the [Budget] the account was made with. Mechanisms, timing and the
// decision to stop may depend on everything published so far; this is the
// Gaussian differential privacy filter of Smith and Thakurta, "Fully Adaptive
// Composition for Gaussian Differential Privacy" (2022) and Koskela, Tobaben,
// Honkela, "Individual Privacy Accounting with Gaussian Differential Privacy"
// (2022).
//
// # Terms
//
//   - Unit of protection: one record. [Budget.ForRecords] tells what k records
//     of one person cost.
//   - Adjacency: replace one record by another (or by an empty slot). The number
//     of slots, the arrival times and the sizes of cohorts are public.
//   - Sensitivity: one record moves a sum by at most twice the clip in l2 norm.
//     Sums are integers in units of a power-of-two grid and the clip is checked
//     in integers, so this bound is exact for every input, hostile ones included.
//   - Noise: the discrete Gaussian of Canonne, Kamath, Steinke (2020), sampled
//     from uniform integers without floating point. Values become float64 only
//     after the noise was added.
//   - Cost: a release with sensitivity D and noise sigma is mu-GDP with
//     mu = D/sigma; squares of mu add up. The noise is discrete, not continuous;
//     what that costs is charged when the account is opened.
//
// # Use
//
// [Calibrate] turns a budget and a number of releases into a [Mechanism]. For a
// release, make one [Sum] per cohort with [Mechanism.NewSum] and [Sum.Add] every
// record's gradient; ask [Account.Admit] which cohorts can pay; make the debits
// durable and [Account.Apply] them; then let [LiveNoise.Answer] add the noise,
// once. Never draw twice for one payment.
//
// # What is not guaranteed
//
//   - Nothing at all for a Mechanism of [NewUnprotected]; no account admits one.
//   - Nothing about numbers a caller computes from records by another way than a
//     Sum, nor for a Sum in which one record has two slots or a gradient depends
//     on more than one record.
//   - How long the noise takes to draw depends on its value. Publish on a
//     schedule fixed beforehand, not when the computation happens to end.
//   - Accuracy: a record whose gradient is longer than the clip is shortened.
//
// Nothing here may be used from several goroutines at once without a lock.
package privacy
