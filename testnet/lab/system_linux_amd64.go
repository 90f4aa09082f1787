package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// System stands between a command and the kernel. It gives the command another time of
// day, and can make its disk slow. The clock for the command's timers stays right, as
// when somebody sets a machine's clock. Its methods are safe for concurrent use.
//
// It answers some of the command's system calls in the kernel's place
// (seccomp_unotify(2)).
type System struct {
	ahead   atomic.Int64 // how far the time of day is ahead, in nanoseconds
	stalled atomic.Int64 // the time on this process's clock until which nothing reaches the disk
	held    atomic.Int64 // number of system calls that wait for that
	begin   time.Time
	calls   *os.File // the kernel's notifications
	gate    [2]*os.File
	running sync.WaitGroup
}

// NewSystem puts a system under a command that has not started. helper is a program that
// does what [RunUnder] does with its arguments.
func NewSystem(cmd *exec.Cmd, helper string) (*System, error) {
	path, err := exec.LookPath(helper)
	if err != nil {
		return nil, fmt.Errorf("lab: the helper under a command: %w", err)
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("lab: put a system under a command: %w", err)
	}
	s := &System{begin: time.Now(), gate: [2]*os.File{os.NewFile(uintptr(ends[0]), "gate"), os.NewFile(uintptr(ends[1]), "gate")}}
	cmd.Args = append([]string{helper, cmd.Path}, cmd.Args...)
	cmd.Path = path
	cmd.ExtraFiles = []*os.File{s.gate[1]} // becomes descriptor 3
	return s, nil
}

// Run answers the command's calls until the command has ended. Call it after the start.
func (s *System) Run() error {
	defer s.gate[0].Close()
	if err := s.gate[1].Close(); err != nil {
		return err
	}
	calls, err := receive(int(s.gate[0].Fd()))
	if err != nil {
		return fmt.Errorf("lab: the command did not come under its system: %w", err)
	}
	s.calls = calls
	defer calls.Close()
	defer s.running.Wait()
	for {
		c, err := s.next()
		switch {
		case err != nil:
			return err
		case c == nil:
			return nil
		case c.number == unix.SYS_FSYNC || c.number == unix.SYS_FDATASYNC:
			s.running.Go(func() { s.sync(c) })
		default:
			s.answer(c)
		}
	}
}

// SetAhead sets how far the command's time of day is ahead of the right one; a negative
// value sets it behind.
func (s *System) SetAhead(d time.Duration) { s.ahead.Store(int64(d)) }

// Stall delays, for this time, everything that the command writes to disk.
func (s *System) Stall(d time.Duration) { s.stalled.Store(int64(time.Since(s.begin) + d)) }

// Held returns how many of the command's calls wait for the disk now.
func (s *System) Held() int { return int(s.held.Load()) }

func (s *System) sync(c *call) {
	s.held.Add(1)
	defer s.held.Add(-1)
	for s.still(c) {
		left := time.Duration(s.stalled.Load()) - time.Since(s.begin)
		if left <= 0 {
			break
		}
		time.Sleep(min(left, 10*time.Millisecond))
	}
	s.reply(c, goOn)
}

func (s *System) answer(c *call) {
	switch c.number {
	case unix.SYS_ARCH_PRCTL:
		_ = withoutVDSO(c.pid) // if this fails the command's clock is right, and a test notices that
	case unix.SYS_CLOCK_GETTIME:
		now := unix.NsecToTimespec(time.Now().UnixNano() + s.ahead.Load())
		if poke(c.pid, uintptr(c.args[1]), unsafe.Slice((*byte)(unsafe.Pointer(&now)), unsafe.Sizeof(now))) == nil {
			s.reply(c, 0)
			return
		}
	}
	s.reply(c, goOn)
}

// call is the struct seccomp_notif.
type call struct {
	id     uint64
	pid    uint32
	_      uint32
	number int32
	_      uint32
	_      uint64
	args   [6]uint64
}

// The ioctls of seccomp_unotify(2), and the flag of a reply.
const (
	notifReceive = 0xc0502100
	notifSend    = 0xc0182101
	notifValid   = 0x40082102
	goOn         = 1 // SECCOMP_USER_NOTIF_FLAG_CONTINUE: the kernel does the call
)

