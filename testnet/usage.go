package testnet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// usage is what processes have used since they began, and what their loopback
// interface has sent since it was made.
type usage struct {
	cpu            float64 // seconds, user and system
	wakeups        float64 // of all threads: times one went to sleep
	bytes, packets float64 // sent, headers included
}

func (u usage) minus(v usage) usage {
	return usage{u.cpu - v.cpu, u.wakeups - v.wakeups, u.bytes - v.bytes, u.packets - v.packets}
}

func (u usage) over(x float64) usage {
	return usage{u.cpu / x, u.wakeups / x, u.bytes / x, u.packets / x}
}

// errNoUsage says that there is nothing to be read of a process.
var errNoUsage = errors.New("testnet: /proc does not say what the process uses: it has ended, or this system is not Linux")

// usageOf reads what the kernel knows of a process. Threads that have ended are not
// in it; those of a Go program hardly ever do.
func usageOf(pid int) (u usage, err error) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is good
	for _, t := range threads {
		var nanoseconds float64
		if text, err := os.ReadFile(filepath.Join(t, "schedstat")); err == nil {
			_, _ = fmt.Sscan(string(text), &nanoseconds)
		}
		u.cpu += nanoseconds / 1e9
		status, _ := os.ReadFile(filepath.Join(t, "status"))
		u.wakeups += stated(status, "voluntary_ctxt_switches")
	}
	devices, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	for line := range strings.Lines(string(devices)) {
		name, numbers, _ := strings.Cut(strings.TrimSpace(line), ":")
		if f := strings.Fields(numbers); name == "lo" && len(f) > 9 {
			_, _ = fmt.Sscan(f[8]+" "+f[9], &u.bytes, &u.packets)
		}
	}
	if u.cpu == 0 {
		return usage{}, errNoUsage
	}
	return u, nil
}

// stated is the number that the text of a file of /proc has after a name; 0 if it has none.
func stated(text []byte, name string) (v float64) {
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, name+": %f", &v); n == 1 {
			return v
		}
	}
	return 0
}
