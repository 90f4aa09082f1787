package dashboard

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// all are the files of the pages, with their text.
func all(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	err := fs.WalkDir(files, "pages", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(name)
		texts[strings.TrimPrefix(name, "pages/")] = string(text)
		return err
	})
	if err != nil || len(texts) < 10 {
		t.Fatalf("%d files, %v", len(texts), err)
	}
	return texts
}

func ask(method, target string, header http.Header) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, target, nil)
	r.Header = header
	Handler().ServeHTTP(w, r)
	return w
}

func TestPagesAreServed(t *testing.T) {
	texts := all(t)
	texts[""] = texts["index.html"]
	for name, text := range texts {
		w := ask(http.MethodGet, "/"+name, nil)
		if w.Code != http.StatusOK || w.Body.String() != text {
			t.Errorf("/%s: status %d, %d bytes", name, w.Code, w.Body.Len())
		}
		for header, want := range map[string]string{"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"} {
			if got := w.Header().Get(header); got != want {
				t.Errorf("/%s: %s is %q", name, header, got)
			}
		}
		if w.Header().Get("Content-Type") == "" {
			t.Errorf("/%s has no media type", name)
		}
		known := http.Header{"If-None-Match": {w.Header().Get("ETag")}}
		if w := ask(http.MethodGet, "/"+name, known); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
			t.Errorf("/%s is sent again to who has it: %d", name, w.Code)
		}
	}
	if w := ask(http.MethodHead, "/style.css", nil); w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("HEAD: %d, %d bytes", w.Code, w.Body.Len())
	}
}

func TestNothingElseIsServed(t *testing.T) {
	for _, target := range []string{"/nothing", "/pages", "/pages/index.html", "/index.html/", "//", "/../dashboard.go", "/.", "/a/../index.html", "/%00"} {
		if w := ask(http.MethodGet, target, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", target, w.Code)
		}
	}
}

func TestPagesAreSmall(t *testing.T) {
	const most = 150_000
	sum := 0
	for _, text := range all(t) {
		sum += len(text)
	}
	if sum > most {
		t.Errorf("the pages have %d bytes; at most %d are allowed", sum, most)
	}
}

var (
	leads   = regexp.MustCompile(`(?:from '\./|(?:src|href)=")([a-z0-9./-]+)[^#]`)
	foreign = regexp.MustCompile(`(?:https?:)?//[a-z0-9.-]+\.[a-z]`)
)

// The pages load nothing from elsewhere and nothing that is not there, and build no markup
// from text.
func TestPagesNeedNothingElse(t *testing.T) {
	texts := all(t)
	for name, text := range texts {
		for _, m := range leads.FindAllStringSubmatch(text, -1) {
			if _, ok := texts[m[1]]; !ok && path.Ext(m[1]) != "" {
				t.Errorf("%s leads to %s, which is not there", name, m[1])
			}
		}
		for _, address := range foreign.FindAllString(text, -1) {
			if !strings.HasPrefix(address, "http://www.w3.o") { // the name of SVG
				t.Errorf("%s names %s", name, address)
			}
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "<style", " style=", " onclick="} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", name, bad)
			}
		}
	}
}

// A member of the committee without records is told that it is one, and not to bring some.
func TestWordsForAMember(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	words, err := os.ReadFile(filepath.Join("pages", "words.js"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "words.mjs")
	require.NoError(t, os.WriteFile(file, append(words, `
const sums = { committee: { members: [{ peer: 'x', self: true }] }, sums: [] };
console.log(verdict({ records: 0, sums }).next, verdict({ records: 0 }).next);
console.log(lacking({ missing: ['12D3KooWabcdef', '12D3KooWghijkl'], missing_why: ['does not answer'] }).join('; '));
`...), 0o600))
	got, err := exec.CommandContext(t.Context(), node, file).CombinedOutput()
	if want := "member nothing\n…abcdef, which does not answer; …ghijkl\n"; err != nil || string(got) != want {
		t.Errorf("%v: %s", err, got)
	}
}
