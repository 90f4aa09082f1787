package jvm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// logHeader stands in for Android's log, which the generated code writes to.
const logHeader = `#pragma once
#include <stdio.h>
#define ANDROID_LOG_INFO 4
#define ANDROID_LOG_FATAL 7
#define __android_log_print(p, tag, ...) (fprintf(stderr, tag ": " __VA_ARGS__), fputc('\n', stderr))
`

// flags are of the generated code only: in the environment they would have every
// package with C in it built anew. The JDK's AttachCurrentThread takes a void** where
// Android's takes a JNIEnv**.
const flags = `package main

// #cgo CFLAGS: -O2 -D__GOBIND_ANDROID__ -Wno-incompatible-pointer-types -I${SRCDIR} -I%[1]s/include -I%[1]s/include/linux
// #cgo LDFLAGS: -L${SRCDIR}
import "C"
`

// buildLibrary makes libgojni.so of the Go package that gobind wrote into dir, and
// returns the directory it is in.
func buildLibrary(root, dir string) (string, error) {
	if err := rename(filepath.Join(dir, "src", "gobind")); err != nil {
		return "", err
	}
	if err := writeStandIns(filepath.Join(dir, "src", "gobind")); err != nil {
		return "", err
	}
	if err := writeModule(root, dir); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-mod=mod", "-buildmode=c-shared", "-o", "libgojni.so", "./src/gobind")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build libgojni.so: %w\n%s", err, out)
	}
	return dir, nil
}

// rename takes the system's name out of the files that Go would build for Android only.
func rename(dir string) error {
	for _, pattern := range []string{"*_android.go", "*_android.c"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := os.Rename(f, strings.Replace(f, "_android.", "_jvm.", 1)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeStandIns writes what the system's part of the NDK would be.
func writeStandIns(dir string) error {
	jdk, err := jdkHome()
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "android"), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"android/log.h": logHeader,
		"flags.go":      fmt.Sprintf(flags, jdk),
		"liblog.a":      "!<arch>\n", // an archive without members
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// jdkHome is the directory that javac was started from.
func jdkHome() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return home, nil
	}
	javac, err := exec.LookPath("javac")
	if err != nil {
		return "", err
	}
	if javac, err = filepath.EvalSymlinks(javac); err != nil {
		return "", err
	}
	return filepath.Dir(filepath.Dir(javac)), nil
}

// writeModule makes dir a module beside this one, with the versions this one has.
func writeModule(root, dir string) error {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	text := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(string(mod), "module gobind")
	text += fmt.Sprintf("\nrequire p2pnode v0.0.0\n\nreplace p2pnode => %s\n", root)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644)
}
