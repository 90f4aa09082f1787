package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"p2pnode/node/api"
)

// routes holds the paths of the server and the functions that answer them, with their
// description in OpenAPI.
type routes struct {
	mux  *http.ServeMux
	huma huma.API
	held held
	// pages answers outside of /v1 what mux does not. In mux, a route for every GET would
	// hide that a path takes other methods only.
	pages *http.ServeMux
}

// operation is one thing that a client can ask for.
type operation struct {
	route   string // method and path
	scope   api.Scope
	name    string // the name of the operation in programs that are generated from the description
	summary string
}

// maxOpen bounds the size in bytes of a request of those who have shown no token. What
// others ask is weighed, unless it is a stream of records.
const maxOpen = 4 << 10

func newRoutes() *routes {
	mux := http.NewServeMux()
	c := huma.DefaultConfig("p2pnode", "1")
	c.OpenAPIPath, c.DocsPath, c.SchemasPath, c.CreateHooks = "", "", "", nil
	c.RejectUnknownQueryParameters = true
	c.Transformers = []huma.Transformer{ours}
	text := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
	c.Formats = map[string]huma.Format{"application/json": text, "json": text} // as in application/problem+json
	c.Info.Description = "What the owner of a p2pnode data directory can ask of it."
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer",
		Description: "A token of `p2pnode token new`. The socket of the data directory asks for none."}}
	return &routes{mux: mux, huma: humago.New(mux, c), held: held{each: make(map[string]int)}, pages: http.NewServeMux()}
}

// unmarshal reads JSON. It refuses bytes that are no UTF-8, which the standard library
// replaces: two keys of records that differ in such a byte would be the same. It refuses
// names that an object has twice, of which the standard library takes the last.
func unmarshal(text []byte, v any) error {
	if !utf8.Valid(text) {
		return errUTF8
	}
	err := json.Unmarshal(text, v)
	if _, whole := v.(*any); !whole {
		return err // huma reads each request whole first
	}
	if large := new(json.UnmarshalTypeError); errors.As(err, &large) { // nothing else is no value at all
		return fmt.Errorf("has the %s before byte %d, which is too large", large.Value, large.Offset)
	}
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return twice(d)
}

// twice returns an error if an object in the next value of valid JSON has a name twice.
func twice(d *json.Decoder) error {
	begin, err := d.Token()
	var names map[string]bool
	switch begin {
	case json.Delim('{'):
		names = make(map[string]bool)
	case json.Delim('['):
	default:
		return err
	}
	for d.More() {
		if names != nil {
			token, _ := d.Token() // its error is that of the next
			name, _ := token.(string)
			if names[name] {
				return fmt.Errorf("names %q twice in one object", name)
			}
			names[name] = true
		}
		if err := twice(d); err != nil {
			return err
		}
	}
	_, err = d.Token() // the end
	return err
}

var errUTF8 = errors.New("is not text in UTF-8")

// ServeHTTP implements [http.Handler]. A request that no route answers gets a problem
// too.
func (r *routes) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	mux := r.mux
	_, pattern := mux.Handler(q)
	if pattern == "" && !r.reads(q) {
		mux = r.pages
		_, pattern = mux.Handler(q)
	}
	if pattern == "" {
		w = &unrouted{w, q.Method}
	}
	mux.ServeHTTP(w, q)
}

// reads reports whether the path of a request is one of mux, with another method perhaps.
func (r *routes) reads(q *http.Request) bool {
	get := *q
	get.Method = http.MethodGet
	_, pattern := r.mux.Handler(&get)
	return pattern != "" || strings.HasPrefix(q.URL.Path, "/v1/")
}

// unrouted replaces the text that a mux writes when it has no route.
type unrouted struct {
	http.ResponseWriter
	method string // of the request
}

// WriteHeader implements [http.ResponseWriter].
func (w *unrouted) WriteHeader(status int) {
	w.Header().Del("Content-Length")
	if status < http.StatusBadRequest { // a redirect to the path without dots
		w.ResponseWriter.WriteHeader(status)
		return
	}
	detail, hint := "there is nothing to ask for here", describes
	if status == http.StatusMethodNotAllowed {
		detail += " with " + w.method
		hint = "ask with " + w.Header().Get("Allow") + "; " + hint
	}
	writeProblem(w.ResponseWriter, problemOf(refuse(status, detail, hint)))
}

// Write implements [http.ResponseWriter].
func (w *unrouted) Write(p []byte) (int, error) { return len(p), nil }

