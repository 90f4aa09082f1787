package privacy

// THE CONTRACT (replace this file by real ones; keep the exported names).

// Budget is the guarantee a record gets over its whole life: (epsilon, delta).
type Budget struct{ Epsilon, Delta float64 }

func (b Budget) Validate() error { panic("contract") }

func GaussianDelta(epsilon, mu float64) float64 { panic("contract") }
func GaussianMu(b Budget) (float64, error)      { panic("contract") } // largest mu with delta(eps; mu) <= delta
func GaussianEpsilon(delta, mu float64) float64 { panic("contract") }

// Mechanism: clip per record (l2) and Gaussian noise, on a power-of-two grid.
type Mechanism struct{ clip, sigma float64 }

func NewGaussian(clip, sigma float64) (Mechanism, error) { panic("contract") } // sigma: std of the noise on the SUM, real units
func NewUnprotected(clip float64) (Mechanism, error)     { panic("contract") } // quantised, no noise; Mu() = +Inf
func (m Mechanism) Protected() bool                      { panic("contract") }
func (m Mechanism) Clip() float64                        { panic("contract") } // as used, after rounding to the grid
func (m Mechanism) Sigma() float64                       { panic("contract") } // as used; 0 when unprotected
func (m Mechanism) Mu() float64                          { panic("contract") } // 2 clip / sigma, exact upper bound: cost of one release in GDP

// Cohort numbers a group of records that share one budget.
type Cohort uint64

// Sum is the only thing that can be released: built by Add alone.
type Sum struct{}

func (m Mechanism) NewSum(c Cohort, dim int) Sum { panic("contract") }
func (s *Sum) Add(gradient []float64)            { panic("contract") } // one record slot: clips, quantises toward zero, adds
func (s *Sum) AddEmpty()                         { panic("contract") } // the slot of a deleted record
func (s *Sum) Cohort() Cohort                    { panic("contract") }
func (s *Sum) Slots() int                        { panic("contract") }

// Account decides, per cohort, whether a release can be paid (GDP filter). Pure, in memory.
type Account struct{}
type Debit struct {
	Cohort    Cohort
	MuSquared float64
}

func NewAccount(b Budget, dim int) (*Account, error)           { panic("contract") } // dim: to charge discreteness
func (a *Account) Admit(m Mechanism, cohorts []Cohort) []Debit { panic("contract") } // debits of those that can pay; changes nothing
func (a *Account) Apply(d Debit) error                         { panic("contract") } // records a debit; error if it breaks the bound
func (a *Account) Spent(c Cohort) float64                      { panic("contract") } // share of the budget, in [0,1]
func (a *Account) Exhausted(c Cohort, m Mechanism) bool        { panic("contract") }

// Calibrate returns the mechanism with the least noise that allows `releases` releases within b.
func Calibrate(b Budget, clip float64, releases, dim int) (Mechanism, error) { panic("contract") }

// Answer is what the door gives back.
type Answer struct {
	Sum     []float64 // noisy sum over the admitted cohorts' clipped gradients; nil when nothing was admitted
	Slots   int       // record slots in it
	Cohorts []Cohort  // the cohorts in it
}

func (a Answer) Exhausted() bool { return a.Sum == nil }

// LiveNoise draws from the operating system; it alone fits the durable door.
type LiveNoise struct{}

func NewLiveNoise() *LiveNoise                             { panic("contract") }
func (n *LiveNoise) Answer(m Mechanism, sums []Sum) Answer { panic("contract") } // adds up the given sums, adds noise once

// SeededNoise is reproducible: simulation and tests only.
type SeededNoise struct{}

func NewSeededNoise(seed uint64) *SeededNoise                { panic("contract") }
func (n *SeededNoise) Answer(m Mechanism, sums []Sum) Answer { panic("contract") }
