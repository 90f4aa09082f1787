package p2pnode_test

import (
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

var renew = flag.Bool("renew", false, "write testdata/phone.txt anew")

// TestPhoneLinksNoMore compares what an app's library is made of with a list: each package
// of others that comes along is some hundred kilobytes on every phone, and who adds it
// should know. Go's own internal packages are left out, as they change with its version.
func TestPhoneLinksNoMore(t *testing.T) {
	const golden = "testdata/phone.txt"
	cmd := exec.Command("go", "list", "-deps", "-tags", "nethttpomithttp2", "-f", "{{.ImportPath}}", "./mobile")
	cmd.Env = append(os.Environ(), "GOOS=android", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	require.NoError(t, err)
	var linked []string
	for path := range strings.Lines(string(out)) {
		path = strings.TrimSpace(path)
		first, rest, _ := strings.Cut(path, "/")
		ours, theirs := first == "p2pnode", strings.Contains(first, ".")
		if ours || theirs || first != "vendor" && first != "internal" && !strings.Contains("/"+rest+"/", "/internal/") {
			linked = append(linked, path)
		}
	}
	slices.Sort(linked)
	if *renew {
		require.NoError(t, os.WriteFile(golden, []byte(strings.Join(linked, "\n")+"\n"), 0o644))
	}
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	listed := strings.Fields(string(text))
	for _, path := range linked {
		if !slices.Contains(listed, path) {
			t.Errorf("an app would link %s as well: do without, or measure the library as docs/measurements.md says and run go test -run TestPhoneLinksNoMore -renew .", path)
		}
	}
	for _, path := range listed {
		if !slices.Contains(linked, path) {
			t.Errorf("an app does not link %s any more: run go test -run TestPhoneLinksNoMore -renew .", path)
		}
	}
}