// document turns an operation into one of huma's. The operation asks the guard first.
func (r *routes) document(o operation) huma.Operation {
	method, path, _ := strings.Cut(o.route, " ")
	out := huma.Operation{Method: method, Path: path, OperationID: o.name, Summary: o.summary,
		MaxBodyBytes: -1, BodyReadTimeout: -1, Responses: map[string]*huma.Response{"default": r.failure()}}
	if o.scope == api.Open || o.scope == api.Probe {
		out.MaxBodyBytes = maxOpen
	} else {
		out.Security = []map[string][]string{{"token": {string(o.scope)}}}
	}
	out.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		q, w := humago.Unwrap(ctx)
		who, err := allow(q, o.scope)
		if err != nil {
			writeProblem(w, problemOf(err))
			return
		}
		asked, end := context.WithCancelCause(context.WithValue(q.Context(), asking{}, who.Token))
		defer end(nil)
		defer context.AfterFunc(who.Life, func() { end(errRevoked) })()
		*q = *q.WithContext(asked)
		q.Body = timed(w, q.Body, ctx.Operation())
		if isJSON(ctx.Operation()) {
			var text []byte
			if o.scope == api.Open {
				text, err = io.ReadAll(io.LimitReader(q.Body, maxOpen)) // huma refuses so many
			} else {
				var taken int
				text, taken, err = r.held.receive(who.Token, q.Body)
				defer r.held.give(who.Token, taken)
			}
			if err != nil {
				writeProblem(w, problemOf(err))
				return
			}
			q.Body = io.NopCloser(bytes.NewReader(text))
		}
		next(ctx)
	}}
	return out
}

// isJSON reports whether an operation's request is one JSON value.
func isJSON(o *huma.Operation) bool {
	return o.RequestBody != nil && o.RequestBody.Content["application/json"] != nil
}

// failure describes the answer to a request that failed.
func (r *routes) failure() *huma.Response {
	schema := r.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Problem](), true, "")
	return &huma.Response{Description: "What is wrong, and what to do", Content: map[string]*huma.MediaType{problemType: {Schema: schema}}}
}

// body is a request or an answer that consists of one JSON value.
type body[T any] struct{ Body T }

// ask adds a route for a question without parameters.
func ask[T any](r *routes, o operation, question func(context.Context) (T, error)) {
	handle(r, o, func(ctx context.Context, _ *struct{}) (*body[T], error) { return answer(question(ctx)) })
}

// tell adds a route for a request whose parameter is a JSON value.
func tell[P, T any](r *routes, o operation, request func(context.Context, P) (T, error), more ...func(*huma.Operation)) {
	handle(r, o, func(ctx context.Context, in *body[P]) (*body[T], error) { return answer(request(ctx, in.Body)) }, more...)
}

// order adds a route for a request whose answer only says that it was done.
func order[P any](r *routes, o operation, request func(context.Context, P) error) {
	handle(r, o, func(ctx context.Context, in *body[P]) (*struct{}, error) { return nil, request(ctx, in.Body) })
}

func answer[T any](v T, err error) (*body[T], error) { return &body[T]{v}, err }

// handle adds a route for a request with parameters of its own, which the tags of I
// describe.
func handle[I, O any](r *routes, o operation, request func(context.Context, *I) (*O, error), more ...func(*huma.Operation)) {
	d := r.document(o)
	for _, add := range more {
		add(&d)
	}
	huma.Register(r.huma, d, func(ctx context.Context, in *I) (*O, error) {
		out, err := request(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return out, nil
	})
}

// takes says which media types a request's body may have; such a body is read while it
// arrives.
func takes(media ...string) func(*huma.Operation) {
	content := make(map[string]*huma.MediaType)
	for _, m := range media {
		content[m] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return func(d *huma.Operation) { d.RequestBody = &huma.RequestBody{Required: true, Content: content} }
}

// stream adds a route for a request whose answer is sent while it is made. If respond
// returns an error, the error is answered; respond must not have written anything then.
func stream[I any](r *routes, o operation, media string, respond func(http.ResponseWriter, *http.Request, *I) error, more ...func(*huma.Operation)) {
	d := r.document(o)
	for _, add := range more {
		add(&d)
	}
	d.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{media: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	huma.Register(r.huma, d, func(_ context.Context, in *I) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			q, w := humago.Unwrap(ctx)
			w.Header().Set("Content-Type", media)
			if err := respond(w, q, in); err != nil {
				writeProblem(w, problemOf(err))
			}
		}}, nil
	})
}
