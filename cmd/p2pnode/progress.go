package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	progressAfter = 2 * time.Second // shorter work shows nothing
	progressEvery = 200 * time.Millisecond
)

// progress passes a file on to its reader and, when that takes long, shows on
// a terminal how far it is.
type progress struct {
	io.Reader
	total int64  // bytes of the file, 0 if unknown
	after string // what the program does after reading
	read  atomic.Int64
	last  byte // that was read

	stop  chan struct{}
	shown sync.WaitGroup
}

// showProgress begins to show how far file has been read, on out if that is a terminal,
// until done is called. after says what the program does after reading.
func showProgress(file *os.File, out io.Writer, after string) *progress {
	p := &progress{Reader: file, after: after, stop: make(chan struct{})}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		p.total = info.Size()
	}
	if isTerminal(out) && !isTerminal(file) { // else somebody is typing
		p.shown.Go(func() { p.show(out) })
	}
	return p
}

// show rewrites one line until done is called, and clears it.
func (p *progress) show(out io.Writer) {
	select {
	case <-p.stop:
		return
	case <-time.After(progressAfter):
	}
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		fmt.Fprint(out, clearLine, p)
		select {
		case <-p.stop:
			fmt.Fprint(out, clearLine)
			return
		case <-ticker.C:
		}
	}
}

// clearLine is the terminal's sequence for an empty line.
const clearLine = "\r\x1b[K"

// errHalf is the error of a file that somebody is writing: half of a number is another number.
var errHalf = errors.New("the file has grown while it was read, and its last line may be half of one: take it when it is whole")

// Read implements [io.Reader].
func (p *progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.read.Add(int64(n))
	if n > 0 {
		p.last = b[n-1]
	}
	if err == io.EOF && p.last != '\n' && p.grown() {
		err = errHalf
	}
	return n, err
}

// grown reports whether the file is longer than at first.
func (p *progress) grown() bool {
	file, ok := p.Reader.(*os.File)
	if !ok || p.total == 0 {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Size() > p.total
}

// Seek implements [io.Seeker]. A file that is read twice counts once.
func (p *progress) Seek(offset int64, whence int) (int64, error) {
	file, ok := p.Reader.(io.Seeker)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	at, err := file.Seek(offset, whence)
	if err == nil {
		p.read.Store(at)
	}
	return at, err
}

// String returns the line to show.
func (p *progress) String() string {
	read := p.read.Load()
	switch {
	case p.total == 0:
		return "read " + size(read)
	case read < p.total:
		return fmt.Sprintf("read %s of %s", size(read), size(p.total))
	}
	return fmt.Sprintf("read %s, %s", size(read), p.after)
}

// done stops showing the progress.
func (p *progress) done() {
	close(p.stop)
	p.shown.Wait()
}

// isTerminal reports whether stream is a terminal. The null device is also a character
// device, but not a terminal.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
