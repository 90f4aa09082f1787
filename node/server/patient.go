package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// pieceTimeout is how long a client may take to send the next piece of a request, or to
// receive that of an answer, bodyTimeout how long to send a request that is no stream, and
// restTimeout how long the rest of one that is answered already.
const (
	pieceTimeout = 20 * time.Second
	bodyTimeout  = 2 * time.Minute
	restTimeout  = 5 * time.Second
)

// patient bounds the time of each piece of a request's body, and lifts the bound between
// them: left in place it would end the request while that is answered.
func patient(w http.ResponseWriter, body io.ReadCloser, o *huma.Operation) io.ReadCloser {
	p := &bodyPieces{ReadCloser: body, connection: http.NewResponseController(w)}
	if o.RequestBody != nil && o.RequestBody.Content["application/json"] != nil {
		p.end = time.Now().Add(bodyTimeout)
	}
	return p
}

type bodyPieces struct {
	io.ReadCloser
	connection *http.ResponseController
	end        time.Time // of the whole body; zero: none
}

// Read implements [io.Reader].
func (p *bodyPieces) Read(b []byte) (int, error) {
	until := time.Now().Add(pieceTimeout)
	if !p.end.IsZero() && p.end.Before(until) {
		until = p.end
	}
	if p.connection.SetReadDeadline(until) != nil { // a test's connection
		return p.ReadCloser.Read(b)
	}
	n, err := p.ReadCloser.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		_ = p.connection.SetReadDeadline(time.Time{}) // as it was just set
	}
	return n, err
}

// answerPieces bounds the time of each piece that a client receives, and of what it still
// sends when it is answered, which the connection reads first. It remembers whether anything
// was sent.
type answerPieces struct {
	http.ResponseWriter
	sends bool // the client may send a body
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
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(pieceTimeout)) // every connection has one but a test's
	return w.ResponseWriter.Write(p)
}

func (w *answerPieces) begin() {
	if w.sends && !w.begun {
		_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(restTimeout)) // every connection has one but a test's
	}
	w.begun = true
}

// EnableFullDuplex is for [http.ResponseController]: what the client sends goes on after its
// answer has begun.
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
