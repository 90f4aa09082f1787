package privacy

import "fmt"

// price is what a filter on terms t adds up for one release of m, rounded up; ok is
// false if it has no price for m. Truncated and subsampled mechanisms have none.
//
//   - Gaussian filter: mu^2, mu = sensitivity/sigma. That the noise is discrete
//     is charged to the limit.
//   - Pure: the a of [Mechanism.laplaceShift]; Laplace noise is a-DP.
//   - Renyi, Gaussian: order mu^2/2. For whole shifts the discrete Gaussian has
//     at most the Renyi divergence of the continuous one (Canonne, Kamath,
//     Steinke 2020, proposition 5), coordinate by coordinate: here discreteness
//     is free.
//   - Renyi, Laplace: the divergence of the continuous law at shift a, because
//     what dominates a profile dominates every Renyi divergence.
func (t Terms) price(m Mechanism) (cost float64, ok bool) {
	price := m.noise.price(t.Accounting)
	if price == nil || m.slots > 0 || m.dim > t.Dimension {
		return 0, false
	}
	return price(t, m), true
}

// muSquared is the square of Mu, rounded up: what the Gaussian filter adds up.
func (m Mechanism) muSquared() float64 { return up(m.Mu() * m.Mu()) }

// priced returns an error that says what to choose instead if a filter on terms t has
// no price for m.
func (t Terms) priced(m Mechanism) error {
	if m.dim > t.Dimension {
		return fmt.Errorf("privacy: a mechanism for %d coordinates, the terms are for %d at most", m.dim, t.Dimension)
	}
	if _, ok := t.price(m); !ok {
		return t.Accounting.noPrice(m.noise, m.slots > 0)
	}
	return nil
}
