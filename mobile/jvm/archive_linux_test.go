package jvm_test

import (
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/testnet/lab"
)

// TestArchive makes the archive for Android as build.sh does, with stand-ins for the
// SDK, and runs what is in it: Go code as it is compiled for Android, over this
// machine's C library.
func TestArchive(t *testing.T) {
	if os.Getenv("P2PNODE_ANDROID") == "" {
		t.Skip("runs nightly: set P2PNODE_ANDROID=yes")
	}
	m := newArchive(t)
	for _, s := range scenarios {
		t.Run(s, func(t *testing.T) { m.prove(t, s) })
	}
	t.Run("hidden", func(t *testing.T) {
		m.under = []string{os.Args[0], "-test.run=^TestHiding$"}
		m.env = append(m.env, hiding+"=yes")
		m.prove(t, "interfaces")
	})
}

// newArchive is a machine with what build.sh makes.
func newArchive(t *testing.T) machine {
	t.Helper()
	s := newSDK(t)
	out, aar, classes := t.TempDir(), t.TempDir(), t.TempDir()
	build := exec.Command("mobile/build.sh", "--arch", "amd64", "--out", out, "android")
	build.Dir, build.Env = s.tree(t), s.environment()
	run(t, build)

	names := unzip(t, filepath.Join(out, "p2pnode.aar"), aar)
	for _, want := range []string{"AndroidManifest.xml", "classes.jar", "jni/x86_64/libgojni.so", "proguard.txt"} {
		if !slices.Contains(names, want) {
			t.Errorf("the archive has no %s: %q", want, names)
		}
	}
	manifest, err := os.ReadFile(filepath.Join(aar, "AndroidManifest.xml"))
	require.NoError(t, err)
	if !strings.Contains(string(manifest), `minSdkVersion="24"`) {
		t.Errorf("the manifest: %s", manifest)
	}
	unzip(t, filepath.Join(aar, "classes.jar"), classes)
	require.NoError(t, os.CopyFS(classes, os.DirFS(s.classes())))
	require.NoError(t, javac(classes, "11", "harness"))
	return machine{classes: classes, library: filepath.Join(aar, "jni/x86_64"), env: []string{"LD_LIBRARY_PATH=" + s.runtime()}}
}

// hiding is set for a process of this test that is to become another program.
const hiding = "P2PNODE_HIDING"

// TestHiding hides the interfaces, as Android 11 and later do, and becomes the program
// that its arguments name.
func TestHiding(t *testing.T) {
	if os.Getenv(hiding) == "" {
		t.Skip("runs in a process of its own, for TestArchive")
	}
	program, err := exec.LookPath(flag.Arg(0))
	require.NoError(t, err)
	require.NoError(t, lab.HideInterfaces())
	if _, err := net.Interfaces(); !errors.Is(err, syscall.EACCES) {
		t.Fatalf("the interfaces are not hidden: %v", err)
	}
	require.NoError(t, syscall.Exec(program, flag.Args(), os.Environ()))
}
