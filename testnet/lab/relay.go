package lab

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"
)

// relay is a slow cable: it carries the frames of one TAP device to another with a
// delay, and back. The kernel's own tool for that, netem, is often not built in.
type relay struct {
	ends    [2]*os.File
	mu      sync.Mutex
	lines   [2]*line         // from end 0, and from end 1
	arrived [2]chan struct{} // has a value after a push
	running sync.WaitGroup
}

// newRelay makes a TAP device on each of two hosts and carries frames between
// them until close.
func newRelay(a *Host, deviceA string, b *Host, deviceB string, d Delay) (*relay, error) {
	endA, err := a.tap(deviceA)
	if err != nil {
		return nil, err
	}
	endB, err := b.tap(deviceB)
	if err != nil {
		return nil, errors.Join(err, endA.Close())
	}
	r := &relay{ends: [2]*os.File{endA, endB}}
	for i := range r.ends {
		r.lines[i], r.arrived[i] = newLine(d), make(chan struct{}, 1)
		r.running.Go(func() { r.read(i) })
		r.running.Go(func() { r.write(i) })
	}
	return r, nil
}

// close ends the relay and takes the devices away. A nil relay has nothing to
// close.
func (r *relay) close() error {
	if r == nil {
		return nil
	}
	err := errors.Join(r.ends[0].Close(), r.ends[1].Close())
	r.running.Wait()
	return err
}

// read takes in frames at an end until that end is closed or its device is gone.
func (r *relay) read(from int) {
	defer close(r.arrived[from])
	buffer := make([]byte, 1<<16)
	for {
		n, err := r.ends[from].Read(buffer)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.lines[from].push(time.Now(), slices.Clone(buffer[:n]))
		r.mu.Unlock()
		select {
		case r.arrived[from] <- struct{}{}:
		default:
		}
	}
}

// write sends frames out at the other end when they are due, until read has ended.
func (r *relay) write(from int) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r.mu.Lock()
		data, wait, more := r.lines[from].pop(time.Now())
		r.mu.Unlock()
		if data != nil {
			_, _ = r.ends[1-from].Write(data) // lost if the device is down
			continue
		}
		var due <-chan time.Time
		if more {
			timer.Reset(wait)
			due = timer.C
		}
		select {
		case <-due:
		case _, open := <-r.arrived[from]:
			if !open {
				return
			}
		}
	}
}
