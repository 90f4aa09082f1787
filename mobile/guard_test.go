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

// unguarded lists the exported functions and methods in which a panic could end the app.
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

// guarded reports whether the first statement of a function is defer guard(&err) or defer
// n.guard(&err), with err its last result, or returns what answer, do or json make of a
// function that is written there.
func guarded(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Body.List) == 0 {
		return false
	}
	last := f.Type.Results.List[len(f.Type.Results.List)-1]
	switch first := f.Body.List[0].(type) {
	case *ast.DeferStmt:
		call := types.ExprString(first.Call)
		return len(last.Names) == 1 && last.Names[0].Name == "err" && (call == "guard(&err)" || f.Recv != nil && call == "n.guard(&err)")
	case *ast.ReturnStmt:
		return f.Recv != nil && len(first.Results) == 1 && answered(first.Results[0])
	}
	return false
}

// answered reports whether an expression calls answer, do or json, and evaluates nothing
// before that.
func answered(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	before, work := call.Args[:len(call.Args)-1], call.Args[len(call.Args)-1]
	if _, written := work.(*ast.FuncLit); !written {
		return false
	}
	switch types.ExprString(call.Fun) {
	case "n.do", "n.json":
		return len(before) == 0
	case "answer":
		return len(before) == 1 && types.ExprString(before[0]) == "n"
	}
	return false
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
		t.Errorf("not guarded: %v\nallowed: %v", got, cannotFail)
	}
}

func TestUnguardedMethodsAreFound(t *testing.T) {
	const source = `package mobile
func (n *Node) Good() (err error) { defer guard(&err); return nil }
func (n *Node) Logged() (err error) { defer n.guard(&err); return nil }
func (n *Node) Two() (y float64, err error) { defer guard(&err); return 0, nil }
func (n *Node) Done() error { return n.do(func() error { return n.work() }) }
func (n *Node) JSON() (text string, err error) { return n.json(func() (any, error) { return 1, nil }) }
func (n *Node) Answered() (y float64, err error) { return answer(n, func() (float64, error) { return 1, nil }) }
func (n *Node) Before() error { return n.do(n.work()) }
func (n *Node) After() error { n.work(); return n.do(func() error { return nil }) }
func (n *Node) Beside() error { return answer(n.other(), func() (error, error) { return nil, nil }) }
func (n *Node) Own() error { return n.try(func() error { return nil }) }
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
	want := []string{"Node.Before", "Node.After", "Node.Beside", "Node.Own", "Node.Late", "Node.Other", "Node.Unnamed", "Node.Empty", "Bare"}
	if got := unguarded(file); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
