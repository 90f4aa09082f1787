package testnet

import (
	"context"
	"time"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/testnet/sim"
)

// Virtual time of a simulation. Only ratios matter to what is learned.
const (
	simWake    = time.Second
	simLatency = 5 * time.Millisecond
)

// simulate is the driver under virtual time. It ignores ctx once it runs: a
// simulation of a thousand agents takes seconds.
func (c *Config) simulate(_ context.Context, d *Dataset, seed uint64, m Method) (*Trial, error) {
	start := time.Now()
	participants, err := simulated(d, seed, c.Budget, m)
	if err != nil {
		return nil, err
	}
	releases := d.Task.Release.Releases
	t := &Trial{Method: m}
	config := sim.Config{
		Task:         d.Task,
		Participants: participants,
		Seed:         seed,
		WakeMean:     simWake,
		Latency:      simLatency,
		Until:        time.Duration(100*releases) * simWake, // far beyond any wake
		Every:        simWake / 4,
	}
	if d.Task.Graph.Rule == "released" {
		discover(&config)
	}
	if seed == c.Seed && !c.NoCurve {
		config.Sample = func(_ time.Duration, states []learner.State) {
			if mean := meanRound(states); t.due(mean, releases) {
				t.addPoint(mean, errorsOf(testScores(d, states)))
			}
		}
	}
	result, err := sim.Run(config)
	if err != nil {
		return nil, err
	}
	t.count(d, participants, result)
	t.take(d, testScores(d, result.States))
	t.Seconds = time.Since(start).Seconds()
	return t, nil
}

// searchWake is the mean time between two releases where participants search for each
// other, at the pace of devices: seldom enough that the search keeps up with the releases.
const searchWake = 20 * time.Second

// discover lets the participants of a simulation find their neighbours, for as long
// as everybody takes to make her releases and a little more.
func discover(c *sim.Config) {
	c.Discovery = &sim.Discovery{Contacts: 5}
	c.WakeMean = searchWake
	c.Every = c.WakeMean / 4
	c.Until = time.Duration(2*c.Task.Release.Releases+10) * c.WakeMean
}

// count fills in what a simulation sent and spent. Its messages have no
// overhead and are never lost, only overtaken. A learner may send more models than
// it makes releases.
func (t *Trial) count(d *Dataset, participants []sim.Participant, r *sim.Result) {
	n := float64(len(participants))
	numbers := 0
	for kind, copies := range r.Sent {
		t.Expected += uint64(copies)
		if kind == learner.KindAck {
			numbers += copies
		} else {
			numbers += copies * d.Task.Dimension()
		}
	}
	for i, made := range r.Releases {
		if made < participants[i].Releases {
			t.Unfinished++
		}
	}
	t.Delivered = uint64(r.Messages)
	t.Messages = float64(r.Sent[learner.KindModel]) / n
	t.Bytes = float64(numbers*weightBytes(r.States)) / n
	if t.Method == Broadcast {
		t.Spent = r.Spent
	}
}

// weightBytes is what a weight of the models takes: half as much where noise hides what
// single precision leaves out.
func weightBytes(states []learner.State) int {
	for i := range states {
		if !learner.IsSingle(states[i].Model) {
			return 8
		}
	}
	return 4
}

func meanRound(states []learner.State) float64 {
	var sum float64
	for i := range states {
		sum += float64(states[i].Round)
	}
	return sum / float64(len(states))
}

// simulated makes the people of a data set the simulation's participants.
func simulated(d *Dataset, seed uint64, b privacy.Budget, m Method) ([]sim.Participant, error) {
	design := privacy.Design{Budget: b, Releases: d.Task.Release.Releases}
	if m == Open {
		design.Noise = privacy.Unprotected
	}
	policy, err := d.Task.Design(design).Policy()
	if err != nil {
		return nil, err
	}
	edges := knownGraph(d, seed)
	list := make([]sim.Participant, len(d.People))
	for i := range d.People {
		list[i] = sim.Participant{
			ID:       sim.Name(i),
			Records:  cohorts(d.People[i].Records, d.Task.Cohort()),
			Edges:    edges[i],
			Policy:   policy,
			Releases: d.Task.Release.Releases,
		}
	}
	return list, nil
}

// knownGraph joins people by the task's rule, everybody being known.
func knownGraph(d *Dataset, seed uint64) [][]learner.Edge {
	if d.Task.Graph.Rule != "profile" {
		return sim.RandomGraph(len(d.People), d.Task.Graph.Degree, seed)
	}
	profiles := make([][]float64, len(d.People))
	for i := range d.People {
		profiles[i] = d.People[i].Profile
	}
	return sim.ProfileGraph(profiles, d.Task.Graph.Degree, d.Task.Graph.Gamma)
}

// cohorts assigns records to cohorts in order of arrival, as a device does.
func cohorts(records []learner.Record, size int) []learner.Record {
	assigned := make([]learner.Record, len(records))
	for i, r := range records {
		r.Cohort = privacy.Cohort(1 + i/size)
		assigned[i] = r
	}
	return assigned
}
