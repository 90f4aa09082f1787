package learner

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"p2pnode/privacy"
)

// advance ends the round if it is over and begins the next one if there is one. It
// returns the resulting output, after the messages in send.
func (r *rounds) advance(now time.Duration, send []Message) Output {
	out := Output{Send: send, Next: Never}
	for r.asked == nil {
		p := r.progress(now)
		if r.collecting {
			if !r.over(now, &p) {
				break
			}
			r.finish(now)
		}
		if !r.begin(now, &p, &out) {
			break
		}
	}
	if r.collecting {
		out.Next = r.deadline
	}
	r.next = out.Next
	return out
}

// over reports whether the round is over. If not enough neighbours were heard at the
// deadline, the round goes on as long as a next round would lead away from the others.
func (r *rounds) over(now time.Duration, p *progress) bool {
	if p.jump > r.round+1 || r.complete(now) {
		return true
	}
	if now < r.deadline {
		return false
	}
	if r.wouldDiverge(now, p) {
		r.deadline = r.lookAgain(now)
		return false
	}
	return true
}

// complete reports whether enough neighbours were heard and no other is waited for. It
// moves the deadline to the end of the grace period, if that is earlier.
func (r *rounds) complete(now time.Duration) bool {
	live, heard, silent, missing := 0, 0, 0, 0
	for i := range r.hood.edges {
		l := r.inboxes[r.hood.edges[i].Peer]
		if !l.member || !r.hood.edges[i].Live {
			continue
		}
		live++
		gone := l.next != nil && l.next.Round <= r.round+2 // it has begun this round and ended it
		if l.counts() || gone {
			heard++
		}
		switch {
		case l.counts(), l.next != nil && l.next.Round > r.round+1: // no more will come from it
		case l.silent && !gone:
			silent++
		default:
			missing++
		}
	}
	until := r.grace.hears(now, heard, live, silent)
	r.deadline = min(r.deadline, until)
	return until != Never && missing == 0
}

// counts reports whether both ends have heard each other, as far as this end can know.
func (l *inbox) counts() bool { return l.member && l.now != nil && l.acked }

// begin asks the door for the round's release. If there is nothing to release and a
// neighbour has begun the round, it publishes the public mix. It reports whether the
// round has begun.
func (r *rounds) begin(now time.Duration, p *progress, out *Output) bool {
	round := max(r.round+1, p.jump)
	if round > r.task.Rounds.last() {
		return false
	}
	if !r.hood.listening {
		r.mayBegin = 0
		return false
	}
	if r.mayBegin == 0 {
		// The neighbours may be rounds ahead, or still connecting: nobody might use a
		// release made now.
		r.waitFrom(now)
		r.mayBegin = now + r.seconds()/10
	}
	if p.some < round && now < r.mayBegin {
		out.Next = r.mayBegin
		return false
	}
	if p.jump < round && r.wouldDiverge(now, p) {
		out.Next = r.lookAgain(now)
		return false
	}
	if len(out.Send) > 0 {
		// The waiting messages go first. A release takes a time that depends on the
		// records, and an acknowledgement that waited for it would tell that time.
		out.Next = now + headStart
		return false
	}
	r.beginning = round
	if q := r.scheme.query(); q != nil {
		q.Round = round
		r.asked, out.Ask = q, q
		r.training.ask(q.Sums)
		return true
	}
	if p.newest < round {
		return false
	}
	if at := r.ended + r.seconds()/10; p.some < round && now < at {
		out.Next = at // so that a few neighbours that go on for ever do so slowly
		return false
	}
	out.Send = r.publish(now, r.model, r.std, out.Send)
	return true
}

// Released implements [Agent].
func (r *rounds) Released(now time.Duration, a privacy.Answer) Output {
	if r.asked == nil {
		return r.advance(now, nil)
	}
	r.asked = nil
	if a.Exhausted() && r.scheme.refused() {
		return r.advance(now, nil)
	}
	r.training.answered(a.Cohorts)
	if a.Exhausted() {
		return r.advance(now, nil)
	}
	model, std := r.scheme.released(a)
	r.drawn = math.Sqrt(max(0, std*std-r.std*r.std))
	r.made++
	return r.advance(now, r.publish(now, model, std, nil))
}

// publish begins the round with its broadcast, and acknowledges the models that have
// already arrived.
func (r *rounds) publish(now time.Duration, model []float64, std float64, send []Message) []Message {
	model = slices.Clone(model)
	project(model, r.task.Radius)
	r.task.single(model, std)
	r.mixed, r.mixedStd = r.model, r.std
	r.model, r.published, r.std, r.publishedStd = model, model, std, std
	r.round, r.collecting, r.degree = r.beginning, true, 0
	r.waitFrom(now)
	r.deadline = now + r.seconds()
	var acks []Message
	for i := range r.hood.edges {
		e := &r.hood.edges[i]
		l := r.inboxes[e.Peer]
		l.member, l.now, l.acked = e.Live, nil, false
		if l.next != nil && l.next.Round <= r.round {
			if l.next.Round == r.round {
				l.now = l.next
			}
			l.next = nil
		}
		if l.member {
			r.degree++
		}
		if l.member && l.now != nil {
			acks = append(acks, r.ack(e.Peer, l))
		}
	}
	r.members = r.degree
	send = append(send, Message{
		From: r.hood.self, Kind: KindModel, Round: r.round, Degree: max(1, r.degree), NoiseStd: std, Real: model,
	})
	return append(send, acks...)
}

