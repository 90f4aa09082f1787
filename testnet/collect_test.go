package testnet_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/committee"
	"p2pnode/internal/require"
	"p2pnode/node"
	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
	"p2pnode/node/server"
	"p2pnode/testnet"
)

// One table comes of nodes elsewhere whose whole budget goes into a private sum, too: they
// are waited for until its result is here, and what they sent is what they added to it.
func TestCollectFromAPrivateSum(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a sum takes some seconds")
	}
	t.Parallel()
	task := committee.Task()
	task.Sums.Epochs = 1
	c := datadir.DefaultConfig(task)
	c.Bootstrap = []string{committee.Start(t, task)}
	c.Listen, c.MDNS, c.UPnP, c.Experiment = []string{"/ip4/127.0.0.1/tcp/0"}, false, false, true
	var elsewhere []*testnet.Elsewhere
	for person := range 3 {
		rows := "a,thing,y\n"
		for i := range 20 {
			rows += fmt.Sprintf("%g,%d,%g\n", float64(i)/10-1, (i+person)%7+1, float64(i)/10-1)
		}
		dir := filepath.Join(t.TempDir(), "node")
		require.NoError(t, datadir.Make(dir, datadir.New{Task: task, Config: c, Catalogue: []byte(committee.Catalogue)}))
		n, err := node.Open(dir, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		_, err = n.Import(t.Context(), strings.NewReader(rows), api.ImportOptions{})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		serves, err := local.Config(n, dir, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		at := httptest.NewServer(server.New(serves).Handler(server.NewBearer(serves.Tokens, nil)))
		t.Cleanup(func() {
			at.Close()
			stop()
			require.NoError(t, <-ended, n.Close())
		})
		token, err := serves.Tokens.Issue(api.TokenWish{Name: "collector", Scopes: []api.Scope{api.Read}}, 0)
		require.NoError(t, err)
		known, err := testnet.ParseTokens(token.Secret + "\n")
		require.NoError(t, err)
		e, err := testnet.NewElsewhere(at.URL, known)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		elsewhere = append(elsewhere, e)
	}
	r, err := testnet.Collect(t.Context(), testnet.Collection{Nodes: elsewhere, Progress: func(p testnet.Progress) {
		if p.Method != testnet.Private {
			t.Errorf("the method is %q", p.Method)
		}
	}})
	require.NoError(t, err)
	if len(r.Rounds) != 1 || len(r.Rounds[0].Trials) != 2 || len(r.Missed) != 0 || !r.Complete {
		t.Fatalf("the table is %+v", r)
	}
	alone, sum := r.Rounds[0].Trials[0], r.Rounds[0].Trials[1]
	if alone.Method != testnet.Alone || sum.Method != testnet.Private || len(alone.Errors) != 3 || len(sum.Errors) != 3 || sum.Unfinished != 0 {
		t.Errorf("alone %+v, with the sum %+v", alone, sum)
	}
	if sum.Expected != 3 || sum.Delivered != 3 || sum.Bytes <= 0 {
		t.Errorf("%d contributions were paid and %d listed in %v bytes; want 3 and 3", sum.Expected, sum.Delivered, sum.Bytes)
	}
}
