package paper

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// header is the first line of a file of cells. Cells below a different header belong to
// another plan.
type header struct {
	Name     string `json:"name"`
	Identity string `json:"identity"`
}

// kept is a finished cell, one line of JSON. It keeps every bit of a float64.
type kept struct {
	Key     string  `json:"key"`
	Program string  `json:"program"` // that computed it
	Seconds float64 `json:"seconds"` // that it took
	Wall    float64 `json:"wall"`    // seconds of the experiment so far, over all its runs
	Numbers Numbers `json:"numbers"`
}

// cellFile keeps finished cells. One goroutine at a time may use it.
type cellFile struct {
	file *os.File
	done []kept
}

// openCells opens the file of cells at path for this process alone, making it if
// needed, and reads the cells under the header h that wanted accepts. If wanted does
// not accept all of them, all are put aside in a file of the same name with .old
// appended. A last line that a killed process left incomplete is dropped. lost reports
// that there were cells but none is used.
func openCells(path string, h header, wanted func(kept) bool) (c *cellFile, lost bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := lock(f); err != nil {
		return nil, false, fmt.Errorf("%s: another process works on this experiment in this directory; wait for it, or choose another --out: %w", path, err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, false, err
	}
	c = &cellFile{file: f}
	good, lost := c.read(text, h)
	if slices.ContainsFunc(c.done, func(k kept) bool { return !wanted(k) }) {
		c.done, good, lost = nil, 0, true
	}
	if lost {
		if err := os.WriteFile(path+".old", text, 0o644); err != nil {
			return nil, false, err
		}
	}
	if err := f.Truncate(int64(good)); err != nil {
		return nil, false, err
	}
	if _, err := f.Seek(int64(good), io.SeekStart); err != nil {
		return nil, false, err
	}
	if good == 0 {
		err = c.write(h)
	}
	return c, lost, err
}

// read takes the cells from text, up to the first line that is incomplete, and returns
// how many bytes they fill.
func (c *cellFile) read(text []byte, h header) (good int, lost bool) {
	var found header
	first, rest, whole := bytes.Cut(text, []byte("\n"))
	if !whole || json.Unmarshal(first, &found) != nil {
		return 0, false
	}
	if found != h {
		return 0, len(rest) > 0
	}
	good = len(first) + 1
	for {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		var k kept
		if !whole || json.Unmarshal(line, &k) != nil {
			return good, false
		}
		c.done = append(c.done, k)
		good, rest = good+len(line)+1, after
	}
}

// add keeps a cell.
func (c *cellFile) add(k kept) error {
	if err := c.write(k); err != nil {
		return err
	}
	c.done = append(c.done, k)
	return nil
}

func (c *cellFile) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.file.Write(append(line, '\n'))
	return err
}

// wall is the time that the experiment has taken in its runs so far, in seconds.
func (c *cellFile) wall() float64 {
	if len(c.done) == 0 {
		return 0
	}
	return c.done[len(c.done)-1].Wall
}

func (c *cellFile) close() error { return c.file.Close() }

// errLocked says that another process has locked a file.
var errLocked = errors.New("the file is locked")
