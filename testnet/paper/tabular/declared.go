package tabular

import (
	"fmt"
	"slices"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// declare makes a coding of a task, which is that of its nodes.
func declare(s *testnet.Sheet, t *learner.Task) (*coding, error) {
	c := &coding{sheet: s, declared: t}
	for i := range t.Features {
		f := t.Features[i]
		at, err := s.Column(f.Name)
		if err != nil && f.Kind != "key" { // whose column may be missing
			return nil, fmt.Errorf("--task: %w", err)
		}
		c.columns = append(c.columns, column{f, at})
	}
	at, err := s.Column(t.Target.Name)
	if err != nil {
		return nil, fmt.Errorf("--task: %w", err)
	}
	c.target = target{name: t.Target.Name, at: at, min: t.Target.Min, max: t.Target.Max, center: t.Target.Center, classes: t.Target.Classes}
	if t.Classifies() && t.Target.Classes == nil {
		return c, c.binary()
	}
	return c, nil
}

// binary names the two classes of a task that does not, as the file spells them.
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
