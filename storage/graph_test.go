package storage

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"p2pnode/internal/require"
)

func TestEdges(t *testing.T) {
	s, _ := open(t, newPath(t))
	a := Edge{Peer: "a", Weight: 0.5, Addrs: []string{"/ip4/127.0.0.1/tcp/1"}}
	b := Edge{Peer: "b", Weight: 1}
	require.NoError(t, s.SaveEdges(nil, b))
	require.NoError(t, s.SaveEdges(nil, Edge{Peer: "a", Weight: 9}))
	require.NoError(t, s.SaveEdges(nil, Edge{Peer: "c", Weight: 2}))
	require.NoError(t, s.SaveEdges(nil, a))
	require.NoError(t, s.SaveEdges([]string{"c"}))
	require.NoError(t, s.SaveEdges([]string{"never there"}))
	s, _ = reopen(t, s)
	edges, err := s.Edges()
	require.NoError(t, err)
	if want := []Edge{a, b}; !reflect.DeepEqual(edges, want) {
		t.Fatalf("edges are %+v, want %+v", edges, want)
	}
	if err := s.SaveEdges(nil, Edge{Weight: 1}); err == nil {
		t.Error("SaveEdges took an edge to nobody")
	}
	if err := s.SaveEdges(nil, Edge{Peer: "d", Weight: math.NaN()}); err == nil {
		t.Error("SaveEdges took a weight that is no number")
	}
}

func TestPeersAreThoseThatWereSavedLast(t *testing.T) {
	s, _ := open(t, newPath(t))
	peers := make([]Peer, 1000)
	for i := range peers {
		peers[i] = Peer{ID: fmt.Sprintf("peer %04d", i), LastSeen: int64(i)}
	}
	require.NoError(t, s.SavePeers(peers...))
	peers[0] = Peer{ID: peers[0].ID, LastSeen: 1e6, Addrs: []string{"/ip4/10.0.0.1/tcp/1"}}
	require.NoError(t, s.SavePeers(append(peers[:500:500], Peer{ID: "another", LastSeen: 2})...))
	if err := s.SavePeers(Peer{LastSeen: 1}); err == nil {
		t.Error("SavePeers took nobody")
	}
	s, _ = reopen(t, s)
	known, err := s.Peers()
	require.NoError(t, err)
	want := []Peer{peers[0]}
	for i := 499; i > 2; i-- {
		want = append(want, peers[i])
	}
	want = append(want, Peer{ID: "another", LastSeen: 2}, peers[2], peers[1])
	if !reflect.DeepEqual(known, want) {
		t.Errorf("%d peers are known, %+v first; want %d, those seen last first", len(known), known[0], len(want))
	}
	require.NoError(t, s.SavePeers())
	if known, err := s.Peers(); err != nil || len(known) > 0 {
		t.Errorf("after all were forgotten: %v, %v", known, err)
	}
}
