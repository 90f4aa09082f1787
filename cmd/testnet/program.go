package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// programHash tells this program from any other build of it.
func programHash() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program, to tell its results from others': %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read this program, to tell its results from others': %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read this program, to tell its results from others': %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// version says which program and which Go it is made with.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version + ", " + info.GoVersion
}
