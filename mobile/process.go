package mobile

// SetCrashFile makes the Go runtime write what a crash of the process leaves, its
// goroutines, to a file, which the app can offer to send at its next start. It holds no
// record.
func SetCrashFile(path string) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// SetMemoryLimit tells the garbage collector how many megabytes the process's Go part
// should stay below: a goal, not a bound. It counts for all nodes.
func SetMemoryLimit(megabytes int) (err error) {
	defer guard(&err)
	return errNotBuilt
}

// TrimMemory gives back what can be given back, at onTrimMemory or
// didReceiveMemoryWarning. It takes up to a second.
func (n *Node) TrimMemory() (err error) {
	defer guard(&err)
	return errNotBuilt
}

// version is set by the linker, as build.sh does: the module that gomobile builds
// is another, so what Go itself knows would say nothing of this one.
var version = "unknown"

// Version is the version of the bindings.
func Version() string { return version }
