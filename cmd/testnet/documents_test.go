package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"p2pnode/internal/manual"
)

// Every testnet command that a document shows exists, with all of its flags: also those that
// take too long for a test.
func TestCommandsOfDocuments(t *testing.T) {
	p := manual.Program{
		Name: "testnet", Alone: true, Root: func() *cobra.Command { return newCommand("") },
		Other: []string{"linux/amd64"}, // for which a script builds it
	}
	p.Check(t, "../..", 50)
	for _, wrong := range []string{"papr", "--nods 3", "attack --quik", "paper csv --splts 3"} {
		if p.Misspelt(strings.Fields(wrong)) == "" {
			t.Errorf("testnet %s passes", wrong)
		}
	}
}
