package api

import (
	"fmt"
	"math"
)

// Lasting writes a number of seconds as people say it.
func Lasting(seconds float64) string {
	for _, unit := range []struct {
		seconds float64
		name    string
	}{{365 * 86_400, "year"}, {86_400, "day"}, {3600, "hour"}, {60, "minute"}} {
		if n := seconds / unit.seconds; n >= 1.5 || n == 1 {
			return Count(int(math.Round(n)), unit.name)
		}
	}
	if seconds <= 1 {
		return fmt.Sprintf("%.3g second", seconds)
	}
	return fmt.Sprintf("%.3g seconds", seconds)
}

// Count writes a number of things: "1 record", "2 records".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
