// Package jvm_test runs the bindings of package mobile where apps use them: in a Java
// virtual machine. It builds what gomobile would build for Android, for the machine at
// hand; what Android does differently is not tested here.
package jvm_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	_ "p2pnode/mobile" // so that the tests run again when it has changed
	"p2pnode/mobile/internal/bindings"
)

// moduleRoot is the directory of go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// writeBindings writes those of package mobile into dir.
func writeBindings(t *testing.T, dir string) {
	t.Helper()
	files, err := bindings.Mobile()
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(dir, files))
}

// javac compiles every Java file under the directories, into the directory classes.
// What javac would warn of is an error; gobind's exception class has no serial number.
func javac(classes string, release string, dirs ...string) error {
	// It ends before compiling itself well would pay.
	args := []string{"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-Xlint:all,-options,-serial", "-Werror", "--release", release, "-d", classes, "-cp", classes}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".java") {
				args = append(args, path)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if out, err := exec.Command("javac", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w\n%s", err, out)
	}
	return nil
}

// generatedRelease is the Java that Android's tools take without being asked.
const generatedRelease = "8"

// writeContext writes the one class of Android that the generated code names.
func writeContext(dir string) error {
	dir = filepath.Join(dir, "android", "content")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "Context.java"), []byte("package android.content; public abstract class Context {}\n"), 0o644)
}

// needs skips the test unless the programs are there.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s: install a JDK (17 or later) and a C compiler", p)
		}
	}
}
