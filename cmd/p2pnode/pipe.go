package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/local"
	"p2pnode/rowfile"
)

const (
	// flushAfter is how long a line waits for others to be stored with it.
	flushAfter = time.Second
	// flushLines and flushBytes bound the waiting lines.
	flushLines = 4096
	flushBytes = 1 << 20
	// maxPipeLine is the longest line of a pipe, in bytes.
	maxPipeLine = 1 << 20
)

// pipeLines stores the lines of a pipe.
type pipeLines struct {
	cmd     *cobra.Command
	o       *options
	options api.ImportOptions

	owner *local.Connection // nil: the directory is closed

	begun   bool // the first line has arrived
	waiting api.Lines
	bytes   int
	total   pipeReport
}

// pipeReport is the result of a whole pipe.
type pipeReport struct {
	api.ImportReport
	Retired int `json:"retired_slots,omitempty"` // of records that were there before and were replaced
}

// importPipe stores the lines of a pipe until it ends or the owner interrupts.
func importPipe(cmd *cobra.Command, o *options, in io.Reader, options api.ImportOptions) (err error) {
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	p := &pipeLines{cmd: cmd, o: o, options: options, total: pipeReport{ImportReport: api.ImportReport{Lines: []api.BadLine{}, Cells: []api.ColumnTally{}}}}
	p.waiting.ID, p.waiting.From = options.ID, 1
	defer func() { err = errors.Join(err, p.letGo()) }()
	if err := p.run(ctx, in); err != nil {
		return err
	}
	if err := p.summary(); err != nil {
		return err
	}
	if p.total.Bad > 0 && !options.SkipBad {
		return fmt.Errorf("%d %s left out; mend and send them again, or leave them out with --skip-bad", p.total.Bad, plural(p.total.Bad, "bad line was", "bad lines were"))
	}
	return nil
}

func (p *pipeLines) run(ctx context.Context, in io.Reader) error {
	whole := sha256.New()
	read := &counting{in: in}
	lines := readLines(ctx, io.TeeReader(read, whole))
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	for armed := false; ; {
		select {
		case l := <-lines:
			if l.err != nil {
				return p.end(l.err, whole, read.size)
			}
			if err := p.take(l); err != nil {
				return err
			}
		case <-quiet.C:
			armed = false
			// While lines arrive the directory stays open. Afterwards a daemon can open
			// it.
			act := p.flush
			if len(p.waiting.Lines) == 0 {
				act = p.letGo
			}
			if err := act(); err != nil {
				return err
			}
		case <-ctx.Done():
			return p.flush()
		}
		if !armed && (p.owner != nil || len(p.waiting.Lines) > 0) {
			armed = true
			quiet.Reset(flushAfter)
		}
	}
}

// counting counts what is read. Only its reader knows the size before it has ended.
type counting struct {
	in   io.Reader
	size int64
}

// Read implements [io.Reader].
func (c *counting) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.size += int64(n)
	return n, err
}

// end stores the last lines of a pipe that has ended, and the digest and the size of all lines.
func (p *pipeLines) end(why error, whole hash.Hash, size int64) error {
	if why != io.EOF {
		return errors.Join(p.flush(), fmt.Errorf("read the lines: %w", why))
	}
	if !p.begun {
		_, err := rowfile.NewReader(strings.NewReader("")) // its error says what is missing
		return err
	}
	file := api.Digest(whole.Sum(nil))
	p.waiting.File, p.waiting.Size, p.waiting.Again = &file, size, p.options.Again
	p.waiting.Whole, p.waiting.Records = p.total.Records+p.total.Same == 0, p.total.Records+p.total.Same
	if p.waiting.Whole && len(p.waiting.Lines) == 0 {
		p.waiting.File = nil // nothing was stored
	}
	return p.put()
}

// take looks at a line, and stores the waiting lines if there are enough.
func (p *pipeLines) take(l pipeLine) error {
	if !p.begun {
		return p.begin(l)
	}
	if l.bad != nil {
		if err := p.flush(); err != nil { // keeps the order
			return err
		}
		return p.tell([]api.LineOutcome{{Line: l.number, Outcome: api.LineBad, Reason: l.bad.Error()}})
	}
	if len(p.waiting.Lines) == 0 {
		p.waiting.From = l.number
	}
	p.waiting.Lines = append(p.waiting.Lines, l.text)
	if p.bytes += len(l.text); p.bytes < flushBytes && len(p.waiting.Lines) < flushLines {
		return nil
	}
	return p.flush()
}

// begin finds out the form of the lines, and whether the directory accepts it.
func (p *pipeLines) begin(l pipeLine) error {
	if l.bad == nil && strings.TrimSpace(strings.TrimPrefix(l.text, "\ufeff")) == "" {
		return nil
	}
	rows, err := rowfile.NewReader(strings.NewReader(l.text))
	if err = errors.Join(l.bad, err); err != nil {
		return fmt.Errorf("line %d: %w", l.number, err)
	}
	p.begun = true
	if rows.Columns != nil {
		p.waiting.Header = l.text
		return p.put()
	}
	l.text = strings.TrimPrefix(l.text, "\ufeff")
	return errors.Join(p.put(), p.take(l))
}

