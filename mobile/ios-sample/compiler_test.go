package ios_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// apples are the modules that only Apple's compiler has.
var apples = []string{"SwiftUI", "UIKit", "CoreMotion", "Network", "BackgroundTasks", "Combine"}

// TestSwiftParses and TestSwiftTypes need a Swift compiler, for any system: they import no
// framework of Apple's but Foundation, which Swift brings along.
func TestSwiftParses(t *testing.T) {
	needsSwift(t)
	for _, path := range swiftFiles(t) {
		swiftc(t, "-parse", absolute(t, path))
	}
}

// TestSwiftTypes compiles what uses no framework of Apple's, with the bindings as Swift would
// import them.
func TestSwiftTypes(t *testing.T) {
	needsSwift(t)
	dir := t.TempDir()
	stub := filepath.Join(dir, "P2PNode.swift")
	write(t, stub, header(t).stub())
	swiftc(t, "-emit-module", "-module-name", "P2PNode", "-o", filepath.Join(dir, "P2PNode.swiftmodule"), stub)
	args := []string{"-typecheck", "-module-name", "Activity", "-swift-version", "5", "-I", dir}
	for _, path := range swiftFiles(t) {
		if text := read(t, path); !importsApples(text) {
			args = append(args, absolute(t, path))
		}
	}
	swiftc(t, args...)
}

func importsApples(text string) bool {
	for _, module := range apples {
		if strings.Contains(text, "\nimport "+module+"\n") || strings.HasPrefix(text, "import "+module+"\n") {
			return true
		}
	}
	return false
}

func swiftc(t *testing.T, args ...string) {
	t.Helper()
	if out, err := runSwiftc(args...); err != nil || out != "" {
		t.Errorf("swiftc: %v\n%s", err, out)
	}
}

// needsSwift skips the test without a compiler.
func needsSwift(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("swiftc"); err != nil {
		t.Skip("runs nightly: it needs swiftc, a big program")
	}
}

// bareSwift skips the test without a compiler that needs no SDK beside it.
func bareSwift(t *testing.T) {
	t.Helper()
	needsSwift(t)
	if runtime.GOOS != "linux" {
		t.Skip("needs swiftc on Linux, where it needs no SDK")
	}
}

func runSwiftc(args ...string) (string, error) {
	out, err := exec.Command("swiftc", args...).CombinedOutput()
	return string(out), err
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
