package learner

import (
	"reflect"
	"slices"
	"strings"

	"p2pnode/privacy"
)

// learners lists what a task's key "learner" may say. A learner is added by a file
// that describes it and a line here. Nothing changes the list.
var learners = [...]descriptor{
	personalLearner(),
	propagationLearner(),
	diffusionLearner(),
	kmLearner(),
	polarLearner(),
	sumsLearner(),
}

// descriptor is all that is known of a learner outside its own file. Only name and
// make are required; a nil function stands for no.
type descriptor struct {
	name string // as the task's key "learner" says it
	make func(Config) (Agent, error)

	constants func(*Task) any       // the task's table of the learner's name; it is left out for every other learner
	check     func(*checker, *Task) // the constants, and what the learner asks of other keys
	usual     func(*filler)         // the constants a task leaves out, and other keys where the learner wants its own

	clocked   bool // see [Task.Clocked]
	rounds    bool // see [Task.InRounds]
	silent    bool // see [Task.Silent]
	estimates bool // its releases say where a node's own optimum lies, as the graph rule "released" needs

	// vectors reports whether it releases points that steps of gradients have brought it
	// to, not sums of gradients (see localfit.go); then sensitivity is what a schedule
	// assumes that one record can move them, in the norm of the law.
	vectors     func(*Task) bool
	sensitivity func(*Task, privacy.Noise) privacy.CarriedSensitivity

	obfuscated func(*Task) bool      // see [Task.Obfuscated]
	servers    func(*Task) []string  // see [Task.Servers]
	messages   func(*Task, ID) Rules // see [Task.Messages]; nil: models, in rounds with acknowledgements
}

// learner returns the descriptor of the task's learner; nothing for a name that is
// none.
func (t *Task) learner() *descriptor {
	for i := range learners {
		if learners[i].name == t.Learner {
			return &learners[i]
		}
	}
	return new(descriptor)
}

// Clocked reports whether agents release at the wakes of their own clocks, which go
// on for ever, and a message only waits there until the next.
func (t *Task) Clocked() bool { return t.learner().clocked }

// InRounds reports whether agents wait for each other's rounds, as [Task.Rounds] says.
func (t *Task) InRounds() bool { return t.learner().rounds }

// Stranded reports whether an agent that stands at that round takes part no more: it goes in
// rounds, and a restore of its directory has put it beyond the last one. Nobody would follow
// it there: it would be waited for in every round and be in none. The rounds of a learner
// with servers are theirs, so that its clients can go on.
func (t *Task) Stranded(self ID, round uint64) bool {
	switch servers := t.Servers(); {
	case !t.InRounds():
		return false
	case len(servers) == 0:
		return round > t.Rounds.last()
	default:
		return slices.Contains(servers, self) && round > lastRound
	}
}

// Silent reports whether agents send nothing and release nothing.
func (t *Task) Silent() bool { return t.learner().silent }

// Obfuscated reports whether what agents send is hidden without any bound on what can
// be learned from it: obfuscation, not differential privacy.
func (t *Task) Obfuscated() bool {
	d := t.learner()
	return d.obfuscated != nil && d.obfuscated(t)
}

// Servers lists the agents of whom one is an end of every edge; nil: all agents are
// alike.
func (t *Task) Servers() []ID {
	d := t.learner()
	if d.servers == nil {
		return nil
	}
	var ids []ID
	for _, s := range d.servers(t) {
		ids = append(ids, ID(s))
	}
	return ids
}

// releasesVectors is the descriptor's vectors.
func (t *Task) releasesVectors() bool {
	d := t.learner()
	return d.vectors != nil && d.vectors(t)
}

// learner checks the key "learner" and the tables of all learners.
func (c *checker) learner(t *Task) {
	c.oneOf("learner", t.Learner, names()...)
	if t.learner().rounds {
		c.rounds(t)
	} else {
		c.check(t.Rounds == Rounds{}, "rounds", "belongs to the learners %s; leave it out", strings.Join(withTrait(func(d *descriptor) bool { return d.rounds }), ", "))
	}
	for _, d := range learners {
		if d.name == t.Learner {
			if d.check != nil {
				d.check(c, t)
			}
		} else if d.constants != nil {
			c.check(reflect.ValueOf(d.constants(t)).IsZero(), d.name, "belongs to the learner %s; leave it out", d.name)
		}
	}
}

// names lists the learners.
func names() []string { return withTrait(func(*descriptor) bool { return true }) }

// withTrait lists the learners of which has is true.
func withTrait(has func(*descriptor) bool) []string {
	var list []string
	for i := range learners {
		if has(&learners[i]) {
			list = append(list, learners[i].name)
		}
	}
	return list
}
