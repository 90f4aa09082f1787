// Package manual checks the commands that documents show against a program's own. Only tests
// use it.
package manual

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"p2pnode/internal/require"
)

// Program is one whose commands documents show.
type Program struct {
	Name  string
	Root  func() *cobra.Command
	Alone bool     // it does something without the name of a command
	Other []string // what begins with the program's name in documents and is no command
}

// code matches blocks without a language, indented lines, and what stands between backquotes in
// a line.
var code = regexp.MustCompile("(?ms)^```\n.*?^```$|^    [^\n]*$|`[^`\n]+`")

// Check fails t for every command in the documents of the checkout at root that the program
// does not have, or not with those flags, and if fewer than least are shown.
func (p Program) Check(t *testing.T, root string, least int) {
	t.Helper()
	checked := 0
	for _, page := range pages(t, root) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, words := range p.shown(string(text)) {
			checked++
			if wrong := p.Misspelt(words); wrong != "" {
				t.Errorf("%s: %s %s: %s", page, p.Name, strings.Join(words, " "), wrong)
			}
		}
	}
	if checked < least {
		t.Errorf("only %d commands of %s were found", checked, p.Name)
	}
}

// pages are the documents, but for CHANGELOG.md, which tells of commands that were.
func pages(t *testing.T, root string) (found []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "deploy/*.md", "mobile/*/README.md"} {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		found = append(found, some...)
	}
	return slices.DeleteFunc(found, func(page string) bool { return filepath.Base(page) == "CHANGELOG.md" })
}

// shown are the words of each command that a page shows: those up to what ends it in a shell,
// in prose or as a comment.
func (p Program) shown(page string) (found [][]string) {
	first := "[a-z]"
	if p.Alone {
		first = "(?:[a-z]|--)"
	}
	command := regexp.MustCompile("(?m)(?:^|[ ;(\\[\"'`/])(?:" + p.Name + " +)+(" + first + "[^\n`|;&>)#\\]\"']*)")
	for _, block := range code.FindAllString(page, -1) {
		for _, m := range command.FindAllStringSubmatch(block, -1) {
			words, _, _ := strings.Cut(m[1], "  ") // what follows is a comment or another column
			if w := strings.Join(strings.Fields(words), " "); !slices.Contains(p.Other, w) {
				found = append(found, strings.Fields(w))
			}
		}
	}
	return found
}

// Misspelt says what is wrong with the words of a command; "": nothing.
func (p Program) Misspelt(words []string) string {
	c, rest, err := p.Root().Find(words)
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
		case c.HasSubCommands() && !value && !strings.Contains(word, "://") && name != strings.ToUpper(name): // NAME stands for any
			return c.CommandPath() + " has no command " + name
		}
		value = false
	}
	return ""
}
