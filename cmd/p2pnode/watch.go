package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/local"
)

func watchCommand(o *options) *cobra.Command {
	w := &watch{o: o, seen: make(map[string]*watched), told: make(map[string]string)}
	c := &cobra.Command{
		Use:   "watch DIR",
		Short: "Import each file that comes into a directory, once",
		Long: `Import each file that comes into a directory, CSV or lines of JSON, once, until
interrupted by Ctrl-C, SIGTERM or SIGHUP; then it names the files of the
directory that were not imported. Directories in it, and files whose names begin
with a dot or end in ~, .tmp, .part, .partial or .crdownload, are left alone.

A file is taken for whole when its size and time of change are the same in two
looks, --every apart, and its last line has an end; one without waits until it has
not changed for a minute. So write a file under a name that is left alone and
rename it when it is whole, or write it quickly.

A file is known again by the digest of all of it, under any name, also after the
command was killed: nothing is imported twice, and nothing is lost. A file that
cannot be imported is named with the reason and tried again when it changes. One
of whose name another was imported, or that begins with all of one that was, is
refused, because rows that are in both would be records twice: give each file a
name of its own, as readings-2026-11-29.csv. With --id only what is new or
changed is taken, and names do not matter.

See "p2pnode data import --help" for --id and --skip-bad.`,
		Example: `  p2pnode data watch inbox
  p2pnode data watch --every 1m --id receipt inbox`,
		Args: takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if w.every < 100*time.Millisecond {
				return usageError{fmt.Errorf("--every %v is too often; 100ms is the least", w.every), cmd}
			}
			w.cmd, w.dir = cmd, args[0]
			return w.run()
		},
	}
	c.Flags().DurationVar(&w.every, "every", 2*time.Second, "how often to look")
	c.Flags().BoolVar(&w.options.SkipBad, "skip-bad", false, "import the good lines and leave the bad ones out")
	idFlag(c, &w.options.ID)
	return c
}

// watch imports the files of a directory.
type watch struct {
	cmd     *cobra.Command
	o       *options
	dir     string
	every   time.Duration
	options api.ImportOptions

	seen map[string]*watched
	told map[string]string // the last message about a file that could not be imported
	sum  watchSum
}

// watched is a file as it was at the last look.
type watched struct {
	size    int64
	changed time.Time // the file's modification time
	since   time.Time // the first look that saw it like this
	done    bool      // it needs no import until it changes
	failed  bool      // because it cannot be imported as it is
}

// unended is how long a file whose last line has no end must stay unchanged.
const unended = time.Minute

// look compares the files of a directory with the last look, and returns the names of
// those that did not change and are not done.
func look(seen map[string]*watched, files []fs.FileInfo, now time.Time) (same []string) {
	there := make(map[string]bool, len(files))
	for _, f := range files {
		name := f.Name()
		there[name] = true
		before, known := seen[name]
		switch {
		case !known || before.size != f.Size() || !before.changed.Equal(f.ModTime()):
			seen[name] = &watched{size: f.Size(), changed: f.ModTime(), since: now}
		case !before.done && f.Size() > 0:
			same = append(same, name)
		}
	}
	maps.DeleteFunc(seen, func(name string, _ *watched) bool { return !there[name] })
	return same
}

// leftAlone reports whether somebody is still writing a file, by its name.
func leftAlone(name string) bool {
	return strings.HasPrefix(name, ".") || slices.ContainsFunc([]string{"~", ".tmp", ".part", ".partial", ".crdownload"},
		func(end string) bool { return strings.HasSuffix(strings.ToLower(name), end) })
}

func (w *watch) run() error {
	ctx, stop := untilInterrupted(w.cmd.Context())
	defer stop()
	if err := w.check(); err != nil {
		return err
	}
	if err := w.say(watchEvent{Watching: w.dir}); err != nil {
		return err
	}
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		if err := w.once(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return w.end()
		}
	}
}

// end prints what was imported and what was not.
func (w *watch) end() error {
	w.sum.Not = []string{}
	for _, name := range slices.Sorted(maps.Keys(w.seen)) {
		if at := w.seen[name]; at.failed || !at.done {
			w.sum.Not = append(w.sum.Not, name)
		}
	}
	return w.say(watchEvent{Ended: &w.sum})
}

// check refuses what cannot be watched.
func (w *watch) check() error {
	if _, err := os.ReadDir(w.dir); err != nil {
		return err
	}
	at, err := os.Stat(w.dir)
	own, missing := os.Stat(w.o.dir)
	if err == nil && missing == nil && os.SameFile(at, own) {
		return fmt.Errorf("%s is the node's own directory; watch another one", w.dir)
	}
	return err
}

