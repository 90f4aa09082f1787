// Package dashboard is what the owner of a node sees in a browser: plain pages, which
// hold no data and ask the interface below /v1 for it. They load nothing from elsewhere.
package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed pages
var files embed.FS

// policy says what a browser may do for the pages: run and show what comes from this
// server, and ask this server. Nothing that a peer sends can become a part of the pages.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// media lists the types of the files, so that they do not depend on the machine's tables.
var media = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handler returns the handler that answers with the pages: index.html for /, and 404 for
// unknown paths.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		text, err := files.ReadFile(path.Join("pages", name))
		if err != nil || !fs.ValidPath(name) {
			http.NotFound(w, r)
			return
		}
		digest := sha256.Sum256(text)
		h := w.Header()
		h.Set("Content-Type", media[path.Ext(name)])
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-cache") // another version of the daemon has other pages
		h.Set("ETag", `"`+hex.EncodeToString(digest[:8])+`"`)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	})
}
