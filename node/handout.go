package node

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"p2pnode/gossip"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// handout lists the files that newcomers may ask a node for: the task's public files, by
// their SHA-256.
type handout map[gossip.BlobName]string

// newHandout lists the files of a directory.
func newHandout(dir string, t *learner.Task) (handout, error) {
	path := filepath.Join(dir, datadir.TaskFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("node: read the task: %w", err)
	}
	out := handout{sha256.Sum256(text): path}
	if sum, err := hex.DecodeString(t.SumsCatalogue()); err == nil && len(sum) == sha256.Size {
		out[gossip.BlobName(sum)] = filepath.Join(dir, datadir.CatalogueFile)
	}
	return out, nil
}

// open opens a file; it returns nil if no file has that name, or if the file is gone.
func (h handout) open(name gossip.BlobName) gossip.Blob {
	path, known := h[name]
	if !known {
		return nil
	}
	return gossip.OpenBlob(path, gossip.MaxFile)
}
