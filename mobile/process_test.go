package mobile

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"testing"
)

// A goroutine that nobody guards, such as one of libp2p's, ends the process. The test
// runs itself as the program that dies.
func TestCrashFile(t *testing.T) {
	const asked = "MOBILE_TEST_CRASH"
	if path := os.Getenv(asked); path != "" {
		check(t, SetCrashFile(path))
		done := make(chan struct{})
		go func() { defer close(done); stumble(nil) }()
		<-done
		select {}
	}
	path := filepath.Join(t.TempDir(), "crash")
	for range 2 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashFile$")
		child.Env = append(os.Environ(), asked+"="+path)
		err := child.Run()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("runs in a step of its own: under an emulator a program cannot start itself")
		}
		if err == nil {
			t.Fatal("the program did not crash")
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || bytes.Count(text, []byte("mobile.stumble")) < 2 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestCrashFileIsAFile(t *testing.T) {
	if err := SetCrashFile(t.TempDir()); errorCode(err) != CodeInput {
		t.Errorf("a directory: %v", err)
	}
}

func TestCrashFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crash")
	check(t, os.WriteFile(path, make([]byte, maxCrash+1), 0o600), SetCrashFile(path), SetCrashFile(""))
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := SetCrashFile("crash"); errorCode(err) != CodeInput {
		t.Errorf("a relative path: %v", err)
	}
	if err := SetCrashFile(filepath.Join(path, "x")); errorCode(err) != CodeStorage {
		t.Errorf("a path below a file: %v", err)
	}
}

func TestMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	check(t, SetMemoryLimit(64))
	if got := debug.SetMemoryLimit(-1); got != 64<<20 {
		t.Errorf("%d", got)
	}
	for _, mb := range []int{-1, 0, 31, 1<<20 + 1} {
		if err := SetMemoryLimit(mb); errorCode(err) != CodeInput {
			t.Errorf("%d: %v", mb, err)
		}
	}
	check(t, open(t, testConfig(t), nil).TrimMemory())
	if Version() == "" {
		t.Error("no version")
	}
}
