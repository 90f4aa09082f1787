package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// Every p2pnode command that a document shows exists, with all of its flags: also those that
// no test pastes, because they stand in a sentence or need another machine.
func TestCommandsOfDocuments(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "mobile/*/README.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		require.NoError(t, err)
		pages = append(pages, found...)
	}
	checked := 0
	for _, page := range pages {
		if filepath.Base(page) == "CHANGELOG.md" { // which tells of commands that were
			continue
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, words := range commandsIn(string(text)) {
			checked++
			if wrong := misspelt(words); wrong != "" {
				t.Errorf("%s: p2pnode %s: %s", page, strings.Join(words, " "), wrong)
			}
		}
	}
	if checked < 150 {
		t.Errorf("only %d commands were found", checked)
	}
}

var (
	// notCommands begin with the program's name in other places: what a statement signs, and
	// the names of two images.
	notCommands = []string{"privacy statement", "testnet"}
	// code matches blocks without a language, and what stands between backquotes in a line.
	code = regexp.MustCompile("(?ms)^```\n.*?^```$|`[^`\n]+`")
	// shown matches a command up to what ends it in a shell, in prose or as a comment.
	shown = regexp.MustCompile("(?m)(?:^|[ ;(\\[\"'`/])(?:p2pnode +)+([a-z][^\n`|;&>)#\\]\"']*)")
)

// commandsIn are the words of each command that a page shows.
func commandsIn(page string) (found [][]string) {
	for _, block := range code.FindAllString(page, -1) {
		for _, m := range shown.FindAllStringSubmatch(block, -1) {
			words, _, _ := strings.Cut(m[1], "  ") // what follows is a comment or another column
			if w := strings.Join(strings.Fields(words), " "); !slices.Contains(notCommands, w) {
				found = append(found, strings.Fields(w))
			}
		}
	}
	return found
}

// misspelt says what is wrong with the words of a command; "": nothing.
func misspelt(words []string) string {
	c, rest, err := newCommand(&options{}).Find(words)
	if err != nil {
		return err.Error()
	}
	c.InitDefaultHelpFlag()
	value := false // of the flag before
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.TrimRight(word, ".,:"), "=")
		switch {
		case strings.HasPrefix(name, "--"):
			f := c.Flag(name[2:])
			if f == nil {
				return "there is no flag " + name
			}
			value = f.NoOptDefVal == "" && !strings.Contains(word, "=")
			continue
		case len(name) == 2 && name[0] == '-':
			if c.Flags().ShorthandLookup(name[1:]) == nil {
				return "there is no flag " + name
			}
		case c.HasSubCommands() && !value:
			return c.CommandPath() + " has no command " + name
		}
		value = false
	}
	return ""
}

// The test above finds what is wrong.
func TestMisspeltCommands(t *testing.T) {
	for _, wrong := range []string{"statsu", "data imprt x.csv", "run --apii 127.0.0.1:1", "logs -x", "config shw"} {
		if misspelt(strings.Fields(wrong)) == "" {
			t.Errorf("p2pnode %s passes", wrong)
		}
	}
	for _, right := range []string{"logs -f", "run --api 127.0.0.1:8467 --api-public", "data import - --dir x", "budget --verify-statement FILE"} {
		if said := misspelt(strings.Fields(right)); said != "" {
			t.Errorf("p2pnode %s: %s", right, said)
		}
	}
}
