package mobile

import (
	"os"
	"path/filepath"
	"runtime/debug"
)

const (
	// maxCrash is how much is kept of crashes that nobody has collected.
	maxCrash = 1 << 20
	// leastMemory is what a node that does nothing takes, in megabytes.
	leastMemory = 32
)

// SetCrashFile makes the Go runtime append to a file what a crash of the process leaves:
// the reason and the stack of the goroutine. An app reads the file at its next start,
// shows it to its user, may send it, deletes it, and then calls this again. A stack
// names functions and has the numbers that were handed to them, which may be one of an
// example's. It counts for the whole process; "" turns it off.
func SetCrashFile(path string) (err error) {
	defer guard(&err)
	if path == "" {
		return debug.SetCrashOutput(nil, debug.CrashOptions{})
	}
	if !filepath.IsAbs(path) {
		return wrongInput("the crash file %q is no absolute path", path)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxCrash {
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
// should stay below, at least 32: a goal, not a bound. It counts for all nodes.
func SetMemoryLimit(megabytes int) (err error) {
	defer guard(&err)
	if megabytes < leastMemory || megabytes > 1<<20 {
		return wrongInput("a memory limit of %d MB is outside %d to %d", megabytes, leastMemory, 1<<20)
	}
	debug.SetMemoryLimit(int64(megabytes) << 20)
	return nil
}

// TrimMemory gives back what can be given back, at onTrimMemory or
// didReceiveMemoryWarning. It takes up to a second.
func (n *Node) TrimMemory() (err error) {
	defer n.guard(&err)
	leave, err := n.enter()
	if err != nil {
		return err
	}
	defer leave()
	n.node.Trim()
	debug.FreeOSMemory()
	return nil
}

// version is set by the linker, as build.sh does: the module that gomobile builds
// is another, so what Go itself knows would say nothing of this one.
var version = "unknown"

// Version is the version of the bindings.
func Version() string { return version }
