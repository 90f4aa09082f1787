package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"p2pnode/node/api"
)

// problem is an api.Problem that huma answers with.
type problem struct{ *api.Problem }

// Error implements [error].
func (p problem) Error() string { return p.Detail }

// GetStatus implements [huma.StatusError].
func (p problem) GetStatus() int { return p.Status }

// ContentType implements [huma.ContentTypeFilter].
func (problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// refuse returns a problem that HTTP itself has a status for.
func refuse(status int, detail, hint string) error {
	return problem{&api.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Hint: hint}}
}

// statuses are the HTTP statuses of errors, by the kind of the error.
var statuses = map[string]int{
	"imported":   http.StatusConflict,
	"changed":    http.StatusConflict,
	"not joined": http.StatusConflict,
	"no sums":    http.StatusConflict,
	"no record":  http.StatusNotFound,
	"full":       http.StatusInsufficientStorage,
	"no peer":    http.StatusNotFound,
	"no token":   http.StatusNotFound,
	"bad lines":  http.StatusUnprocessableEntity,
	"some bad":   http.StatusUnprocessableEntity,
	"scope":      http.StatusForbidden,
	"request":    http.StatusBadRequest,
}

// problemOf returns an error as a problem of HTTP. Its status is 500 if the node failed
// to do what was asked.
func problemOf(err error) problem {
	if p, ok := errors.AsType[problem](err); ok {
		return p
	}
	p := problem{api.Explain(err)}
	p.Status = statuses[p.Kind]
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		p.Status = http.StatusRequestEntityTooLarge
	} else if p.Status == 0 && errors.Is(err, context.DeadlineExceeded) {
		p.Status = http.StatusServiceUnavailable
	} else if _, gone := errors.AsType[*net.OpError](err); p.Status == 0 && (gone || errors.Is(err, api.ErrSilent)) {
		p.Status = http.StatusBadGateway // the server is p2pnode dashboard, and the daemon behind it does not answer
	} else if p.Status == 0 {
		p.Status = http.StatusInternalServerError
	}
	p.Title = http.StatusText(p.Status)
	return p
}

func writeProblem(w http.ResponseWriter, p problem) {
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p.Problem) // cannot be reported: the client has gone
}

// describes is the hint where a request is none that the server knows.
const describes = "GET /v1/openapi.json, with a token, describes each request"

// mostMistakes is how many mistakes in a request are named. A list of rows may have one in
// each.
const mostMistakes = 10

// ours turns an error that huma found in a request into a problem of ours. It leaves out
// the values that were sent: they may be private, and the answer may end up in a log.
func ours(_ huma.Context, _ string, answer any) (any, error) {
	e, ok := answer.(*huma.ErrorModel)
	if !ok {
		return answer, nil
	}
	details := []string{e.Detail}
	for _, d := range e.Errors[:min(len(e.Errors), mostMistakes)] {
		details = append(details, strings.TrimSpace(d.Location+" "+d.Message))
	}
	if more := len(e.Errors) - mostMistakes; more > 0 {
		details = append(details, fmt.Sprintf("and %d mistakes more", more))
	}
	return &api.Problem{Type: "about:blank", Title: e.Title, Status: e.Status, Kind: "request",
		Detail: strings.Join(details, "; "), Hint: describes}, nil
}
