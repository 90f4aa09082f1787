package metrics

import (
	"strings"
	"time"

	"p2pnode/node"
	"p2pnode/node/api"
)

// sums lists the metrics of private sums. All are 0 for a task without private sums.
func sums() []metric {
	return []metric{
		listed("sums", "Private sums of the task that are over or next, by state.", "state",
			func(s *api.Sum) string { return string(s.State) },
			string(api.SumWaiting), string(api.SumOpen), string(api.SumClosed), string(api.SumHere), string(api.SumDead)),
		listed("sums_contributions", "Private sums that this node paid a contribution to, by what became of it.", "part",
			func(s *api.Sum) string { return string(s.Part) },
			string(api.PartSent), string(api.PartListed), string(api.PartLeftOut), string(api.PartLost)),
		ofSums("sums_planned", "Private sums that the task makes in all.", func(s *api.Sums) float64 { return float64(s.All) }),
		moment("sums_last_result_timestamp_seconds", "When the newest private sum closed whose result is here; 0: none is.", lastResult),
		ofSums("sums_missing_members", "Members of the committee without whom a private sum cannot go on.", missing),
		ofSums("sums_committee_members", "Members of the committee.", func(s *api.Sums) float64 { return float64(len(s.Committee.Members)) }),
		ofSums("sums_committee_members_failing", "Members of the committee that did not answer this node the last time.", failing),
	}
}

// known returns what a node knows of its task's private sums.
func known(s *node.Stats) *api.Sums {
	if s.Status.Sums == nil {
		return new(api.Sums)
	}
	return s.Status.Sums
}

func ofSums(name, help string, read func(*api.Sums) float64) metric {
	return gauge(name, help, func(s *node.Stats) float64 { return read(known(s)) })
}

// listed makes a metric that counts sums by a word. It counts only sums whose word is one
// of words.
func listed(name, help, label string, word func(*api.Sum) string, words ...string) metric {
	return gauges(name, help, func(s *node.Stats, add sample) {
		counts, list := make(map[string]int), known(s).List
		for i := range list {
			counts[word(&list[i])]++
		}
		for _, w := range words {
			add(float64(counts[w]), strings.ReplaceAll(w, " ", "_"))
		}
	}, label)
}

func lastResult(s *node.Stats) (last time.Time) {
	for _, sum := range known(s).List {
		if closed := time.Unix(sum.Closes, 0); sum.State == api.SumHere && closed.After(last) {
			last = closed
		}
	}
	return last
}

func missing(s *api.Sums) float64 {
	members := make(map[string]bool)
	for _, sum := range s.List {
		for _, m := range sum.Missing {
			members[m] = true
		}
	}
	return float64(len(members))
}

func failing(s *api.Sums) (n float64) {
	for _, m := range s.Committee.Members {
		n += number(m.Failure != "")
	}
	return n
}
