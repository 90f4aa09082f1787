package api

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// Plain takes the name of every package out with which an error of that package begins.
func TestPlainKnowsEveryPackage(t *testing.T) {
	clause := regexp.MustCompile(`(?m)^package (\w+)$`)
	begins := regexp.MustCompile(`(?:Errorf|errors\.New)\("(\w+): `)
	found := make(map[string]bool)
	const root = "../.."
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && slices.Contains([]string{"testnet", "deploy"}, d.Name()) { // not the owner's
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		of := clause.FindSubmatch(text)
		for _, m := range begins.FindAllSubmatch(text, -1) {
			if of == nil || string(m[1]) != string(of[1]) {
				continue
			}
			found[string(m[1])] = true
			if got := Plain(string(m[1]) + ": what is wrong"); got != "what is wrong" {
				t.Errorf("%s: owners are told %q", path, got)
			}
		}
		return nil
	}))
	if len(found) < 10 {
		t.Errorf("only %d packages were found", len(found))
	}
	if got := Plain("open a: node: gone (storage: full)\nlearner: no"); got != "open a: gone (full)\nno" {
		t.Errorf("%q", got)
	}
}
