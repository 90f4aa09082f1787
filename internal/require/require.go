// Package require has what many tests ask for, and ends a test that does not get it.
// Only tests import it.
package require

import (
	"testing"
	"time"
)

// patience is how long a test waits for what takes milliseconds on a machine that has
// nothing else to do.
const patience = 4 * time.Minute

// NoError ends the test at the first error.
func NoError(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Eventually polls until the condition holds, and ends the test after minutes.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	Within(t, patience, what, condition)
}

// Within polls until the condition holds, and ends the test when the time is over.
func Within(t testing.TB, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	poll(t, limit, func() string {
		if condition() {
			return ""
		}
		return what
	})
}

// Nothing polls until missing returns nothing, and ends the test after minutes with
// what it returned last.
func Nothing(t testing.TB, missing func() string) {
	t.Helper()
	poll(t, patience, missing)
}

func poll(t testing.TB, limit time.Duration, missing func() string) {
	t.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		m := missing()
		if m == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, m)
		}
	}
}
