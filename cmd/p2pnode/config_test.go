package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
)

// A running node takes up what it can when it is told to read its configuration again, and
// says what waits for its next start; a configuration that is wrong changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	dir := initNode(t)
	cmd := exec.Command("p2pnode", "run", "--dir", dir, "--json")
	cmd.Env = append(os.Environ(), "P2PNODE_KEEP_DAYS=30", "P2PNODE_BOOTSRAP=nobody")
	d := startWith(t, dir, cmd)
	if keep := d.status(t).Keep; keep == nil || keep.Days != 30 {
		t.Errorf("the environment says 30 days, and kept is %+v", keep)
	}
	var changed changedConfig
	cli(t, &changed, "config", "set", "keep_records=50", "keep_days=7", "power=low", "--dir", dir)
	if !changed.Running || len(changed.Changes) != 3 {
		t.Errorf("%+v", changed)
	}
	text := changed.String()
	for _, want := range []string{"keep_records = 50 (was 0)", "send it SIGHUP", "restart it for power."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if said, err := exec.Command("p2pnode", "config", "set", "epsilon=0.3", "--dir", dir).CombinedOutput(); err == nil || !strings.Contains(string(said), "promised: another p2pnode uses this directory") {
		t.Errorf("a promise is changed beside a running node: %s", said)
	}
	kept := func() int { // records
		if k := d.status(t).Keep; k != nil {
			return k.Records
		}
		return 0
	}
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, "the node keeps 50 records", func() bool { return kept() == 50 })
	if days := d.status(t).Keep.Days; days != 30 {
		t.Errorf("the file is over the environment: %v days", days)
	}
	file := filepath.Join(dir, "config.toml")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte("keep_records = 60\ndht = 'none'\n"), 0o600), d.cmd.Process.Signal(syscall.SIGHUP))
	require.NoError(t, os.WriteFile(file+".new", []byte(strings.Replace(string(whole), "keep_records = 50", "keep_records = 70", 1)), 0o600))
	require.NoError(t, os.Rename(file+".new", file), d.cmd.Process.Signal(syscall.SIGHUP))
	require.Eventually(t, "the node keeps 70 records", func() bool { return kept() == 70 })
	d.interrupt(t, os.Interrupt)
	for _, want := range []string{"do you mean P2PNODE_BOOTSTRAP?", `"taken up":["keep_records"],"need a restart":["power"]`} {
		if log := d.log.String(); !strings.Contains(log, want) {
			t.Errorf("no %q in\n%s", want, log)
		}
	}
}

// What docs/operate.md says of the configuration, of upkeep and of mistakes works as it is
// printed.
func TestOperate(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, title := range []string{"## Configuration", "## Upkeep", "## When something is wrong"} {
		for _, block := range pasted(t, "docs/operate.md", title) {
			sh := exec.Command("sh", "-e", "-c", block)
			sh.Dir, sh.Env = home, append(os.Environ(), "HOME="+home)
			if said, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%s\n%v\n%s", block, err, said)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(home, "node", "config.toml")); err != nil || !strings.Contains(string(text), "keep_days = 30.0") {
		t.Errorf("%v\n%s", err, text)
	}
}
