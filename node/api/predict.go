package api

import "time"

// Prediction is the personal model's answer, and the lone model's beside it: a
// number in the units of the target; the probability of 1 for the logistic loss; 1,
// -1 or, undecided, 0 for the hinge. Where the task names classes, each model names the
// one it finds likeliest, and the number is the probability of that.
type Prediction struct {
	Value      float64 `json:"value"`
	Alone      float64 `json:"alone"`
	Class      string  `json:"class,omitempty"`
	AloneClass string  `json:"alone_class,omitempty"`
	// Probabilities has what the personal model says of each class that the task names.
	Probabilities map[string]float64 `json:"probabilities,omitempty"`
	// Cells counts those that were not taken as they are, for each column that has one.
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
	Error string `json:"error,omitempty"`
}
