package api

import (
	"context"
	"iter"
	"time"
)

// Watcher reports what happens to a node while it happens.
type Watcher interface {
	// Events yields the events after the one of that ID, first those that are kept, and
	// then each as it happens, until ctx ends. If events in between are kept no longer, or
	// are of an earlier run of the daemon, the first one is an [EventGap]. 0 is from the
	// oldest that is kept on, without a gap.
	Events(ctx context.Context, since uint64) iter.Seq2[Event, error]
	// Logs yields the newest kept lines of the log, at most last of them, and then, if
	// follow is set, each new line as it is written, until ctx ends.
	Logs(ctx context.Context, last int, follow bool) iter.Seq2[LogLine, error]
	LogLevels(ctx context.Context) (LogLevels, error)
	// SetLogLevels changes what is logged of some subsystems, and of the others for "all",
	// until the daemon ends. With a wrong name it changes nothing.
	SetLogLevels(ctx context.Context, levels LogLevels) error
}

// Event is something that happened to a node. It is for its owner only: facts that
// others know, or counts, never the content of records. Fields that do not belong to
// its kind are empty.
type Event struct {
	// ID counts up by one from event to event. It begins at the time of the start, in
	// milliseconds, so that the IDs of a later run are higher.
	ID uint64 `json:"id"`
	// Run is the same for all events of one run of the daemon, and higher in the next.
	Run  uint64    `json:"run"`
	Time time.Time `json:"time"`
	Kind EventKind `json:"kind"`
	Text string    `json:"text"` // for people, as in the log

	Peer    string  `json:"peer,omitempty"`
	Reason  string  `json:"reason,omitempty"` // why it happened, in words
	Weight  float64 `json:"weight,omitempty"` // of a neighbour
	Round   uint64  `json:"round,omitempty"`  // of a release
	Share   float64 `json:"share,omitempty"`  // of the budget of a cohort's records that this took
	Records int     `json:"records,omitempty"`
	// Replaced counts the lines of an import that replaced a record, and Same those
	// that changed nothing.
	Replaced int       `json:"replaced,omitempty"`
	Same     int       `json:"same,omitempty"`
	Missing  int       `json:"records_missing,omitempty"` // of an import: as in Budget, after it
	Sum      *SumEvent `json:"sum,omitempty"`
	// Rejected counts, by reason, the messages that were rejected since the last such event.
	Rejected map[string]uint64 `json:"rejected,omitempty"`
	// Verdict and ByLogLoss are those of a [Comparison].
	Verdict   string `json:"verdict,omitempty"`
	ByLogLoss bool   `json:"by_log_loss,omitempty"`
	Lost      uint64 `json:"lost,omitempty"` // events of this run that are kept no longer
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	EventGap      EventKind = "gap"      // earlier events are not kept; its ID is that of the last of them
	EventStarted  EventKind = "started"  // the node takes part in the network
	EventStopped  EventKind = "stopped"  // the node no longer takes part in the network
	EventPaused   EventKind = "paused"   // the owner paused the node; Reason says why
	EventResumed  EventKind = "resumed"  // the pause is over; Reason says what ended
	EventMet      EventKind = "met"      // a peer became a neighbour
	EventLeft     EventKind = "left"     // a peer is no longer a neighbour
	EventRefused  EventKind = "refused"  // a peer was turned away
	EventReleased EventKind = "released" // a release was paid for: Round, Share
	EventUnpaid   EventKind = "unpaid"   // the budget refused a release
	EventImported EventKind = "imported" // records were stored
	EventDeleted  EventKind = "deleted"  // records were deleted
	EventSum      EventKind = "sum"      // a private sum made progress: Sum
	EventResult   EventKind = "result"   // the result of a private sum arrived: Sum
	EventRejected EventKind = "rejected" // messages were rejected: Rejected
	EventFitted   EventKind = "fitted"   // a fit of the personal model ended: Verdict, Records
	EventBackup   EventKind = "backup"   // a copy of the database was made
	EventErased   EventKind = "erased"   // the owner erases the directory
	EventWarning  EventKind = "warning"  // something is wrong: Reason
)

// SumEvent says which private sum made progress, and how far it is.
type SumEvent struct {
	ID           string   `json:"id"`     // hex
	Kind         string   `json:"kind"`   // of the recipe
	Recipe       int      `json:"recipe"` // from 1
	Epoch        uint64   `json:"epoch"`
	Round        uint64   `json:"round"`
	State        SumState `json:"state"`
	Contributors int      `json:"contributors,omitempty"` // once the result is here
	Listed       bool     `json:"listed,omitempty"`       // this node is one of them
}

// LogLine is a line of the daemon's log.
type LogLine struct {
	Time      time.Time `json:"time"`
	Level     string    `json:"level"` // as in [LogLevels]
	Subsystem string    `json:"subsystem"`
	Text      string    `json:"text"`           // the message, then key=value
	Lost      uint64    `json:"lost,omitempty"` // lines before this one that came too fast for the reader
}

// LogLevels has the level of each subsystem: debug, info, warn or error.
type LogLevels map[string]string
