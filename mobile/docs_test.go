package mobile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// The page for app developers names every function and method that the bindings carry.
func TestPageNamesEveryCall(t *testing.T) {
	text, err := os.ReadFile("../docs/mobile-reference.md")
	if err != nil {
		t.Skipf("runs in a step of its own: the sources are not here: %v", err)
	}
	code := strings.Join(regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1), " ")
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	calls := 0
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || !bound(f) {
				continue
			}
			calls++
			if !regexp.MustCompile(`\b` + f.Name.Name + `\b`).MatchString(code) {
				t.Errorf("docs/mobile-reference.md does not name %s", functionName(f))
			}
		}
	}
	if calls < 30 {
		t.Errorf("found %d calls only", calls)
	}
}
