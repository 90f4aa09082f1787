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
//
// In a private sum D is not one draw but the sum of so many parts, each a discrete
// Gaussian of its own, with t^2 the sum of their squared scales. By [partsApart]
// every probability of D is then within e^eta of that of one discrete Gaussian of
// scale t, so both inequalities hold with kappa + eta in place of kappa.
func charge(b Budget, coordinates, sigma float64, parts int) Budget {
	z2 := 2 * (b.Epsilon + math.Log(2*coordinates/b.Delta) + 40)
	k := coordinates * ((z2+1)/(24*sigma*sigma) + partsApart(sigma, parts))
	return Budget{
		Epsilon: b.Epsilon - 2*k,
		Delta:   b.Delta * (math.Exp(-k) - math.Exp(-40)),
	}
}

// partsApart bounds |ln P[D=m]/P[G=m]| over all integers m: D is the sum of n
// discrete Gaussians of scale s each, G one discrete Gaussian of scale t, and
// t^2 = n s^2. It grows with n and falls with t. For n = 1 it is 0.
//
//	eta = 5 sum over k = 1..n-1 of exp(-2 pi^2 s^2 k/(k+1)),   s^2 >= 1/6
//
// (Kairouz, Liu, Steinke, "The Distributed Discrete Gaussian Mechanism", 2021.) Let
// X, Y be discrete Gaussians of scales a, b, let c^2 = a^2 + b^2, w = a b/c, and
// rho_a(x) = exp(-x^2/2a^2). Completing the square,
//
//	sum over x of rho_a(x) rho_b(m-x) = rho_c(m) sum over x of rho_w(x - m a^2/c^2),
//
// and by Poisson summation the last sum is sqrt(2 pi) w (1 + 2 sum over j >= 1 of
// q^(j^2) cos(2 pi j u)), with q = exp(-2 pi^2 w^2) and some u: a constant times a
// number in [1-h, 1+h], where h = 2q/(1-q^3), because j^2 >= 3j-2. So P[X+Y=m] is
// P[G=m] times a number whose extremes over m have at most the ratio (1+h)/(1-h).
// Both are laws, so that number is on average 1, and hence within that ratio of 1
// for every m. Its logarithm is 2 artanh h <= 2h/(1-h^2), at most 5q while q <= 1/5:
// at 1/5 it is 4.9 q, and its share of q grows with q.
//
// Now add up one part after the other. If the sum of k parts is within e^eta of one
// discrete Gaussian of scale s sqrt k at every integer, then, adding the same Y to
// both, so are the sums with one part more; and X+Y, with a^2 = k s^2 and b = s, so
// that w^2 = s^2 k/(k+1) >= s^2/2, is within 5q of one discrete Gaussian.
func partsApart(t float64, n int) float64 {
	eta := 0.0
	for k := 1.0; k < float64(n); k++ {
		eta += 5 * math.Exp(-2*math.Pi*math.Pi*t*t*k/(k+1)/float64(n))
	}
	return eta
}
