package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/local"
)

// ask makes one request of the owner, through the daemon if one runs, and
// prints the answer.
func ask[T any](cmd *cobra.Command, o *options, request func(api.Owner, context.Context) (T, error), text func(T) string) error {
	answer, err := askOwner(cmd, o, request)
	if err != nil {
		return err
	}
	return show(cmd, o, answer, text)
}

// askOwner makes one request of the owner and returns the answer.
func askOwner[T any](cmd *cobra.Command, o *options, request func(api.Owner, context.Context) (T, error)) (answer T, err error) {
	owner, err := local.Connect(cmd.Context(), o.dir, newLog(cmd, o, slog.LevelWarn), o.settings...)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, owner.Close()) }()
	return request(owner, cmd.Context())
}

// show prints v on standard output: as JSON if --json asks for it, else as text.
func show[T any](cmd *cobra.Command, o *options, v T, text func(T) string) error {
	if !o.json {
		_, err := io.WriteString(cmd.OutOrStdout(), printable(text(v)))
		return err
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printable replaces the characters of a text that control a terminal, or change the order in
// which it is read: tasks, tickets, files and what peers say come from strangers.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// writeList writes a list as JSON while its elements arrive, in the same form as show. An
// error ends the list; what was written until then is not valid JSON.
func writeList[T any](out io.Writer, list iter.Seq2[T, error]) error {
	separator, end := "[\n  ", "[]\n"
	for v, err := range list {
		if err != nil {
			return err
		}
		text, err := json.MarshalIndent(v, "  ", "  ")
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s%s", separator, text); err != nil {
			return err
		}
		separator, end = ",\n  ", "\n]\n"
	}
	_, err := io.WriteString(out, end)
	return err
}

// newLog logs to standard error, as JSON if --json asks for it.
func newLog(cmd *cobra.Command, o *options, level slog.Level) *slog.Logger {
	h := &slog.HandlerOptions{Level: level}
	if o.json {
		return slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), h))
	}
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), h))
}

// table aligns the columns of its rows.
func table(rows ...[]any) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = fmt.Sprint(v)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
}

// lineWidth is where paragraph breaks lines, so that they fit a usual terminal.
const lineWidth = 78

// paragraph breaks a text into lines. The first begins with the indent, the others with
// as many spaces.
func paragraph(indent, text string) string {
	var b strings.Builder
	line := indent
	for i, word := range strings.Fields(text) {
		// No line begins with the unit of the number before it.
		if i > 0 && word != "%" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineWidth {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len(indent))
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	return b.String() + line + "\n"
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}

// program is how the user calls a program that lies beside this one, or this one itself.
func program(name string) string {
	if beside := filepath.Dir(os.Args[0]); beside != "." && !filepath.IsAbs(beside) {
		return shellescape.Quote(filepath.Join(beside, name))
	}
	return name
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
