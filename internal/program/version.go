// Package program says which version of p2pnode runs.
package program

import "runtime/debug"

// stamped is what a build script says, by the linker; empty where something else built it.
var stamped string

// module is the path of the module that p2pnode is.
const module = "p2pnode"

// Version is the version of p2pnode in this program, which may be an app that it is a part
// of; "unknown" if the program was built without it.
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