// flush stores the waiting lines and prints what happened to them.
func (p *pipeLines) flush() error {
	if len(p.waiting.Lines) == 0 {
		return nil
	}
	return p.put()
}

func (p *pipeLines) put() error {
	first, last := p.waiting.From, p.waiting.From+len(p.waiting.Lines)-1
	a, err := p.ask()
	if unsent(err) || unanswered(err) && p.options.ID != "" {
		p.waiting.Whole = p.waiting.Whole && unsent(err) // the daemon may have stored all of it
		if err = p.letGo(); err == nil {
			a, err = p.ask()
		}
	}
	if err != nil && last >= first {
		return fmt.Errorf("lines %d to %d were not acknowledged: %w", first, last, err)
	} else if err != nil {
		return err
	}
	p.waiting.Lines, p.waiting.From, p.bytes = p.waiting.Lines[:0], last+1, 0
	p.total.Retired += a.Retired
	p.total.NeverShared, p.total.Missing = a.NeverShared, a.Missing
	p.total.Cells = addTallies(p.total.Cells, a.Cells)
	return p.tell(a.Lines)
}

// unsent reports whether the daemon had ended before it received a request.
func unsent(err error) bool {
	call, ok := errors.AsType[*net.OpError](err)
	return ok && call.Op == "dial"
}

// unanswered reports whether the daemon ended before it answered a request: nobody knows
// whether it stored the lines, and only with keys can they be sent again.
func unanswered(err error) bool {
	_, ok := errors.AsType[*net.OpError](err)
	return ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func (p *pipeLines) ask() (a api.Acknowledgement, err error) {
	if p.owner == nil {
		p.owner, err = local.ConnectWaiting(p.cmd.Context(), p.o.dir, newLog(p.cmd, p.o, slog.LevelWarn), p.o.settings...)
	}
	if err != nil {
		return a, err
	}
	return p.owner.Put(p.cmd.Context(), p.waiting)
}

// tell counts outcomes and prints those that the owner waits for.
func (p *pipeLines) tell(list []api.LineOutcome) error {
	out := bufio.NewWriter(p.cmd.OutOrStdout())
	lines := json.NewEncoder(out)
	for _, l := range list {
		p.count(l)
		if p.o.json {
			if err := lines.Encode(l); err != nil {
				return err
			}
		} else if l.Outcome == api.LineBad {
			fmt.Fprintf(p.cmd.ErrOrStderr(), "line %d: %s\n", l.Line, printable(api.Plain(l.Reason)))
		}
	}
	return out.Flush()
}

func (p *pipeLines) count(l api.LineOutcome) {
	switch l.Outcome {
	case api.LineBad:
		p.total.Bad++
	case api.LineSame:
		p.total.Same++
	case api.LineReplaced:
		p.total.Replaced++
		p.total.Records++
	default:
		p.total.Records++
	}
}

// summary prints the last output. In JSON it is one line, like the others.
func (p *pipeLines) summary() error {
	if p.o.json {
		return json.NewEncoder(p.cmd.OutOrStdout()).Encode(p.total)
	}
	text := importedText(p.total.ImportReport)
	if !p.begun { // it was interrupted
		text = "No line had come.\n"
	}
	_, err := io.WriteString(p.cmd.OutOrStdout(), printable(text))
	return err
}

// letGo closes the directory, so that a daemon can open it while no lines arrive.
func (p *pipeLines) letGo() error {
	if p.owner == nil {
		return nil
	}
	owner := p.owner
	p.owner = nil
	return owner.Close()
}

// pipeLine is a line of a pipe, or the reason why there are no more.
type pipeLine struct {
	number int
	text   string
	bad    error // it cannot be a row
	err    error
}

var (
	errLongLine = fmt.Errorf("is longer than %d MB; is the end of a line missing?", maxPipeLine>>20)
	errNotUTF8  = errors.New("is not text in UTF-8; send UTF-8")
)

// readLines reads lines until ctx ends, and then sends why there are no more. A read
// that waits for more ends with the process.
func readLines(ctx context.Context, in io.Reader) <-chan pipeLine {
	lines := make(chan pipeLine)
	send := func(l pipeLine) bool {
		select {
		case lines <- l:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		buffered := bufio.NewReaderSize(in, 1<<16)
		for number := 1; ; number++ {
			l := readPipeLine(buffered, number > 1) // a first line that is too long ends the import
			end := l.err
			l.number, l.err = number, nil
			if (end == nil || l.text != "") && !send(l) {
				return
			}
			if end != nil {
				send(pipeLine{err: end})
				return
			}
		}
	}()
	return lines
}

// readPipeLine reads a line without its end. It skips the rest of a line that is too
// long, or returns at once if there is nothing to go on with.
func readPipeLine(r *bufio.Reader, goOn bool) (l pipeLine) {
	var whole []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(whole)+len(part) <= maxPipeLine {
			whole = append(whole, part...)
		} else {
			l.bad = errLongLine
		}
		if err == bufio.ErrBufferFull && (goOn || l.bad == nil) {
			continue
		}
		l.err = err
		if l.bad == nil && !utf8.Valid(whole) {
			l.bad = errNotUTF8
		}
		l.text = strings.TrimSuffix(strings.TrimSuffix(string(whole), "\n"), "\r")
		return l
	}
}
