package server

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"p2pnode/docs"
	"p2pnode/node/api"
)

func routeAlive(r *routes) {
	handle(r, operation{"GET /healthz", api.Probe, "isAlive", "That the daemon answers"},
		func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
}

// routeRelay adds what a relay is asked.
func routeRelay(r *routes, c Config) {
	routeAlive(r)
	ask(r, askSums, c.Sums)
	r.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, problemOf(refuse(http.StatusNotFound, "this is a relay, and no node", "it tells of the committee alone: p2pnode committee status")))
	})
}

func routeHealth(r *routes, c Config) {
	routeAlive(r)
	handle(r, operation{"GET /readyz", api.Probe, "isReady", "That the node takes part in its network"},
		func(context.Context, *struct{}) (*struct{}, error) {
			if err := c.Ready(); err != nil {
				p := api.Explain(err)
				return nil, refuse(http.StatusServiceUnavailable, p.Detail, cmp.Or(p.Hint, "wait a moment, or start the daemon"))
			}
			return nil, nil
		})
	ask(r, operation{"GET /v1/openapi.json", api.Read, "getOpenAPI", "This description"},
		func(context.Context) (json.RawMessage, error) { return docs.OpenAPI, nil })
}

// routePages adds the answers that other packages make: metrics and pages.
func routePages(r *routes, c Config) {
	if c.Metrics != nil {
		r.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, q *http.Request) {
			if _, err := allow(q, api.Read); err != nil {
				writeProblem(w, problemOf(err))
				return
			}
			c.Metrics.ServeHTTP(w, q)
		})
	}
	if c.Pages != nil {
		r.pages.HandleFunc("GET /{path...}", func(w http.ResponseWriter, q *http.Request) {
			if _, err := allow(q, api.Open); err != nil {
				writeProblem(w, problemOf(err))
				return
			}
			c.Pages.ServeHTTP(w, q)
		})
	}
}
