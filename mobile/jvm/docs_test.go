package jvm_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDocsCompile compiles the Java on the page for app developers.
func TestDocsCompile(t *testing.T) {
	needs(t, "javac")
	dir := t.TempDir()
	writeBindings(t, dir)
	if err := writeContext(filepath.Join(dir, "java")); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "mobile.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```java\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Fatal("no Java on the page")
	}
	for _, b := range blocks {
		class := regexp.MustCompile(`class (\w+)`).FindSubmatch(b[1])
		if class == nil {
			t.Fatalf("no class:\n%s", b[1])
		}
		if err := os.WriteFile(filepath.Join(dir, "java", string(class[1])+".java"), b[1], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := javac(t.TempDir(), generatedRelease, filepath.Join(dir, "java")); err != nil {
		t.Error(err)
	}
}
