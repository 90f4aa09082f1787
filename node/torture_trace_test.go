//go:build linux && amd64

package node

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"p2pnode/node/datadir"
)

// What package syscall does not name.
const (
	ptraceExitKill       = 0x100000
	ptraceGetSyscallInfo = 0x420e
	waitOwnThread        = 0x20000000 // __WNOTHREAD: children of this thread only
	waitAllKinds         = 0x40000000 // __WALL: threads too
	syscallStop          = syscall.SIGTRAP | 0x80
	sysRenameAt          = 264
)

// tracer stops a child at each of its system calls and does what the injector
// decides.
type tracer struct {
	injector *injector
	dir      string
	pid      int
	inside   map[int]verdict // by thread: of the call it is in
}

// callInfo is struct ptrace_syscall_info.
type callInfo struct {
	op   uint8 // 1: the call begins, 2: it ends
	_    [23]byte
	nr   uint64
	args [6]uint64
	_    uint64
}

// trace runs a command under the injector until it has ended, and returns how
// it ended. files are its standard streams.
func trace(i *injector, dir string, argv, env []string, files []uintptr) (syscall.WaitStatus, error) {
	// The kernel ties a traced process to the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: env, Files: files, Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("start the child under ptrace: %w", err)
	}
	hangs := time.AfterFunc(time.Minute, func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	defer hangs.Stop()
	t := &tracer{injector: i, dir: dir, pid: pid, inside: make(map[int]verdict)}
	status, err := t.run()
	if err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, waitAllKinds, nil)
	}
	return status, err
}

func (t *tracer) run() (status syscall.WaitStatus, err error) {
	if _, err := syscall.Wait4(t.pid, &status, waitAllKinds, nil); err != nil {
		return 0, fmt.Errorf("wait for the child to start: %w", err)
	}
	options := syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACESYSGOOD | ptraceExitKill
	if err := syscall.PtraceSetOptions(t.pid, options); err != nil {
		return 0, fmt.Errorf("trace the child: %w", err)
	}
	for thread := t.pid; ; {
		if err := t.resume(thread, status); err != nil {
			return 0, err
		}
		for {
			// By group, because another test may have started a program from the same thread.
			thread, err = syscall.Wait4(-t.pid, &status, waitAllKinds|waitOwnThread, nil)
			if err != nil && err != syscall.EINTR {
				return 0, fmt.Errorf("wait for the child: %w", err)
			}
			if status.Stopped() {
				break
			}
			if thread == t.pid { // reported after its other threads
				return status, nil
			}
		}
	}
}

// resume lets a stopped thread go on to its next stop. A thread that has been
// killed meanwhile is none of its business.
func (t *tracer) resume(thread int, status syscall.WaitStatus) error {
	deliver := status.StopSignal()
	switch deliver {
	case syscallStop:
		deliver = 0
		if err := t.atCall(thread); err != nil && err != syscall.ESRCH {
			return fmt.Errorf("trace a system call: %w", err)
		}
	case syscall.SIGTRAP, syscall.SIGSTOP: // a new program, a new thread
		deliver = 0
	}
	if err := syscall.PtraceSyscall(thread, int(deliver)); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("resume the child: %w", err)
	}
	return nil
}

func (t *tracer) atCall(thread int) error {
	var info callInfo
	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, ptraceGetSyscallInfo, uintptr(thread), unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if e != 0 {
		return e
	}
	switch info.op {
	case 1:
		s, ok, err := t.step(thread, info)
		if err != nil || !ok {
			return err
		}
		v := t.injector.next(s)
		t.inside[thread] = v
		return t.begin(thread, v)
	case 2:
		v, ok := t.inside[thread]
		delete(t.inside, thread)
		if !ok {
			return nil
		}
		return t.end(thread, v)
	}
	return nil
}

func (t *tracer) begin(thread int, v verdict) error {
	if v.kill || v.skip || v.size > 0 {
		var regs syscall.PtraceRegs
		if err := syscall.PtraceGetRegs(thread, &regs); err != nil {
			return err
		}
		if v.kill || v.skip {
			regs.Orig_rax = ^uint64(0) // no such call
		} else {
			regs.Rdx = uint64(v.size)
		}
		if err := syscall.PtraceSetRegs(thread, &regs); err != nil {
			return err
		}
	}
	if v.kill {
		return syscall.Kill(t.pid, syscall.SIGKILL)
	}
	return nil
}

func (t *tracer) end(thread int, v verdict) error {
	if v.killEnd {
		return syscall.Kill(t.pid, syscall.SIGKILL)
	}
	if !v.forge {
		return nil
	}
	var regs syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(thread, &regs); err != nil {
		return err
	}
	regs.Rax = uint64(v.result)
	return syscall.PtraceSetRegs(thread, &regs)
}

// step tells which of the child's files a call is about; false if none.
func (t *tracer) step(thread int, info callInfo) (s step, ok bool, err error) {
	descriptor := -1
	switch info.nr {
	case syscall.SYS_OPENAT:
		s.call = "open"
		if info.args[2]&syscall.O_CREAT != 0 {
			s.call = "create"
		}
		s.file, err = t.named(thread, uintptr(info.args[1]))
		return s, s.file != "", err
	case sysRenameAt:
		s.call = "rename"
		s.file, err = t.named(thread, uintptr(info.args[1]))
		return s, s.file != "", err
	case syscall.SYS_READ, syscall.SYS_PREAD64:
		s.call, descriptor = "read", int(int32(info.args[0]))
	case syscall.SYS_PWRITE64, syscall.SYS_WRITE:
		s.call, descriptor, s.size = "write", int(int32(info.args[0])), int(info.args[2])
	case syscall.SYS_FTRUNCATE:
		s.call, descriptor = "truncate", int(int32(info.args[0]))
	case syscall.SYS_FDATASYNC:
		s.call, descriptor = "fdatasync", int(int32(info.args[0]))
	case syscall.SYS_FSYNC:
		s.call, descriptor = "fsync", int(int32(info.args[0]))
	case syscall.SYS_MMAP:
		s.call, descriptor = "map", int(int32(info.args[4]))
	case syscall.SYS_FSTAT:
		s.call, descriptor = "stat", int(int32(info.args[0]))
	}
	if descriptor == 1 && s.call == "write" {
		s.file = "pipe"
		return s, true, nil
	}
	if descriptor > 2 {
		// A descriptor that is not open has no name, and the call fails by itself.
		path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.pid, descriptor))
		s.file = t.classify(path)
	}
	return s, s.file != "", nil
}

// named reads a path from the child's memory and classifies it.
func (t *tracer) named(thread int, at uintptr) (string, error) {
	var path []byte
	for len(path) < 4096 {
		var word [8]byte
		if n, err := syscall.PtracePeekData(thread, at+uintptr(len(path)), word[:]); err != nil || n < len(word) {
			return "", err
		}
		if end := bytes.IndexByte(word[:], 0); end >= 0 {
			return t.classify(string(append(path, word[:end]...))), nil
		}
		path = append(path, word[:]...)
	}
	return "", nil
}

func (t *tracer) classify(path string) string {
	name, inside := strings.CutPrefix(path, filepath.Join(t.dir, datadir.StoreFile))
	switch {
	case path == t.dir:
		return "directory"
	case !inside:
		return ""
	case strings.HasPrefix(name, ".anchor"):
		return "anchor"
	}
	return "store"
}
