// Package ios_test checks what can be checked of the iOS sample without Xcode: its calls to the
// bindings against the header that gobind makes, and the shape of its files.
package ios_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/mobile/internal/bindings"
)

// caller is the one file that calls the bindings.
const caller = "P2PNode.swift"

func TestCallsFitTheHeader(t *testing.T) {
	a := header(t)
	if err := a.check(split(t, read(t, "Activity/"+caller))); err != nil {
		t.Error(err)
	}
}

// Each probe is a slip that the check must find.
func TestCheckFinds(t *testing.T) {
	a := header(t)
	whole := read(t, "Activity/"+caller)
	for _, probe := range []struct{ name, old, new, want string }{
		{"a method that is not there", "try node.resume()", "try node.wake()", "has no wake"},
		{"a wrong label", "saver: saver", "powerSaver: saver", `wants ["" "charging" "saver"]`},
		{"a missing argument", `, dnsServersJSON: ""`, "", "labelled"},
		{"a label too many", "try node.pause(reason)", "try node.pause(reason: reason)", "labelled"},
		{"no try", "{ try node.start() }", "{ node.start() }", "throws is true"},
		{"a try for nothing", "in node.statusJSON(error)", "in try node.statusJSON(error)", "throws is false"},
		{"a string result taken as throwing", "try text { error in node.taskJSON(error) }", "try node.taskJSON()", "labelled"},
		{"an error thrown away", "in node.taskJSON(error)", "in node.taskJSON(nil)", "thrown away"},
		{"no place for the result", "y: &y", "y: y", "&variable"},
		{"a result where there is none", "try node.predict(littleEndian(features), y: &y)", "y = try node.predict(littleEndian(features))", "labelled"},
		{"an unknown function", "P2PMobileVersion()", "P2PMobileBuild()", "no P2PMobileBuild"},
		{"a function taken as throwing", "P2PMobileNewNode(config, Listener(onEvent), &error)", "P2PMobileNewNode(config, Listener(onEvent))", "labelled"},
		{"an unknown constant", "Int(P2PMobileNetMetered)", "Int(P2PMobileNetCellular)", "no P2PMobileNetCellular"},
		{"a constant of another type", "Int(P2PMobileNetNone)", "P2PMobileNetNone", "is Int64"},
		{"an unknown field", "config.logLevel", "config.loglevel", "has no loglevel"},
		{"the class for the protocol", "NSObject, P2PMobileListenerProtocol", "NSObject, P2PMobileListener", "P2PMobileListenerProtocol"},
		{"a listener's wrong type", "_ level: Int,", "_ level: Int32,", "_ p0: Int,"},
		{"a listener that cannot throw", "payloadJSON: String?) throws", "payloadJSON: String?)", "onEvent(_ p0: String?, payloadJSON: String?) throws"},
		{"an object of unknown type", "guard let opened: P2PMobileNode = ", "guard let opened = ", "write down the type"},
	} {
		t.Run(probe.name, func(t *testing.T) {
			text := strings.Replace(whole, probe.old, probe.new, 1)
			if text == whole {
				t.Fatalf("the file has no %q any more: adapt the probe", probe.old)
			}
			err := a.check(split(t, text))
			if err == nil || !strings.Contains(err.Error(), probe.want) {
				t.Errorf("got %v, want an error with %q", err, probe.want)
			}
		})
	}
}

func TestHeaderIsReadWhole(t *testing.T) {
	for _, line := range []string{
		"FOUNDATION_EXPORT NSArray* _Nullable P2PMobileList(long n);", // an unknown type
		"- (BOOL)goWith:(NSString* _Nullable)peer error:(NSError* _Nullable* _Nullable)error;",
		"- (BOOL)sendData:(NSData* _Nullable)d error:(NSError* _Nullable* _Nullable)error;",
		"typedef long P2PMobileKind;",
	} {
		if _, err := parseHeader("@interface P2PMobileProbe : NSObject\n" + line + "\n@end\n"); err == nil {
			t.Errorf("%s: no error", line)
		}
	}
}

func TestOneFileCallsTheBindings(t *testing.T) {
	for _, path := range swiftFiles(t) {
		ts := split(t, read(t, path))
		if filepath.Base(path) == caller {
			continue
		}
		for _, tok := range ts {
			if strings.HasPrefix(tok.text, "P2P") {
				t.Errorf("%s, line %d: %s belongs into %s", path, tok.line, tok.text, caller)
			}
		}
	}
}

func TestSlipsAreFound(t *testing.T) {
	for _, text := range []string{"f(1, 2", "f(1]", "}", `let a = "b`, `"\(a"`, "let a = \"b\n\""} {
		if _, err := tokens(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
	ts := split(t, `let s = "a \(f("b)", 1)) c" // "not`+"\nnext")
	if len(ts) != 5 || !ts[4].first || ts[4].line != 2 {
		t.Errorf("got %v", ts)
	}
}

func header(t *testing.T) *api {
	t.Helper()
	a, err := parseHeader(generated(t, "P2PMobile.objc.h"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// generated returns one of gobind's headers.
func generated(t *testing.T, name string) string {
	t.Helper()
	files, err := bindings.Mobile()
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(files, "src/gobind/"+name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func split(t *testing.T, text string) []token {
	t.Helper()
	ts, err := tokens(text)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func swiftFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("Activity/*.swift")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no Swift files: %v", err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
