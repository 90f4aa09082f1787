package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// daemonsIn lists the processes that were started on a directory below dir.
func daemonsIn(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Skip("this system does not show its processes in /proc")
	}
	var found []string
	for _, file := range lines {
		line, _ := os.ReadFile(file) // gone meanwhile
		if text := string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))); strings.Contains(text, " run ") && strings.Contains(text, dir) {
			found = append(found, text)
		}
	}
	return found
}

// However testnet ends, its daemons end with it. The first of them are of a program that it builds.
func TestDaemonsEndWithTestnet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		flags []string
		end   []os.Signal
	}{
		{"interrupted", nil, []os.Signal{os.Interrupt}},
		{"interrupted twice", []string{"--p2pnode", daemon(t)}, []os.Signal{os.Interrupt, os.Interrupt}},
		{"killed", []string{"--p2pnode", daemon(t)}, []os.Signal{syscall.SIGKILL}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, _, stderr, nodes := command(t, append(c.flags, "--processes", "5")...)
			require.Within(t, 4*time.Minute, "daemons run", func() bool { return len(daemonsIn(t, nodes)) >= 4 })
			for i, s := range c.end {
				for line := ""; i > 0 && !strings.Contains(line, "stopping"); {
					var err error
					if line, err = stderr.ReadString('\n'); err != nil {
						t.Fatalf("it did not say that it stops: %v", err)
					}
				}
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			_, _ = io.Copy(io.Discard, stderr)
			if c.end[0] == os.Interrupt {
				wantStopped(t, cmd, nodes)
			} else {
				_ = cmd.Wait()
			}
			require.Within(t, 4*time.Minute, "no daemon is left", func() bool { return len(daemonsIn(t, nodes)) == 0 })
		})
	}
}
