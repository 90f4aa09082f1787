package learner

import (
	"math"
	"strings"
)

// losses lists the allowed values of a task's key "loss". To add a loss, add a file
// that describes it and a line here. Nothing changes the list at run time.
var losses = [...]lossKind{
	squaredLoss(),
	huberLoss(),
	logisticLoss(),
	hingeLoss(),
	multinomialLoss(),
}

// lossKind describes a loss beside its formula.
type lossKind struct {
	name   string // the value of the task's key "loss"
	make   func(*Task) loss
	target targetKind
	// odds means that scores are log odds: each class has a probability, and may have a
	// name.
	odds bool
	// constant returns the loss's own constant in the task, which has the name key
	// there; every other loss leaves it out. nil: the loss has none.
	key      string
	constant func(*Task) float64
	check    func(*checker, *Task)
	usual    usualLoss
}

// targetKind is what scores are compared with.
type targetKind uint8

const (
	numberTarget targetKind = iota // a number in the task's range, minus its center
	signTarget                     // +1 or -1
	classTarget                    // the position of one of several classes; each class has a score
)

// lossKind returns the row of the task's loss. For an unknown name it returns the first
// row, so that the check of a task can go on to the end.
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

// leastConvexClip is the smallest clip, rounded up to four digits after the point, that
// shortens no gradient.
func (t *Task) leastConvexClip() float64 { return math.Ceil(1e4*t.GradientBound()) / 1e4 }

// lossList is lossesThat as one text.
func lossList(has func(*lossKind) bool) string { return strings.Join(lossesThat(has), ", ") }

// lossesThat lists the names of the losses for which has is true.
func lossesThat(has func(*lossKind) bool) []string {
	var list []string
	for i := range losses {
		if has(&losses[i]) {
			list = append(list, losses[i].name)
		}
	}
	return list
}
