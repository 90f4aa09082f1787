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

func TestPeersKeepTheNewest(t *testing.T) {
	s, _ := open(t, newPath(t))
	peers := make([]Peer, maxPeers+50)
	for i := range peers {
		peers[i] = Peer{ID: fmt.Sprintf("peer %04d", i), LastSeen: int64(i)}
	}
	require.NoError(t, s.SavePeers(peers[:maxPeers]...))
	require.NoError(t, s.SavePeers(Peer{ID: "peer 0000", LastSeen: 1e6, Addrs: []string{"/ip4/10.0.0.1/tcp/1"}}))
	require.NoError(t, s.SavePeers(peers[maxPeers:]...))
	s, _ = reopen(t, s)
	known, err := s.Peers()
	require.NoError(t, err)
	if len(known) != maxPeers {
		t.Fatalf("%d peers are known, want %d", len(known), maxPeers)
	}
	if known[0].LastSeen != 1e6 || len(known[0].Addrs) != 1 {
		t.Errorf("the first is %+v, want the one seen last", known[0])
	}
	for i, p := range known[1:] {
		if want := peers[len(peers)-1-i].ID; p.ID != want {
			t.Fatalf("place %d holds %q, want %q", i+1, p.ID, want)
		}
	}
}
