package testnet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// threeIdle is about a second with three daemons.
func threeIdle(t *testing.T, program string) IdleOptions {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says what a process uses")
	}
	return IdleOptions{
		Program: program, Dir: t.TempDir(),
		Nodes: 3, Power: "low", Settle: 100 * time.Millisecond, Quiet: time.Second,
	}
}

func TestMeasureIdle(t *testing.T) {
	defer goleak.VerifyNone(t, leaks()...)
	program := fewDaemons(t).Daemons.Program
	o := threeIdle(t, program)
	var last IdleProgress
	o.Progress = func(p IdleProgress) { last = p }
	c, err := MeasureIdle(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if c.Neighbours != 2 || c.Seconds < 1 || c.PSS < 1<<20 || c.RSS < c.PSS || c.CPU <= 0 || c.CPU > 3600 || c.Wakeups <= 0 || c.Packets < 0 {
		t.Errorf("%+v", c)
	}
	if last.Linked != 3 || last.Waited < o.Settle+o.Quiet || last.Whole != o.Settle+o.Quiet {
		t.Errorf("the last progress is %+v", last)
	}

	// Interrupted while it measures, it says what it has; before, that it was.
	o = threeIdle(t, program)
	o.Quiet = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p IdleProgress) {
		if p.Waited > o.Settle+time.Second/2 {
			cancel()
		}
	}
	if c, err := MeasureIdle(ctx, o); err != nil || c.Seconds > 60 || c.CPU <= 0 {
		t.Errorf("interrupted: %+v, %v", c, err)
	}
	o.Dir = t.TempDir()
	if c, err := MeasureIdle(ctx, o); c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted before: %+v, %v", c, err)
	}
}

func TestIdleValidate(t *testing.T) {
	good := IdleOptions{Program: "p2pnode", Dir: "nodes", Nodes: 11, Power: "normal", Settle: time.Second, Quiet: time.Second}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*IdleOptions)
		want   string
	}{
		{func(o *IdleOptions) { o.Program = "" }, "required"},
		{func(o *IdleOptions) { o.Nodes = 1 }, "nodes 1"},
		{func(o *IdleOptions) { o.Power = "high" }, "choose normal or low"},
		{func(o *IdleOptions) { o.Quiet = 0 }, "quiet 0s"},
	} {
		o := good
		c.change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// A daemon that ends is not taken for one that costs nothing.
func TestIdleDaemonThatFails(t *testing.T) {
	program := filepath.Join(t.TempDir(), "p2pnode")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho the disk is full >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := MeasureIdle(t.Context(), threeIdle(t, program)); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v, want the daemon's last words", err)
	}
}

func TestUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says what a process uses")
	}
	before, err := usageOf(os.Getpid())
	if err != nil || before.cpu <= 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	start := time.Now()
	for time.Since(start) < 50*time.Millisecond { // work
	}
	after, err := usageOf(os.Getpid())
	if u := after.minus(before).over(2); err != nil || u.cpu <= 0 || u.wakeups < 0 {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := usageOf(-1); err == nil {
		t.Error("no process has used nothing")
	}
}
