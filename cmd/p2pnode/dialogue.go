package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"p2pnode/draft"
)

// dialogue asks the owner on a terminal what the task should say.
type dialogue struct {
	in  *bufio.Reader
	out io.Writer
}

// taken is the answer that accepts a suggestion.
const taken = "ok"

// errNobody says that the input has ended before all questions were answered.
var errNobody = errors.New("nobody answers")

// hold asks all questions of a plan. An answer replaces the suggestion.
func (d dialogue) hold(first string, p *draft.Plan, questions []draft.Question) error {
	d.say("%s", paragraph("", first))
	d.say("%s", paragraph("", fmt.Sprintf("The task is public, and your file may not be: so you say what the task says of its columns. "+
		"What stands in brackets is a guess, made from your file: type %s to take it, or something that suits everybody's data.", taken)))
	for i := range questions {
		q := &questions[i]
		d.say("\n%d of %d  %s: %s\n", i+1, len(questions), q.Column, q.Seen)
		if err := d.ask(p, q); err != nil {
			d.say("\n")
			return err
		}
	}
	d.say("\n")
	return nil
}

// say prints a part of the dialogue. What the file says is in it.
func (d dialogue) say(format string, values ...any) {
	fmt.Fprint(d.out, printable(fmt.Sprintf(format, values...)))
}

// ask repeats a question until there is an answer.
func (d dialogue) ask(p *draft.Plan, q *draft.Question) error {
	what := "Between which numbers may it lie?"
	if q.Values {
		what = "Which values may it have?"
	}
	for {
		d.say("%s [%s] ", what, q.Suggested)
		line, err := d.in.ReadString('\n')
		answer := strings.TrimSpace(line)
		switch {
		case answer == "" && err == io.EOF:
			return errNobody
		case answer == "" && err != nil:
			return fmt.Errorf("read your answer: %w", err)
		case answer == "":
			d.say("Type %s to take %s, or your own.\n", taken, q.Suggested)
			continue
		case answer == taken:
			answer = q.Suggested
		}
		if err := p.Answer(*q, answer); err != nil {
			d.say("%v\n", err)
			continue
		}
		q.Suggested = answer
		return nil
	}
}

// missingAnswers lists all questions, with a command that answers them.
func missingAnswers(cmd *cobra.Command, s *draft.Survey, questions []draft.Question) error {
	var b strings.Builder
	b.WriteString("the task is public, so you say these, and they are not taken from the file:\n")
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) { line += flagText(f) })
	for _, q := range questions {
		fmt.Fprintf(&b, "  %s: %s\n", q.Column, q.Seen)
		line += " \\\n  " + q.Flag() + " " + shellescape.Quote(q.Column+"="+q.Suggested)
	}
	if s.Node < 0 {
		b.WriteString("If one of these columns says whose record a line is, nothing of it belongs into the task: name it with --node-column.\n")
	}
	if odd := oddRows(s); odd != "" {
		b.WriteString(odd + "\n")
	}
	b.WriteString("This command has guesses, made from your file: change what not everybody may know, or what does not suit everybody's data:\n" + line)
	return errors.New(b.String())
}

// flagText is a flag as the user wrote it.
func flagText(f *pflag.Flag) (text string) {
	list, ok := f.Value.(pflag.SliceValue)
	switch {
	case ok:
		for _, v := range list.GetSlice() {
			text += " --" + f.Name + " " + shellescape.Quote(v)
		}
		return text
	case f.Value.Type() == "bool" && f.Value.String() == "true":
		return " --" + f.Name
	case f.Value.Type() == "bool": // as a word of its own the value would be an argument
		return " --" + f.Name + "=" + f.Value.String()
	}
	return " --" + f.Name + " " + shellescape.Quote(f.Value.String())
}
