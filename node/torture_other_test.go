//go:build !(linux && amd64)

package node

import "testing"

func TestTorture(t *testing.T) {
	t.Skip("faults are put into a running process with ptrace on linux/amd64; run this test there")
}
