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
	got := drawn(t, `
const { verdict, lacking } = await import('./words.js');
const sums = { committee: { members: [{ peer: 'x', self: true }] }, sums: [] };
console.log(verdict({ records: 0, sums }).next, verdict({ records: 0 }).next);
console.log(lacking({ missing: ['12D3KooWabcdef', '12D3KooWghijkl'], missing_why: ['does not answer'] }).join('; '));
`)
	if want := "member nothing\n…abcdef, which does not answer; …ghijkl\n"; got != want {
		t.Error(got)
	}
}

// drawn runs a script in Node that may import the pages, beside a document of objects: an
// element has its name, attributes and children.
func drawn(t *testing.T, script string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range all(t) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600))
	file := filepath.Join(dir, "script.js")
	require.NoError(t, os.WriteFile(file, []byte(`
const element = (name) => ({ name, attributes: {}, children: [],
  setAttribute(key, value) { this.attributes[key] = value; },
  append(...more) { this.children.push(...more); },
  replaceChildren(...all) { this.children = all; } });
globalThis.document = { createElement: element, createElementNS: (space, name) => element(name) };
globalThis.ResizeObserver = class {
  constructor(changed) { this.changed = changed; }
  observe() { this.changed([{ contentRect: { width: 800 } }]); }
};
const text = (e) => (e.children ? e.children.map(text).join(' ') : String(e));
const named = (e, name) => (e.name === name ? [e] : (e.children || []).flatMap((c) => named(c, name)));
`+script), 0o600))
	run := exec.CommandContext(t.Context(), node, file)
	run.Env = append(os.Environ(), "TZ=UTC")
	got, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	return string(got)
}

// Where nothing but private sums is sent, records pay for these, and no column is about models.
func TestCohortsOfSums(t *testing.T) {
	got := drawn(t, `
const { privacy } = await import('./privacy.js');
const budget = { epsilon: 1, releases_left: 0, records_missing: 0, person: [{ epsilon: 1, delta: 1e-6, records: 1, belief_of_half_at_most: 0.73 }],
  sums: { only: true, sums_left: 4, share: 1, committee: { members: [], colluding: 1 } },
  cohorts: [{ cohort: 1, records: 48, releases: 0, releases_left: 0, sums: 2, spent_share: 1 },
    { cohort: 2, records: 9, releases: 0, releases_left: 0, sums: 0, spent_share: 0 }] };
const table = privacy({ budget }).flatMap((e) => named(e, 'table'))[0];
for (const row of named(table, 'tr')) console.log(text(row).replaceAll('\u00a0', ' '));
`)
	if want := "group records private sums spent state\n1 48 2 100 % has paid\n2 9 0 0 % has paid for none\n"; got != want {
		t.Errorf("the table is\n%s, want\n%s", got, want)
	}
}

// A time that stands below the end of the chart, of 56 pixels, is whole.
func TestTimesOfTheChartAreWhole(t *testing.T) {
	got := drawn(t, `
const { chart } = await import('./chart.js');
const begin = Date.UTC(2026, 10, 30, 12), values = [1, 2];
const drawn = chart({ title: 'errors', unit: 'RMSE', times: [begin, begin + 600000], lines: [{ name: 'alone', class: 'alone', values }] });
const below = named(drawn, 'text').filter((e) => text(e).includes(':'));
console.log(below.length > 3, Math.max(...below.map((e) => Number(e.attributes.x))) <= 800 - 28);
`)
	if got != "true true\n" {
		t.Errorf("a time is cut off, or none is there: %s", got)
	}
}
