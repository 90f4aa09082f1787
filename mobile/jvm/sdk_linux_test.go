package jvm_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// sdk is a directory with stand-ins for the parts of Android's SDK and NDK that gomobile
// needs; see testdata/sdk.
type sdk struct{ dir, jdk string }

func newSDK(t *testing.T) sdk {
	t.Helper()
	needs(t, "javac", "java", "cc")
	if runtime.GOARCH != "amd64" {
		t.Skip("the stand-ins for Android's SDK are made for amd64")
	}
	jdk, err := jdkHome()
	require.NoError(t, err)
	s := sdk{t.TempDir(), jdk}
	require.NoError(t, os.CopyFS(s.dir, os.DirFS("testdata/sdk")))
	ndk := filepath.Join(s.dir, "ndk", "28.0.0")
	s.write(t, filepath.Join(ndk, "meta/platforms.json"), `{"min": 21, "max": 35}`)
	s.write(t, filepath.Join(ndk, "meta/abis.json"), `{"x86_64": {}}`)
	tools := filepath.Join(ndk, "toolchains/llvm/prebuilt/linux-x86_64/bin")
	require.NoError(t, os.MkdirAll(tools, 0o755))
	for _, name := range []string{"clang", "clang++"} {
		require.NoError(t, os.Symlink(filepath.Join(s.dir, "bin/clang"), filepath.Join(tools, name)))
	}
	s.libraries(t)
	require.NoError(t, os.Mkdir(s.classes(), 0o755))
	require.NoError(t, writeContext(filepath.Join(s.dir, "context")))
	require.NoError(t, javac(s.classes(), generatedRelease, filepath.Join(s.dir, "context")))
	jar := filepath.Join(s.dir, "platforms/android-35/android.jar")
	s.write(t, jar, "")
	run(t, exec.Command(filepath.Join(jdk, "bin/jar"), "cf", jar, "-C", s.classes(), "."))
	return s
}

// classes is the directory of the one class of android.jar.
func (s sdk) classes() string { return filepath.Join(s.dir, "classes") }

// runtime is the directory of the libraries that a phone has.
func (s sdk) runtime() string { return filepath.Join(s.dir, "runtime") }

// libraries makes the libraries to link with, and those that are there at run time: Go
// looks into libc.so by that name, and is content with an empty one.
func (s sdk) libraries(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Mkdir(s.runtime(), 0o755))
	for _, l := range [][]string{
		{"lib/liblog.so", filepath.Join(s.dir, "lib/log.c")},
		{"lib/libandroid.so"}, {"runtime/libandroid.so"}, {"runtime/libc.so"},
	} {
		out := filepath.Join(s.dir, l[0])
		args := append([]string{"-shared", "-fPIC", "-I" + filepath.Join(s.dir, "include"), "-o", out, "-x", "c", "/dev/null"}, l[1:]...)
		run(t, exec.Command("cc", args...))
	}
	require.NoError(t, os.Symlink(filepath.Join(s.dir, "lib/liblog.so"), filepath.Join(s.runtime(), "liblog.so")))
}

// environment makes build.sh use the stand-ins.
func (s sdk) environment() []string {
	return append(os.Environ(), "ANDROID_HOME="+s.dir, "ANDROID_NDK_HOME=", "JAVA_HOME="+s.jdk,
		"PATH="+filepath.Join(s.dir, "bin")+":"+os.Getenv("PATH"), "GOFLAGS=-buildvcs=false")
}

// tree is this module without the one that gomobile depends on and nobody needs, so that
// gomobile's go list works without the network.
func (s sdk) tree(t *testing.T) string {
	t.Helper()
	root, tree := moduleRoot(t), filepath.Join(s.dir, "tree")
	for _, dir := range []string{".", "mobile"} {
		require.NoError(t, os.MkdirAll(filepath.Join(tree, dir), 0o755))
		files, err := os.ReadDir(filepath.Join(root, dir))
		require.NoError(t, err)
		for _, f := range files {
			if name := filepath.Join(dir, f.Name()); name != "mobile" && name != "go.mod" {
				require.NoError(t, os.Symlink(filepath.Join(root, name), filepath.Join(tree, name)))
			}
		}
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	s.write(t, filepath.Join(tree, "go.mod"), string(mod)+"\nreplace golang.org/x/exp/shiny => ../shiny\n")
	s.write(t, filepath.Join(s.dir, "shiny/go.mod"), "module golang.org/x/exp/shiny\n")
	return tree
}

func (s sdk) write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// unzip puts an archive's files into a directory and returns their names.
func unzip(t *testing.T, archive, dir string) (names []string) {
	t.Helper()
	r, err := zip.OpenReader(archive)
	require.NoError(t, err)
	defer r.Close()
	require.NoError(t, os.CopyFS(dir, r))
	for _, f := range r.File {
		names = append(names, f.Name)
	}
	return names
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}
