package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
)

func bugreportCommand(o *options) *cobra.Command {
	var out string
	var yes bool
	c := &cobra.Command{
		Use:   "bugreport",
		Short: "Write down what somebody needs who looks for a mistake, and nothing private",
		Long: `Write down what somebody needs who looks for a mistake in p2pnode: versions, the
configuration, how the node is doing, what doctor finds, the newest lines of the
daemon's log, and the sizes of the files.

Nothing private is in it: no record and no number of records, no model and how good
it is, no key, no ticket, no name of the task, a column, a file or a member. Addresses, peer IDs
and directories are replaced by words like LOCAL4-1 and PEER-2, the same everywhere.

It is shown first, and written only after you said yes. Read it. It is sent nowhere.`,
		Example: `  p2pnode bugreport --yes
  p2pnode bugreport --out report.json --yes`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := bugReport(cmd, o)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(cmd.OutOrStdout(), text); err != nil {
				return err
			}
			if !yes {
				about := paragraph("", "This is all of the report. It is written to "+out+" and sent nowhere.")
				if err := agreed(cmd, about, "Write it"); err != nil {
					return err
				}
			}
			err = createFile(out, func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
			if err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "Wrote %s.\n", out)
			}
			return err
		},
	}
	c.Flags().StringVar(&out, "out", "p2pnode-bugreport.json", "the new file to write it to")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return c
}

// findings is the content of a bug report. Unknown parts are left out, and Missing says
// why.
type findings struct {
	Program    build             `json:"program"`
	Processors int               `json:"processors"`
	Task       map[string]any    `json:"task,omitempty"`
	Config     map[string]any    `json:"config,omitempty"`
	Node       map[string]any    `json:"node,omitempty"`
	Ledger     *api.Verification `json:"ledger,omitempty"`
	Doctor     *api.Diagnosis    `json:"doctor,omitempty"`
	Files      []file            `json:"files,omitempty"`
	Log        []string          `json:"log,omitempty"`
	Missing    map[string]string `json:"missing,omitempty"`
}

// file is a file of the data directory.
type file struct {
	Name  string  `json:"name"`
	Mode  string  `json:"mode"`
	About float64 `json:"about_bytes"` // in two digits
}

// bugReport collects the report and removes what is private.
func bugReport(cmd *cobra.Command, o *options) (string, error) {
	made, err := thisBuild()
	if err != nil {
		return "", err
	}
	r := findings{Program: made, Processors: runtime.NumCPU(), Missing: make(map[string]string)}
	s := newScrubber("")
	files, err := datadir.Read(o.dir)
	if err != nil {
		r.Missing["configuration"] = message(err)
	} else {
		t := files.Task
		s.keep = datadir.NetworkName(t)
		s.hide(t.Name, "TASK")
		r.Task = map[string]any{"network": s.keep, "learner": t.Learner, "loss": t.Loss, "dimension": t.Dimension(), "graph": t.Graph.Rule, "sums": len(t.Sums.Recipes)}
		r.Config = reducedConfig(files.Config)
	}
	r.ask(cmd, o)
	r.Files = ownFiles(o.dir)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	s.hideMachine(o.dir)
	return s.scrub(string(text)) + "\n", nil
}

// hideMachine hides the names of directories, of the user and of the machine.
func (s *scrubber) hideMachine(dir string) {
	if whole, err := filepath.Abs(dir); err == nil {
		s.hide(whole, "DIR")
	}
	if strings.ContainsAny(dir, `/\`) {
		s.hide(dir, "DIR")
	}
	if home, err := os.UserHomeDir(); err == nil {
		s.hide(home, "HOME")
	}
	if host, err := os.Hostname(); err == nil && host != "localhost" {
		s.hide(host, "HOST")
	}
}

// ask asks the node, through the daemon if one runs, and notes what it does not answer
// as missing.
func (r *findings) ask(cmd *cobra.Command, o *options) {
	owner, err := local.Connect(cmd.Context(), o.dir, newLog(cmd, o, slog.LevelError))
	if err != nil {
		r.Missing["node"] = message(err)
		return
	}
	defer owner.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), reportPatience)
	defer cancel()
	if status, err := owner.Progress(ctx); err == nil {
		r.Node = reducedStatus(&status)
	} else {
		r.Missing["node"] = message(err)
	}
	if v, err := owner.Verify(ctx); err == nil {
		r.Ledger = &v
	} else {
		r.Missing["ledger"] = message(err)
	}
	if d, err := owner.Doctor(ctx); err == nil {
		r.Doctor = &d
	} else {
		r.Missing["doctor"] = message(err)
	}
	for line, err := range owner.Logs(ctx, reportLines, false) {
		if err != nil {
			r.Missing["log"] = message(err)
			break
		}
		r.Log = append(r.Log, strings.Join([]string{line.Time.UTC().Format(time.RFC3339), line.Level, line.Subsystem, reducedLine(line.Text)}, " "))
	}
}

const (
	reportPatience = time.Minute
	reportLines    = 200
)

// reducedConfig keeps switches, numbers and choices. It removes the end of addresses,
// and the values in lists of numbers, which are public profiles.
func reducedConfig(c datadir.Config) map[string]any {
	out := make(map[string]any)
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("toml"), ",")
		switch value := v.Field(i).Interface().(type) {
		case bool, int, float64:
			out[key] = value
		case string:
			if out[key] = "(set)"; value == "" || choice.MatchString(value) {
				out[key] = value
			}
		case []string:
			out[key] = value
		default:
			out[key] = fmt.Sprintf("(%d)", reflect.ValueOf(value).Len())
		}
	}
	delete(out, "neighbours") // names of people's machines
	return out
}

// choice matches the value of a key that has a few allowed values.
var choice = regexp.MustCompile(`^[a-z][a-z-]{1,20}$`)

// reducedStatus is how the node gets on with others, without anything about its
// records.
func reducedStatus(s *api.Status) map[string]any {
	return map[string]any{
		"running": s.Running, "paused": len(s.Paused), "addresses": s.Addrs, "neighbours": s.Neighbours, "listening": s.Listening, "heard": s.Heard,
		"candidates": s.Candidates, "connections": s.Connections, "goroutines": s.Goroutines, "edge_changes": s.EdgeChanges, "round": s.Round, "done": s.Done,
		"restored": s.Restored, "contradicted_round": s.Contradicted, "contradicted_by_sum": s.ForeignSum, "rounds": s.Rounds, "traffic": s.Traffic,
		"private_network": s.Private != nil, "privacy": s.Privacy, "has_records": s.Records > 0, "has_sums": s.Sums != nil,
	}
}

// attribute matches key=value at the end of a line of the log.
var attribute = regexp.MustCompile(` ([\w.-]+|"[^"]*")=("(?:[^"\\]|\\.)*"|\S+)`)

// toldAttributes are the attributes whose values stay: they are about the network, or
// about this program.
var toldAttributes = []string{"error", "round", "epoch", "recipe", "share", "learner", "address", "addresses", "rejected", "reason", "took", "times"}

// reducedLine is a line of the log without values that could be about records.
func reducedLine(text string) string {
	return attribute.ReplaceAllStringFunc(text, func(found string) string {
		key, _, _ := strings.Cut(found[1:], "=")
		if slices.Contains(toldAttributes, key) {
			return found
		}
		return " " + key + "=..."
	})
}

// ownFiles lists the files of a directory that are the node's.
func ownFiles(dir string) (list []file) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !datadir.IsOwn(e.Name()) {
			continue
		}
		list = append(list, file{e.Name(), info.Mode().String(), twoDigits(float64(max(1, info.Size())))})
	}
	return list
}
