package server_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"p2pnode/internal/require"
)

var renew = flag.Bool("renew", false, "write docs/openapi.json anew")

// docs/openapi.json is what the handlers say of themselves.
func TestOpenAPI(t *testing.T) {
	const path = "../../docs/openapi.json"
	made, err := offer(t, false).server.OpenAPI()
	require.NoError(t, err)
	if *renew {
		require.NoError(t, os.WriteFile(path, made, 0o644))
	}
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	if !bytes.Equal(made, kept) {
		t.Error("docs/openapi.json is not what the handlers say; to renew it, run: go test ./node/server -run TestOpenAPI -renew")
	}
}
