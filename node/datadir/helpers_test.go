package datadir

import (
	"crypto/rand"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/require"
	"p2pnode/learner"
)

func randomPeer(t testing.TB) peer.ID {
	t.Helper()
	_, public, err := crypto.GenerateEd25519Key(rand.Reader)
	require.NoError(t, err)
	id, err := peer.IDFromPublicKey(public)
	require.NoError(t, err)
	return id
}

// lineTask is a small task that is none of those built in.
func lineTask() *learner.Task {
	return &learner.Task{
		Name: "line", Learner: "personal", Loss: "squared",
		Features: []learner.Feature{
			{Name: "a", Kind: "number", Min: -1, Max: 1},
			{Name: "b", Kind: "number", Min: -1, Max: 1},
		},
		Constant: 1,
		Target:   learner.Target{Name: "y", Min: -3, Max: 3},
		Mu:       1, Lambda: 1, Clip: 1, ConfidenceAt: 20, Radius: 10, CohortSize: 1000,
		Graph: learner.Graph{Rule: "random", Degree: 10},
		Local: learner.Local{Eta: 1, EtaConstant: 1, Kappa: 1},
		Release: learner.Release{
			Epsilon: 1, Delta: 1e-6, Releases: 5, MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 1 << 16,
			WakeSeconds: 0.05, MinWake: 0.01,
		},
	}
}
