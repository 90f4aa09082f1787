package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What docs/operate.md says of watching, pausing and logs works as it is printed.
func TestOperateWhileRunning(t *testing.T) {
	t.Parallel()
	home := shortTemp(t)
	cli(t, nil, "init", "--dir", filepath.Join(home, ".p2pnode"), "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
	d := start(t, filepath.Join(home, ".p2pnode"))
	for heading, want := range map[string]string{
		"## Watching a node": `data: {"id":`,
		"## Pausing":         "Not paused: the node takes part",
		"## Logs":            "takes part in the network",
	} {
		var said strings.Builder
		for _, block := range pasted(t, "docs/operate.md", heading) {
			command := exec.Command("sh", "-e", "-c", strings.ReplaceAll(block, "curl ", "curl --max-time 2 "))
			command.Dir, command.Env = home, append(os.Environ(), "HOME="+home)
			out, err := command.CombinedOutput()
			if err != nil && !strings.Contains(block, "curl ") { // which the test ends
				t.Errorf("%s\n%v\n%s", block, err, out)
			}
			said.Write(out)
		}
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s: no %q in\n%s", heading, want, said.String())
		}
	}
	d.interrupt(t, os.Interrupt)
}
