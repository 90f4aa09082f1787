package metrics

import (
	"time"

	"p2pnode/node"
	"p2pnode/node/api"
)

func learning() []metric {
	return []metric{
		gauges("node_info", "Always 1. The labels say which node this is and what it learns.",
			func(s *node.Stats, add sample) {
				add(1, s.Status.Peer, s.Status.Task, s.Status.Learner, s.Status.Network)
			}, "peer", "task", "learner", "network"),
		flag("running", "1 while the node takes part in the network.", func(s *node.Stats) bool { return s.Status.Running }),
		flag("paused", "1 while its owner has paused the node.", func(s *node.Stats) bool { return len(s.Status.Paused) > 0 }),
		gauge("learning_round", "Round of the last release, or of the learner if it goes in rounds. It jumps after a restore.",
			func(s *node.Stats) float64 { return float64(s.Status.Round) }),
		gauges("learning_records", "Stored records: for training, held out to measure on, or set aside because an earlier version wrote them.",
			func(s *node.Stats, add sample) {
				add(float64(s.Status.Records-s.Status.HeldOut), "training")
				add(float64(s.Status.HeldOut), "held_out")
				add(float64(s.Status.SetAside), "set_aside")
			}, "kind"),
		neighbours("learning_neighbours", "Neighbours.", func(s *api.Status) int { return s.Neighbours }),
		neighbours("learning_neighbours_listening", "Neighbours that are connected and listen.", func(s *api.Status) int { return s.Listening }),
		neighbours("learning_neighbours_heard", "Neighbours whose model has arrived.", func(s *api.Status) int { return s.Heard }),
		counter("learning_neighbour_changes_total", "Neighbours that came or went.", func(s *node.Stats) float64 { return float64(s.Status.EdgeChanges) }),
		counter("learning_edges_dropped_total", "Edges left out of a round because a neighbour was not heard in time, since the node was made.",
			ofRounds(func(r *api.Rounds) uint64 { return r.Dropped })),
		counter("learning_edges_asymmetric_total", "Edges that only one end left out of a round, since the node was made.",
			ofRounds(func(r *api.Rounds) uint64 { return r.Asymmetric })),
		total("learning_fit_duration_seconds", "How long the fits of the personal model took, and how many there were.",
			func(s *node.Stats) (uint64, float64) { return s.Fits.Ended, s.Fits.Seconds }),
		counter("learning_fit_failures_total", "Fits of the personal model that failed.", func(s *node.Stats) float64 { return float64(s.Fits.Failed) }),
		moment("learning_last_fit_timestamp_seconds", "When the newest personal model was fitted; 0: there is none.", func(s *node.Stats) time.Time { return s.Fits.Last }),
	}
}

// neighbours reads a number of neighbours. It is not there where only private sums are made: such
// a node has none and misses nobody.
func neighbours(name, help string, read func(*api.Status) int) metric {
	return gauges(name, help+" Not there where only private sums are made.", func(s *node.Stats, add sample) {
		if !s.Status.Privacy.SumsOnly {
			add(float64(read(&s.Status)))
		}
	})
}

// ofRounds reads a count of learners in rounds. It is 0 for other learners.
func ofRounds(read func(*api.Rounds) uint64) func(*node.Stats) float64 {
	return func(s *node.Stats) float64 {
		if s.Status.Rounds == nil {
			return 0
		}
		return float64(read(s.Status.Rounds))
	}
}
