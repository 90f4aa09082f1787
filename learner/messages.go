package learner

// Rules say which messages an agent takes, by kind. A kind without a rule is one that
// no honest agent sends it.
type Rules map[Kind]Rule

// Rule is what the messages of one kind look like, and who may send them. It follows
// from the task and from who sends to whom, which everybody knows, so that an agent
// that breaks it is not honest.
type Rule struct {
	Reals   int     // exact length of Real
	Radius  float64 // Real lies in the l2 ball of this radius around zero; +Inf: it is finite
	Ring    int     // exact length of Ring
	Last    uint64  // the highest round; 0: there is none
	Attempt uint32  // the highest attempt
	Degree  int     // the largest degree
	// From says whether an agent may send this kind to this one; nil: every neighbour
	// may.
	From func(ID) bool
}

// The limits of what a neighbour may say beside a model.
const (
	maxCounted  = 256     // neighbours it counts
	maxAttempts = 1 << 24 // of masking one round again: one each deadline of an outage
)

// Messages says which messages the agent self takes from its neighbours.
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

// Depth is how many messages of a neighbour and kind wait for an agent at most: the
// newest, and in rounds several, because one that is ahead may be followed round by
// round, and a late one jumps.
func (t *Task) Depth() int {
	if t.InRounds() {
		return 4
	}
	return 1
}
