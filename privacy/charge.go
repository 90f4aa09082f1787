package privacy

import "math"

// charge returns the budget that continuous Gaussian noise must keep, so that
// discrete Gaussian noise of at least sigma grid units keeps b over a life of so
// many noisy coordinates.
//
// Let t >= sigma be the noise of a release, phi the density of N(0, t^2), D the
// discrete Gaussian and R = round(N(0, t^2)). An integer sum plus R is a
// rounding of the Gaussian mechanism, hence exactly as private as it, adaptive
// composition included. D is close to R. Symmetrising the integral,
//
//	P[R=n] / phi(n) = integral over |u| < 1/2 of exp(-u^2/2t^2) cosh(n u/t^2) du
//	P[D=n] / phi(n) = 1/(1+h),  0 < h < 3 exp(-2 pi^2 t^2)   (Poisson summation)
//
// From below, cosh >= 1 and Jensen (the mean of u^2 is 1/12) give
// P[R=n] >= e^{-1/24t^2} phi(n), so P[D=n] <= e^{1/24t^2} P[R=n] for EVERY n.
// From above, for |n| <= z t, cosh(v) <= e^{v^2/2} gives the integrand
// e^{a u^2}, a = (z^2-1)/2t^2, whose integral is at most 1 + a/12 + a^2/80 when
// 0 <= a <= 4 (e^v <= 1+v+v^2 on [0,1]), and at most 1 when a < 0. While
// z^2 <= 4t the terms a^2/80 and h are together below 1/12t^2. So, with
//
//	kappa = (z^2 + 1) / 24t^2:   P[D=n] <= e^kappa P[R=n]  for every n,
//	                             P[R=n] <= e^kappa P[D=n]  for |n| <= z t.
//
// A cohort's transcript contains at most N noisy coordinates of releases it took
// part in; all else has the same conditional law in two adjacent worlds. Let P, P'
// be the two worlds with noise D, and Q, Q' the same with R in place of D in
// the releases of that cohort. With K = N kappa, and tau the probability that
// some coordinate of R exceeds z t, factor by factor
//
//	P[S] <= e^K Q[S],   Q'[S] <= e^K P'[S] + tau.
//
// If Q keeps (eps - 2K, d), then
//
//	P[S] <= e^K (e^{eps-2K} Q'[S] + d) <= e^eps P'[S] + e^{eps-K} tau + e^K d
//
// so that d = e^{-K} delta - e^eps tau suffices.
// With z^2/2 = eps + ln(2N/delta) + 40 (and z < t) tau is at most
// N P[|N(0,1)| > z - 1/2t] <= 2N e^{-z^2/2} = delta e^{-eps-40}.
//
// Rounding in K does not matter: it is far smaller than the room left between
// kappa and what the proof needs of it.
func charge(b Budget, coordinates, sigma float64) Budget {
	z2 := 2 * (b.Epsilon + math.Log(2*coordinates/b.Delta) + 40)
	k := coordinates * (z2 + 1) / (24 * sigma * sigma)
	return Budget{
		Epsilon: b.Epsilon - 2*k,
		Delta:   b.Delta * (math.Exp(-k) - math.Exp(-40)),
	}
}
