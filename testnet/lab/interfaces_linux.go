package lab

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HideInterfaces makes the kernel treat this process, all its threads, and every
// program it starts from now on as Android 11 and later treat apps: it refuses to bind
// a netlink socket, which net.Interfaces needs. This cannot be undone. The filter looks
// only at the length of the address, so it refuses any bind with that length.
func HideInterfaces() error {
	const (
		number     = 0           // offset in seccomp_data of the system call's number
		thirdLow   = 16 + 2*8    // and of the low half of the call's third argument
		setFilter  = 1           // SECCOMP_SET_MODE_FILTER
		allThreads = 1           // SECCOMP_FILTER_FLAG_TSYNC
		allow      = 0x7fff_0000 // SECCOMP_RET_ALLOW
		refuse     = 0x0005_0000 // SECCOMP_RET_ERRNO
	)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_BIND, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: thirdLow},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SizeofSockaddrNetlink, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: refuse | uint32(unix.EACCES)},
		{Code: unix.BPF_RET | unix.BPF_K, K: allow},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("lab: hide the interfaces: %w", err)
	}
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&program))); err != 0 {
		return fmt.Errorf("lab: hide the interfaces: %w", err)
	}
	return nil
}
