package node

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestOfflimitsInterfaces runs TestUnderTheBan in a process that Linux treats as
// Android 11 and later treat programs: it may not ask for the interfaces.
func TestOfflimitsInterfaces(t *testing.T) {
	if os.Getenv("P2PNODE_BAN") != "" {
		t.Skip("this is the process under the ban")
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestUnderTheBan$", "-test.v")
	child.Env = append(os.Environ(), "P2PNODE_BAN=yes")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
}

// TestUnderTheBan starts two nodes that are told of the interfaces and find each
// other with mDNS.
func TestUnderTheBan(t *testing.T) {
	if os.Getenv("P2PNODE_BAN") == "" {
		t.Skip("TestOfflimitsInterfaces runs this in a process of its own")
	}
	if err := banNetlink(); err != nil {
		t.Skipf("the system lets nobody filter its calls: %v", err)
	}
	if _, err := net.Interfaces(); !errors.Is(err, syscall.EACCES) {
		t.Fatalf("the interfaces can be listed under the ban: %v", err)
	}
	wild := func(c *Config) {
		c.Listen = []string{"/ip4/0.0.0.0/tcp/0"}
		c.MDNS = true
		c.UPnP = false
	}
	a, b := testNode(t, lineTask(), nil, wild), testNode(t, lineTask(), nil, wild)
	loopback := Interface{Name: "lo", Index: 1, Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, Multicast: true}
	mobile := Interface{Name: "rmnet0", Index: 2, Addrs: []netip.Addr{netip.MustParseAddr("10.99.0.1")}}
	start(t, a)
	addrs, err := a.Addrs(t.Context())
	if err != nil || len(addrs) != 1 || !strings.HasPrefix(addrs[0], "/ip4/127.0.0.1/") {
		t.Errorf("told of nothing, the node announces %v, %v", addrs, err)
	}
	a.SetInterfaces([]Interface{mobile})
	addrs, err = a.Addrs(t.Context())
	if err != nil || !slices.ContainsFunc(addrs, func(a string) bool { return strings.HasPrefix(a, "/ip4/10.99.0.1/tcp/") }) {
		t.Errorf("told of 10.99.0.1, the node announces %v, %v", addrs, err)
	}
	a.SetInterfaces([]Interface{loopback})
	b.SetInterfaces([]Interface{loopback})
	start(t, b)
	eventually(t, "the two find each other", func() bool {
		return status(t, a).Neighbours == 1 && status(t, b).Neighbours == 1
	})
}

// banNetlink makes the kernel refuse what net.Interfaces needs, in all threads
// and for good: bind with the length of a netlink address.
func banNetlink() error {
	const (
		number     = 0           // offset in seccomp_data of the system call's number
		thirdLow   = 16 + 2*8    // and of the low half of its third argument
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
		return err
	}
	if _, _, err := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&program))); err != 0 {
		return err
	}
	return nil
}
