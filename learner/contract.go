package learner

import "errors"

// The contract of what is being built; each piece moves to the file of its
// learner, and this file goes.

var errNotBuilt = errors.New("learner: not built yet")

// Polar holds the constants of the learner "polar" (Gade and Vaidya, corrected).
type Polar struct {
	Servers     []string `toml:"servers"`     // peer IDs of the parameter servers; everybody else is a client
	Delta       int      `toml:"delta"`       // steps between two consensus rounds
	Update      string   `toml:"update"`      // "basic", "minimum-wait" or "client-averaged"
	Obfuscation string   `toml:"obfuscation"` // "multiplicative", "additive" or "both"
	Decay       float64  `toml:"decay"`       // a_k = Step / k^Decay
	Sum         float64  `toml:"sum"`         // M of SLC
	Bound       float64  `toml:"bound"`       // Mbar of BUC, on sum |W|
	Additive    float64  `toml:"additive"`    // Y of BUC, on the norm of d
	Box         float64  `toml:"box"`         // X: states are projected onto [-Box, Box]^p
	Private     bool     `toml:"private"`     // put DP noise inside the sum; then the ledger applies
}

func newPolar(Config) (Agent, error) { return nil, errNotBuilt }
