package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
)

// answers is a server that says the same to everything.
type answers struct {
	status int
	body   []byte
}

// RoundTrip implements [http.RoundTripper].
func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

// Whatever a server answers, a command ends, and lists end with their bytes.
func FuzzAnswers(f *testing.F) {
	f.Add(uint8(0), []byte(`{"peer":"12D3","round":7,"cells":[{"column":"a"}],"privacy":{"epsilon":1},"cohorts":[{"cohort":1}]}`))
	f.Add(uint8(0), []byte("{\"id\":1,\"kind\":\"met\"}\n{\"id\":2}\ndata: {\"id\":3,\"time\":\"2026-11-24T00:00:00Z\"}\n\n: alive\n"))
	f.Add(uint8(1), []byte(`{"title":"Unprocessable Entity","status":422,"detail":"no","kind":"imported","advice":"look"}`))
	f.Add(uint8(2), []byte("<html>"))
	f.Fuzz(func(t *testing.T, status uint8, body []byte) {
		c := &Client{base: "http://localhost", timeout: daemonTimeout}
		c.http.Transport = answers{[]int{200, 422, 500, 401}[status%4], body}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		fails := func(err error) {
			if err != nil && err.Error() == "" {
				t.Fatal("an error without words")
			}
		}
		_, err := c.Status(ctx)
		fails(err)
		_, err = c.Budget(ctx)
		fails(err)
		_, err = c.Peers(ctx)
		fails(err)
		_, err = c.Model(ctx)
		fails(err)
		_, err = c.Evidence(ctx)
		fails(err)
		most := len(body) + 1 // each element takes a byte at least, and an error comes last
		seen := 0
		for _, err := range c.Records(ctx, true) {
			fails(err)
			seen++
		}
		for _, err := range c.Events(ctx, 0) {
			fails(err)
			seen++
		}
		if seen > 2*most {
			t.Fatalf("%d elements of %d bytes", seen, len(body))
		}
	})
}
