package require

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a test that must end.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatal(args ...any) {
	f.said = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *failing) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// ended runs a test and returns what it was ended with.
func ended(t *testing.T, test func(testing.TB)) string {
	f, done := &failing{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		test(f)
	}()
	<-done
	return f.said
}

func TestWhatIsNotThereEndsTheTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, test := range map[string]func(testing.TB){
			"disk full":             func(t testing.TB) { NoError(t, nil, errors.New("disk full")) },
			"not within 4m0s: rain": func(t testing.TB) { Eventually(t, "rain", func() bool { return false }) },
			"not within 1s: snow":   func(t testing.TB) { Within(t, time.Second, "snow", func() bool { return false }) },
			"not within 4m0s: two":  func(t testing.TB) { Nothing(t, func() string { return "two" }) },
		} {
			if got := ended(t, test); got != want {
				t.Errorf("ended with %q, want %q", got, want)
			}
		}
	})
}

func TestWhatComesLateIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		NoError(t, nil)
		Eventually(t, "a minute passes", func() bool { return time.Since(start) >= time.Minute })
		Nothing(t, func() string { return strings.Repeat("x", max(0, 2-int(time.Since(start)/time.Minute))) })
		if waited := time.Since(start); waited < 2*time.Minute || waited > 2*time.Minute+time.Second {
			t.Errorf("waited for %v", waited)
		}
	})
}
