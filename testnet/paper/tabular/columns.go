package tabular

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// mostValues is how many different texts a column may have and still be useful.
const mostValues = 64

// outside is the share of a column's numbers at each end that a range taken from data
// leaves out, so that one outlier does not make all others look alike.
const outside = 0.005

// findColumns describes the columns of features from the data itself, which is not
// private. It leaves out columns that say nothing, with the reason.
func findColumns(s *testnet.Sheet, taken ...string) (columns []column, leftOut []string, err error) {
	for at, name := range s.Columns {
		if slices.Contains(taken, name) {
			continue
		}
		if name == "" {
			leftOut = append(leftOut, fmt.Sprintf("column %d (it has no name)", at+1))
			continue
		}
		v := gather(s, at)
		f := learner.Feature{Name: name, Kind: "number"}
		switch {
		case len(v.counts) < 2:
			leftOut = append(leftOut, fmt.Sprintf("%s (it has one value)", name))
			continue
		case v.counting:
			leftOut = append(leftOut, fmt.Sprintf("%s (it numbers the lines)", name))
			continue
		case v.texts == 0:
			f.Min, f.Max = v.between(outside)
		case v.numeric():
			return nil, nil, v.notNumbers(s, name)
		default:
			f.Kind, f.Values = "set", v.names()
			if len(f.Values) == 0 || len(f.Values) > mostValues {
				leftOut = append(leftOut, fmt.Sprintf("%s (%d different texts; at most %d)", name, len(f.Values), mostValues))
				continue
			}
		}
		columns = append(columns, column{f, at})
	}
	if len(columns) == 0 {
		return nil, nil, fmt.Errorf("tabular: %s has no column to learn from besides those of the node and the target; left out: %s", s.File, strings.Join(leftOut, ", "))
	}
	return columns, leftOut, nil
}

// names are the different texts; a cell may list several with a vertical bar
// between.
func (v *values) names() []string {
	names := map[string]bool{}
	for cell := range v.counts {
		for name := range strings.SplitSeq(cell, "|") {
			if name = strings.TrimSpace(name); name != "" {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
