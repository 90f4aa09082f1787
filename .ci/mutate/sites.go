package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// mutant is a file with one line changed.
type mutant struct {
	path       string
	line       int
	start, end int    // of what is replaced, in bytes
	text       string // what stands there instead
}

// apply returns the changed file.
func (m mutant) apply(src []byte) []byte {
	return bytes.Join([][]byte{src[:m.start], []byte(m.text), src[m.end:]}, nil)
}

// lineOf returns the line that a mutant changes, as it is in src.
func (m mutant) lineOf(src []byte) string {
	lines := strings.Split(string(src), "\n")
	return strings.TrimSpace(lines[m.line-1])
}

// operators says what stands for an operator instead.
var operators = map[token.Token][]token.Token{
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GTR}, token.LEQ: {token.LSS, token.GTR}, token.GTR: {token.GEQ, token.LSS}, token.GEQ: {token.GTR, token.LSS},
	token.LAND: {token.LOR}, token.LOR: {token.LAND}, token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.OR},
	token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.ADD_ASSIGN: {token.SUB_ASSIGN, token.ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN, token.ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.SHL_ASSIGN: {token.SHR_ASSIGN}, token.SHR_ASSIGN: {token.SHL_ASSIGN},
	token.AND_ASSIGN: {token.OR_ASSIGN}, token.OR_ASSIGN: {token.AND_ASSIGN},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

// finder collects the mutants of one file.
type finder struct {
	path  string
	file  *token.File
	found []mutant
}

// mutants returns every change of one line of src that this program knows.
func mutants(path string, src []byte) ([]mutant, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, src, parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(tree) {
		return nil, err
	}
	f := &finder{path: path, file: files.File(tree.Pos())}
	for _, d := range tree.Decls {
		if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.IMPORT {
			ast.Inspect(d, f.visit)
		}
	}
	return f.found, nil
}

// add notes that text may stand for what is between two positions of one line.
func (f *finder) add(from, to token.Pos, text string) {
	if f.file.Line(from) == f.file.Line(to) {
		f.found = append(f.found, mutant{f.path, f.file.Line(from), f.file.Offset(from), f.file.Offset(to), text})
	}
}

// swap notes the other operators that may stand at a position.
func (f *finder) swap(at token.Pos, op token.Token) {
	for _, other := range operators[op] {
		f.add(at, at+token.Pos(len(op.String())), other.String())
	}
}

// visit is called for every node of the tree.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return !onlySign(n)
	case *ast.ReturnStmt:
		return !besideError(n)
	case *ast.BinaryExpr:
		f.swap(n.OpPos, n.Op)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			f.add(n.OpPos, n.OpPos+1, "")
		}
	case *ast.IncDecStmt:
		f.swap(n.TokPos, n.Tok)
	case *ast.BranchStmt:
		f.swap(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		f.swap(n.TokPos, n.Tok)
		if n.Tok != token.DEFINE {
			f.add(n.Pos(), n.End(), "")
		}
	case *ast.ExprStmt:
		f.add(n.Pos(), n.End(), "")
	case *ast.DeferStmt:
		f.add(n.Pos(), n.End(), "")
	case *ast.IfStmt:
		f.add(n.Cond.Pos(), n.Cond.Pos(), "true || ")
		f.add(n.Cond.Pos(), n.Cond.Pos(), "false && ")
	case *ast.BasicLit:
		f.number(n)
	case *ast.Ident:
		f.constant(n)
	}
	return true
}

// onlySign reports whether a call asks but for the sign of what it is given: another
// number there is the same program.
func onlySign(n *ast.CallExpr) bool {
	called, ok := n.Fun.(*ast.SelectorExpr)
	return ok && called.Sel.Name == "Inf"
}

// besideError reports whether a statement returns an error that it makes. Nobody may
// read what is beside it.
func besideError(n *ast.ReturnStmt) bool {
	if len(n.Results) < 2 {
		return false
	}
	switch last := n.Results[len(n.Results)-1].(type) {
	case *ast.Ident:
		return last.Name == "err"
	case *ast.CallExpr:
		made, ok := last.Fun.(*ast.SelectorExpr)
		return ok && (made.Sel.Name == "Errorf" || made.Sel.Name == "New")
	}
	return false
}

// number notes that one more may stand for a number.
func (f *finder) number(n *ast.BasicLit) {
	if n.Kind == token.INT || n.Kind == token.FLOAT {
		f.add(n.Pos(), n.End(), "("+n.Value+" + 1)")
	}
}

// constant notes that false may stand for true, and true for false.
func (f *finder) constant(n *ast.Ident) {
	switch n.Name {
	case "true":
		f.add(n.Pos(), n.End(), "false")
	case "false":
		f.add(n.Pos(), n.End(), "true")
	}
}
