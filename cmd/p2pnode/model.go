package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
)

func modelCommand(o *options) *cobra.Command {
	c := &cobra.Command{Use: "model", Short: "Take the personal model along, for programs without a node"}
	c.AddCommand(exportModelCommand(o))
	return c
}

func exportModelCommand(o *options) *cobra.Command {
	var private bool
	var out string
	c := &cobra.Command{
		Use:   "export --private",
		Short: "Write the personal model and how rows are coded as one JSON file",
		Long: `Write the personal model, and how a row becomes numbers, as one JSON file that a
program in any language can predict with: docs/model-format.md describes it, and
docs/readers has programs of 60 lines in Python and JavaScript. The file has test
rows, made of the task's public ranges, with the predictions that must come out.

The file is PRIVATE: none of your records is in it, but the weights tell about
them, and nothing protects them as what your node sends is protected. So say
--private, keep the file where only you can read it, and remove it, too, when you
delete records: what was exported before still knows them.

The file says when the model was fitted and to how many records. The model
changes when records come or go and when neighbours or private sums tell
something new: export again then, or once a day.`,
		Example: `  p2pnode model export --private --out model.json
  p2pnode model export --private --out new.json && mv new.json model.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !private {
				return usageError{errNotPrivate, cmd}
			}
			m, err := askOwner(cmd, o, func(owner api.Owner, ctx context.Context) (api.Model, error) { return owner.Model(ctx) })
			if err != nil {
				return err
			}
			if err := writeOut(out, cmd.OutOrStdout(), func(w io.Writer) error { return writeModel(w, m) }); err != nil || out == "" {
				return err
			}
			return show(cmd, o, exportedModel{out, m.Task, m.Fitted, m.Records, m.Round}, exportedModel.String)
		},
	}
	c.Flags().BoolVar(&private, "private", false, "yes, the file tells about my records, and I keep it to myself")
	c.Flags().StringVar(&out, "out", "", "write a new file that only you can read, and not standard output")
	return c
}

var errNotPrivate = errors.New("the file would tell about your records: the weights of your personal model are made from them, without any noise; if you keep the file to yourself, say --private")

// writeModel writes a model as JSON, one line for each of its keys.
func writeModel(w io.Writer, m api.Model) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil { // the opening brace
		return err
	}
	for separator := "{\n"; d.More(); separator = ",\n" {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%q: %s", separator, key, value); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "\n}\n")
	return err
}

// exportedModel is the result of exporting a model.
type exportedModel struct {
	File    string    `json:"file"`
	Task    string    `json:"task"`
	Fitted  time.Time `json:"fitted"`
	Records int       `json:"records"`
	Round   uint64    `json:"round"`
}

// String implements [fmt.Stringer].
func (e exportedModel) String() string {
	return fmt.Sprintf("Wrote your model of %q to %s, fitted to %d %s.\n", e.Task, e.File, e.Records, plural(e.Records, "record", "records")) +
		"It tells about your RECORDS: keep it private.\n"
}
