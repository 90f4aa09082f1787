package api

import (
	"time"

	"p2pnode/learner"
)

// Status is what a node tells its owner. It holds errors on the owner's own held-out data:
// for her eyes, and for other machines only in an experiment.
type Status struct {
	Peer    string `json:"peer"`    // this node's ID
	Task    string `json:"task"`    // its name
	Network string `json:"network"` // the name of the network, which nodes of one task share
	Learner string `json:"learner"` // the task's method
	Running bool   `json:"running"` // it takes part in the network; a paused node does not
	// Withheld says that errors on held-out records are not told here, because other machines
	// reach the address that was asked.
	Withheld bool `json:"withheld,omitempty"`
	// Experiment says that the records are public or made up, so that errors on those held
	// out may leave the machine.
	Experiment bool     `json:"experiment"`
	Paused     []Pause  `json:"paused"` // why the owner paused it; empty: she did not
	Addrs      []string `json:"addrs"`  // multiaddresses at which it listens
	// Unopened says of each address of the key "listen" at which the node does not listen,
	// though it runs, why that is.
	Unopened []string `json:"unopened,omitempty"`

	Records int `json:"records"`
	HeldOut int `json:"held_out"` // of Records, kept for Personal
	// Keep says which records are kept; nil: all.
	Keep *Keep `json:"keep"`
	// SetAside counts those of the first release that this version cannot take over: they
	// serve nothing until they are deleted and imported again. Records leaves them out.
	SetAside int `json:"set_aside"`
	// Cells counts those of the records that were not taken as they are, for each
	// column that has any.
	Cells      []ColumnTally `json:"cells"`
	Neighbours int           `json:"neighbours"` // edges
	Listening  int           `json:"listening"`  // neighbours connected and subscribed
	// Waits says why nothing is released though neighbours listen; "": something is, as long
	// as there is a budget.
	Waits string `json:"waits"`
	// EdgeChanges counts the edges that came or went since the node started.
	EdgeChanges uint64 `json:"edge_changes"`
	Heard       int    `json:"heard"`      // neighbours whose model has arrived
	Candidates  int    `json:"candidates"` // peers it knows that are no neighbours
	// Connected counts the peers to which there is a connection: neighbours, the committee, anybody.
	Connected int `json:"connected"`
	// Connections counts those to anybody: neighbours, servers, who asked something.
	Connections int `json:"connections"`
	// Goroutines counts those of the process: many more than an hour ago are a defect.
	Goroutines int    `json:"goroutines"`
	Round      uint64 `json:"round"` // of the last release, or of the learner if it goes in rounds
	Done       bool   `json:"done"`  // nothing more is released with the records that are there
	// Restored says that round numbers jumped, because a restore goes on far above
	// every round that can have been released.
	Restored bool `json:"restored"`
	// Contradicted is that of [Budget].
	Contradicted uint64 `json:"contradicted_round"`
	ForeignSum   bool   `json:"contradicted_by_sum"` // as in [Budget]

	Private *Private `json:"private"` // nil: everybody of the task may speak to this node

	Rounds *Rounds `json:"rounds"` // nil unless the learner goes in rounds

	Sums *Sums `json:"sums"` // nil: the task has no private sums

	Privacy  BudgetSummary `json:"privacy"`
	Traffic  Traffic       `json:"traffic"`
	Personal *Comparison   `json:"personal"` // nil before there is anything to compare
	Fit      *Fit          `json:"fit"`      // behind Personal; nil: none has come to its end yet
}

// Keep is how many records are kept, and for how long; 0: without a limit.
type Keep struct {
	Records int     `json:"records"`
	Days    float64 `json:"days"` // after they arrived
}

// Fit says which records, and when, the models of a [Comparison] were fitted to.
type Fit struct {
	Age     float64 `json:"age_seconds"` // since it ended
	Records int     `json:"records"`     // those held out from it included
	// Current says that it knows everything that is stored and was heard; if not, another
	// one is under way.
	Current bool `json:"current"`
}

