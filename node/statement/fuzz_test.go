package statement

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// Whatever is in a file, only what the node has signed is sound.
func FuzzCheck(f *testing.F) {
	golden, err := os.ReadFile("testdata/golden.md")
	require.NoError(f, err)
	good, err := Check(golden, signedAt.Add(time.Minute))
	require.NoError(f, err)
	page, text := split(string(golden))
	signed, err := read(text)
	require.NoError(f, err)
	alone, err := json.Marshal(signed)
	require.NoError(f, err)
	for _, file := range [][]byte{golden, alone, []byte(text), []byte(page), []byte(`{"format":1}`), []byte(`{"format":2}`), nil} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := Check(file, signedAt.Add(time.Minute))
		if err == nil && c.Sound && !reflect.DeepEqual(c.Statement, good.Statement) {
			t.Fatalf("sound, and nobody has signed it: %+v", c.Statement)
		}
	})
}