// next waits for a call; it returns nil when the command has ended.
func (s *System) next() (*call, error) {
	for {
		ready := []unix.PollFd{{Fd: int32(s.calls.Fd()), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && err != unix.EINTR {
			return nil, fmt.Errorf("lab: wait for a system call: %w", err)
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[0].Revents&unix.POLLHUP != 0 {
				return nil, nil
			}
			continue
		}
		c := new(call)
		switch err := s.control(notifReceive, unsafe.Pointer(c)); err {
		case 0:
			return c, nil
		case unix.ENOENT, unix.EINTR: // a signal ended the call first
		default:
			return nil, fmt.Errorf("lab: take a system call: %w", err)
		}
	}
}

// still reports whether the call still waits: its thread may have been killed.
func (s *System) still(c *call) bool { return s.control(notifValid, unsafe.Pointer(&c.id)) == 0 }

// reply ends a call, with success or by letting the kernel carry it out. The call may
// have ended already.
func (s *System) reply(c *call, flags uint32) {
	answer := struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}{id: c.id, flags: flags}
	_ = s.control(notifSend, unsafe.Pointer(&answer))
}

func (s *System) control(request uintptr, argument unsafe.Pointer) syscall.Errno {
	_, _, err := unix.Syscall(unix.SYS_IOCTL, s.calls.Fd(), request, uintptr(argument))
	return err
}

// RunUnder is the helper of [NewSystem]. It becomes the program that its arguments name
// (a path, then the program's arguments), under the system at descriptor 3. It does not
// return.
func RunUnder() {
	fmt.Fprintln(os.Stderr, "lab:", runUnder(os.Args[1:]))
	os.Exit(1)
}

func runUnder(args []string) error {
	if len(args) < 2 {
		return errors.New("name a program and its arguments")
	}
	runtime.LockOSThread() // the filter belongs to this thread, which becomes the program
	calls, err := listen()
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(calls), nil, 0); err != nil {
		return fmt.Errorf("hand over the system calls: %w", err)
	}
	if err := errors.Join(unix.Close(calls), unix.Close(3)); err != nil {
		return err
	}
	return unix.Exec(args[0], args[1:], os.Environ())
}

// listen makes the kernel ask about the calls of this thread and of its children.
func listen() (int, error) {
	const (
		setFilter = 1           // SECCOMP_SET_MODE_FILTER
		listener  = 1<<3 | 1<<5 // NEW_LISTENER, WAIT_KILLABLE_RECV: the runtime's signals do not interrupt a call
		allow     = 0x7fff_0000
		ask       = 0x7fc0_0000 // SECCOMP_RET_USER_NOTIF
		firstLow  = 16          // offset of the low half of the first argument
	)
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	filter := []unix.SockFilter{
		load(0),
		equal(unix.SYS_FSYNC, 5, 0),
		equal(unix.SYS_FDATASYNC, 4, 0),
		equal(unix.SYS_ARCH_PRCTL, 3, 0),
		equal(unix.SYS_CLOCK_GETTIME, 0, 3),
		load(firstLow),
		equal(unix.CLOCK_REALTIME, 0, 1),
		{Code: unix.BPF_RET | unix.BPF_K, K: ask},
		{Code: unix.BPF_RET | unix.BPF_K, K: allow},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("ask for system calls: %w", err)
	}
	fd, _, err := unix.Syscall(unix.SYS_SECCOMP, setFilter, listener, uintptr(unsafe.Pointer(&program)))
	if err != 0 {
		return 0, fmt.Errorf("ask for system calls: %w", err)
	}
	return int(fd), nil
}

// receive receives the descriptor that the helper sends.
func receive(gate int) (*os.File, error) {
	room := make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := unix.Recvmsg(gate, make([]byte, 1), room, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return nil, errors.Join(errors.New("the helper has ended"), err)
	}
	messages, err := unix.ParseSocketControlMessage(room[:size])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("the helper has sent nothing"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(errors.New("the helper has sent nothing"), err)
	}
	return os.NewFile(uintptr(fds[0]), "system calls"), nil
}

// withoutVDSO hides from a program that is about to start that it could read the time
// of day without a system call. The vector that the kernel has put on its stack says
// so.
func withoutVDSO(pid uint32) error {
	const (
		stackField = 28 - 3 // in /proc/PID/stat, after the name: where the arguments begin
		ignore     = 1      // AT_IGNORE
		vdso       = 33     // AT_SYSINFO_EHDR
	)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var at uintptr
	if _, err := fmt.Sscan(fields[stackField], &at); err != nil {
		return err
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	word := func() (w uint64, err error) {
		_, err = memory.ReadAt(unsafe.Slice((*byte)(unsafe.Pointer(&w)), 8), int64(at))
		at += 8
		return w, err
	}
	if _, err := word(); err != nil { // skips the number of arguments
		return err
	}
	for range 2 { // skips the arguments, then the environment
		for w := uint64(1); w != 0; {
			if w, err = word(); err != nil {
				return err
			}
		}
	}
	for {
		kind, err := word()
		if err != nil || kind == 0 {
			return err
		}
		if kind == vdso {
			return poke(pid, at-8, []byte{ignore, 0, 0, 0, 0, 0, 0, 0})
		}
		at += 8
	}
}

// poke writes into the memory of a process.
func poke(pid uint32, at uintptr, data []byte) error {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = memory.WriteAt(data, int64(at))
	return errors.Join(err, memory.Close())
}
