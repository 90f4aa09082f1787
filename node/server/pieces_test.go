package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"p2pnode/internal/require"
)

// deadlined notes the deadline for reading from a connection.
type deadlined struct {
	http.ResponseWriter
	reading time.Time
}

func (d *deadlined) SetReadDeadline(t time.Time) error { d.reading = t; return nil }

// The rest of a request has little time once it is answered. When there is no rest the
// answer may take long: the next request over the connection would find it broken.
func TestNoDeadlineAfterTheBody(t *testing.T) {
	for _, whole := range []bool{true, false} {
		d := &deadlined{ResponseWriter: httptest.NewRecorder()}
		w := &answerPieces{ResponseWriter: d, sends: true}
		body := timed(w, io.NopCloser(strings.NewReader("a body")), &huma.Operation{})
		n := int64(1)
		if whole {
			n = 1 << 10
		}
		_, err := io.ReadAll(io.LimitReader(body, n))
		require.NoError(t, err)
		w.WriteHeader(http.StatusOK)
		if d.reading.IsZero() != whole {
			t.Errorf("read to the end %v: the deadline is %v", whole, d.reading)
		}
	}
}
