// Package bindings makes what apps in Java and Objective-C call the package mobile through.
// Only tests import it; apps get theirs from build.sh.
package bindings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing/fstest"
)

// JavaPackage is the one the app's code imports, with the Go package's name after it.
const JavaPackage = "org.p2pnode"

// Mobile returns the bindings of package mobile in all languages, as gobind writes them: Java
// in java, all else in src/gobind. gobind reads the sources of all that the package imports,
// which takes long, so a process makes them once; and not at all where P2PNODE_BINDINGS names
// a directory that has those of this very source.
var Mobile = sync.OnceValues(func() (fs.FS, error) {
	if made := os.Getenv("P2PNODE_BINDINGS"); made != "" {
		return os.DirFS(made), refuseSkipped(made)
	}
	dir, err := os.MkdirTemp("", "gobind")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := Gobind(dir, "java,objc,go", "p2pnode/mobile"); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = &fstest.MapFile{Data: text, Mode: 0o644}
		return err
	})
	return files, err
})

// Gobind writes the bindings of a Go package into dir, in languages that a comma separates. It
// fails where gobind does, and where gobind left something out.
func Gobind(dir, languages, pkg string) error {
	cmd := exec.Command("go", "tool", "gobind", "-lang="+languages, "-javapkg="+JavaPackage, "-prefix=P2P", "-outdir="+dir, pkg)
	cmd.Env = append(os.Environ(), "GOGC=400") // what it reads stays until it ends
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gobind %s: %w\n%s", pkg, err, out)
	}
	return refuseSkipped(dir)
}

// refuseSkipped fails where gobind left something out, which it says only in a comment of what
// it wrote.
func refuseSkipped(dir string) error {
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
