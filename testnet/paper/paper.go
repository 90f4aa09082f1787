// Package paper repeats experiments of the literature and compares what is really
// possible with what was published. An [Experiment] plans independent cells; [Run]
// computes them on all processors, keeps what is done in a file so that an interrupted
// run goes on, and writes the report as a page, as JSON and as CSV.
package paper

import (
	"context"

	"p2pnode/testnet/page"
)

// Experiment is one that `testnet paper` can run.
type Experiment struct {
	Name  string // in the command
	Title string // on the page
	About string // a paragraph: the source, the figures, and what they are compared with
	Data  string // what --data must name and where to get it; "" if it needs no data
	// Place is where the data lies under the directory given to `paper all`, for
	// example "ml-100k". An experiment with Data and no Place is not part of all.
	Place    string
	UsesCSV  bool // it uses Options.CSV
	UsesReal bool // it uses Options.Real
	// UsesPeople: it uses Options.People.
	UsesPeople bool
	// Apart says why 'paper all' leaves it out unless Options.Quick; "": it does not.
	Apart string
	// Plan says what to compute. It reads files but does no long computation.
	Plan func(Options) (*Plan, error)
}

// Options are the options that every experiment takes.
type Options struct {
	Seed  uint64 // the first one: of splits, data, noise and clocks
	Seeds int    // how many seeds or splits, from Seed up; 0: the experiment's own number
	Quick bool   // a small version that takes seconds: the same rows where possible, fewer points
	Data  string // path of the data, for experiments that need some
	Real  bool   // run the task once more, over real libp2p nodes
	// Scratch is a directory for the files of real nodes while they run; "" is the
	// system's. After an interruption nodes may still write into it.
	Scratch string
	CSV     CSV // of experiment csv
	People  int // how many there are, of an experiment that uses it; 0: its own number
}

// CSV describes a file for experiment csv.
type CSV struct {
	Node, Target string // columns; "" : "node" and the last column
	// Kind is the kind of the target: "number" or "classes"; "": found from its values.
	Kind    string
	Task    string // path of a task file, or a built-in task; "": guessed from the data, which is not private
	Epsilon float64
	Delta   float64
	SkipBad bool // leave lines out that cannot be read
}

// Plan is an experiment with its options.
type Plan struct {
	// Identity names everything that the numbers depend on besides the program: options
	// and the hashes of files. Cells of another identity are not used again.
	Identity string
	Seeds    int // how many seeds or splits it uses
	Cells    []Cell
	// Report makes the report of the finished cells, which may be few: what cannot be
	// said yet is left out.
	Report func(done Done) (*Report, error)
}

// Cell is one computation. Its result depends only on its plan and Key.
type Cell struct {
	Key  string  // unique in the plan
	Cost float64 // about how long it takes, in any unit, above 0, to estimate the time left
	// Solo means that it needs the whole machine: it runs by itself, after the others.
	Solo bool
	// Run is called once, from any goroutine. When ctx ends, its numbers are not used,
	// and nobody waits long for it.
	Run func(ctx context.Context) (Numbers, error)
}

// Numbers are the results of a cell, by name; all are finite.
type Numbers map[string][]float64

// Done holds the numbers of finished cells by key.
type Done map[string]Numbers

// Report is the result of an experiment.
type Report struct {
	// Verdict says whether learning together is worth it, and comes first; "" if
	// nothing is compared with learning alone, or not yet.
	Verdict  string
	Summary  string // the main result in a sentence or two, for the index of all pages
	Rows     []Row
	Sections []page.Section // charts, and tables besides that of the rows
	Notes    []string       // what a reader must know, a sentence or two each
}

// Row is one setting. Pointers are nil where there is no such number.
type Row struct {
	Setting string   `json:"setting"`
	Seeds   int      `json:"seeds"`   // or splits, that Error or Accuracy is the mean of
	Epsilon *float64 `json:"epsilon"` // claimed for one record over the whole run; nil: nothing is released, or without privacy
	Delta   *float64 `json:"delta"`
	// Valid means that the claim holds: whatever leaves a node is (epsilon, delta)
	// differentially private for replacing one record. Without a claim it is false.
	Valid     bool     `json:"valid"`
	TrueEps   *float64 `json:"true_epsilon,omitempty"` // where it does not hold: what does, at the same delta
	TrueDelta *float64 `json:"true_delta,omitempty"`   // the same at the same epsilon
	Measure   string   `json:"measure"`                // what Error or Accuracy is
	Error     *float64 `json:"error,omitempty"`
	Accuracy  *float64 `json:"accuracy,omitempty"`
	LogLoss   *float64 `json:"log_loss,omitempty"`  // mean of -log of the probability given to the class seen
	AUC       *float64 `json:"auc,omitempty"`       // area under the curve of two classes
	Spread    *float64 `json:"spread,omitempty"`    // standard deviation over the seeds
	Alone     *float64 `json:"alone,omitempty"`     // the tuned lone model, in the same measure
	Published *float64 `json:"published,omitempty"` // the paper's number, or that of Source
	Source    string   `json:"source,omitempty"`    // of Published
	// GainLow and GainHigh bound the gain over the tuned lone model, which is positive
	// if the method is better: a 95% interval of the mean over people, paired, pooled
	// over seeds.
	GainLow  *float64 `json:"gain_low,omitempty"`
	GainHigh *float64 `json:"gain_high,omitempty"`
	Note     string   `json:"note,omitempty"`
}

// Independent is the source of numbers that no paper has: another program found them by
// repeating a figure. Tables call them a reference instead of published.
const Independent = "an independent program"

// Number is v, for the optional numbers of a row.
func Number(v float64) *float64 { return &v }
