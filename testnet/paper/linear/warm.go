package linear

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet/page"
	"p2pnode/testnet/paper"
	"p2pnode/testnet/sim"
)

// Constants of the private warm start, Bellet et al. 2018, appendix C.
const (
	warmEpsilon = 0.05
	warmMu      = 0.3 // of the propagation
	warmSweeps  = 50
)

// The warm start's noise: the Laplace scale on the local model of m records, times
// epsilon/L0. With lambda = 1/m a record moves the local model by up to L0/(m lambda) =
// L0, whatever m; the gain that the paper reports needs noise smaller by m^2.
var warmNoises = []struct {
	name  string
	scale func(m float64) float64
}{
	{"no noise", func(float64) float64 { return 0 }},
	{"noise of what a record moves", func(float64) float64 { return 1 }},
	{"that over m squared", func(m float64) float64 { return 1 / (m * m) }},
}

// Names of what a cell of the warm start has measured.
const (
	warmReleased = "released"
	warmSpread   = "propagated"
)

// warmStart releases everyone's local model once and lets the network smooth the
// releases; it measures both with each noise.
func warmStart(d *problem) paper.Numbers {
	out := paper.Numbers{}
	clean := d.alone()
	for _, noise := range warmNoises {
		models := scaled(clean, 1)
		for i := range models {
			random := seeded(d.seed, i, 17)
			scale := noise.scale(float64(len(d.people[i].train.x))) / warmEpsilon
			for k := range models[i] {
				models[i][k] += laplace(random, scale)
			}
		}
		out[warmReleased] = append(out[warmReleased], stat.Mean(d.accuracies(models), nil))
		out[warmSpread] = append(out[warmSpread], stat.Mean(d.accuracies(d.propagate(models)), nil))
	}
	return out
}

// propagate smooths local models over the graph, equation 16.
func (d *problem) propagate(local [][]float64) [][]float64 {
	models := scaled(local, 1)
	for range warmSweeps {
		for i := range models {
			var degree float64
			for _, e := range d.edges[i] {
				degree += e.Weight
			}
			c := warmMu * float64(len(d.people[i].train.x)) / mostRecords
			floats.ScaleTo(models[i], c/(1+c), local[i])
			for _, e := range d.edges[i] {
				floats.AddScaled(models[i], e.Weight/degree/(1+c), models[sim.Number(e.Peer)])
			}
		}
	}
	return models
}

func (s sizes) warmSection(done paper.Done) page.Section {
	section := page.Section{Title: "The private warm start"}
	t := page.Table{Caption: fmt.Sprintf("Accuracy of local models released at eps %v, and after propagation", warmEpsilon), Head: []string{"", "released", "propagated"}}
	for _, p := range s.warm {
		for k, noise := range warmNoises {
			line := page.Line{Group: fmt.Sprintf("%d features", p), Cells: []string{noise.name}, Struck: k > 1}
			for _, name := range []string{warmReleased, warmSpread} {
				var values []float64
				for _, seed := range s.seeds {
					if v := done[fmt.Sprintf(warmKey, p, seed)][name]; k < len(v) {
						values = append(values, v[k])
					}
				}
				if len(values) > 0 {
					line.Cells = append(line.Cells, fmt.Sprintf("%.3f", spanOf(values).value))
				}
			}
			if len(line.Cells) > 1 {
				t.Rows = append(t.Rows, line)
			}
		}
	}
	if len(t.Rows) > 0 {
		section.Tables = append(section.Tables, t)
		section.Text = []string{"With lambda = 1/m one record moves the local model by up to L0 however many records there are. Even with L0 = 1, too little for raw features, nothing is left of the model."}
	}
	return section
}
