package tabular

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/pelletier/go-toml/v2"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// readRanges reads a file of public ranges: the tables [[features]] and [target] of
// a task. A whole task will do; what else it says is not used. It returns the text too.
func readRanges(file string) (*learner.Task, []byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--ranges: %w", err)
	}
	var t learner.Task
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&t)
	var strict *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		line, _ := strict.Errors[0].Position()
		return nil, nil, fmt.Errorf("--ranges: %s, line %d: unknown key %q; there are [[features]] with name, kind, min, max, values, edges, and [target] with name, min, max, classes", file, line, strict.Errors[0].Key())
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		return nil, nil, fmt.Errorf("--ranges: %s, line %d: %w", file, line, err)
	case err != nil:
		return nil, nil, fmt.Errorf("--ranges: %s: %w", file, err)
	}
	if err := checkRanges(&t); err != nil {
		return nil, nil, fmt.Errorf("--ranges: %s: %w", file, err)
	}
	return &t, text, nil
}

// checkRanges checks the parts that are used by the rules of a task, in one that is
// complete otherwise.
func checkRanges(t *learner.Task) error {
	whole := *defaults("squared", 1)
	whole.Features, whole.Target = t.Features, t.Target
	whole.Loss = "squared"
	if len(t.Target.Classes) > 0 {
		whole.Loss = "multinomial"
	} else if t.Target.Min == t.Target.Max {
		whole.Loss = "logistic" // two classes, which have no range
	}
	if t.Target.Center == 0 { // the middle, unless it says otherwise
		t.Target.Center = (t.Target.Min + t.Target.Max) / 2
	}
	whole.Target.Center = t.Target.Center
	if whole.Loss != "squared" {
		whole.Target.Min, whole.Target.Max, whole.Target.Center = 0, 0, 0
	}
	return whole.Validate()
}

// declare makes a coding of public ranges. The target's column may be named by the
// caller too.
func declare(s *testnet.Sheet, t *learner.Task, kind string) (*coding, error) {
	c := &coding{sheet: s}
	for _, f := range t.Features {
		at, err := s.Column(f.Name)
		if err != nil {
			return nil, fmt.Errorf("--ranges: %w", err)
		}
		c.columns = append(c.columns, column{f, at})
	}
	at, err := s.Column(t.Target.Name)
	if err != nil {
		return nil, fmt.Errorf("--ranges: %w", err)
	}
	c.target = target{name: t.Target.Name, at: at, min: t.Target.Min, max: t.Target.Max, center: t.Target.Center, classes: t.Target.Classes}
	switch {
	case kind == kindNumber && t.Target.Min == t.Target.Max:
		return nil, fmt.Errorf("--ranges: the target %q has no min and max, which a number needs", c.target.name)
	case c.target.classes == nil && t.Target.Min == t.Target.Max:
		return c, c.binary()
	case kind == kindClasses && c.target.classes == nil:
		return nil, fmt.Errorf("--ranges: the target %q has no classes: list them", c.target.name)
	}
	return c, nil
}

// binary makes the target one of the two classes that a task without classes has.
func (c *coding) binary() error {
	for _, classes := range [][]string{{"0", "1"}, {"-1", "1"}} {
		c.target.classes = classes
		fits := true
		for cell := range gather(c.sheet, c.target.at).counts {
			fits = fits && slices.Contains(classes, cell)
		}
		if fits {
			return nil
		}
	}
	return fmt.Errorf("--ranges: the target %q has neither min and max nor classes, so it must be 1 and 0, or 1 and -1", c.target.name)
}