// waitFrom begins to count how long, and for whom, the agent waits.
func (r *rounds) waitFrom(now time.Duration) {
	r.since, r.walked = now, 0
	r.grace.begin(now)
}

// headStart is how long a round waits to begin while messages go out first, so that
// they are on their way even where one processor does everything.
const headStart = 10 * time.Millisecond

func (r *rounds) seconds() time.Duration {
	return seconds(r.task.Rounds.Seconds)
}

// ack tells a neighbour that its model of this round was heard, and whether the
// edge counted in the round before.
func (r *rounds) ack(peer ID, l *inbox) Message {
	return Message{From: r.hood.self, To: peer, Kind: KindAck, Round: r.round, Real: []float64{r.lastUse(l)}}
}

// lastUse is 1 if the edge counted here in the round before, else 0.
func (r *rounds) lastUse(l *inbox) float64 {
	if l.used > 0 && l.used == r.round-1 {
		return 1
	}
	return 0
}

// finish combines the models heard over the edges that count, but for those that honest
// noise does not explain: their weight goes to the agent's own model. All count by their
// [precision].
func (r *rounds) finish(now time.Duration) {
	r.collecting, r.ended = false, now
	r.grace.end(now)
	m := mix{self: 1, others: make([]float64, len(r.model))}
	if r.publishedStd > 0 {
		r.hood.average(r.task)
	}
	r.judge()
	radius := r.radius()
	claims := r.taken(func(heard *Message) float64 { return heard.NoiseStd })
	usual := usualNoise(claims)
	most := believed(usual, r.task.mostNoise(len(r.model)))
	usual = r.hood.weighing(usual, len(claims))
	for i := range r.hood.edges {
		l := r.inboxes[r.hood.edges[i].Peer]
		if !l.member {
			continue
		}
		if !l.counts() {
			r.dropped++
			l.silent = l.next == nil
			continue
		}
		l.used = r.round
		if r.hood.screened.leftOut(i) {
			continue
		}
		w := metropolis(max(1, r.degree), l.now.Degree) * precision(l.now.NoiseStd, usual, usual)
		w -= addClipped(m.others, l.now.Real, w, floats.Distance(l.now.Real, r.published, 2), radius)
		m.self -= w
		m.std = math.Hypot(m.std, w*min(l.now.NoiseStd, most))
	}
	m.self = max(0, m.self) // rounding may make it slightly negative, on a full graph of few agents
	m.weigh(precision(r.publishedStd, usual, usual))
	r.model = slices.Clone(m.others)
	floats.AddScaled(r.model, m.self, r.published)
	r.std = math.Hypot(m.std, m.self*r.publishedStd)
	r.scheme.combined(m)
}

// weigh lets the own model count with this share of its weight, if anything else counts.
func (m *mix) weigh(share float64) {
	total := 1 - m.self*(1-share)
	if m.self == 1 || total <= 0 {
		return
	}
	m.self *= share / total
	floats.Scale(1/total, m.others)
	m.std /= total
}

// judge marks the neighbours whose models of this round honest noise does not explain. It
// compares them with the state before the agent's own release, which has less noise.
func (r *rounds) judge() {
	heard := make([]latest, len(r.hood.edges))
	for i := range heard {
		if l := r.inboxes[r.hood.edges[i].Peer]; l.counts() {
			heard[i] = latest{model: l.now.Real, round: l.now.Round, noiseStd: l.now.NoiseStd}
		}
	}
	r.hood.screen(heard, r.mixed, r.mixedStd, r.drawn)
}

// taken returns a number of each model of this round that is combined, in memory that it uses
// again.
func (r *rounds) taken(of func(*Message) float64) []float64 {
	r.scratch = r.scratch[:0]
	for i := range r.hood.edges {
		if l := r.inboxes[r.hood.edges[i].Peer]; l.counts() && !r.hood.screened.leftOut(i) {
			r.scratch = append(r.scratch, of(l.now))
		}
	}
	return r.scratch
}

// radius is the radius of ClippedGossip around the published model, with its noise in
// it: the mean of all is the model of all, in which noise averages out.
func (r *rounds) radius() float64 {
	return gossipRadius(r.taken(func(heard *Message) float64 { return floats.Distance(heard.Real, r.published, 2) }), len(r.hood.edges))
}

// metropolis is the weight of an edge between agents of the given degrees (the
// Metropolis rule; Vlaski and Sayed, section 1): each end knows it, it is the same at
// both, and an agent's edges together leave its own weight at least 1/(1 + degree).
func metropolis(own, other int) float64 { return 1 / (1 + float64(max(own, other))) }
