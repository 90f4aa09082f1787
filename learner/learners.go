package learner

import (
	"reflect"
	"slices"
	"strings"

	"p2pnode/privacy"
)

// learners lists the allowed values of a task's key "learner". To add a learner, add a
// file that describes it and a line here. Nothing changes the list at run time.
var learners = [...]descriptor{
	personalLearner(),
	propagationLearner(),
	diffusionLearner(),
	kmLearner(),
	polarLearner(),
	sumsLearner(),
}

// descriptor describes a learner to the rest of the package. Only name and make are
// required; a nil function stands for no.
type descriptor struct {
	name string // the value of the task's key "learner"
	make func(Config) (Agent, error)

	constants func(*Task) any       // the task's table with the learner's name; every other learner leaves it out
	check     func(*checker, *Task) // checks the constants, and the other keys as far as the learner restricts them
	usual     func(*filler)         // fills in missing constants, and other keys where the learner has its own usual values

	clocked   bool // see [Task.Clocked]
	rounds    bool // see [Task.InRounds]
	silent    bool // see [Task.Silent]
	estimates bool // its releases tell where a node's own optimum lies, which the graph rule "released" needs

	// vectors reports whether it releases points reached by gradient steps instead of
	// sums of gradients (see localfit.go). sensitivity is then how far a schedule
	// assumes that one record can move them, in the norm of the law.
	vectors     func(*Task) bool
	sensitivity func(*Task, privacy.Noise) privacy.CarriedSensitivity

	obfuscated func(*Task) bool      // see [Task.Obfuscated]
	servers    func(*Task) []string  // see [Task.Servers]
	messages   func(*Task, ID) Rules // see [Task.Messages]; nil: models and, in rounds, acknowledgements
}

// learner returns the descriptor of the task's learner, and the zero descriptor for an
// unknown name.
func (t *Task) learner() *descriptor {
	for i := range learners {
		if learners[i].name == t.Learner {
			return &learners[i]
		}
	}
	return new(descriptor)
}

// Clocked reports whether agents release at the wakes of their own clocks, which never
// stop, so that a message only has an effect at the next wake.
func (t *Task) Clocked() bool { return t.learner().clocked }

// InRounds reports whether agents wait for each other's rounds; see [Task.Rounds].
func (t *Task) InRounds() bool { return t.learner().rounds }

// Stranded reports whether an agent at that round can take part no more: its learner
// works in rounds, and a restored directory has put it beyond the last round. No other
// agent would ever come there: all would wait for it in every round, and it would be in
// none. With servers the rounds are those of the servers, so clients can go on.
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

// Obfuscated reports whether agents hide what they send by obfuscation, not by
// differential privacy: nothing bounds what can be learned from it.
func (t *Task) Obfuscated() bool {
	d := t.learner()
	return d.obfuscated != nil && d.obfuscated(t)
}

// Servers lists the servers. Every edge has one of them as an end. nil: all agents are
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

// releasesVectors calls the descriptor's vectors.
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

// withTrait lists the names of the learners for which has is true.
func withTrait(has func(*descriptor) bool) []string {
	var list []string
	for i := range learners {
		if has(&learners[i]) {
			list = append(list, learners[i].name)
		}
	}
	return list
}
