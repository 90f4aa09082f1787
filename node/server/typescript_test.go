package server_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// A client in TypeScript, whose types are made from docs/openapi.json, passes the compiler
// and is answered as the types say.
func TestTypeScriptClient(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it installs a compiler")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	t.Parallel()
	o, dir := offer(t, false), t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "client.ts"} {
		text, err := os.ReadFile(filepath.Join("tsclient", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	description, err := filepath.Abs("../../docs/openapi.json")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	run := func(program string, args ...string) []byte {
		c := exec.CommandContext(ctx, program, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "P2PNODE_URL="+o.url, "P2PNODE_TOKEN="+o.token(t, api.Read, api.Data))
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
		return out
	}
	run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	run("npx", "openapi-typescript", description, "--output", "schema.d.ts")
	run("npx", "tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--outDir", "out", "client.ts")
	var said struct {
		Outcome string
		Records int
		Number  bool
		Kind    string
	}
	require.NoError(t, json.Unmarshal(run("node", filepath.Join("out", "client.js")), &said))
	if said.Outcome != api.LineNew || said.Records != 1 || !said.Number || said.Kind != "request" {
		t.Errorf("the client says %+v", said)
	}
}
