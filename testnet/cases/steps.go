package cases

import (
	"encoding/json"
	"errors"
	"fmt"

	"p2pnode/privacy/accountant"
)

// pldEps is the epsilon at delta of a composition of any steps.
func pldEps(in *arguments) computation {
	var steps []json.RawMessage
	in.read(&steps, "steps")
	delta := in.number("delta")
	groups := make([]accountant.Group, len(steps))
	for i, data := range steps {
		var err error
		if groups[i], err = readGroup(data); err != nil {
			in.fail("steps", fmt.Errorf("step %d: %w", i+1, err))
		}
	}
	return func() (answer, error) { return composedEpsilon(delta, groups) }
}

func composedEpsilon(delta float64, groups []accountant.Group) (answer, error) {
	loss, err := accountant.Compose(delta, groups...)
	if err != nil {
		return answer{}, err
	}
	return one(loss.Epsilon(delta)), nil
}

// readGroup reads {"type": ..., its parameters, "count": n}.
func readGroup(data json.RawMessage) (accountant.Group, error) {
	in := newArguments(data)
	g := accountant.Group{Count: 1}
	if in.has("count") {
		g.Count = in.count("count")
	}
	step := readStep(in)
	if err := in.done(); err != nil {
		return g, err
	}
	var err error
	g.Step, err = step()
	return g, err
}

// readStep reads the parameters of a step. The returned function makes the step after
// all parameters were found valid.
func readStep(in *arguments) func() (accountant.Step, error) {
	plain := func(s func() accountant.Step) func() (accountant.Step, error) {
		return func() (accountant.Step, error) { return s(), nil }
	}
	switch name := in.text("type"); name {
	case "gaussian", "gauss":
		mu := in.number("a", "mu")
		return plain(func() accountant.Step { return accountant.Gaussian(mu) })
	case "laplace":
		a := in.number("a")
		return plain(func() accountant.Step { return accountant.Laplace(a) })
	case "trunc_laplace", "truncated_laplace":
		a, bound := in.number("a"), in.number("A")
		return plain(func() accountant.Step { return accountant.TruncatedLaplace(a, bound) })
	case "trunc_gauss", "trunc_gaussian", "truncated_gauss", "truncated_gaussian":
		a, bound := in.number("a"), in.number("A")
		return plain(func() accountant.Step { return accountant.TruncatedGaussian(a, bound) })
	case "pure", "approx_pure", "approx":
		eps, delta := in.number("a", "eps", "eps0"), in.optional(0, "delta", "delta0")
		return plain(func() accountant.Step {
			if delta == 0 {
				return accountant.Pure(eps)
			}
			return accountant.ApproxPure(eps, delta)
		})
	case "sub", "subsampled":
		return readSubsampled(in)
	default:
		in.fail("type", fmt.Errorf("unknown type %q", name))
		return nil
	}
}

func readSubsampled(in *arguments) func() (accountant.Step, error) {
	var data json.RawMessage
	in.read(&data, "base")
	q, mode := in.number("q"), in.text("mode")
	var sampling accountant.Sampling
	switch mode {
	case "wor", "without_replacement":
		sampling = accountant.WithoutReplacement
	case "poisson":
		sampling = accountant.Poisson
	default:
		in.fail("mode", fmt.Errorf("%q is not wor or poisson", mode))
	}
	if in.err != nil {
		return nil
	}
	base, err := readGroup(data)
	if err == nil && base.Count != 1 {
		err = errors.New("a base is one step; say how many beside it")
	}
	in.fail("base", err)
	return func() (accountant.Step, error) { return accountant.Subsampled(base.Step, q, sampling) }
}
