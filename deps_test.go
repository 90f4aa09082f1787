// Package p2pnode_test holds the checks on the tree as a whole.
package p2pnode_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// imports is the table of ARCHITECTURE.md: what each package may import of
// ours, directly. Imports go one way, so that the mathematics can be read,
// tested and simulated without the network.
var imports = map[string][]string{
	"p2pnode/privacy/accountant":      {},
	"p2pnode/privacy":                 {"internal/vector", "privacy/accountant"},
	"p2pnode/learner":                 {"internal/vector", "learner/population", "privacy"},
	"p2pnode/learner/population":      {},
	"p2pnode/learner/graph":           {"learner"},
	"p2pnode/csvfile":                 {}, // below node and testnet, which both read people's files
	"p2pnode/draft":                   {"csvfile", "learner"},
	"p2pnode/rowfile":                 {"csvfile"},
	"p2pnode/docs":                    {},
	"p2pnode/peering":                 {"learner", "learner/graph"},
	"p2pnode/sums":                    {"privacy"},
	"p2pnode/internal/crowd":          {},
	"p2pnode/internal/durable":        {},
	"p2pnode/internal/flags":          {},
	"p2pnode/internal/program":        {},
	"p2pnode/internal/ring":           {},
	"p2pnode/internal/turn":           {},
	"p2pnode/internal/vector":         {},
	"p2pnode/storage":                 {"internal/durable", "internal/program", "learner", "privacy"},
	"p2pnode/gossip":                  {"gossip/internal/wire", "gossip/reputation", "internal/crowd", "internal/turn", "learner"},
	"p2pnode/gossip/reputation":       {"internal/crowd"},
	"p2pnode/gossip/internal/wire":    {},
	"p2pnode/discovery":               {"internal/crowd", "internal/turn"},
	"p2pnode/discovery/members":       {"internal/durable"},
	"p2pnode/discovery/reach":         {},
	"p2pnode/node/api":                {"discovery/reach", "learner", "privacy", "storage"},
	"p2pnode/node/datadir":            {"csvfile", "discovery/members", "discovery/reach", "gossip", "internal/durable", "learner", "node/api", "node/summing", "node/ticket", "privacy", "storage"},
	"p2pnode/node/netedge":            {"discovery", "discovery/reach", "gossip", "internal/crowd", "internal/turn", "learner", "node/api", "node/datadir", "node/summing", "storage"},
	"p2pnode/node/summing":            {"discovery", "gossip", "internal/crowd", "internal/durable", "learner", "node/api", "privacy", "storage", "sums"},
	"p2pnode/node/diary":              {"internal/ring", "node/api"},
	"p2pnode/node/logs":               {"internal/ring", "node/api"},
	"p2pnode/node/dashboard":          {},
	"p2pnode/node/statement":          {"node/api", "node/datadir", "privacy"},
	"p2pnode/node/ticket":             {},
	"p2pnode/node/tokens":             {"internal/durable", "node/api"},
	"p2pnode/node/server":             {"docs", "node/api", "node/tokens", "rowfile"},
	"p2pnode/node/client":             {"node/api"},
	"p2pnode/node/local":              {"node", "node/api", "node/client", "node/datadir", "node/server", "node/tokens", "storage"},
	"p2pnode/node":                    {"csvfile", "discovery", "discovery/members", "discovery/reach", "gossip", "gossip/reputation", "internal/crowd", "internal/durable", "internal/program", "internal/turn", "learner", "learner/graph", "learner/population", "node/api", "node/datadir", "node/diary", "node/logs", "node/netedge", "node/statement", "node/summing", "peering", "privacy", "rowfile", "storage", "sums"},
	"p2pnode/node/metrics":            {"discovery/reach", "gossip", "internal/program", "node", "node/api", "storage"},
	"p2pnode/mobile":                  {"discovery/members", "learner", "node", "node/api", "node/datadir", "node/netedge", "node/ticket", "storage"},
	"p2pnode/testnet/sim":             {"learner", "learner/graph", "peering", "privacy", "sums"},
	"p2pnode/internal/require":        {},                                                      // for tests only: it is in nobody's list
	"p2pnode/internal/manual":         {"internal/require"},                                    // the same
	"p2pnode/internal/committee":      {"internal/require", "learner", "node", "node/datadir"}, // the same
	"p2pnode/testnet/lab":             {},
	"p2pnode/testnet/audit":           {"learner", "node/summing", "privacy", "storage", "sums", "testnet/sim"},
	"p2pnode/testnet/attack":          {"gossip", "learner", "learner/graph", "node/api", "node/client", "node/datadir", "node/local", "peering", "privacy", "testnet", "testnet/lab", "testnet/sim"},
	"p2pnode/testnet/cases":           {"privacy", "privacy/accountant"},
	"p2pnode/testnet/page":            {},
	"p2pnode/testnet":                 {"csvfile", "learner", "learner/graph", "node", "node/api", "node/client", "node/datadir", "node/local", "privacy", "privacy/accountant", "sums", "testnet/lab", "testnet/page", "testnet/sim"},
	"p2pnode/testnet/paper":           {"testnet/page"},
	"p2pnode/testnet/paper/nodes":     {"learner", "privacy", "testnet", "testnet/page", "testnet/paper"},
	"p2pnode/testnet/paper/movielens": {"learner", "privacy", "privacy/accountant", "testnet", "testnet/page", "testnet/paper", "testnet/paper/nodes", "testnet/sim"},
	"p2pnode/testnet/paper/linear":    {"learner", "privacy", "privacy/accountant", "testnet", "testnet/page", "testnet/paper", "testnet/paper/nodes", "testnet/sim"},
	"p2pnode/testnet/paper/crowd":     {"learner", "privacy", "testnet", "testnet/page", "testnet/paper", "testnet/sim"},
	"p2pnode/testnet/paper/tabular":   {"learner", "node/datadir", "privacy", "privacy/accountant", "testnet", "testnet/page", "testnet/paper", "testnet/paper/nodes", "testnet/sim"},
	"p2pnode/testnet/paper/schemes":   {"learner", "privacy", "privacy/accountant", "testnet", "testnet/page", "testnet/paper", "testnet/paper/nodes", "testnet/sim"},
	"p2pnode/cmd/p2pnode":             {"csvfile", "discovery/members", "discovery/reach", "draft", "internal/flags", "internal/program", "node", "node/api", "node/dashboard", "node/datadir", "node/local", "node/logs", "node/metrics", "node/netedge", "node/server", "node/statement", "node/ticket", "node/tokens", "rowfile"},
	"p2pnode/cmd/testnet": {"internal/flags", "learner", "node/api", "node/datadir", "privacy", "testnet", "testnet/attack", "testnet/audit", "testnet/cases",
		"testnet/page", "testnet/paper", "testnet/paper/crowd", "testnet/paper/linear", "testnet/paper/movielens", "testnet/paper/schemes", "testnet/paper/tabular"},

	"p2pnode/mobile/internal/bindings": {}, // for tests only: it is in nobody's list
}

