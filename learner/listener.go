package learner

// Listener is an agent to which the models of its neighbours make no difference before
// it next wakes, and then only the newest of each. A driver may hand it those alone,
// by the place of the edge, which it need not look for. Agents of a learner with a clock
// ([Task.Clocked]) are Listeners.
type Listener interface {
	// Hear is [Agent.Receive] of what came over an edge, by its place among those that
	// [Agent.Neighbours] was given last: sorted by peer, each once, none to the agent
	// itself, with positive finite weights. From is not looked at. The message is not
	// kept, but for its model.
	Hear(edge int, m *Message) error
}

// Hear implements [Listener].
func (p *personal) Hear(edge int, m *Message) error { return p.edges[edge].hear(m, len(p.model)) }
