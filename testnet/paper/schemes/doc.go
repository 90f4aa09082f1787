// Package schemes has the experiments that compare ways to protect what agents send:
// where the noise of diffusion learning goes ([GraphHomomorphic], Vlaski and Sayed
// 2020), which law the noise of the Krasnosel'skii-Mann iteration has ([KM], DP-dKM),
// and what obfuscation costs POLAR-SGD in speed ([Polar], Gade and Vaidya).
//
// The agents are those of package learner under the virtual time of package sim;
// package privacy makes the releases and computes their cost. Where a paper sets its
// noise in another way than by a budget, the same agents get that noise, and the row
// says what it is worth. The data are made up, as in the papers.
//
// A task needs features of norm at most 1. Records are divided by a public bound B on
// their norm, and everything else follows: models are B times as long, steps B^2 times,
// noise on models B times. Results are converted back to the papers' units.
package schemes
