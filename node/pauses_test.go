package node

import (
	"context"
	"path/filepath"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/storage"
)

// A node that is resumed while it is still stopping for a pause takes part again.
func TestResumedWhileItStops(t *testing.T) {
	store, err := storage.Open(filepath.Join(t.TempDir(), "db"))
	require.NoError(t, err)
	defer store.Close()
	p, err := openPauses(store)
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	times := 0
	require.NoError(t, p.between(ctx, func(ctx context.Context) error {
		if times++; times == 2 {
			end()
			return nil
		}
		_, err := p.add("a while")
		require.NoError(t, err)
		<-ctx.Done()
		_, err = p.remove("")
		return err
	}))
	if times != 2 {
		t.Errorf("it took part %d times", times)
	}
}
