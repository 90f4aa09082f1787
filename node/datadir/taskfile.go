package datadir

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/learner"
	"p2pnode/node/ticket"
)

// CheckTask reads a task file as [ParseTask] does, and returns all that is wrong in it.
// If nothing is wrong, it returns what is doubtful for a network of that many nodes with
// that many records each; 0 means that the number is unknown. The task is nil if anything
// is wrong.
func CheckTask(text []byte, nodes int, records float64) (t *learner.Task, wrong, doubtful []Finding) {
	t, file := readTask(text)
	if t == nil {
		return nil, file.wrong, nil
	}
	file.peers("sums.committee", t.Sums.Committee)
	file.peers("polar.servers", t.Polar.Servers)
	file.noise(t)
	if len(file.wrong) > 0 {
		return nil, file.wrong, nil
	}
	for _, f := range t.Doubts(learner.Expected{Nodes: nodes, Records: records}) {
		doubtful = append(doubtful, file.finding(f.Key, f.Text))
	}
	sortByLine(doubtful)
	return t, nil, doubtful
}

// peers checks that a list holds peer IDs, without which no node can work.
func (f *tomlFile) peers(key string, list []string) {
	for i, p := range list {
		if _, err := peer.Decode(p); err != nil {
			f.note(f.finding(fmt.Sprintf("%s[%d]", key, i), fmt.Sprintf("is %q, which is no peer ID: write what p2pnode identity prints", p)))
		}
	}
}

// noise checks that a node can be made without any choice of its owner: what the task says of the
// budget must have a noise.
func (f *tomlFile) noise(t *learner.Task) {
	c, wrong := DefaultConfig(t), faults{}
	if t.Obfuscated() {
		c.Unprotected = Consent // nobody takes part without
	}
	c.checkPrivacy(&wrong, t)
	for _, w := range wrong {
		f.note(f.finding("release."+w.key, w.err.Error()))
	}
	if _, err := c.Design(t).Policy(); err != nil && len(wrong) == 0 {
		f.note(f.finding("release", "no noise can be computed for what the task says: "+err.Error()))
	}
}

// readTask reads and completes a task file. The task is nil if anything is wrong.
func readTask(text []byte) (*learner.Task, *tomlFile) {
	f := &tomlFile{form: taskForm()}
	var said learner.Task
	if !f.short(text) || !f.read(text, &said) {
		return nil, f
	}
	whole := said.Complete(f.keys, learner.Expected{})
	for _, fault := range whole.Faults() {
		if found := f.finding(fault.Key, fault.Text); !slices.ContainsFunc(f.wrong, found.after) {
			f.note(found)
		}
	}
	if len(f.wrong) > 0 {
		sortByLine(f.wrong)
		return nil, f
	}
	text, err := FormatTask(whole) // what the directory of a node holds, and newcomers get
	if err != nil {
		f.note(Finding{Text: err.Error()})
	}
	if err != nil || !f.short(text) {
		return nil, f
	}
	return whole, f
}

// short reports whether the text of a task may be so long, and notes it if not.
func (f *tomlFile) short(text []byte) bool {
	if len(text) <= ticket.MaxTask {
		return true
	}
	f.note(Finding{Text: fmt.Sprintf("the text has, with all its keys, more than %d bytes, and nobody could join: name fewer columns, or fewer or shorter values", ticket.MaxTask)})
	return false
}

// taskForm describes a task file.
func taskForm() form {
	return form{"a task", "leave it out; docs/tasks.md lists the keys", reflect.TypeFor[learner.Task]()}
}
