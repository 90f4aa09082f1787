package datadir

import (
	"cmp"
	"fmt"
	"slices"

	"p2pnode/learner"
)

// Edit is a change to a file.
type Edit struct {
	Line int    `json:"line"` // 0: behind the last line
	Text string `json:"text"` // what to do there
}

// forNeighbours are the tables of a task that say how a learner deals with neighbours. The
// learner "sums" has none to deal with, and refuses them.
var forNeighbours = [...]string{"propagation", "rounds", "diffusion", "km", "polar"}

// SumsInstead says what to change in the file of a valid task without private sums, so that
// its nodes make one of this kind, and send nothing else. The committee is left to whoever
// changes the file.
func SumsInstead(text []byte, kind string) (edits []Edit) {
	f := &tomlFile{form: taskForm()}
	var said learner.Task
	if !f.read(text, &said) {
		return nil
	}
	edit := func(key, what string) {
		if f.keys[key] {
			edits = append(edits, Edit{f.lines[key], what})
		}
	}
	edit("learner", "write learner = \"sums\"")
	for _, table := range forNeighbours {
		edit(table, fmt.Sprintf("take out [%s] and what is in it", table))
	}
	// Other rules than the usual one ask for what such nodes do not have.
	if rule := said.Graph.Rule; rule != "" && rule != "random" {
		edit("graph", "take out [graph] and what is in it")
	}
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Line, b.Line) })
	return append(edits, Edit{Text: fmt.Sprintf(`add
[sums]
committee = ["ID1", "ID2", "ID3", "ID4"]  # its members; p2pnode identity FILE makes an ID
[[sums.recipes]]
kind = %q`, kind)})
}