// banned lists what a package must not depend on, directly or not, with the
// reason.
var banned = []struct{ pkg, path, reason string }{
	{"p2pnode/discovery", "github.com/libp2p/go-libp2p-pubsub", "discovery finds peers; gossip talks"},
	{"p2pnode/storage", "github.com/libp2p/go-libp2p", "the disk knows nothing of the network"},
	{"p2pnode/testnet/sim", "github.com/libp2p/go-libp2p", "the simulator carries a million agents, none of them a host"},
	{"p2pnode/testnet/sim", "go.etcd.io/bbolt", "the simulator writes nothing to disk"},
	{"p2pnode/mobile", "p2pnode/testnet", "an app links neither data sets nor plots"},
	{"p2pnode/mobile", "gonum.org/v1/plot", "an app links neither data sets nor plots"},
	{"p2pnode/mobile", "p2pnode/node/server", "an app calls the node itself"},
	{"p2pnode/mobile", "p2pnode/node/client", "an app calls the node itself"},
	{"p2pnode/mobile", "github.com/danielgtaylor/huma", "an app calls the node itself"},
	{"p2pnode/mobile", "p2pnode/draft", "an app gets its task from somebody"},
	{"p2pnode/mobile", "p2pnode/node/dashboard", "an app has its own screens"},
	{"p2pnode/mobile", "p2pnode/node/metrics", "nobody scrapes an app, and it would grow"},
	{"p2pnode/mobile", "github.com/prometheus/client_golang/prometheus/promhttp", "nobody scrapes an app, and it would grow"},
	{"p2pnode/mobile", "github.com/prometheus/client_golang/prometheus/collectors", "nobody scrapes an app, and it would grow"},
	{"p2pnode/mobile", "html/template", "with templates the linker keeps every exported method"},
	{"p2pnode/mobile", "text/template", "with templates the linker keeps every exported method"},
	{"p2pnode/cmd/p2pnode", "html/template", "with templates the linker keeps every exported method"},
	{"p2pnode/cmd/p2pnode", "p2pnode/testnet", "a daemon links neither data sets nor plots"},
	{"p2pnode/cmd/p2pnode", "gonum.org/v1/plot", "a daemon links neither data sets nor plots"},
}

