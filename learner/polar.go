package learner

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// Polar holds the constants of the learner "polar": POLAR-SGD (Gade and Vaidya,
// "Private Learning on Networks", parts I and II), with algorithm 2 corrected. S
// parameter servers hold a model each; every other agent is a client, and sends to
// server J in step i of a window of Delta steps
//
//	g^{J,h} = W_i[J,h] g_h(u) + d_i^{J,h},   x^J <- Proj_X(x^J - a_k sum_h g^{J,h}),
//
// g_h the gradient of h's local objective (Bellet et al. 2018, eq. 1) at a model u it
// was sent. After a window the servers agree on their mean without showing their states
// (see mask.go), and the next window, k+1, begins. Over a window the weights of a
// client add up to Sum, so a window moves the mean of the servers as one gradient step
// of size Sum/S a_k does: POLAR is about Delta times slower than plain descent with the
// same steps.
//
// This is obfuscation, NOT differential privacy: no budget bounds what others learn
// about a record. A curious server sees W g + d.
//
//   - Multiplicative alone: it knows the direction of every gradient exactly. With
//     one record and a linear model that is the features up to scale. A gradient
//     of zero is seen to be zero.
//   - Additive: what the bounded d cannot explain is excluded for certain, and d
//     averages out over n steps like Y/sqrt(n) while the gradient stays the same.
//   - All servers together take d off by adding up. What is left is the gradient
//     times a number, and over a window the numbers add up to Sum.
//   - The mean they agree on is exact. With all clients but one on the server's
//     side it gives that client's gradient. The masks hide the servers' states from
//     one another, never the sum; and between two consensus rounds each server
//     broadcasts its state to its clients, with whom a server may collude.
//
// With Private the gradient comes from the door with noise in it, and the obfuscation
// only processes it further: then the ledger's guarantee holds whatever the servers do.
type Polar struct {
	Servers     []string `toml:"servers"`     // peer IDs of the parameter servers, at least 3; everybody else is a client
	Delta       int      `toml:"delta"`       // steps between two consensus rounds
	Update      string   `toml:"update"`      // which u: each server's own model "basic", the first of a round "minimum-wait", their mean "client-averaged"
	Obfuscation string   `toml:"obfuscation"` // "multiplicative", "additive" or "both"
	Law         string   `toml:"law"`         // of the weights, before they are centred and scaled: "gaussian" or "uniform"
	Decay       float64  `toml:"decay"`       // a_k = Step / k^Decay, in (1/2, 1]: the sum diverges, that of squares does not
	Sum         float64  `toml:"sum"`         // M of SLC
	Bound       float64  `toml:"bound"`       // Mbar of BUC, on sum |W|, at least Sum; Sum itself: weights that hide nothing
	Additive    float64  `toml:"additive"`    // Y of BUC, on the l2 norm of d
	Box         float64  `toml:"box"`         // X: states are projected onto [-Box, Box]^p
	Private     bool     `toml:"private"`     // put DP noise inside the sum; then the ledger applies
}

func polarLearner() descriptor {
	return descriptor{
		name: "polar", make: newPolar, rounds: true,
		constants:  func(t *Task) any { return t.Polar },
		check:      (*checker).polar,
		usual:      (*filler).polar,
		servers:    func(t *Task) []string { return t.Polar.Servers },
		obfuscated: func(t *Task) bool { return !t.Polar.Private },
		messages:   (*Task).polarMessages,
	}
}

const (
	maxServers = 64
	maxWindow  = 1 << 16
	// maxStep bounds the steps of a run. A restored directory counts from far above it,
	// and no server should follow another there.
	maxStep = 1 << 40
	largest = 1e150 // bound on the numbers in a message
)

// polar fills in constants with which a window moves the model as one step of descent.
func (u *filler) polar() {
	p := &u.Polar
	fill(u, "polar.delta", &p.Delta, 10)
	fill(u, "polar.update", &p.Update, "minimum-wait")
	fill(u, "polar.obfuscation", &p.Obfuscation, "both")
	fill(u, "polar.law", &p.Law, "gaussian")
	fill(u, "polar.decay", &p.Decay, 0.6)
	fill(u, "polar.sum", &p.Sum, float64(max(1, len(p.Servers))))
	fill(u, "polar.bound", &p.Bound, 10*p.Sum)
	fill(u, "clip", &u.Clip, u.clipOfLoss())
	if p.Obfuscation != "multiplicative" {
		fill(u, "polar.additive", &p.Additive, rounded(5*u.Clip))
	}
	// A little less than the ball has room for, so that rounding never leaves the ball.
	fill(u, "polar.box", &p.Box, rounded(0.9*u.Radius/math.Sqrt(float64(max(1, u.Dimension())))))
}

