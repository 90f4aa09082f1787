package page

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A file that cannot be written leaves the one before it, and nothing else.
func TestWriteFileKeepsTheOldOne(t *testing.T) {
	name := filepath.Join(t.TempDir(), "results.json")
	for _, c := range []struct {
		text string
		err  error
	}{{"first", nil}, {"second, cut off", errors.New("no space")}} {
		err := WriteFile(name, func(w io.Writer) error {
			_, err := io.WriteString(w, c.text)
			return errors.Join(err, c.err)
		})
		if !errors.Is(err, c.err) {
			t.Errorf("error %v, want %v", err, c.err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if text, _ := os.ReadFile(name); err != nil || string(text) != "first" || len(entries) != 1 {
		t.Errorf("%q in %d files, %v", text, len(entries), err)
	}
}