// once looks at the directory and imports complete files. Its error is an error of the
// output.
func (w *watch) once(ctx context.Context) error {
	files, err := w.files()
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return w.failAs(thisDir, w.dir, err)
	}
	delete(w.told, thisDir)
	now := time.Now()
	for _, name := range look(w.seen, files, now) {
		if ctx.Err() != nil {
			return nil
		}
		at := w.seen[name]
		whole, err := endsWithLine(filepath.Join(w.dir, name))
		if err == nil && !whole && now.Sub(at.since) < unended {
			continue
		}
		if err == nil {
			err = w.take(ctx, name, at)
		} else {
			err = w.fail(name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// files are those that may be imported, in the order of their names.
func (w *watch) files() (list []fs.FileInfo, err error) {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if leftAlone(e.Name()) {
			continue
		}
		info, err := os.Stat(filepath.Join(w.dir, e.Name())) // of the file that a link points to
		if err == nil && info.Mode().IsRegular() {
			list = append(list, named{info, e.Name()})
		}
	}
	return list, nil
}

// named is a file with the name of the link to it.
type named struct {
	fs.FileInfo
	name string
}

// Name implements [fs.FileInfo].
func (n named) Name() string { return n.name }

// take imports a file and prints what happened. Its error is an error of the output.
func (w *watch) take(ctx context.Context, name string, at *watched) error {
	report, err := w.load(ctx, name)
	event := watchEvent{File: name, Outcome: "imported", Report: &report}
	switch {
	case err == nil:
	case ctx.Err() != nil: // nothing of it is stored or, with IDs, some of it; it is imported again
		return nil
	case errors.Is(err, api.ErrImported):
		event = watchEvent{File: name, Outcome: "known"}
	case errors.Is(err, api.ErrBadLines) || errors.Is(err, api.ErrSomeBad):
		event.Outcome, event.Reason = "failed", message(err)
	case errors.Is(err, api.ErrRequest) || errors.Is(err, api.ErrChanged):
		// The command watch has no flag --again.
		event = watchEvent{File: name, Outcome: "failed", Reason: messageOf(err, "p2pnode data import --again FILE")}
	default: // the error is not about the file: try again at the next look
		return w.fail(name, err)
	}
	at.done, at.failed = true, event.Outcome == "failed"
	w.sum.count(event.Outcome)
	delete(w.told, name)
	return w.say(event)
}

// load imports a file, under the name by which it is known when it has changed.
func (w *watch) load(ctx context.Context, name string) (report api.ImportReport, err error) {
	path := filepath.Join(w.dir, name)
	options := w.options
	if options.Name, err = filepath.Abs(path); err != nil {
		return report, err
	}
	file, err := os.Open(path)
	if err != nil {
		return report, err
	}
	defer file.Close()
	owner, err := local.ConnectWaiting(ctx, w.o.dir, newLog(w.cmd, w.o, slog.LevelWarn), w.o.settings...)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, owner.Close()) }()
	return owner.Import(ctx, file, options)
}

// endsWithLine reports whether the last line of a file has an end.
func endsWithLine(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	var last [1]byte
	if _, err = file.Seek(-1, io.SeekEnd); err == nil {
		_, err = io.ReadFull(file, last[:])
	}
	return last[0] == '\n', err
}

// fail prints why a file could not be imported now, but only once for the same reason.
func (w *watch) fail(name string, err error) error { return w.failAs(name, name, err) }

// thisDir is the name of the directory itself among those of its files.
const thisDir = "."

// failAs is fail for what is called otherwise in the output.
func (w *watch) failAs(name, called string, err error) error {
	reason := message(err)
	if w.told[name] == reason {
		return nil
	}
	w.told[name] = reason
	return w.say(watchEvent{File: called, Outcome: "waiting", Reason: reason})
}

// watchEvent is an output of watch, in JSON one line each.
type watchEvent struct {
	Watching string            `json:"watching,omitempty"`
	File     string            `json:"file,omitempty"`
	Outcome  string            `json:"outcome,omitempty"` // imported, known, failed (until it changes), waiting (tried again)
	Reason   string            `json:"reason,omitempty"`
	Report   *api.ImportReport `json:"report,omitempty"`
	Ended    *watchSum         `json:"ended,omitempty"`
}

// watchSum says what became of the files of a directory.
type watchSum struct {
	Imported int      `json:"imported"`
	Known    int      `json:"known"`
	Not      []string `json:"not_imported"` // those that failed, wait or are not whole
}

func (s *watchSum) count(outcome string) {
	switch outcome {
	case "imported":
		s.Imported++
	case "known":
		s.Known++
	}
}

// String returns a line, and one for the files that were not imported.
func (s *watchSum) String() string {
	text := fmt.Sprintf("Imported %s; %d %s imported before.\n", api.Count(s.Imported, "file"), s.Known, plural(s.Known, "was", "were"))
	if len(s.Not) > 0 {
		text += fmt.Sprintf("Not imported: %s.\n", strings.Join(s.Not, ", "))
	}
	return text
}

func (w *watch) say(e watchEvent) error {
	if w.o.json {
		return json.NewEncoder(w.cmd.OutOrStdout()).Encode(e)
	}
	text := fmt.Sprintf("Watching %s, every %v. Ctrl-C ends it.\n", e.Watching, w.every)
	switch e.Outcome {
	case "imported":
		text = fmt.Sprintf("%s: %s", e.File, reportText(*e.Report))
	case "known":
		text = fmt.Sprintf("%s: was imported before.\n", e.File)
	case "failed":
		text = fmt.Sprintf("%s: %s. It is tried again when it changes.\n", e.File, e.Reason)
		if e.Report != nil {
			text = reportText(*e.Report) + text
		}
	case "waiting":
		text = fmt.Sprintf("%s: %s. It is tried again.\n", e.File, e.Reason)
	}
	if e.Ended != nil {
		text = e.Ended.String()
	}
	_, err := io.WriteString(w.cmd.OutOrStdout(), printable(text))
	return err
}
