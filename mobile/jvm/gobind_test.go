// Package jvm_test runs the bindings of package mobile where apps use them: in a Java
// virtual machine. It builds what gomobile would build for Android, for the machine at
// hand; what Android does differently is not tested here.
package jvm_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"p2pnode/internal/require"
	_ "p2pnode/mobile" // so that the tests run again when it has changed
)

// javaPackage is the one the app's code imports, with the Go package's name after it.
const javaPackage = "org.p2pnode"

// moduleRoot is the directory of go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// gobind writes the bindings of a Go package into dir. It fails where gobind does, and
// where gobind left something out, which it says only in a comment of what it wrote.
func gobind(root, dir, langs, pkg string) error {
	cmd := exec.Command("go", "tool", "gobind", "-lang="+langs, "-javapkg="+javaPackage, "-prefix=P2P", "-outdir="+dir, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOGC=400") // what it reads stays until it ends
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gobind %s: %w\n%s", pkg, err, out)
	}
	var found []error
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "// skipped ") {
				found = append(found, fmt.Errorf("gobind: %s: %s", filepath.Base(path), line))
			}
		}
		return err
	})
	return errors.Join(append(found, err)...)
}

// generated is what gobind makes of package mobile, in all languages. gobind reads the sources
// of all that the package imports, which takes longer than all else here, so the tests share it.
var generated = sync.OnceValues(func() (fstest.MapFS, error) {
	dir, err := os.MkdirTemp("", "gobind")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := gobind("../..", dir, "java,objc,go", "./mobile"); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = &fstest.MapFile{Data: text, Mode: 0o644}
		return err
	})
	return files, err
})

// bindings writes those of package mobile into dir.
func bindings(t *testing.T, dir string) {
	t.Helper()
	files, err := generated()
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(dir, files))
}

// javac compiles every Java file under the directories, into the directory classes.
// What javac would warn of is an error; gobind's exception class has no serial number.
func javac(classes string, release string, dirs ...string) error {
	args := []string{"-Xlint:all,-options,-serial", "-Werror", "--release", release, "-d", classes, "-cp", classes}
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
