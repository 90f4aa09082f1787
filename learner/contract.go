package learner

import "errors"

// The contract of what is being built; each piece moves to the file of its
// learner, and this file goes.

var errNotBuilt = errors.New("learner: not built yet")

// Rounds holds what the learners in rounds agree on (diffusion, km, polar).
type Rounds struct {
	Count int `toml:"count"` // rounds in all; 0: as long as there is budget
	// Seconds is when a round ends at the latest; it ends at once when all
	// neighbours were heard.
	Seconds float64 `toml:"seconds"`
	Step    float64 `toml:"step"` // the step size: mu of diffusion, g of km, a_0 of polar
}

// Diffusion holds the constants of the learner "diffusion" (Vlaski and Sayed,
// eq. 3-4, 14-20).
type Diffusion struct {
	// Noise is "iid", "transmit-only" or "graph-homomorphic".
	Noise string `toml:"noise"`
}

// KM holds the constants of the learner "km" (DP-dKM, algorithm 1, corrected).
type KM struct {
	Operator   string  `toml:"operator"`   // "gradient", "proximal" or "douglas-rachford"
	Relaxation float64 `toml:"relaxation"` // alpha_k in (0, 1], constant
	L1         float64 `toml:"l1"`         // lambda of the l1 norm; proximal and douglas-rachford
	L2         float64 `toml:"l2"`         // elastic net
}

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

func newDiffusion(Config) (Agent, error) { return nil, errNotBuilt }
func newKM(Config) (Agent, error)        { return nil, errNotBuilt }
func newPolar(Config) (Agent, error)     { return nil, errNotBuilt }
