package api

import (
	"time"

	"p2pnode/learner"
)

// Benefit holds the kept earlier comparisons, the oldest first.
type Benefit struct {
	Points []BenefitPoint `json:"points"`
}

// BenefitPoint is a [Comparison] at a time: whether learning with others helped the
// owner on the held-out records. It is for the owner only, and for other machines only
// in an experiment.
type BenefitPoint struct {
	Time    time.Time       `json:"time"`    // when the fit ended
	Measure learner.Measure `json:"measure"` // "RMSE", "RMSLE" or "error share"

	Personal float64           `json:"personal"` // as in [Comparison]
	Alone    float64           `json:"alone"`    // as in [Comparison]
	Base     float64           `json:"base"`     // as in [Comparison]
	Gain     *learner.Interval `json:"gain"`     // Alone less Personal: above 0 the neighbours help; nil: too few records for one
	Verdict  string            `json:"verdict"`  // as in [Comparison]
	// ByLogLoss is as in [Comparison]; points of earlier versions do not have it.
	ByLogLoss bool `json:"by_log_loss,omitempty"`

	HeldOut int    `json:"held_out"` // records that the errors are measured on
	Records int    `json:"records"`  // those held out included
	Round   uint64 `json:"round"`    // of the node at that time, as in [Status]
}
