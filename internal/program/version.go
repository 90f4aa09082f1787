// Package program says which version of p2pnode runs.
package program

import "runtime/debug"

// stamped is the version that a build script sets with the linker; it is empty in other
// builds.
var stamped string

// module is the path of the module that p2pnode is.
const module = "p2pnode"

// Version is the version of p2pnode in this program, which may be an app that contains
// it; "unknown" if the program was built without it.
func Version() string {
	if stamped != "" {
		return stamped
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return unknown
}

const unknown = "unknown"
