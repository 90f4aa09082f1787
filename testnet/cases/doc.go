// Package cases checks the privacy engine against a file of worked examples: each case
// names a quantity, its arguments and the value an independent computation gave. The
// file is JSON,
//
//	{"cases": [{"id": "g1", "kind": "gauss_delta", "input": {"eps": 1, "mu": 1},
//	            "expected": 0.12693673750664394, "rel_tol": 1e-9, "side": "both"}]}
//
// or the list alone. The fields "oracle", "note" and "comment" are for people. A number
// is a JSON number, or "inf" or "-inf"; where a list is expected, one number stands for
// a list of one. "expected" is a number, a list, or an object whose fields are compared
// one by one. The kinds are in [Case.Evaluate].
//
// # Units
//
// eps is in nats. a is the sensitivity divided by the scale of the noise, mu is the
// same for the Gaussian in l2. A is where the noise is cut off, in units of its scale
// (of the parent standard deviation for the Gaussian); in trunc_*_calibrate it is in
// the units of the sensitivity, like the scale.
package cases
