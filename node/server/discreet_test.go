package server_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/node/client"
	"p2pnode/node/server"
	"p2pnode/node/tokens"
)

// learned lets a node fit a model and tell its owner how it does.
func learned(t *testing.T, owner *client.Client) {
	t.Helper()
	var lines []string
	for i := range 60 {
		line, err := json.Marshal(map[string]float64{"a": float64(i)/30 - 1, "y": float64(i)/20 - 1.5})
		require.NoError(t, err)
		lines = append(lines, string(line))
	}
	_, err := owner.Put(t.Context(), api.Lines{From: 1, Lines: lines})
	require.NoError(t, err)
	require.Eventually(t, "a comparison", func() bool {
		s, err := owner.Status(t.Context())
		require.NoError(t, err)
		return s.Personal != nil
	})
}

// verdictTold asks for events until one tells of a fit.
func verdictTold(t *testing.T, asks *client.Client) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for e, err := range asks.Events(ctx, 0) {
		require.NoError(t, err)
		if e.Kind == api.EventFitted {
			return e.Verdict
		}
	}
	t.Fatal("no event of a fit came")
	return ""
}

// What other machines are told holds no errors on held-out records, whatever their token;
// the owner has them at the same time.
func TestErrorsStayHere(t *testing.T) {
	t.Parallel()
	o := offer(t, false)
	outside := httptest.NewServer(o.server.Handler(server.Discreet{Guard: server.NewBearer(o.tokens, nil)}))
	defer outside.Close()
	ask := func(url string) *client.Client {
		c, err := client.NewRemote(client.Remote{URL: url, Token: o.token(t, api.Admin)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	here, there := ask(o.url), ask(outside.URL)
	learned(t, here)
	mine, err := here.Benefit(t.Context())
	require.NoError(t, err)
	theirs, err := there.Benefit(t.Context())
	require.NoError(t, err)
	if len(mine) == 0 || len(theirs) != 0 {
		t.Errorf("the owner is told of %d comparisons, others of %d; want some and none", len(mine), len(theirs))
	}
	s, err := there.Status(t.Context())
	require.NoError(t, err)
	if s.Personal != nil || s.Fit != nil || s.Records != 60 || s.Experiment || !s.Withheld {
		t.Errorf("others are told %+v", s)
	}
	if s, err := here.Progress(t.Context()); err != nil || s.Withheld {
		t.Errorf("the owner is told that something is withheld: %+v, %v", s, err)
	}
	if mine, theirs := verdictTold(t, here), verdictTold(t, there); mine == "" || theirs != "" {
		t.Errorf("the owner is told the verdict %q, others %q; want one and none", mine, theirs)
	}
}

// tells is an owner who knows of one event alone.
type tells struct {
	api.Owner
	event api.Event
}

func (o tells) Events(context.Context, uint64) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) { yield(o.event, nil) }
}

// That a verdict is by log loss says that a class is rare: it stays here with the verdict.
func TestVerdictsByLogLossStayHere(t *testing.T) {
	t.Parallel()
	store, err := tokens.Open("")
	require.NoError(t, err)
	made, err := store.Issue(api.TokenWish{Name: "test", Scopes: []api.Scope{api.Read}}, 0)
	require.NoError(t, err)
	told := api.Event{ID: 1, Run: 1, Kind: api.EventFitted, Text: "fitted", Records: 60, Verdict: "better", ByLogLoss: true}
	s := server.New(server.Config{Owner: tells{event: told}, Log: slog.New(slog.DiscardHandler), Tokens: store, Ready: func() error { return nil }, Left: func() {}})
	bearer := server.NewBearer(store, nil)
	for _, c := range []struct {
		guard server.Guard
		want  bool
	}{{bearer, true}, {server.Discreet{Guard: bearer}, false}} {
		served := httptest.NewServer(s.Handler(c.guard))
		asks, err := client.NewRemote(client.Remote{URL: served.URL, Token: made.Secret})
		require.NoError(t, err)
		for e, err := range asks.Events(t.Context(), 0) {
			require.NoError(t, err)
			if e.ByLogLoss != c.want || (e.Verdict != "") != c.want || e.Records != 60 {
				t.Errorf("%T is told %+v", c.guard, e)
			}
			break
		}
		require.NoError(t, asks.Close())
		served.Close()
	}
}
