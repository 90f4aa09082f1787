// Command sbom says what a Go binary is made of: it reads what "go version -m" shows, and
// writes it in the form of CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json).
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "", "the version of the program")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: sbom [--version V] BINARY")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *version, os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run describes the binary at path; date is in seconds since 1970, or empty.
func run(path, version, date string, w io.Writer) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	digest, err := sum(path)
	if err != nil {
		return err
	}
	bill := describe(info, filepath.Base(path), version, digest)
	if date != "" {
		seconds, err := strconv.ParseInt(date, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH is no number of seconds: %w", err)
		}
		bill.Metadata.Timestamp = time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(bill)
}

func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// describe makes the bill of what the build information names.
func describe(info *debug.BuildInfo, file, version, digest string) bom {
	if version == "" {
		version = info.Main.Version
	}
	program := component{Type: "application", Ref: file, Name: file, Version: version, Hashes: []hash{{"SHA-256", digest}}}
	for _, s := range info.Settings {
		program.Properties = append(program.Properties, property{"go:build:" + s.Key, s.Value})
	}
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{Component: program}}
	b.add("std", strings.TrimPrefix(info.GoVersion, "go"), "")
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.add(m.Path, m.Version, m.Sum)
	}
	all := dependency{Ref: file}
	for _, c := range b.Components {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{all}
	return b
}

// add appends a module of Go. Its sum is of all its files, as go.sum has it.
func (b *bom) add(path, version, sum string) {
	url := "pkg:golang/" + path + "@" + version
	c := component{Type: "library", Ref: url, Name: path, Version: version, URL: url}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	b.Components = append(b.Components, c)
}

type bom struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	Hashes     []hash     `json:"hashes,omitempty"`
	URL        string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}
