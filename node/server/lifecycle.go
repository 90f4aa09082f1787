package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"p2pnode/node/api"
)

// eraseTimeout bounds how long the daemon waits for its neighbours and for its own end when
// it is erased.
const eraseTimeout = time.Minute

// leaveTimeout bounds how long the daemon waits for its neighbours when it leaves.
const leaveTimeout = 10 * time.Second

func routeLifecycle(r *routes, owner api.Lifecycle, log *slog.Logger, left func()) {
	stream(r, operation{"GET /v1/backup", api.Admin, "getBackup", "A copy of the database"}, "application/octet-stream",
		func(w http.ResponseWriter, q *http.Request, _ *struct{}) error { return sendBackup(w, q, owner, log) })
	order(r, operation{"POST /v1/pause", api.Admin, "pause", "Take no part in the network until resumed"},
		func(ctx context.Context, in api.PauseReason) error { return owner.Pause(ctx, in.Reason) })
	order(r, operation{"POST /v1/resume", api.Admin, "resume", "End a pause; without a reason all of them"},
		func(ctx context.Context, in api.PauseReason) error { return owner.Resume(ctx, in.Reason) })
	tell(r, operation{"POST /v1/erase", api.Admin, "erase", "Erase the data directory; the daemon stops"},
		func(ctx context.Context, in api.Confirmation) (api.Erased, error) {
			ctx, cancel := context.WithTimeout(ctx, eraseTimeout)
			defer cancel()
			e, err := owner.Erase(ctx, in.Peer)
			if err == nil || errors.Is(err, api.ErrEnded) {
				left()
			}
			return e, err
		})
	ask(r, operation{"POST /v1/leave", api.Admin, "leave", "Leave the neighbours; the daemon stops"},
		func(ctx context.Context) (api.Farewell, error) {
			defer left()
			ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
			defer cancel()
			return owner.Leave(ctx)
		})
}

// sendBackup streams the copy. After an error it breaks the connection, so that nobody
// takes a part for the whole.
func sendBackup(w http.ResponseWriter, q *http.Request, owner api.Lifecycle, log *slog.Logger) error {
	err := owner.Backup(q.Context(), w)
	if err != nil && begun(w) {
		breakOff(q, log, "backup failed", err)
	}
	return err
}
