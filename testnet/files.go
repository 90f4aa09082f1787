package testnet

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"p2pnode/testnet/page"
)

// The files of [Result.WriteFiles].
const (
	PageFile  = "testnet.html" // see Result.writePage
	RawFile   = "results.json" // see Result.writeRaw
	CurveFile = "curve.svg"    // see Result.writeCurve
	GainFile  = "gain.svg"     // see Result.writeGain
)

// WriteFiles writes the page, the raw numbers and the plots to dir, which it makes,
// replacing those of an earlier run. The page lists made as the facts of how they were
// made.
func (r *Result) WriteFiles(dir string, made ...page.Fact) error {
	return writeFiles(dir, []resultFile{
		{PageFile, func(w io.Writer) error { return r.writePage(w, made...) }},
		{RawFile, r.writeRaw},
		{CurveFile, r.writeCurve},
		{GainFile, r.writeGain},
	})
}

// resultFile is a file of results with what writes it.
type resultFile struct {
	name  string
	write func(io.Writer) error
}

// writeFiles writes files of results to dir, which it makes.
func writeFiles(dir string, files []resultFile) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("testnet: write the results: %w", err)
	}
	for _, file := range files {
		if err := page.WriteFile(filepath.Join(dir, file.name), file.write); err != nil {
			return fmt.Errorf("testnet: write the results: %w", err)
		}
	}
	return nil
}

// WriteJSON writes v as one JSON object, on many lines.
func WriteJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}