// Rounds is how a learner in rounds gets on with its neighbours. An edge is dropped
// from a round when one of its ends did not hear the other in time. Both ends try
// to agree on that, and cannot always: then the round was asymmetric.
type Rounds struct {
	Last       int    `json:"last"`             // how many there are; 0: no end
	Ended      bool   `json:"ended"`            // the last one is over
	Dropped    uint64 `json:"dropped_edges"`    // over the whole life of the node
	Asymmetric uint64 `json:"asymmetric_edges"` // over the whole life of the node
}

// Traffic counts since the node started.
type Traffic struct {
	Published uint64 `json:"published"`       // models sent out, once each
	Expected  uint64 `json:"expected"`        // their listeners, summed
	Delivered uint64 `json:"delivered"`       // models that arrived and passed the validator
	Rejected  uint64 `json:"rejected"`        // malformed messages
	Ignored   uint64 `json:"ignored"`         // stale ones, and ones of strangers
	Sent      uint64 `json:"sent_direct"`     // messages to one peer
	Taken     uint64 `json:"received_direct"` // messages from one peer to this one
	BytesIn   int64  `json:"bytes_in"`        // everything libp2p read
	BytesOut  int64  `json:"bytes_out"`       // everything libp2p wrote
}

// Comparison sets the personal model beside the tuned lone model, and both beside a
// constant, on records held out from all three. Intervals are of 95 %, null where there
// are too few records for one; see [learner.Score] for what they are.
type Comparison struct {
	Measure learner.Measure `json:"measure"`  // "RMSE", "RMSLE" or "error share"
	HeldOut int             `json:"held_out"` // records that the errors are measured on

	Personal float64 `json:"personal"` // error of the personal model
	Alone    float64 `json:"alone"`    // error of the model from the owner's records alone
	// Base is what the mean of the other records' targets gets, or their most frequent
	// class: a model that is no better has learned nothing.
	Base float64 `json:"base"`

	PersonalInterval *learner.Interval `json:"personal_interval"`
	AloneInterval    *learner.Interval `json:"alone_interval"`
	Gain             *learner.Interval `json:"gain"` // Alone less Personal, on the same records: above 0 the neighbours help
	// Verdict says what Gain shows: "better", "worse" or "cannot tell". ByLogLoss says that
	// Gain shows nothing, as where a class is rare, and that it is what LogLossGain shows;
	// see [learner.Score.Against].
	Verdict   string `json:"verdict"`
	ByLogLoss bool   `json:"by_log_loss"`

	LogLoss     *Three            `json:"log_loss"`      // null for numbers, and where a model gives no probabilities
	LogLossGain *learner.Interval `json:"log_loss_gain"` // of LogLoss, Alone less Personal: above 0 the neighbours help
	AUC         *Three            `json:"auc"`           // area under the curve; null unless there are records of two classes
	// MajorityOnly says that the personal model predicts nothing but the constant's class.
	MajorityOnly bool `json:"majority_only"`
}

// Three is a measure of the personal model, of the lone one and of a constant.
type Three struct {
	Personal float64 `json:"personal"`
	Alone    float64 `json:"alone"`
	Base     float64 `json:"base"`
}

// Farewell is what came of a Leave.
type Farewell struct {
	Running    bool `json:"running"`    // the node took part in the network
	Neighbours int  `json:"neighbours"` // that it had
	Told       int  `json:"told"`       // of them; the others notice within an hour
	SumsWait   bool `json:"sums_wait"`  // for the node, as [Sums.Await] says
}

// Pause is a reason for which a node is paused.
type Pause struct {
	Reason string    `json:"reason"` // "": the owner wants it
	Since  time.Time `json:"since"`
}

// PauseReason names a reason to pause.
type PauseReason struct {
	Reason string `json:"reason,omitempty"`
}

// Confirmation is what an owner says who means it: the peer ID of the node.
type Confirmation struct {
	Peer string `json:"confirm"`
}

// Erased is what came of an Erase.
type Erased struct {
	Left     []string `json:"left"` // other files in the directory, which stay
	Farewell Farewell `json:"farewell"`
}
