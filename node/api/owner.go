package api

import (
	"context"
	"io"
	"iter"
)

// Owner is what the owner of a data directory can do with it: on a node, or through a
// client of a running daemon. All methods are safe for concurrent use.
type Owner interface {
	Recorder
	Predictor
	Reporter
	Accountant
	Networker
	Lifecycle
	Watcher
}

// Recorder keeps the records.
type Recorder interface {
	Import(ctx context.Context, csv io.Reader, o ImportOptions) (ImportReport, error)
	Put(ctx context.Context, l Lines) (Acknowledgement, error)
	Imported(ctx context.Context, file File) error // ErrImported, if it was
	Records(ctx context.Context, content bool) iter.Seq2[RecordInfo, error]
	Delete(ctx context.Context, numbers []uint64) error
}

// Predictor answers from the personal model.
type Predictor interface {
	Predict(ctx context.Context, row map[string]string) (Prediction, error)
	PredictRows(ctx context.Context, rows Rows) (Answers, error)
	Model(ctx context.Context) (Model, error)
}

// Reporter says how the node is doing.
type Reporter interface {
	Status(ctx context.Context) (Status, error)
	Progress(ctx context.Context) (Status, error) // Status without Personal, which takes a fit
	Doctor(ctx context.Context) (Diagnosis, error)
	Sums(ctx context.Context) (Sums, error) // ErrRequest, if the task has none
	// Benefit returns the kept earlier comparisons, the oldest first.
	Benefit(ctx context.Context) ([]BenefitPoint, error)
}

// Accountant says what of the privacy budget is spent.
type Accountant interface {
	Budget(ctx context.Context) (Budget, error)
	Verify(ctx context.Context) (Verification, error)
	Ledger(ctx context.Context) ([]Line, error)
	Statement(ctx context.Context) (SignedStatement, error) // for others
}

// Networker knows the node's neighbours, the peers it can start from, and who may speak
// to it.
type Networker interface {
	Peers(ctx context.Context) ([]Peer, error)
	Neighbours(ctx context.Context) (Neighbours, error)
	Acquaintances(ctx context.Context) ([]Acquaintance, error)
	Standings(ctx context.Context) ([]Standing, error) // what is held against whom
	Evidence(ctx context.Context) ([]Evidence, error)  // against peers, the oldest first
	AddPeer(ctx context.Context, address string) (Addition, error)
	RemovePeer(ctx context.Context, peerOrAddress string) error
	Members(ctx context.Context) (Membership, error)
	ImportMembers(ctx context.Context, list []byte) error
}

// Lifecycle is of the data directory as a whole.
type Lifecycle interface {
	Backup(ctx context.Context, w io.Writer) error
	Leave(ctx context.Context) (Farewell, error) // the daemon stops then
	// Pause ends a running node's part in the network until every reason for a pause
	// has been resumed; the pause also outlasts a restart. The reason "" is the owner's
	// own.
	Pause(ctx context.Context, reason string) error
	Resume(ctx context.Context, reason string) error // "": all reasons
	// Erase erases the data directory, as [p2pnode/node/datadir.Erase] does, if confirm is
	// the node's peer ID. The daemon stops then.
	Erase(ctx context.Context, confirm string) (Erased, error)
}
