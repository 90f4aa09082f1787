package learner

// Rules say which messages an agent accepts, by kind. No honest agent sends it a kind
// without a rule.
type Rules map[Kind]Rule

// Rule describes the messages of one kind and says who may send them. It follows from
// the task and from who sends to whom, which everybody knows, so an agent that breaks
// it is not honest.
type Rule struct {
	Reals   int     // exact length of Real
	Radius  float64 // Real lies in the l2 ball of this radius around zero; +Inf: Real is only finite
	Ring    int     // exact length of Ring
	Last    uint64  // the highest round; 0: no limit
	Attempt uint32  // the highest attempt
	Degree  int     // the largest degree
	// From reports whether an agent may send this kind to this one; nil: every
	// neighbour may.
	From func(ID) bool
}

// Limits on what a neighbour may send beside a model.
const (
	maxCounted  = 256     // the largest Degree: neighbours that the sender counts
	maxAttempts = 1 << 24 // attempts to mask one round: one for each deadline of an outage
)

// Messages returns which messages the agent self accepts from its neighbours.
func (t *Task) Messages(self ID) Rules {
	d := t.learner()
	if d.messages != nil {
		return d.messages(t, self)
	}
	model := Rule{Reals: t.Dimension(), Radius: t.Radius}
	if !d.rounds {
		return Rules{KindModel: model}
	}
	model.Last, model.Degree = uint64(t.Rounds.Count), maxCounted
	return Rules{KindModel: model, KindAck: {Reals: 1, Radius: 1, Last: model.Last}}
}

// Depth is how many messages of one neighbour and kind may wait for an agent at most.
// Without rounds it is the newest. In rounds it is several: a neighbour that is ahead
// may be followed round by round, and a late one jumps.
func (t *Task) Depth() int {
	if t.InRounds() {
		return 4
	}
	return 1
}
