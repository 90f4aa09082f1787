package cases

import (
	"fmt"
	"math"
	"strings"

	"p2pnode/privacy"
	"p2pnode/privacy/accountant"
)

func gaussSigma(in *arguments) computation {
	eps, delta, sensitivity := in.number("eps"), in.number("delta"), in.optional(1, "l2", "sens")
	return func() (answer, error) {
		mu, _ := accountant.GaussianMu(eps, delta)
		return one(sensitivity / mu), nil
	}
}

func gaussDelta(in *arguments) computation {
	eps, mu := in.number("eps"), in.number("mu", "a")
	return func() (answer, error) { return one(accountant.Gaussian(mu).Delta(eps)), nil }
}

func gaussComposeEps(in *arguments) computation {
	l2, sigma, delta := in.list("l2"), in.list("sigma"), in.number("delta")
	return func() (answer, error) {
		n := max(len(l2), len(sigma))
		if (len(l2) != n && len(l2) != 1) || (len(sigma) != n && len(sigma) != 1) {
			return answer{}, fmt.Errorf("%d sensitivities and %d sigmas do not go together", len(l2), len(sigma))
		}
		var mu float64
		for i := range n {
			mu = math.Hypot(mu, l2[min(i, len(l2)-1)]/sigma[min(i, len(sigma)-1)])
		}
		return one(accountant.GaussianEpsilon(delta, mu)), nil
	}
}

func laplaceDelta(in *arguments) computation {
	eps, a := in.number("eps"), in.number("a")
	return func() (answer, error) { return one(accountant.Laplace(a).Delta(eps)), nil }
}

func pureComposeEps(in *arguments) computation {
	eps0, delta0 := in.number("eps0"), in.optional(0, "delta0")
	k, delta := in.count("k"), in.number("delta")
	return func() (answer, error) {
		if delta0 == 0 {
			return one(accountant.PureEpsilon(eps0, k, delta)), nil
		}
		return one(accountant.ApproxPureEpsilon(eps0, delta0, k, delta)), nil
	}
}

func pureHeteroEps(in *arguments) computation {
	eps, delta := in.list("eps"), in.number("delta")
	return func() (answer, error) {
		groups := make([]accountant.Group, len(eps))
		for i, e := range eps {
			groups[i] = accountant.Group{Step: accountant.Pure(e), Count: 1}
		}
		return composedEpsilon(delta, groups)
	}
}

func kairouzMin(in *arguments) computation {
	eps, slack := in.list("eps"), in.number("slack")
	return func() (answer, error) {
		k := accountant.Kairouz(eps, slack)
		return answer{named: map[string]float64{
			"": k.Min(), "min": k.Min(), "basic": k.Basic, "second": k.Second, "third": k.Third,
		}}, nil
	}
}

// truncatedDelta reads the delta of one truncated step, or of two.
func truncatedDelta(in *arguments, noise, kind string) computation {
	eps, a, bound := in.number("eps"), in.number("a"), in.number("A")
	return func() (answer, error) {
		step := accountant.TruncatedLaplace(a, bound)
		if noise == "trunc_gauss" {
			step = accountant.TruncatedGaussian(a, bound)
		}
		if !strings.Contains(kind, "2fold") {
			return one(step.Delta(eps)), nil
		}
		loss, err := accountant.Compose(moderate, accountant.Group{Step: step, Count: 2})
		if err != nil {
			return answer{}, err
		}
		return one(loss.Delta(eps)), nil
	}
}

// moderate is a delta for which Compose needs no tilt. It is used where a case asks for
// a delta, which is not known beforehand.
const moderate = 1e-3

func truncLaplaceCalibrate(in *arguments) computation {
	eps, delta, sensitivity := in.number("eps"), in.number("delta"), in.optional(1, "sens")
	return func() (answer, error) {
		scale, bound := accountant.TruncatedLaplaceFor(eps, delta, sensitivity)
		return answer{named: map[string]float64{"b": scale, "A": bound}}, nil
	}
}

func truncGaussCalibrate(in *arguments) computation {
	eps, delta, sensitivity := in.number("eps"), in.number("delta"), in.optional(1, "sens")
	return func() (answer, error) {
		sigma, bound := accountant.TruncatedGaussianFor(eps, delta, sensitivity)
		return answer{named: map[string]float64{"sigma": sigma, "s": sigma, "A": bound}}, nil
	}
}

func subsampledDelta(in *arguments, noise string) computation {
	q, a, eps := in.number("q"), in.number("a"), in.number("eps")
	return func() (answer, error) {
		base := accountant.Gaussian(a)
		if noise == "laplace" {
			base = accountant.Laplace(a)
		}
		step, err := accountant.Subsampled(base, q, accountant.WithoutReplacement)
		if err != nil {
			return answer{}, err
		}
		return one(step.Delta(eps)), nil
	}
}

func largestStep(in *arguments, kind string) computation {
	eps, delta, steps := in.number("eps"), in.number("delta"), in.count("T", "k")
	return func() (answer, error) {
		largest := accountant.LargestLaplaceStep
		if kind == "pure_step" {
			largest = accountant.LargestPureStep
		}
		a, err := largest(eps, delta, steps)
		return one(a), err
	}
}

func renyi(in *arguments, kind string) computation {
	order, a := in.number("alpha"), in.number("a", "mu")
	return func() (answer, error) {
		if kind == "gauss_rdp" {
			return one(accountant.GaussianRenyi(order, a)), nil
		}
		return one(accountant.LaplaceRenyi(order, a)), nil
	}
}

func zcdpEps(in *arguments) computation {
	rho, delta := in.number("rho"), in.number("delta")
	return func() (answer, error) { return one(accountant.ZCDPEpsilon(rho, delta)), nil }
}

// maxListed bounds the length of a list that a case may ask for.
const maxListed = 1 << 20

// conditionalSensitivity is D_1 to D_T of the three schemes of Vlaski and Sayed. The
// share of its own unreleased past that a node keeps is nothing if it uses its own
// noisy value, a_kk if it uses its clean one, and everything under graph-homomorphic
// noise.
func conditionalSensitivity(in *arguments) computation {
	scheme, steps := in.text("scheme"), in.count("T")
	mu, bound, own := in.number("mu"), in.number("G"), in.optional(math.NaN(), "akk")
	var keep float64
	switch scheme {
	case "iid", "i.i.d.":
	case "clean", "clean_self", "transmit_only":
		keep = own
	case "gh", "graph_homomorphic":
		keep = 1
	default:
		in.fail("scheme", fmt.Errorf("%q is not iid, clean or gh", scheme))
	}
	if math.IsNaN(keep) {
		in.fail("akk", fmt.Errorf("is missing, and %s needs it", scheme))
	}
	return func() (answer, error) {
		if steps > maxListed {
			return answer{}, fmt.Errorf("a list of T = %d sensitivities, at most %d can be listed", steps, maxListed)
		}
		d := privacy.CarriedSensitivity{Keep: keep, Step: 2 * mu * bound}
		list := make([]float64, steps)
		for i := range list {
			list[i] = d.At(i + 1)
		}
		return answer{list: list}, nil
	}
}
