package api

import (
	"time"

	"p2pnode/learner"
)

// Prediction is the personal model's answer, and the lone model's beside it: a
// number in the units of the target; the probability of 1 for the logistic loss; 1,
// -1 or, undecided, 0 for the hinge. Where the task names classes, each model names the
// one it finds likeliest, and the number is the probability of that.
type Prediction struct {
	Value      float64 `json:"value"`                 // of the personal model
	Alone      float64 `json:"alone"`                 // of the one from the owner's records alone
	Class      string  `json:"class,omitempty"`       // the likeliest by the personal model
	AloneClass string  `json:"alone_class,omitempty"` // and by the lone one
	// Probabilities holds the personal model's probability for each class that the task
	// names.
	Probabilities map[string]float64 `json:"probabilities,omitempty"`
	// Guess says that no record and nothing that others know is behind the models, so that
	// the values tell nothing.
	Guess bool `json:"guess,omitempty"`
	// Cells counts the cells that were not taken unchanged, for each column that has
	// one.
	Cells []ColumnTally `json:"cells"`
}

// Rows asks for the predictions of many rows at once.
type Rows struct {
	// Rows have the texts of the task's columns, the target left out.
	Rows []map[string]string `json:"rows"`
	// Since lets a model answer that was fitted then or later, even if it does not know all
	// that was stored and heard meanwhile: a file that is asked in parts need not wait for a
	// fit at each. Zero: it must know all.
	Since time.Time `json:"since,omitzero"`
}

// Answers are the answers to [Rows], of one model.
type Answers struct {
	Fitted  time.Time `json:"fitted"` // the model, or a first one so far if zero
	Answers []Answer  `json:"answers"`
}

// Answer is the prediction of a row, or what is wrong with the row.
type Answer struct {
	*Prediction
	Error string `json:"error,omitempty"` // what is wrong with the row
}

// Model is a personal model with the coder of its task, as docs/model-format.md describes,
// and where it stands. It tells about the owner's records.
type Model struct {
	learner.ModelFile
	Network string    `json:"network"` // the hash of the task
	Fitted  time.Time `json:"fitted"`
	Records int       `json:"records"` // of the owner's that it knows
	Round   uint64    `json:"round"`   // of the node's last release
	Heard   int       `json:"heard"`   // neighbours whose models it knows
	// Tests are rows with their predictions, for authors of readers. The rows are made
	// from the task's public constants.
	Tests []ModelTest `json:"tests"`
}

// ModelTest is a row and its prediction.
type ModelTest struct {
	Row           map[string]string  `json:"row"`
	Value         float64            `json:"value"`
	Class         string             `json:"class,omitempty"`
	Probabilities map[string]float64 `json:"probabilities,omitempty"`
}