// polar checks the keys of learner polar.
func (c *checker) polar(t *Task) {
	p := &t.Polar
	c.check(len(p.Servers) != 2, "polar.servers", "must be at least 3: of two servers each would learn the other's state exactly, the mean less its own")
	c.check(len(p.Servers) == 2 || len(p.Servers) >= 3 && len(p.Servers) <= maxServers, "polar.servers", "must list 3 to %d servers", maxServers)
	for i, s := range p.Servers {
		c.name("polar.servers", s)
		c.check(!slices.Contains(p.Servers[:i], s), "polar.servers", "must be unique, %q is there twice", s)
	}
	c.check(p.Delta >= 1 && p.Delta <= maxWindow, "polar.delta", "must be between 1 and %d", maxWindow)
	c.check(p.Delta < 1 || t.Rounds.Count%p.Delta == 0, "rounds.count", "must be a multiple of polar.delta, so that the servers end with one model")
	c.oneOf("polar.update", p.Update, "basic", "minimum-wait", "client-averaged")
	c.oneOf("polar.obfuscation", p.Obfuscation, "multiplicative", "additive", "both")
	c.oneOf("polar.law", p.Law, "gaussian", "uniform")
	c.check(p.Decay > 0.5 && p.Decay <= 1, "polar.decay", "must be above 1/2 and at most 1, or the steps add up to too little or too much")
	c.positive("polar.sum", p.Sum)
	c.check(p.Bound >= p.Sum && !math.IsInf(p.Bound, 0), "polar.bound", "must be at least polar.sum")
	if p.Obfuscation == "multiplicative" {
		c.check(p.Additive == 0, "polar.additive", "belongs to additive obfuscation; leave it out")
	} else {
		c.positive("polar.additive", p.Additive)
	}
	c.positive("polar.box", p.Box)
	c.check(!(p.Box*math.Sqrt(float64(t.Dimension())) > t.Radius), "polar.box", "must be at most radius/sqrt(coordinates), or models leave the ball")
}

// window returns the number of a step's window, from 1; it is also the number of the
// consensus round that ends the window. It is 0 before the first step.
func (p *Polar) window(step uint64) uint64 {
	delta := uint64(p.Delta)
	return (step + delta - 1) / delta
}

// newPolar returns a server or a client of learner polar, depending on whether the task
// lists Self as a server.
func newPolar(c Config) (Agent, error) {
	if c.Masks == nil {
		return nil, errors.New("learner: Masks is required by learner polar, a cryptographic source")
	}
	if slices.Contains(c.Task.Polar.Servers, string(c.Self)) {
		return newPolarServer(c)
	}
	if m, ok := c.Policy.Next(c.Made); ok && c.Task.Polar.Private && !m.Protected() {
		return nil, fmt.Errorf("learner: the task wants noise inside the sum (polar.private), the policy has mechanism %q", privacy.Unprotected)
	}
	return newPolarClient(c)
}

// polarMessages returns the rules of learner polar: servers broadcast models, the last
// of them after the last round; clients send gradients to servers; servers send masks
// and masked states to one another.
func (t *Task) polarMessages(self ID) Rules {
	server := func(id ID) bool { return slices.Contains(t.Polar.Servers, string(id)) }
	client := func(id ID) bool { return !server(id) }
	last := uint64(t.Rounds.Count)
	model := Rule{Reals: t.Dimension(), Radius: t.Radius, Last: last, From: server}
	if last > 0 {
		model.Last++
	}
	if !server(self) {
		return Rules{KindModel: model}
	}
	masked := Rule{Ring: t.Dimension(), Last: last, Attempt: maxAttempts, From: server}
	return Rules{
		KindModel:    model,
		KindGradient: {Reals: t.Dimension(), Radius: t.obfuscatedNorm(), Last: last, From: client},
		KindMask:     masked,
		KindMasked:   masked,
	}
}

// obfuscatedNorm bounds an obfuscated gradient W g + d (BUC of Gade and Vaidya), where
// g includes the regulariser at a model in the ball. If g has noise in it, there is no
// bound.
func (t *Task) obfuscatedNorm() float64 {
	if t.Polar.Private {
		return math.Inf(1)
	}
	gradient := max(t.Clip, t.GradientBound()) + 2*t.Lambda*t.Radius
	return t.Polar.Bound*gradient + t.Polar.Additive
}

// checkVector reports whether a received vector has the right length and numbers so
// small that no sum of them overflows.
func checkVector(m *Message, dimension int) bool {
	return len(m.Real) == dimension && finite(m.Real) && floats.Norm(m.Real, math.Inf(1)) <= largest && m.Round >= 1 && m.Round <= maxStep
}
