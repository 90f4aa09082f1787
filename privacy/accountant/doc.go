// Package accountant is the mathematics of the cost of releases: the exact privacy
// profiles of single mechanisms, closed forms for their composition, and the
// composition of privacy loss distributions by fast Fourier transform. Numbers in,
// numbers out.
//
// Everything here is offline: it is valid for steps that were fixed before the first of
// them was taken. Package privacy decides whether a release may be made now, when
// earlier ones have influenced the choice; its accounts accept nothing from here except
// a plan that was committed beforehand.
//
// Conventions. epsilon is in nats. A mechanism is given by the ratio of its sensitivity
// to the scale of its noise: mu (or a) for Gaussian noise of standard deviation 1, a
// for Laplace noise of scale 1. The adjacency is replace-one, except where Poisson
// sampling makes it add-or-remove-one.
package accountant
