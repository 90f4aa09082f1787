//go:build linux && amd64

package node

import (
	"fmt"
	"math/rand/v2"
	"syscall"
)

// step is one system call of the child on a file of its directory, or on the
// pipe it publishes to.
type step struct {
	call string
	file string // "store", "anchor", "directory" or "pipe"
	size int    // bytes to write; 0 for other calls
}

func (s step) String() string { return s.call + " " + s.file }

// changes reports whether the call can change what a reader finds later.
func (s step) changes() bool {
	switch s.call {
	case "open", "read", "stat", "map":
		return false
	}
	return true
}

// action is what befalls a step.
type action string

const (
	killBefore  action = "kill before"
	killAfter   action = "kill after"
	noSpace     action = "no space"       // ENOSPC, nothing is done
	ioError     action = "I/O error"      // EIO, nothing is done
	ioErrorLate action = "late I/O error" // EIO, though it is done
	shortWrite  action = "short write"    // a part is written, and the result says so
	tornKill    action = "torn and kill"  // a part is written
	tornFull    action = "torn, then full"
	powerCut    action = "power cut" // of this and the next writes to the file parts are lost; kill before it is synced
)

func actions() []action {
	return []action{killBefore, killAfter, noSpace, ioError, ioErrorLate, shortWrite, tornKill, tornFull, powerCut}
}

// fails reports whether the program is told of an error.
func (a action) fails() bool {
	return a == noSpace || a == ioError || a == ioErrorLate || a == tornFull
}

// befalls reports whether the action makes sense for a step.
func (a action) befalls(s step) bool {
	sync := s.call == "fdatasync" || s.call == "fsync"
	switch a {
	case killBefore, killAfter:
		return s.changes()
	case noSpace:
		return s.changes() && s.file != "pipe" && s.call != "rename"
	case ioError:
		return s.file != "pipe"
	case ioErrorLate:
		return s.file != "pipe" && (s.size > 0 || sync)
	default:
		return s.file != "pipe" && s.size > 1
	}
}

// fault is an action at the step that comes after a number of others it could
// befall.
type fault struct {
	action action
	after  int
	seed   uint64 // of the parts that are written
}

func (f fault) String() string {
	return fmt.Sprintf("%s at its step %d (seed %d)", f.action, f.after, f.seed)
}

// verdict says how a step goes on. The zero verdict lets it pass.
type verdict struct {
	kill    bool  // before it is done
	skip    bool  // it is not done
	size    int   // if positive, only so many bytes are written
	result  int64 // with forge: what the program is told
	forge   bool
	killEnd bool // after it is done
}

// injector decides on the steps of one child, in order.
type injector struct {
	fault  fault
	random *rand.Rand
	steps  []step
	seen   int // steps the fault could have befallen
	hit    int // index of the step it befell, -1 before
	said   int // lines the child had begun to publish until then
	killed bool
}

func newInjector(f fault) *injector {
	return &injector{fault: f, random: rand.New(rand.NewPCG(f.seed, 1)), hit: -1}
}

// told reports whether the child was told of an error in a step that changes
// something: then it must stop. A failed read it may do without.
func (i *injector) told() bool {
	return i.hit >= 0 && i.fault.action.fails() && i.steps[i.hit].changes()
}

// next decides on the next step.
func (i *injector) next(s step) verdict {
	v := i.judge(s)
	i.killed = i.killed || v.kill || v.killEnd
	return v
}

func (i *injector) judge(s step) verdict {
	i.steps = append(i.steps, s)
	if i.hit >= 0 {
		return i.aftermath(s)
	}
	if s.file == "pipe" {
		i.said++
	}
	if !i.fault.action.befalls(s) {
		return verdict{}
	}
	if i.seen++; i.seen <= i.fault.after {
		return verdict{}
	}
	i.hit = len(i.steps) - 1
	switch i.fault.action {
	case killBefore:
		return verdict{kill: true}
	case killAfter:
		return verdict{killEnd: true}
	case noSpace:
		return refusal(syscall.ENOSPC)
	case ioError:
		return refusal(syscall.EIO)
	case ioErrorLate:
		return verdict{forge: true, result: -int64(syscall.EIO)}
	case tornKill:
		return verdict{size: i.part(s), killEnd: true}
	case powerCut:
		return i.lose(s)
	default:
		return verdict{size: i.part(s)}
	}
}

// aftermath is for actions that take more than one step.
func (i *injector) aftermath(s step) verdict {
	first := i.hit == len(i.steps)-2
	switch {
	case i.fault.action == tornFull && first:
		return refusal(syscall.ENOSPC)
	case i.fault.action == powerCut && s.file == i.steps[i.hit].file && s.changes():
		if s.size == 0 { // a sync, or a new size
			return verdict{kill: true}
		}
		if i.random.IntN(2) == 0 {
			return i.lose(s)
		}
	}
	return verdict{}
}

// lose writes a part or nothing, and tells the program that all is written.
func (i *injector) lose(s step) verdict {
	v := verdict{forge: true, result: int64(s.size)}
	if v.skip = i.random.IntN(2) == 0; !v.skip {
		v.size = i.part(s)
	}
	return v
}

// part is how much of a write is done: often little, because the first bytes of
// a page matter most.
func (i *injector) part(s step) int {
	size := s.size
	if i.random.IntN(2) == 0 {
		size = min(size, 100)
	}
	return 1 + i.random.IntN(size-1)
}

func refusal(reason syscall.Errno) verdict {
	return verdict{skip: true, forge: true, result: -int64(reason)}
}
