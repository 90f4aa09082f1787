package datadir

import (
	"crypto/ed25519"
	"crypto/rand"
	"testing"

	"github.com/libp2p/go-libp2p/core/crypto"

	"p2pnode/internal/require"
)

// An identity signs as its peer ID says. Keys of other kinds do not take part in private sums.
func TestSigningKey(t *testing.T) {
	key, public, err := crypto.GenerateEd25519Key(rand.Reader)
	require.NoError(t, err)
	signing, err := SigningKey(key)
	require.NoError(t, err)
	if ok, err := public.Verify([]byte("text"), ed25519.Sign(signing, []byte("text"))); !ok || err != nil {
		t.Errorf("another key signed: %v", err)
	}
	for _, kind := range []int{crypto.Secp256k1, crypto.ECDSA} {
		other, _, err := crypto.GenerateKeyPair(kind, 0)
		require.NoError(t, err)
		_, err = SigningKey(other)
		says(t, err, "an Ed25519 key")
	}
}
