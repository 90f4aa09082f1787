package ios_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImporterAgrees asks the compiler's own importer of Objective-C what it makes of the header:
// every method and function has the labels and the type this package worked out.
func TestImporterAgrees(t *testing.T) {
	bareSwift(t)
	a, dir := header(t), t.TempDir()
	modules := ""
	for _, name := range []string{"ref.h", "Universe.objc.h", "P2PMobile.objc.h"} {
		write(t, filepath.Join(dir, name), generated(t, name))
		modules += fmt.Sprintf("\theader %q\n", name)
	}
	write(t, filepath.Join(dir, "module.modulemap"), "module P2PNode {\n"+modules+"\texport *\n}\n")
	swiftc(t, "-frontend", "-emit-module", "-parse-stdlib", "-module-name", "Swift", "-enable-objc-interop",
		"-o", filepath.Join(dir, "Swift.swiftmodule"), absolute(t, "testdata/importer/Swift.swift"))
	check := func(text string) string {
		path := filepath.Join(dir, "probe.swift")
		write(t, path, text)
		out, err := runSwiftc("-frontend", "-typecheck", "-I", dir, "-I", absolute(t, "testdata/importer"),
			"-resource-dir", filepath.Join(dir, "nothing"), "-enable-objc-interop", "-disable-implicit-concurrency-module-import",
			"-disable-implicit-string-processing-module-import", path)
		if err == nil {
			return ""
		}
		return out
	}
	text := a.probe()
	if out := check(text); out != "" {
		t.Errorf("the compiler does not agree:\n%s", out)
	}
	for _, slip := range [][2]string{
		{"() throws -> () = o.start", "() -> () = o.start"},
		{"addExample(_:label:)", "addExample(_:_:)"},
		{"(AutoreleasingUnsafeMutablePointer<NSError?>?) -> NSString = o.statusJSON", "() throws -> NSString = o.statusJSON"},
		{"P2PMobileListenerProtocol", "P2PMobileListener"},
	} {
		wrong := strings.Replace(text, slip[0], slip[1], 1)
		if wrong == text || check(wrong) == "" {
			t.Errorf("%q instead of %q is not noticed", slip[1], slip[0])
		}
	}
}

// probe names every method and function with its labels and its type. There is no bridging to
// String and Data, which is a matter of Foundation.
func (a *api) probe() string {
	var b strings.Builder
	b.WriteString("import P2PNode\n")
	for _, name := range sorted(a.funcs) {
		fmt.Fprintf(&b, "let g%s: %s = %s\n", name, a.funcs[name].bare(), name)
	}
	for _, name := range sorted(a.constants) {
		fmt.Fprintf(&b, "let c%s: %s = %s\n", name, bare(a.constants[name]), name)
	}
	objects := func(kind map[string]map[string]function) {
		for _, name := range sorted(kind) {
			fmt.Fprintf(&b, "func of%s(_ o: %s) {\n", name, name)
			for _, prop := range sorted(a.props[name]) {
				fmt.Fprintf(&b, "    let %s: %s = o.%s\n", prop, bare(a.props[name][prop]), prop)
			}
			for _, method := range sorted(kind[name]) {
				f := kind[name][method]
				fmt.Fprintf(&b, "    let _%s: %s = o.%s\n", method, f.bare(), f.named(method))
			}
			b.WriteString("}\n")
		}
	}
	objects(a.classes)
	objects(a.protocols)
	return b.String()
}

// named is the full name of a method.
func (f function) named(name string) string {
	if len(f.labels) == 0 {
		return name
	}
	full := name + "("
	for _, label := range f.labels {
		if label == "" {
			label = "_"
		}
		full += label + ":"
	}
	return full + ")"
}

// bare is the type of a function, without bridging.
func (f function) bare() string {
	var types []string
	for _, t := range f.types {
		types = append(types, bare(t))
	}
	text, result := "("+strings.Join(types, ", ")+")", "()"
	if f.throws {
		text += " throws"
	}
	if f.result != "" {
		result = bare(f.result)
	}
	return text + " -> " + result
}

func bare(typ string) string {
	switch {
	case typ == "NSErrorPointer":
		return "AutoreleasingUnsafeMutablePointer<NSError?>?"
	case strings.HasPrefix(typ, "String"), strings.HasPrefix(typ, "Data"):
		return "NS" + typ
	case strings.HasSuffix(typ, "Protocol?"):
		return "(any " + strings.TrimSuffix(typ, "?") + ")?"
	}
	return typ
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
