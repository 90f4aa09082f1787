package learner

import (
	"math/rand/v2"

	"p2pnode/privacy"
)

// THE CONTRACT of what is still to come (replace by real files).

// Validate checks every field; an error names the TOML key.
func (t *Task) Validate() error { panic("contract") }

// PersonalConfig: what New needs.
type PersonalConfig struct {
	Self      ID
	Task      *Task
	Mechanism privacy.Mechanism
	WakeMean  float64    // seconds
	Schedule  *rand.Rand // draws wake times only
	Resume    *State     // nil: start at zero
}

// NewPersonal returns the agent of Bellet et al. (private wakes, eq. 6).
func NewPersonal(c PersonalConfig) (Agent, error) { panic("contract") }

// GradientBound is a public bound on ||grad l|| over the ball: the clip of unprotected runs.
func (t *Task) GradientBound() float64 { panic("contract") }

// PersonalModel is what the owner's predictions come from; never published.
type PersonalModel struct {
	Theta, Alone []float64 // collaborative and tuned-alone models
	Eta, Kappa   float64   // as chosen on the device
}

// FitPersonal fits on the training records (held-out ones are skipped) around
// the prior; kappa 0 is the tuned lone model.
func FitPersonal(t *Task, records []Record, prior []float64) PersonalModel { panic("contract") }

// Prior is the weighted mean of the neighbours' shared models in a state (own model if none).
func Prior(s State) []float64 { panic("contract") }

// Predict returns the prediction of theta at x in the units of the target: a
// value in [Min, Max] (squared) or the probability of +1 (logistic).
func (t *Task) Predict(theta, x []float64) float64 { panic("contract") }

// Report is the error on held-out records: RMSE, or 1 - accuracy.
func (t *Task) Error(theta []float64, records []Record) float64 { panic("contract") }

// Recorder wraps an agent and keeps its trace; Replay feeds a trace into a fresh agent.
type Recorder struct{ Agent }
