package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/node/api"
	"p2pnode/node/statement"
)

// exitUnsound is the exit code for a statement that is not sound.
const exitUnsound = exitCode(3)

// statementFlags are the flags of budget for statements.
type statementFlags struct {
	write  bool
	out    string
	verify string
}

func (f *statementFlags) register(c *cobra.Command) {
	c.Flags().BoolVar(&f.write, "statement", false, "print a signed statement of what is guaranteed, for others")
	c.Flags().StringVar(&f.out, "out", "", "write the statement to this new file")
	c.Flags().StringVar(&f.verify, "verify-statement", "", "check the statement of a node in this file; - is standard input")
}

func (f *statementFlags) given() bool { return f.write || f.out != "" || f.verify != "" }

func (f *statementFlags) run(cmd *cobra.Command, o *options) error {
	switch {
	case f.verify != "" && f.write:
		return usageError{errors.New("give --statement or --verify-statement, not both"), cmd}
	case !f.write && f.out != "":
		return usageError{errors.New("--out is for --statement"), cmd}
	case f.verify != "":
		return verifyStatement(cmd, o, f.verify)
	}
	s, err := askOwner(cmd, o, api.Owner.Statement)
	if err != nil {
		return err
	}
	page, err := statement.Page(s)
	if err != nil {
		return err
	}
	if f.out == "" {
		return show(cmd, o, s, func(api.SignedStatement) string { return page })
	}
	err = createFile(f.out, func(w io.Writer) error {
		_, err := io.WriteString(w, page)
		return err
	})
	if err != nil {
		return err
	}
	return show(cmd, o, stated{f.out, s.Node}, func(s stated) string {
		return fmt.Sprintf("Wrote the privacy statement of %s to %s. Check it with:\n  p2pnode budget --verify-statement %s\n", s.Node, s.File, s.File)
	})
}

// stated is the result of --statement --out.
type stated struct {
	File string `json:"file"`
	Node string `json:"node"`
}

func verifyStatement(cmd *cobra.Command, o *options, name string) error {
	text, err := readStatement(cmd, name)
	if err != nil {
		return err
	}
	check, err := statement.Check(text, time.Now())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := show(cmd, o, check, checkText); err != nil {
		return err
	}
	if !check.Sound {
		return exitUnsound
	}
	return nil
}

// readStatement reads the file of a statement, or standard input.
func readStatement(cmd *cobra.Command, name string) ([]byte, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the statement: %w", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, statement.MaxSize+1))
	if err == nil && len(text) > statement.MaxSize {
		err = fmt.Errorf("it has more than %d bytes, and is no statement", statement.MaxSize)
	}
	if err != nil {
		return nil, fmt.Errorf("read the statement: %w", err)
	}
	return text, nil
}

// checkText says what a statement says and whether it is sound. It quotes the content
// of an unsound one, because anybody may have written it.
func checkText(c api.StatementCheck) string {
	s := c.Statement
	if !c.Sound {
		text := "NOT SOUND. Believe nothing of it:\n"
		for _, f := range c.Faults {
			text += paragraph("  - ", f)
		}
		return text
	}
	text := paragraph("", fmt.Sprintf("Sound: signed by the node %s at %s, with p2pnode %s, and not changed since.", s.Node, s.Time.UTC().Format(time.RFC3339), inQuotes(s.Program))) +
		paragraph("", fmt.Sprintf("Task %s, learner %s, network %s.", inQuotes(s.Task.Name), inQuotes(s.Task.Learner), inQuotes(s.Task.Network)))
	if g := s.Guarantee; g != nil {
		text += paragraph("", fmt.Sprintf("Guaranteed for each record: epsilon %v, delta %v, %s.", g.Epsilon, g.Delta, inQuotes(g.Unit)))
	} else {
		text += fmt.Sprintf("NO GUARANTEE: %d %s without one.\n", s.Bare, plural(s.Bare, "release was sent", "releases were sent"))
	}
	for _, d := range c.Doubts {
		text += paragraph("  - ", d)
	}
	return text
}

// inQuotes writes a text from somebody else so that it cannot control a terminal.
func inQuotes(text string) string {
	if quoted := fmt.Sprintf("%q", text); quoted != `"`+text+`"` || strings.TrimSpace(text) == "" {
		return quoted
	}
	return text
}
