package testnet

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// process is what this process uses: resident memory in bytes, open files, and
// processor seconds so far; 0 where the system does not say.
func process() (memory uint64, files int, cpu float64) {
	var all, resident uint64
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, err := fmt.Sscan(string(text), &all, &resident); err == nil {
			memory = resident * uint64(os.Getpagesize())
		}
	}
	if dir, err := os.Open("/proc/self/fd"); err == nil {
		names, _ := dir.Readdirnames(-1) // the names that could be read are enough
		files = max(0, len(names)-1)     // without the directory itself
		dir.Close()
	}
	return memory, files, ProcessorTime().Seconds()
}

// ProcessorTime is the processor time of this process so far; 0 where the system does
// not say.
func ProcessorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
