package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// The task that docs/tasks.md begins with is whole, and its commands work.
func TestTasksDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks.md"))
	require.NoError(t, err)
	file := regexp.MustCompile("(?ms)^```toml\n(.*?)^```$").FindSubmatch(page)
	blocks := pasted(t, "docs/tasks.md", "## Check and explain")
	if file == nil || len(blocks) != 1 {
		t.Fatalf("no task, or other commands: %q", blocks)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "heating.toml"), file[1], 0o600))
	shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", blocks[0])
	shell.Dir = dir
	said, err := shell.CombinedOutput()
	if err != nil || !strings.Contains(string(said), `The task "heating" is sound.`) || !strings.Contains(string(said), "64 releases") {
		t.Errorf("%v\n%s", err, said)
	}
}

// The table of docs/tasks.md has every key that a task can leave out.
func TestUsualValuesAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tasks.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## What is left out\n")
	section, _, _ = strings.Cut(section, "\n## ")
	required := regexp.MustCompile(`^(name|features|target|kind|min|max|values|classes|edges|catalogue|profile|committee|servers)$`)
	for _, name := range []string{"movies", "linear", "../../docs/tasks/diffusion.toml", "../../docs/tasks/km.toml", "../../docs/tasks/propagation.toml", "../../docs/tasks/sums.toml"} {
		task, err := datadir.LoadTask(name)
		require.NoError(t, err)
		whole, err := datadir.FormatTask(task)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^(\w+) = `).FindAllStringSubmatch(string(whole), -1) {
			if key := m[1]; !required.MatchString(key) && !strings.Contains(section, key+"`") {
				t.Errorf("%s: the table of usual values has no %s", name, key)
			}
		}
	}
}
