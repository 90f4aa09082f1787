package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"p2pnode/internal/manual"
)

// documented is the program as documents show it. What a statement signs begins with its name
// too, and so do the names of two images.
var documented = manual.Program{
	Name: "p2pnode", Root: func() *cobra.Command { return newCommand(&options{}) },
	Other: []string{"privacy statement", "testnet"},
}

// Every p2pnode command that a document shows exists, with all of its flags: also those that
// no test pastes, because they stand in a sentence or need another machine.
func TestCommandsOfDocuments(t *testing.T) { documented.Check(t, "../..", 150) }

// The test above finds what is wrong.
func TestMisspeltCommands(t *testing.T) {
	for _, wrong := range []string{"statsu", "data imprt x.csv", "run --apii 127.0.0.1:1", "logs -x", "config shw"} {
		if documented.Misspelt(strings.Fields(wrong)) == "" {
			t.Errorf("p2pnode %s passes", wrong)
		}
	}
	for _, right := range []string{"logs -f", "run --api 127.0.0.1:8467 --api-public", "data import - --dir x", "budget --verify-statement FILE"} {
		if said := documented.Misspelt(strings.Fields(right)); said != "" {
			t.Errorf("p2pnode %s: %s", right, said)
		}
	}
}
