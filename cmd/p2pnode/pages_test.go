package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// shell runs a block of a document in the directory that is its user's home, with stand-ins
// for programs first in PATH, and returns what it prints.
func shell(t *testing.T, home, block string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-e", "-c", block)
	command.Dir = home
	command.Env = append(os.Environ(), "HOME="+home, "PATH="+filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s\n%v\n%s", block, err, out)
	}
	return string(out)
}

// standIn writes a program of the shell.
func standIn(t *testing.T, home, name, script string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "bin"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, "bin", name), []byte("#!/bin/sh -e\n"+script), 0o700))
}

// linkDocs makes the documents of the checkout those of a directory.
func linkDocs(t *testing.T, dir string) {
	t.Helper()
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(docs, filepath.Join(dir, "docs")))
}

// wants skips the test unless the programs are there.
func wants(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
}

// What documents say of a node that runs works as it is printed.
func TestPagesOfARunningNode(t *testing.T) {
	wants(t, "curl", "python3", "node")
	t.Parallel()
	home := shortTemp(t)
	linkDocs(t, home)
	require.NoError(t, os.Mkdir(filepath.Join(home, "models"), 0o700))
	standIn(t, home, "read-sensor", "printf 'time,genres,year,rating\\n8:00,Drama,1990,4\\n8:01,Comedy,1991,5\\n'\n")
	node := filepath.Join(home, ".p2pnode")
	cli(t, nil, "init", "--dir", node, "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
	d := start(t, node)
	for _, c := range []struct{ document, heading, want string }{
		{"docs/data.md", "## From a pipe", `"outcome":"new"`},
		{"docs/metrics.md", "# Metrics", "p2pnode_build_info"},
		{"docs/model-format.md", "# The model as a file", `"value": `},
		{"docs/model-format.md", "## Keeping it fresh", ""},
		{"docs/privacy.md", "## A statement to show", "Wrote the privacy statement"},
	} {
		// Of a page's blocks below its title, those of its sections are not meant.
		block := pasted(t, c.document, c.heading)[0]
		if said := shell(t, home, block); !strings.Contains(said, c.want) {
			t.Errorf("%s: no %q in\n%s", c.document, c.want, said)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "models", "model.json")); err != nil {
		t.Error(err)
	}
	d.interrupt(t, os.Interrupt)
}

// The computer that docs/mobile.md sets beside a phone starts as it is printed.
func TestDeskOfThePhone(t *testing.T) {
	t.Parallel()
	home := built(t)
	task, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "room.toml"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "mytask.toml"), task, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, "examples.csv"), []byte("hour,outside,power\n8,5,3.1\n"), 0o600))
	before, run, found := strings.Cut(pasted(t, "docs/mobile.md", "## See it work")[0], "bin/p2pnode run ")
	if !found {
		t.Fatal("nothing runs")
	}
	// On the machine of a test nobody else is to be met.
	shell(t, home, before+"p2pnode config set mdns=false listen=/ip4/127.0.0.1/tcp/0 --dir try/desk")
	command := exec.Command("p2pnode", append([]string{"run", "--json"}, strings.Fields(run)...)...)
	command.Dir = home
	d := startWith(t, filepath.Join(home, "try", "desk"), command)
	if records := d.status(t).Records; records != 1 {
		t.Errorf("%d records", records)
	}
	d.interrupt(t, os.Interrupt)
}

// What deploy/README.md says to a cluster fits together: kubectl runs the program of each pod
// as a stand-in does here, in a directory for each, and helm is told who is there. Helm
// itself reads its commands in deploy/helm/check.
func TestCommandsForACluster(t *testing.T) {
	wants(t, "jq")
	t.Parallel()
	home := shortTemp(t)
	require.NoError(t, os.Mkdir(filepath.Join(home, "people"), 0o700))
	for _, n := range []string{"0", "1", "2"} {
		cli(t, nil, "init", "--dir", filepath.Join(home, "net-"+n), "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
		require.NoError(t, os.WriteFile(filepath.Join(home, "people", n+".csv"), []byte("genres,year,rating\nDrama,1990,4\n"), 0o600))
	}
	standIn(t, home, "helm", `echo "$@" >>told`)
	standIn(t, home, "kubectl", `
case "$1 $2 $3 $4" in
"exec -i net-"*) pod=$3; shift 3 ;;
"exec net-"*) pod=$2; shift 2 ;;
"rollout status statefulset/net ") exit ;;
"create secret generic p2pnode-tokens") test -s "${5#--from-file=}"; exit ;;
*) exit 2 ;;
esac
[ "$1 $2 $3 $4" = "-c node -- /p2pnode" ]
shift 4
exec p2pnode "$@" --dir "$HOME/$pod"
`)
	blocks := pasted(t, "deploy/README.md", "## Kubernetes")
	if len(blocks) != 2 {
		t.Fatalf("%d blocks", len(blocks))
	}
	peers := regexp.MustCompile(`(?m)^12D3\w+$`).FindAllString(shell(t, home, blocks[0]), -1)
	if slices.Sort(peers); len(slices.Compact(peers)) != 3 {
		t.Errorf("the peers are %q", peers)
	}
	shell(t, home, blocks[1])
	tokens, err := os.ReadFile(filepath.Join(home, "tokens"))
	require.NoError(t, err)
	if lines := regexp.MustCompile(`(?m)^12D3\w+ \S{20,}$`).FindAllString(string(tokens), -1); len(lines) != 3 || strings.Count(string(tokens), "\n") != 3 {
		t.Errorf("%d lines of tokens are right", len(lines))
	}
	told, err := os.ReadFile(filepath.Join(home, "told"))
	require.NoError(t, err)
	if strings.Count(string(told), " net deploy/helm/p2pnode ") != 4 {
		t.Errorf("helm was told\n%s", told)
	}
}
