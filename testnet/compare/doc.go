// Package compare repeats, with the agents and the noise of this module, the
// comparisons that the papers make between schemes: where the noise of diffusion
// learning goes ([Diffusion], Vlaski and Sayed 2020), which noise serves the
// Krasnosel'skii-Mann iteration best ([KM], DP-dKM) and what obfuscation costs
// POLAR-SGD in speed ([Polar], Gade and Vaidya). The agents are those of package
// learner under the virtual time of package sim; what they may release and what
// that costs is the business of package privacy.
//
// Each comparison is a pure function of its seeds and returns rows of a table. The
// data are made up: records of unit norm at most, as a task demands, so that steps
// and noise are in other units than in the papers. A row that repeats a published
// one shows that number beside its own.
package compare
