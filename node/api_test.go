package node

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Through the daemon's socket the owner sees what she sees directly.
func TestOwnerThroughSocket(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 30), nil)
	ctx, cancel := context.WithCancel(t.Context())
	// A socket left over by a killed daemon is no obstacle.
	if err := os.WriteFile(filepath.Join(n.dir, socketFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := n.Listen()
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- n.Serve(ctx, listener) }()
	var owner Owner
	eventually(t, "the socket answers", func() bool {
		c := newClient(n.dir)
		if c.alive(t.Context()) {
			owner = c
		}
		return owner != nil
	})
	if info, err := os.Stat(filepath.Join(n.dir, socketFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v; want mode 0600", info, err)
	}
	direct, err := n.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s, err := owner.Status(t.Context()); err != nil || s.Records != direct.Records || *s.Personal != *direct.Personal {
		t.Errorf("status %+v, %v; want %+v", s, err, direct)
	}
	if b, err := owner.Budget(t.Context()); err != nil || len(b.Cohorts) != 1 || b.Cohorts[0].Left != 5 {
		t.Errorf("budget %+v, %v", b, err)
	}
	if p, err := owner.Peers(t.Context()); err != nil || len(p) != 0 {
		t.Errorf("peers %v, %v", p, err)
	}
	if _, err := owner.Predict(t.Context(), map[string]string{"a": "1", "b": "0"}); err != nil {
		t.Errorf("predict: %v", err)
	}
	if _, err := owner.Predict(t.Context(), map[string]string{"a": "1"}); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("predict without a column: %v", err)
	}
	if r, err := owner.Import(t.Context(), strings.NewReader("a,b,y\n1,0,x\n"), false); !errors.Is(err, ErrBadLines) || r.Bad != 1 {
		t.Errorf("import of a bad file: %+v, %v", r, err)
	}
	if r, err := owner.Import(t.Context(), strings.NewReader("a,b,y\n1,0,2\n"), false); err != nil || r.Records != 1 {
		t.Errorf("import: %+v, %v", r, err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// Connect falls back to the directory itself when no daemon runs.
func TestConnectWithoutDaemon(t *testing.T) {
	n := testNode(t, lineTask(), lineRecords(rand.New(rand.NewPCG(1, 1)), 10), nil)
	discard := slog.New(slog.DiscardHandler)
	if _, _, err := Connect(t.Context(), n.dir, discard); err == nil || !strings.Contains(err.Error(), "another p2pnode") {
		t.Errorf("a held directory without a socket: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	owner, closer, err := Connect(t.Context(), n.dir, discard)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	if s, err := owner.Status(t.Context()); err != nil || s.Running || s.Records != 10 {
		t.Errorf("status %+v, %v", s, err)
	}
}
