package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// pieceTimeout is how long a client may take to send the next piece of a request, or to
// receive the next piece of an answer. bodyTimeout is how long it may take to send a
// request that is not a stream. restTimeout is how long it may take to send the rest of a
// request that was answered already.
const (
	pieceTimeout = 20 * time.Second
	bodyTimeout  = 2 * time.Minute
	restTimeout  = 5 * time.Second
)

// timed bounds the time of each piece of a request's body. Between two pieces it lifts
// the bound, which would otherwise end the request while it is being answered.
func timed(w http.ResponseWriter, body io.ReadCloser, o *huma.Operation) io.ReadCloser {
	p := &bodyPieces{ReadCloser: body, connection: http.NewResponseController(w)}
	p.answer, _ = w.(*answerPieces)
	if isJSON(o) {
		p.end = time.Now().Add(bodyTimeout)
	}
	return p
}

type bodyPieces struct {
	io.ReadCloser
	connection *http.ResponseController
	end        time.Time // the deadline of the whole body; zero: none
	answer     *answerPieces
}

// Read implements [io.Reader].
func (p *bodyPieces) Read(b []byte) (int, error) {
	until := time.Now().Add(pieceTimeout)
	if !p.end.IsZero() && p.end.Before(until) {
		until = p.end
	}
	if p.connection.SetReadDeadline(until) != nil { // a connection of a test has no deadlines
		n, err := p.ReadCloser.Read(b)
		return n, bodyError(err)
	}
	n, err := p.ReadCloser.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		_ = p.connection.SetReadDeadline(time.Time{}) // cannot fail, since setting it just succeeded
	}
	if errors.Is(err, io.EOF) && p.answer != nil {
		p.answer.sends = false // a deadline would end the connection during a long answer
	}
	return n, bodyError(err)
}

// bodyError says in words why no more of a request's body can be read. The end of the body
// is no error.
func bodyError(err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refuse(http.StatusRequestTimeout, "the body of the request comes too slowly",
			fmt.Sprintf("send each part of it within %.0f seconds, and all of a JSON value within %.0f; POST /v1/records/stream waits for records", pieceTimeout.Seconds(), bodyTimeout.Seconds()))
	}
	return refuse(http.StatusBadRequest, "the body of the request breaks off before its end", "send as many bytes as the header Content-Length says, or the last chunk, and try again")
}

// answerPieces bounds the time of each piece of an answer that a client receives. It also
// bounds the time for the rest of the request, which the connection reads before it
// answers. It remembers whether any part of the answer was sent.
type answerPieces struct {
	http.ResponseWriter
	sends bool // the client may send more of a body
	begun bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *answerPieces) WriteHeader(status int) {
	w.begin()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (w *answerPieces) Write(p []byte) (int, error) {
	w.begin()
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(pieceTimeout)) // only a connection of a test has no deadlines
	return w.ResponseWriter.Write(p)
}

func (w *answerPieces) begin() {
	if w.sends && !w.begun {
		_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(restTimeout)) // only a connection of a test has no deadlines
	}
	w.begun = true
}

// EnableFullDuplex is for [http.ResponseController]: the client may go on sending after
// the answer has begun.
func (w *answerPieces) EnableFullDuplex() error {
	w.sends = false
	return http.NewResponseController(w.ResponseWriter).EnableFullDuplex()
}

// Unwrap is for [http.ResponseController].
func (w *answerPieces) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// begun reports whether a part of the answer was sent.
func begun(w http.ResponseWriter) bool {
	p, ok := w.(*answerPieces)
	return ok && p.begun
}
