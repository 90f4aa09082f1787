package server

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"p2pnode/node/api"
)

func routeRecords(r *routes, owner api.Recorder, log *slog.Logger) {
	stream(r, operation{"GET /v1/records", api.Data, "listRecords", "The records, one line of JSON for each"}, "application/x-ndjson",
		func(w http.ResponseWriter, q *http.Request, in *listInput) error {
			return sendRecords(w, q, owner, in.Content, log)
		})
	handle(r, operation{"POST /v1/records", api.Data, "addRecords", "Store some records; a retry with the same Idempotency-Key, or with IDs, stores nothing twice"},
		func(ctx context.Context, in *recordsInput) (*body[api.Acknowledgement], error) {
			return in.put(ctx, owner)
		})
	stream(r, operation{"POST /v1/records/stream", api.Data, "streamRecords", "Store lines of JSON as they come; each is acknowledged by a line once it is on disk"}, "application/x-ndjson",
		func(w http.ResponseWriter, q *http.Request, in *streamInput) error {
			return takeStream(w, q, in, owner, log)
		}, takes("application/x-ndjson"), unkeyed)
	handle(r, operation{"POST /v1/records/file", api.Data, "importFile", "Import a file of records, as CSV or as lines of JSON"},
		func(ctx context.Context, in *importInput) (*body[api.ImportReport], error) {
			return in.imported(ctx, owner)
		},
		takes("text/csv", "application/x-ndjson", "application/octet-stream"), unkeyed)
	tell(r, operation{"POST /v1/records/lines", api.Data, "putLines", "Store some lines of a pipe"}, owner.Put, unkeyed)
	order(r, operation{"POST /v1/records/imported", api.Data, "checkFile", "Whether a file would be refused, by its digest"}, owner.Imported)
	order(r, operation{"POST /v1/records/delete", api.Data, "deleteRecords", "Delete records"},
		func(ctx context.Context, in api.Deletion) error { return owner.Delete(ctx, in.Numbers) })
	handle(r, operation{"DELETE /v1/records/{number}", api.Data, "deleteRecord", "Delete a record"},
		func(ctx context.Context, in *numberInput) (*struct{}, error) {
			return nil, owner.Delete(ctx, []uint64{in.Number})
		})
}

type listInput struct {
	Content bool `query:"content" doc:"with what is in them"`
}

type numberInput struct {
	Number uint64 `path:"number"`
}

// importInput is a file and the options of its import.
type importInput struct {
	SkipBad bool   `query:"skip_bad" doc:"leave bad lines out instead of refusing the file"`
	Again   bool   `query:"again" doc:"import a file that was imported before; its records get a budget of their own"`
	ID      string `query:"id" doc:"the column of the owner's own keys"`
	Name    string `query:"name" doc:"what the file is called where files come again and again"`
	file    io.Reader
}

// Resolve implements [huma.Resolver].
func (in *importInput) Resolve(ctx huma.Context) []error {
	in.file = ctx.BodyReader() // it is read while it arrives
	switch media, _, _ := mime.ParseMediaType(ctx.Header("Content-Type")); media {
	case "", "text/csv", "application/x-ndjson", "application/octet-stream":
		return nil
	}
	return []error{refuse(http.StatusUnsupportedMediaType, "a file of records is text/csv or application/x-ndjson", "name one of these types in the header Content-Type")}
}

func (in *importInput) imported(ctx context.Context, owner api.Recorder) (*body[api.ImportReport], error) {
	o := api.ImportOptions{SkipBad: in.SkipBad, Again: in.Again, ID: in.ID, Name: in.Name}
	report, err := owner.Import(ctx, in.file, o)
	if err == nil {
		return &body[api.ImportReport]{report}, nil
	}
	readOn(in.file) // many clients look at the answer only when they have sent all
	p := problemOf(err)
	if p.Status == http.StatusUnprocessableEntity {
		p.Report = &report
	}
	return nil, p
}

// readOn reads the rest of what a client sends, for restTimeout.
func readOn(r io.Reader) {
	part := make([]byte, 64<<10)
	for until := time.Now().Add(restTimeout); time.Now().Before(until); {
		if _, err := r.Read(part); err != nil {
			return
		}
	}
}

// sendRecords sends the list while it is being read, one line of JSON for each record.
// After an error it breaks the connection, as sendBackup does.
func sendRecords(w http.ResponseWriter, q *http.Request, owner api.Recorder, content bool, log *slog.Logger) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	for record, err := range owner.Records(q.Context(), content) {
		if err == nil {
			err = lines.Encode(record)
		}
		if err != nil && !begun(w) {
			return err // what is in out is not sent
		}
		if err != nil {
			breakOff(q, log, "list of records broke off", err)
		}
	}
	_ = out.Flush() // cannot be reported: the client has gone
	return nil
}

// breakOff breaks the connection of an answer that has begun, so that nobody takes a part
// for the whole.
func breakOff(q *http.Request, log *slog.Logger, what string, err error) {
	if q.Context().Err() == nil { // otherwise the client has gone, which is no error
		log.Error(what, "error", err)
	}
	panic(http.ErrAbortHandler)
}
