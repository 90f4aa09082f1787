package metrics

import "p2pnode/node"

func privacy() []metric {
	return []metric{
		gauges("privacy_epsilon", "Epsilon of the guarantee for each record. Not there without a guarantee.",
			func(s *node.Stats, add sample) {
				if !s.Status.Privacy.Unbounded {
					add(s.Status.Privacy.Epsilon)
				}
			}),
		gauges("privacy_delta", "Delta of the guarantee for each record. Not there without a guarantee.",
			func(s *node.Stats, add sample) {
				if !s.Status.Privacy.Unbounded {
					add(s.Status.Privacy.Delta)
				}
			}),
		gauge("privacy_spent_ratio", "Share of its budget that the newest cohort of records has spent, from 0 to 1.",
			func(s *node.Stats) float64 { return s.Status.Privacy.Spent }),
		gauge("privacy_releases_left", "Releases that the newest cohort can still pay for.",
			func(s *node.Stats) float64 { return float64(s.Status.Privacy.Left) }),
		gauge("privacy_records_missing", "Training records that must come before the next release, once a budget is used. 0: none, or none would help.",
			func(s *node.Stats) float64 { return float64(s.Status.Privacy.Missing) }),
		counter("privacy_releases_total", "Releases that were paid for, or made without a guarantee.",
			func(s *node.Stats) float64 { return float64(s.Released) }),
		counter("privacy_releases_refused_total", "Releases that were refused because no budget was left.",
			func(s *node.Stats) float64 { return float64(s.Refused) }),
		counter("privacy_unprotected_releases_total", "Releases without a guarantee since the data directory was made.",
			func(s *node.Stats) float64 { return float64(s.Unprotected) }),
		flag("privacy_unprotected", "1 if the configuration allows releases without a guarantee.",
			func(s *node.Stats) bool { return s.Status.Privacy.Unprotected }),
		flag("privacy_exhausted", "1 if nothing is released any more of the records that are there: their budget is used, or they wait for more. Where there are only private sums: 1 if all of them are over.",
			func(s *node.Stats) bool { return s.Status.Done }),
		flag("privacy_contradicted", "1 if a peer showed that the data directory is an old copy: nothing is released until it is restored.",
			func(s *node.Stats) bool { return s.Status.Contradicted > 0 }),
	}
}
