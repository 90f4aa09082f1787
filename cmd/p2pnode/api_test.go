package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// What docs/api.md says to paste works, and so do the examples that it names.
func TestAPIPage(t *testing.T) {
	wants(t, "curl", "jq", "python3")
	t.Parallel()
	dir := shortTemp(t)
	linkDocs(t, dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "try"), 0o700))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().String()
	require.NoError(t, free.Close())
	blocks := pasted(t, "docs/api.md", "## Try it")
	if len(blocks) != 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	terminal := exec.CommandContext(ctx, "sh", "-e", "-c", "trap 'kill $!' EXIT\n"+strings.ReplaceAll(strings.Join(blocks, "\necho\n"), "127.0.0.1:8467", port))
	terminal.Dir, terminal.WaitDelay = dir, time.Second
	out, err := terminal.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"outcome":"new"`, `"records":2`, `"value":`, `"kind":"imported"`, "24 stored, 24 there already", "at 12 o'clock:", "27 records", "refused: ", `"chance_of_more_than_epsilon"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("nothing says %s:\n%s", want, out)
		}
	}
}
