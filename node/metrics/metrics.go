// Package metrics reports to Prometheus how a running node is doing. It does no work
// while nobody asks: it reads the numbers when they are scraped. docs/metrics.md lists
// them; their names and labels do not change.
//
// It is a package of its own so that apps do not link it.
package metrics

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"p2pnode/internal/program"
	"p2pnode/node"
)

// scrapeTimeout is how long a scrape may take. Prometheus gives up after ten seconds.
const scrapeTimeout = 5 * time.Second

// Handler returns the handler of GET /metrics for a node. If network is true, libp2p
// counts too from the node's next run on, which costs a tenth of what an idle node costs.
func Handler(n *node.Node, network bool) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collector{n, all()}, buildInfo(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if network {
		n.CountWith(libp2p.PrometheusRegisterer(r))
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: scrapeTimeout})
}

// buildInfo says which version of the program is running.
func buildInfo() prometheus.Collector {
	labels := prometheus.Labels{"version": program.Version(), "go": runtime.Version()}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "p2pnode_build_info", Help: "Always 1. The labels say which p2pnode this is and which Go made it.", ConstLabels: labels,
	}, func() float64 { return 1 })
}

// collector reads a node's numbers at each scrape.
type collector struct {
	node *node.Node
	list []metric
}

// all lists the metrics of a node.
func all() (list []metric) {
	for _, part := range [][]metric{learning(), privacy(), sums(), messages(), network(), storage()} {
		list = append(list, part...)
	}
	return list
}

// Describe implements [prometheus.Collector].
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, m := range c.list {
		out <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	s, err := c.node.Stats(ctx)
	if err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
		return
	}
	for _, m := range c.list {
		m.read(&s, func(sample prometheus.Metric) { out <- sample })
	}
}
