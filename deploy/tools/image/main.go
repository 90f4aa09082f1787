// Command image makes an OCI image for several platforms that holds one static program and
// nothing else: no shell, no libraries, and no user but the one that the program runs as.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// user is who the program runs as, by the custom of images without users.
const user = 65532

// data is the one directory that the program may write into, a volume.
const data = "data"

func main() {
	program := flag.String("program", "p2pnode", "the program's name in the image")
	version := flag.String("version", "", "its version")
	most := flag.Int64("most", 20_000_000, "how many bytes the image may take, compressed")
	out := flag.String("out", "", "the directory of the image, in OCI's layout")
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: image --out DIR [--program NAME] [--version V] PLATFORM=BINARY...")
		os.Exit(2)
	}
	if err := run(*program, *version, *out, *most, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run makes the image of binaries, each with its platform: linux/amd64=dist/p2pnode-linux-amd64.
func run(program, version, out string, most int64, binaries []string) error {
	made, err := commitTime()
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		name, path, _ := strings.Cut(b, "=")
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return err
		}
		image, err := build(program, version, path, made, *platform)
		if err == nil {
			err = bounded(image, most)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	// A layout that lists the platforms itself holds as many images, and skopeo up to 1.9 asks which.
	whole, err := layout.Write(out, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	if err := whole.AppendIndex(index); err != nil {
		return err
	}
	written, err := layout.ImageIndexFromPath(out)
	if err != nil {
		return err
	}
	return validate.Index(written)
}

// commitTime is the date of everything in the image.
func commitTime() (time.Time, error) {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is no number of seconds: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build makes the image for one platform.
func build(program, version, path string, made time.Time, platform v1.Platform) (v1.Image, error) {
	files, err := layer(program, path, made)
	if err != nil {
		return nil, err
	}
	packed, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
	if err != nil {
		return nil, err
	}
	base := mutate.MediaType(mutate.ConfigMediaType(empty.Image, types.OCIConfigJSON), types.OCIManifestSchema1)
	image, err := mutate.AppendLayers(base, packed)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, config(image, program, version, made, platform))
}

// bounded reports that an image takes more than most bytes.
func bounded(image v1.Image, most int64) error {
	m, err := image.Manifest()
	if err != nil {
		return err
	}
	var size int64
	for _, l := range m.Layers {
		size += l.Size
	}
	if size > most {
		return fmt.Errorf("the image takes %d bytes, more than %d", size, most)
	}
	return nil
}

// config says how the program is started.
func config(image v1.Image, program, version string, made time.Time, platform v1.Platform) *v1.ConfigFile {
	c, _ := image.ConfigFile() // of an image in memory
	c = c.DeepCopy()
	c.Created = v1.Time{Time: made}
	c.OS, c.Architecture, c.Variant = platform.OS, platform.Architecture, platform.Variant
	c.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", user, user),
		Entrypoint: []string{"/" + program},
		Env:        []string{"HOME=/" + data, "P2PNODE_DIR=/" + data + "/node"},
		WorkingDir: "/" + data,
		Volumes:    map[string]struct{}{"/" + data: {}},
		Labels: map[string]string{
			"org.opencontainers.image.title": program, "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return c
}

// layer is the archive of what is in the image.
func layer(program, path string, made time.Time) ([]byte, error) {
	binary, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		tar.Header
		content []byte
	}{
		{tar.Header{Name: data + "/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: user, Gid: user}, nil},
		{tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil},
		{tar.Header{Name: program, Typeflag: tar.TypeReg, Mode: 0o755}, binary},
	} {
		f.ModTime, f.Size, f.Format = made, int64(len(f.content)), tar.FormatUSTAR
		if err := w.WriteHeader(&f.Header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}
