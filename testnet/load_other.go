//go:build !linux

package testnet

import "time"

// process returns zeros: nothing is read on this system.
func process() (memory uint64, files int, cpu float64) { return 0, 0, 0 }

// ProcessorTime returns zero: nothing is read on this system.
func ProcessorTime() time.Duration { return 0 }
