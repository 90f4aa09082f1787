package p2pnode_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fence   = regexp.MustCompile("(?ms)^```.*?^```$")
	span    = regexp.MustCompile("`[^`\n]+`")
	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// named is a file with its folder, as the documents name it.
	named = regexp.MustCompile("^`((?:[a-z0-9_.-]+/)+[a-z0-9_.-]+\\.(?:go|md|proto|sh|svg|toml))`$")
)

// pages are the documents of the project, with their text.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (d.Name() == "testdata" || d.Name() == "try" || d.Name()[0] == '.'):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found %d documents only", len(all))
	}
	return all
}

// anchor is what GitHub makes of a heading.
func anchor(title string) string {
	kept := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}
	return strings.Map(kept, strings.ToLower(title))
}

// Each link of a document leads to a file of the project, and to a heading of it.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	anchors := make(map[string]map[string]bool)
	for path, text := range all {
		anchors[path] = make(map[string]bool)
		for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			anchors[path][anchor(m[1])] = true
		}
	}
	for path, text := range all {
		for _, m := range mdLink.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, part, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s: %v", path, m[1], err)
			} else if part != "" && !anchors[target][part] {
				t.Errorf("%s: the link %s: %s has no such heading", path, m[1], target)
			}
		}
	}
}

// Each file that a document names with its folder exists. CHANGELOG.md tells of files
// that were.
func TestFilesThatAreNamedExist(t *testing.T) {
	for path, text := range pages(t) {
		if path == "CHANGELOG.md" {
			continue
		}
		for _, s := range span.FindAllString(fence.ReplaceAllString(text, ""), -1) {
			m := named.FindStringSubmatch(s)
			if m == nil || strings.HasPrefix(m[1], "testnet-results/") {
				continue
			}
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s: %v", path, m[1], err)
			}
		}
	}
}
