package jvm_test

import (
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/mobile/internal/bindings"
)

func TestGobindCarriesEverything(t *testing.T) {
	if _, err := bindings.Mobile(); err != nil {
		t.Error(err)
	}
}

// The test above can fail.
func TestGobindRefuses(t *testing.T) {
	for _, c := range []struct {
		pkg  string
		want []string
	}{
		{"skipped", []string{"skipped function Mean", "skipped field Probe.Limits", "skipped method Probe.Limit"}},
		{"broken", []string{"gobind", "Largest"}},
	} {
		t.Run(c.pkg, func(t *testing.T) {
			err := bindings.Gobind(t.TempDir(), "java,objc,go", "p2pnode/mobile/jvm/testdata/"+c.pkg)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error says nothing of %q:\n%v", want, err)
				}
			}
			if strings.Contains(err.Error(), "Kept") {
				t.Errorf("the error names what is carried:\n%v", err)
			}
		})
	}
}

func TestJavaCompiles(t *testing.T) {
	needs(t, "javac")
	dir := t.TempDir()
	writeBindings(t, dir)
	if err := compileBindings(t, dir); err != nil {
		t.Error(err)
	}
}

// The test above can fail.
func TestJavacRefuses(t *testing.T) {
	needs(t, "javac")
	dir := t.TempDir()
	if err := bindings.Gobind(dir, "java", "p2pnode/mobile/jvm/testdata/clash"); err != nil {
		t.Fatal(err)
	}
	err := compileBindings(t, dir)
	if err == nil || !strings.Contains(err.Error(), "wait()") {
		t.Errorf("got %v, want javac's error about wait()", err)
	}
}

// compileBindings makes Java classes of what gobind wrote into dir.
func compileBindings(t *testing.T, dir string) error {
	t.Helper()
	if err := writeContext(filepath.Join(dir, "java")); err != nil {
		t.Fatal(err)
	}
	return javac(t.TempDir(), generatedRelease, filepath.Join(dir, "java"))
}
