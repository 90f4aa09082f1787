package learner

import (
	"math"
	"strings"
)

// losses lists what a task's key "loss" may say. A loss is added by a file that
// describes it and a line here. Nothing changes the list.
var losses = [...]lossKind{
	squaredLoss(),
	huberLoss(),
	logisticLoss(),
	hingeLoss(),
	multinomialLoss(),
}

// lossKind is all that is known of a loss beside its formula.
type lossKind struct {
	name   string // as the task's key "loss" says it
	make   func(*Task) loss
	target targetKind
	// odds says that scores are log odds: each class has a probability, and may have a
	// name.
	odds bool
	// constant is the loss's own number in the task, and key what it is called there;
	// it is left out for every other loss. nil: it has none.
	key      string
	constant func(*Task) float64
	check    func(*checker, *Task)
	usual    usualLoss
}

// targetKind is what a loss compares scores with.
type targetKind uint8

const (
	numberTarget targetKind = iota // in the task's range, less its center
	signTarget                     // +1 or -1
	classTarget                    // the position of one of several classes, each with a score
)

// lossKind returns the row of the task's loss; the first for a name that is none, so
// that a task can be checked to its end.
func (t *Task) lossKind() *lossKind {
	for i := range losses {
		if losses[i].name == t.Loss {
			return &losses[i]
		}
	}
	return &losses[0]
}

// loss returns the task's loss.
func (t *Task) loss() loss { return t.lossKind().make(t) }

// loss checks the key "loss" and the constants of all losses.
func (c *checker) loss(t *Task) {
	c.oneOf("loss", t.Loss, lossesThat(func(*lossKind) bool { return true })...)
	for i := range losses {
		switch k := &losses[i]; {
		case k.constant == nil:
		case k.name == t.Loss:
			k.check(c, t)
		default:
			c.check(k.constant(t) == 0, k.key, "belongs to the %s loss; leave it out", k.name)
		}
	}
	c.check(!t.releasesVectors() || t.staysConvex(t.Clip), "clip",
		"must be at least %.4f, which shortens no gradient of the %s loss, with this learner: only gradients that are never shortened are known to bring two models no further apart",
		t.leastConvexClip(), t.Loss)
}

// leastConvexClip shortens no gradient.
func (t *Task) leastConvexClip() float64 { return math.Ceil(1e4*t.GradientBound()) / 1e4 }

// lossList is lossesThat in words.
func lossList(has func(*lossKind) bool) string { return strings.Join(lossesThat(has), ", ") }

// lossesThat lists the losses of which has is true.
func lossesThat(has func(*lossKind) bool) []string {
	var list []string
	for i := range losses {
		if has(&losses[i]) {
			list = append(list, losses[i].name)
		}
	}
	return list
}
