package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"p2pnode/node"
	store "p2pnode/storage"
)

// metric is one metric of a node, and how its samples are read from the node's numbers.
type metric struct {
	desc *prometheus.Desc
	read func(s *node.Stats, out func(prometheus.Metric))
}

// sample receives a value and the values of its metric's labels.
type sample func(value float64, labels ...string)

// samples makes a metric that has labels, or that may be absent.
func samples(kind prometheus.ValueType, name, help string, read func(*node.Stats, sample), labels ...string) metric {
	desc := prometheus.NewDesc("p2pnode_"+name, help, labels, nil)
	return metric{desc, func(s *node.Stats, out func(prometheus.Metric)) {
		read(s, func(value float64, labels ...string) {
			out(prometheus.MustNewConstMetric(desc, kind, value, labels...))
		})
	}}
}

func gauges(name, help string, read func(*node.Stats, sample), labels ...string) metric {
	return samples(prometheus.GaugeValue, name, help, read, labels...)
}

func counters(name, help string, read func(*node.Stats, sample), labels ...string) metric {
	return samples(prometheus.CounterValue, name, help, read, labels...)
}

// gauge makes a metric that goes up and down.
func gauge(name, help string, read func(*node.Stats) float64) metric {
	return gauges(name, help, func(s *node.Stats, add sample) { add(read(s)) })
}

// counter makes a metric that goes up until it begins again at 0: when the daemon is
// restarted and, where [node.Stats] says so, when the node takes part again after a pause.
func counter(name, help string, read func(*node.Stats) float64) metric {
	return counters(name, help, func(s *node.Stats, add sample) { add(read(s)) })
}

// flag makes a metric that is 1 or 0.
func flag(name, help string, read func(*node.Stats) bool) metric {
	return gauge(name, help, func(s *node.Stats) float64 { return number(read(s)) })
}

// moment makes a metric that is a time, in seconds since 1970; 0: never.
func moment(name, help string, read func(*node.Stats) time.Time) metric {
	return gauge(name, help, func(s *node.Stats) float64 {
		if t := read(s); !t.IsZero() {
			return float64(t.UnixMilli()) / 1000
		}
		return 0
	})
}

// durations makes a metric that says how long writes took, for each of the files that
// were written.
func durations(name, help string, read func(*node.Stats) map[string]store.Durations) metric {
	desc := prometheus.NewDesc("p2pnode_"+name, help, []string{"file"}, nil)
	return metric{desc, func(s *node.Stats, out func(prometheus.Metric)) {
		for file, d := range read(s) {
			out(prometheus.MustNewConstHistogram(desc, d.Count, d.Seconds, d.AtMost, file))
		}
	}}
}

// total makes a metric that says how long something took in all, and how often it was
// done.
func total(name, help string, read func(*node.Stats) (times uint64, seconds float64)) metric {
	desc := prometheus.NewDesc("p2pnode_"+name, help, nil, nil)
	return metric{desc, func(s *node.Stats, out func(prometheus.Metric)) {
		times, seconds := read(s)
		out(prometheus.MustNewConstSummary(desc, times, seconds, nil))
	}}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func text(yes bool) string {
	if yes {
		return "true"
	}
	return "false"
}
