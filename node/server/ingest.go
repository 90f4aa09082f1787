package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"p2pnode/node/api"
)

// keyColumn is the column that holds the owner's key of each record, for records that
// come with an Idempotency-Key.
const keyColumn = "Idempotency-Key"

// recordsInput is a list of records, and the key by which a retry is recognised.
type recordsInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"the same again stores nothing twice, after a restart of the daemon too"`
	Body api.NewRecords
}

// put stores the records together. If there is an Idempotency-Key, each record is stored
// under an ID made of who asks, the key and the record's place. The ID is stored in the
// same transaction as the record, so a retry finds it. Two programs that choose the same
// key do not replace each other's records, because who asks is part of the ID.
func (in *recordsInput) put(ctx context.Context, owner api.Recorder) (*body[api.Acknowledgement], error) {
	lines, keyed := api.Lines{From: 1, ID: in.Body.ID}, in.Key != ""
	if !utf8.ValidString(in.Key) { // otherwise different keys would be the same in an ID
		return nil, api.WrongRequest(fmt.Errorf("server: the header %s %w", keyColumn, errUTF8))
	}
	if keyed && lines.ID != "" {
		return nil, api.WrongRequest(api.Advise(fmt.Errorf("server: the header %s and the column of id both say which record one is", keyColumn), "leave one of them out"))
	}
	who, _ := ctx.Value(asking{}).(string)
	if keyed {
		lines.ID = keyColumn
	}
	for i, record := range in.Body.Records {
		if keyed {
			if _, taken := record[keyColumn]; taken {
				return nil, api.WrongRequest(fmt.Errorf("server: record %d has a column %q, which stands for the header", i+1, keyColumn))
			}
			id, err := json.Marshal(fmt.Sprintf("%s/%s/%d", who, in.Key, i+1))
			if err != nil {
				return nil, err
			}
			record[keyColumn] = id
		}
		line, err := json.Marshal(record)
		if err != nil {
			return nil, api.WrongRequest(fmt.Errorf("server: record %d: %w", i+1, err))
		}
		lines.Lines = append(lines.Lines, string(line))
	}
	return answer(owner.Put(ctx, lines))
}

// unkeyed refuses an Idempotency-Key where lines are stored as they come: after a lost answer
// a program sends the lines that were not acknowledged, or a corrected file, and by its place
// each line would replace another one.
func unkeyed(d *huma.Operation) {
	d.Middlewares = append(d.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		if ctx.Header(keyColumn) == "" {
			next(ctx)
			return
		}
		_, w := humago.Unwrap(ctx)
		writeProblem(w, problemOf(api.WrongRequest(api.Advise(fmt.Errorf("server: the header %s is for POST /v1/records only", keyColumn),
			"leave it out, and say id=COLUMN to name the column of your own key of each record"))))
	})
}

type streamInput struct {
	ID string `query:"id" doc:"the column of the owner's own keys: a record that comes again changes nothing"`
}

// Resolve implements [huma.Resolver]. What may be lines of JSON is taken, whatever a client
// calls it.
func (in *streamInput) Resolve(ctx huma.Context) []error {
	switch media, _, _ := mime.ParseMediaType(ctx.Header("Content-Type")); media {
	case "text/csv", "multipart/form-data":
		return []error{refuse(http.StatusUnsupportedMediaType, "a stream of records is lines of JSON, application/x-ndjson", "send a file of CSV to POST /v1/records/file")}
	}
	return nil
}

// mostLines is how many lines of a stream are stored together at most. longestLine is the
// longest allowed line in bytes.
const (
	mostLines   = 500
	longestLine = 1 << 20
)

// byteOrderMark is what some programs write first.
const byteOrderMark = "\ufeff"

// errLongLine is why a line of a stream is bad.
var errLongLine = fmt.Errorf("is longer than %d bytes; is the end of a line missing?", longestLine)

// takeStream stores lines of JSON as they arrive. It stores all lines that wait together,
// and acknowledges each once it is on disk. It may wait for a line for as long as the token
// lives.
func takeStream(w http.ResponseWriter, q *http.Request, in *streamInput, owner api.Recorder, log *slog.Logger) error {
	sent, answered := http.NewResponseController(w), false
	if err := sent.EnableFullDuplex(); err != nil {
		return err
	}
	// Who may send no more, for example because the token was revoked, is not waited for.
	defer context.AfterFunc(q.Context(), func() { _ = sent.SetReadDeadline(time.Now()) })()
	body := io.Reader(q.Body)
	if p, ok := body.(*bodyPieces); ok {
		body = p.ReadCloser
	}
	waiting := lineReader{bufio.NewReaderSize(body, longestLine+len("\n"))}
	for lines := (api.Lines{From: 1, ID: in.ID}); ; lines.From += len(lines.Lines) {
		var err error
		lines.Lines, err = waiting.next()
		if len(lines.Lines) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		switch {
		case errors.Is(err, errLongLine):
			err = json.NewEncoder(w).Encode(api.LineOutcome{Line: lines.From, Outcome: api.LineBad, Reason: err.Error()})
		case err == nil || errors.Is(err, io.EOF):
			if lines.From == 1 {
				lines.Lines[0] = strings.TrimPrefix(lines.Lines[0], byteOrderMark)
			}
			err = acknowledge(w, q, lines, owner)
		}
		if err == nil {
			err = sent.Flush()
		}
		if err != nil && errors.Is(context.Cause(q.Context()), errRevoked) {
			err = errRevoked
		}
		if err != nil && !answered {
			_ = sent.SetReadDeadline(time.Now().Add(restTimeout)) // the client is answered even if it sends more
			return err
		}
		if err != nil {
			breakStream(w, q, log, err)
		}
		answered = true
	}
}

// lastLine is the last line of a stream's answer, if the stream ends before its last record.
type lastLine struct {
	Error *api.Problem `json:"error"`
}

// breakStream tells in a last line why no more is stored, and breaks the connection: the
// client must send again what was not acknowledged. What the client did wrong is not logged.
func breakStream(w http.ResponseWriter, q *http.Request, log *slog.Logger, err error) {
	sent, p := http.NewResponseController(w), problemOf(err)
	_ = json.NewEncoder(w).Encode(lastLine{p.Problem}) // if these fail, the client has gone
	_ = sent.Flush()
	_ = sent.SetReadDeadline(time.Now()) // otherwise the end would wait for more lines
	if p.Status < http.StatusInternalServerError {
		panic(http.ErrAbortHandler)
	}
	breakOff(q, log, "stream of records broke off", err)
}

// acknowledge stores lines and sends what became of each.
func acknowledge(w io.Writer, q *http.Request, lines api.Lines, owner api.Recorder) error {
	if err := q.Context().Err(); err != nil { // for example because the token was revoked
		return err
	}
	a, err := owner.Put(q.Context(), lines)
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	for _, l := range a.Lines {
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// lineReader reads lines as they arrive.
type lineReader struct{ *bufio.Reader }

// next waits for a line, and returns it together with the lines that have arrived
// already. It passes over a line that is too long, and returns it alone and empty, with an
// [errLongLine].
func (r lineReader) next() (lines []string, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) { // no line was before, because the others are there as a whole
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.ReadSlice('\n')
			}
			if err == nil || errors.Is(err, io.EOF) {
				return []string{""}, errLongLine
			}
			return nil, bodyError(err)
		}
		if len(line) > 0 {
			lines = append(lines, string(bytes.TrimRight(line, "\r\n")))
		}
		if err != nil || len(lines) == mostLines {
			return lines, bodyError(err)
		}
		if more, _ := r.Peek(r.Buffered()); bytes.IndexByte(more, '\n') < 0 {
			return lines, nil
		}
	}
}
