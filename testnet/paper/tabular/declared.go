package tabular

import (
	"fmt"
	"slices"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// declare makes the coding of a task, the same that its nodes use.
func declare(s *testnet.Sheet, t *learner.Task) (*coding, error) {
	c := &coding{sheet: s, declared: t}
	if name, lacks := t.Lacks(t.Columns(), func(name string) bool { return slices.Contains(s.Columns, name) }); lacks {
		_, err := s.Column(name)
		return nil, fmt.Errorf("--task: %w", err)
	}
	for _, f := range t.Features { // a vector may be in several columns, and a key in none
		c.columns = append(c.columns, column{f, slices.Index(s.Columns, f.Name)})
	}
	c.target = target{name: t.Target.Name, at: slices.Index(s.Columns, t.Target.Name), min: t.Target.Min, max: t.Target.Max, center: t.Target.Center, classes: t.Target.Classes}
	if t.Classifies() && t.Target.Classes == nil {
		return c, c.binary()
	}
	return c, nil
}

// binary names the two classes of a task that does not name them, as the file spells
// them.
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
	return fmt.Errorf("--task: the target %q has neither min and max nor classes, so it must be 1 and 0, or 1 and -1", c.target.name)
}
