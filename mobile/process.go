package mobile

import (
	"os"
	"path/filepath"
	"runtime/debug"
)

const (
	// maxCrash is how much is kept of crash reports that nobody has collected.
	maxCrash = 1 << 20
	// leastMemory is the memory that an idle node takes, in megabytes.
	leastMemory = 32
)

// SetCrashFile makes the Go runtime append the reason of a crash and the stack of the
// goroutine to a file. An app reads the file at its next start, shows it to its user,
// may send it, deletes it, and then calls this again. A stack names functions and
// contains the numbers that were passed to them, which may include a number of an
// example. The setting is for the whole process; "" turns it off.
func SetCrashFile(path string) (err error) {
	defer guard(&err)
	if path == "" {
		return debug.SetCrashOutput(nil, debug.CrashOptions{})
	}
	if !filepath.IsAbs(path) {
		return wrongInput("the crash file %q is no absolute path", path)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular(): // opening a pipe takes until somebody reads it
		return wrongInput("%q is no regular file; give the path of a file for crashes alone", path)
	case err == nil && info.Size() > maxCrash:
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return coded(CodeStorage, err)
	}
	defer file.Close() // the runtime has a copy
	return debug.SetCrashOutput(file, debug.CrashOptions{})
}

// SetMemoryLimit tells the garbage collector how many megabytes the process's Go part
// should stay below, at least 32. It is a goal, not a bound, and it is for all nodes of
// the process.
func SetMemoryLimit(megabytes int) (err error) {
	defer guard(&err)
	if megabytes < leastMemory || megabytes > 1<<20 {
		return wrongInput("a memory limit of %d MB is outside %d to %d", megabytes, leastMemory, 1<<20)
	}
	debug.SetMemoryLimit(int64(megabytes) << 20)
	return nil
}

// TrimMemory frees as much memory as it can. Call it at onTrimMemory or
// didReceiveMemoryWarning. It takes up to a second.
func (n *Node) TrimMemory() error {
	return n.do(func() error {
		n.node.Trim()
		debug.FreeOSMemory()
		return nil
	})
}

// version is set by the linker; build.sh does so. gomobile builds another module, so
// Go's own build information is not about this one.
var version = "unknown"

// Version is the version of the bindings.
func Version() string { return version }