// pure packages are mathematics, state machines and a parser: values in, values out.
var pure = []string{"p2pnode/privacy", "p2pnode/privacy/accountant", "p2pnode/learner", "p2pnode/learner/population", "p2pnode/learner/graph", "p2pnode/peering", "p2pnode/csvfile", "p2pnode/draft", "p2pnode/rowfile", "p2pnode/sums", "p2pnode/gossip/reputation", "p2pnode/node/ticket"}

// impure is what they do without altogether.
var impure = []string{"context", "io/fs", "log", "log/slog", "math/rand", "net", "os", "sync", "sync/atomic"}

// ambient names what they do without of packages they may use: clocks, timers
// and the global random source. Time and randomness are handed in.
var ambient = map[string][]string{
	"time": {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until"},
	"rand": {"ExpFloat64", "Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "N",
		"NormFloat64", "Perm", "Shuffle", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN"},
}

type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImportsGoOneWay(t *testing.T) {
	for _, p := range list(t) {
		allowed, known := imports[p.ImportPath]
		if !known {
			if len(p.GoFiles) > 0 {
				t.Errorf("%s is not in the table of packages: say what it may import", p.ImportPath)
			}
			continue
		}
		for _, path := range p.Imports {
			if short, ours := strings.CutPrefix(path, "p2pnode/"); ours && !slices.Contains(allowed, short) {
				t.Errorf("%s imports %s; it may import %v", p.ImportPath, path, allowed)
			}
			if slices.Contains(pure, p.ImportPath) && slices.Contains(impure, path) {
				t.Errorf("%s imports %s, but it is a package of values in, values out", p.ImportPath, path)
			}
		}
	}
}

func TestBannedDependencies(t *testing.T) {
	for _, p := range list(t) {
		for _, b := range banned {
			under := func(d string) bool { return d == b.path || strings.HasPrefix(d, b.path+"/") }
			if p.ImportPath == b.pkg && slices.ContainsFunc(p.Deps, under) {
				t.Errorf("%s depends on %s: %s", p.ImportPath, b.path, b.reason)
			}
		}
	}
}

func TestPurePackagesReadNoClock(t *testing.T) {
	for _, p := range list(t) {
		if !slices.Contains(pure, p.ImportPath) {
			continue
		}
		for _, file := range p.GoFiles {
			positions := token.NewFileSet()
			tree, err := parser.ParseFile(positions, filepath.Join(p.Dir, file), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && slices.Contains(ambient[x.Name], s.Sel.Name) {
						t.Errorf("%s: %s.%s: time and randomness are handed in", positions.Position(n.Pos()), x.Name, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
