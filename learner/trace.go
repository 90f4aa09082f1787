package learner

import (
	"slices"
	"time"

	"p2pnode/privacy"
)

// Input is one call of an [Agent] with its arguments. Call says which one of the fields
// below Now is used.
type Input struct {
	Call    Call
	Now     time.Duration
	Edges   []Edge         // CallNeighbours
	Add     []Record       // CallRecords
	Drop    []Seq          // CallRecords
	Message Message        // CallReceive
	Answer  privacy.Answer // CallReleased
}

// Call names a method of [Agent].
type Call uint8

// The calls of an agent.
const (
	CallNeighbours Call = iota + 1
	CallRecords
	CallReceive
	CallTick
	CallReleased
)

// Recorder is an [Agent] that passes every call on to another and keeps the trace. The
// trace holds records: it is for tests and must never leave the device.
type Recorder struct {
	Agent
	Trace []Input
}

// Neighbours implements [Agent].
func (r *Recorder) Neighbours(now time.Duration, edges []Edge) Output {
	r.Trace = append(r.Trace, Input{Call: CallNeighbours, Now: now, Edges: slices.Clone(edges)})
	return r.Agent.Neighbours(now, edges)
}

// Records implements [Agent].
func (r *Recorder) Records(add []Record, drop []Seq) error {
	r.Trace = append(r.Trace, Input{Call: CallRecords, Add: slices.Clone(add), Drop: slices.Clone(drop)})
	return r.Agent.Records(add, drop)
}

// Receive implements [Agent].
func (r *Recorder) Receive(now time.Duration, m Message) (Output, error) {
	m.Real = slices.Clone(m.Real) // its memory may be reused
	r.Trace = append(r.Trace, Input{Call: CallReceive, Now: now, Message: m})
	return r.Agent.Receive(now, m)
}

// Tick implements [Agent].
func (r *Recorder) Tick(now time.Duration) Output {
	r.Trace = append(r.Trace, Input{Call: CallTick, Now: now})
	return r.Agent.Tick(now)
}

// Released implements [Agent].
func (r *Recorder) Released(now time.Duration, a privacy.Answer) Output {
	kept := privacy.Answer{Sum: slices.Clone(a.Sum), Slots: a.Slots, Cohorts: slices.Clone(a.Cohorts)}
	r.Trace = append(r.Trace, Input{Call: CallReleased, Now: now, Answer: kept})
	return r.Agent.Released(now, a)
}

// Replay feeds a trace into a new agent and returns its final state. The state is
// bit-identical to that of the recorded agent if both were made alike (with a Schedule
// from the same seed) and run in the same binary. Inputs that failed then fail again
// and change nothing.
func Replay(a Agent, trace []Input) State {
	for _, in := range trace {
		switch in.Call {
		case CallNeighbours:
			a.Neighbours(in.Now, in.Edges)
		case CallRecords:
			_ = a.Records(in.Add, in.Drop)
		case CallReceive:
			_, _ = a.Receive(in.Now, in.Message)
		case CallTick:
			a.Tick(in.Now)
		case CallReleased:
			a.Released(in.Now, in.Answer)
		}
	}
	return a.State()
}
