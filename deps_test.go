// Package p2pnode_test holds the checks on the tree as a whole.
package p2pnode_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

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

// row is a row of the table of packages: a package, what it is, and what it imports.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .* \\| (.*) \\|$")

// table reads the table of packages of ARCHITECTURE.md: the packages in its order, and
// which of ours each of them imports.
func table(t *testing.T) (order []string, imports map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	require.NoError(t, err)
	_, rows, _ := strings.Cut(string(text), "\n| package |")
	rows, _, _ = strings.Cut(rows, "\n\n")
	imports = make(map[string][]string)
	for _, m := range row.FindAllStringSubmatch(rows, -1) {
		order = append(order, m[1])
		for _, name := range span.FindAllString(m[2], -1) {
			folder, group, _ := strings.Cut(strings.Trim(name, "`"), "{") // of a/{b,c}
			for part := range strings.SplitSeq(strings.TrimSuffix(group, "}"), ",") {
				imports[m[1]] = append(imports[m[1]], folder+part)
			}
		}
		slices.Sort(imports[m[1]])
	}
	return order, imports
}

// Imports go one way, so that the mathematics can be read, tested and simulated without
// the network.
func TestImportsGoOneWay(t *testing.T) {
	order, imports := table(t)
	found := 0
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "p2pnode/")
		at := slices.Index(order, name)
		if at < 0 {
			if len(p.GoFiles) > 0 {
				t.Errorf("%s is not in the table of packages: say what it is and what it imports", name)
			}
			continue
		}
		found++
		var ours []string
		for _, path := range p.Imports {
			if short, is := strings.CutPrefix(path, "p2pnode/"); is {
				ours = append(ours, short)
				if slices.Index(order, short) > at {
					t.Errorf("%s imports %s, which stands below it in the table of packages", name, short)
				}
			}
			if slices.Contains(pure, p.ImportPath) && slices.Contains(impure, path) {
				t.Errorf("%s imports %s, but it is a package of values in, values out", p.ImportPath, path)
			}
		}
		if slices.Sort(ours); !slices.Equal(ours, imports[name]) {
			t.Errorf("%s imports %v of ours; the table of packages says %v", name, ours, imports[name])
		}
	}
	if found != len(order) {
		t.Errorf("%d rows of the table of packages, and %d of their packages: a package is gone, or there twice", len(order), found)
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
