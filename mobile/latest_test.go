package mobile

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The answer is never later than the caller's patience, and says how old it is.
func TestLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var takes, asked atomic.Int64
		var fails atomic.Bool
		l := &latest[int]{ask: func() (int, error) {
			n := asked.Add(1)
			time.Sleep(time.Duration(takes.Load()))
			if fails.Load() {
				return 0, errors.New("no")
			}
			return int(n), nil
		}}
		get := func(want int, wantAge time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
			defer cancel()
			begin := time.Now()
			v, age, err := l.get(ctx)
			if took := time.Since(begin); v != want || age != wantAge || err != nil || took > 40*time.Millisecond {
				t.Errorf("%d, %v old, %v, after %v; want %d, %v old", v, age, err, took, want, wantAge)
			}
		}
		get(1, 0)
		takes.Store(int64(10 * time.Second))
		time.Sleep(time.Second)
		get(1, 1040*time.Millisecond)
		time.Sleep(time.Second)
		get(1, 2040*time.Millisecond) // nobody waits for it again
		if n := asked.Load(); n != 2 {
			t.Errorf("asked %d times, want twice: one attempt at a time", n)
		}
		time.Sleep(10 * time.Second)
		takes.Store(0)
		get(3, 0)
		fails.Store(true)
		time.Sleep(time.Second)
		get(3, time.Second)
	})
}

func TestLatestBeforeAnyAnswer(t *testing.T) {
	no := errors.New("no")
	l := &latest[int]{ask: func() (int, error) { return 0, no }}
	if _, _, err := l.get(t.Context()); !errors.Is(err, no) {
		t.Errorf("%v, want the error of the attempt", err)
	}
	l.ask = func() (int, error) { panic("defect") }
	if _, _, err := l.get(t.Context()); err == nil {
		t.Error("a panic is no error")
	}
}
