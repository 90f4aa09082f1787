package main

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// program writes a stand-in of size bytes for a program.
func program(t *testing.T, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p2pnode")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// digest makes an image of a program for two platforms, and returns its name by content.
func digest(t *testing.T, out, path string) v1.Hash {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	if err := run("p2pnode", "v1", out, 1<<20, []string{"linux/amd64=" + path, "linux/arm/v7=" + path}); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	h, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The same program makes the same image, byte by byte.
func TestImageDependsOnTheProgramAlone(t *testing.T) {
	path := program(t, 1000)
	if a, b := digest(t, t.TempDir(), path), digest(t, t.TempDir(), path); a != b {
		t.Errorf("%s and %s are of the same program", a, b)
	}
}

// The layout holds one image for all platforms; the image holds the program, and the one directory that its user may write into.
func TestImageHoldsTheProgramAlone(t *testing.T) {
	out := t.TempDir()
	digest(t, out, program(t, 1000))
	index, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("%+v, %v; want one image", m, err)
	}
	index, err = index.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	m, err = index.IndexManifest()
	if err != nil || len(m.Manifests) != 2 {
		t.Fatalf("%+v, %v; want two platforms", m, err)
	}
	image, err := index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil || config.Config.User != "65532:65532" || config.Architecture != "amd64" {
		t.Errorf("%+v, %v", config, err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); got != "data/ tmp/ p2pnode" {
		t.Errorf("the image holds %s", got)
	}
}

func TestImageIsBounded(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	err := run("p2pnode", "v1", t.TempDir(), 100, []string{"linux/amd64=" + program(t, 1_000_000)})
	if err == nil || !strings.Contains(err.Error(), "more than 100") {
		t.Errorf("an image that is too large: %v", err)
	}
	if err := run("p2pnode", "v1", t.TempDir(), 100, []string{"linux/amd64=missing"}); err == nil {
		t.Error("an image is made of nothing")
	}
}
