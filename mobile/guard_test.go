package mobile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cannotFail are the exported functions without an error to return: each is a line or
// two that no argument makes panic.
var cannotFail = []string{"ErrorCode", "Features.Bytes", "NewConfig", "NewFeatures", "Version"}

// unguarded lists the exported functions and methods whose first statement is not
// defer guard(&err) or defer n.guard(&err), with err their last result.
func unguarded(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Name.IsExported() && bound(f) && !guarded(f) {
			names = append(names, functionName(f))
		}
	}
	return names
}

// functionName is a function's, after that of its type if it is a method.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*") + "." + f.Name.Name
}

// bound reports whether the bindings carry a function: not the methods of types that
// apps never see.
func bound(f *ast.FuncDecl) bool { return ast.IsExported(functionName(f)) }

func guarded(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Body.List) == 0 {
		return false
	}
	last := f.Type.Results.List[len(f.Type.Results.List)-1]
	first, ok := f.Body.List[0].(*ast.DeferStmt)
	if !ok || len(last.Names) != 1 || last.Names[0].Name != "err" {
		return false
	}
	call := types.ExprString(first.Call)
	return call == "guard(&err)" || f.Recv != nil && call == "n.guard(&err)"
}

func TestEveryMethodIsGuarded(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Skipf("the sources are not here: %v", err)
	}
	var got []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, unguarded(file)...)
	}
	slices.Sort(got)
	if !slices.Equal(got, cannotFail) {
		t.Errorf("without defer guard(&err): %v\nallowed: %v", got, cannotFail)
	}
}

func TestUnguardedMethodsAreFound(t *testing.T) {
	const source = `package mobile
func (n *Node) Good() (err error) { defer guard(&err); return nil }
func (n *Node) Logged() (err error) { defer n.guard(&err); return nil }
func (n *Node) Two() (y float64, err error) { defer guard(&err); return 0, nil }
func (n *Node) Late() (err error) { n.work(); defer guard(&err); return nil }
func (n *Node) Other() (err error) { defer n.unlock(); return nil }
func (n *Node) Unnamed() error { return nil }
func (n *Node) Empty() {}
func Bare(x int) (err error) { return nil }
func (n *Node) own() {}
func (q *queue) Len() int { return 0 }`
	file, err := parser.ParseFile(token.NewFileSet(), "sample.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Node.Late", "Node.Other", "Node.Unnamed", "Node.Empty", "Bare"}
	if got := unguarded(file); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
