package server

import (
	"io"
	"net/http"
	"os"
	"time"
)

// bodyTimeout is how long a client may take to send the next piece of a request, and
// answerTimeout how long to receive the next piece of a copy or a list.
const (
	bodyTimeout   = 30 * time.Second
	answerTimeout = 20 * time.Second
)

// patient bounds the time of each piece of a request's body, and lifts the bound between
// them: left in place it would end the request while that is answered.
func patient(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	return &pieces{body, http.NewResponseController(w)}
}

type pieces struct {
	io.ReadCloser
	connection *http.ResponseController
}

// Read implements [io.Reader].
func (p *pieces) Read(b []byte) (int, error) {
	if err := p.connection.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		return p.ReadCloser.Read(b) // a test's connection
	}
	n, err := p.ReadCloser.Read(b)
	if os.IsTimeout(err) {
		return n, refuse(http.StatusRequestTimeout, "the request did not arrive in time", "send it without a pause")
	}
	_ = p.connection.SetReadDeadline(time.Time{}) // it was just set
	return n, err
}
