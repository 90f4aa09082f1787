package tabular

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/testnet/paper"
)

// togetherCase is what an independent program's mean-regularised model reached beside
// its lone models; see testdata/independent.
type togetherCase struct {
	Name              string
	Alone             float64 // the penalty tuned for each node
	AloneCommon       float64 `json:"alone_common"` // for all nodes alike
	Together          float64
	Gain              float64 // over the better of these
	GainStandardError float64 `json:"gain_standard_error"`
}

func togetherCases(t *testing.T) []togetherCase {
	var file struct{ Populations []togetherCase }
	text, err := os.ReadFile(filepath.Join("testdata", "independent", "together.json"))
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	return file.Populations
}

// Of the made-up populations that nodes learn together in.
const (
	togetherNodes   = 60
	togetherRecords = 30
	togetherColumns = 20
)

// options are those of paper csv for the case's file.
func (c *togetherCase) options(t *testing.T) paper.Options {
	shared := filepath.Join(os.Getenv("P2PNODE_SHARED"), "data")
	var o paper.Options
	switch c.Name {
	case "vehicle":
		o = options(filepath.Join(shared, "vehicle", "vehicle.csv"))
	case "school":
		o = options(filepath.Join(shared, "school", "school.csv"))
		o.CSV.Node, o.CSV.Target = "school", "score"
	default:
		people, target, _ := strings.Cut(c.Name, " ")
		o = options(write(t, "people.csv", madeUpFile(people, target)))
		if target == "number" {
			o.CSV.Kind = "number"
		}
		return o
	}
	if _, err := os.Stat(o.Data); err != nil {
		t.Skipf("no %s: P2PNODE_SHARED names the directory with data/%s", o.Data, c.Name)
	}
	return o
}

// madeUpFile is a population as a CSV.
func madeUpFile(people, target string) string {
	pop := madeUp(people, target, togetherColumns)
	var b strings.Builder
	b.WriteString("node")
	for k := range pop.p {
		fmt.Fprintf(&b, ",x%d", k+1)
	}
	b.WriteString(",y\n")
	for i := range togetherNodes {
		for _, r := range pop.records(streamOf("%s node %d", pop.name, i), pop.model(i), togetherRecords) {
			fmt.Fprintf(&b, "n%d", i)
			for _, v := range r.x {
				fmt.Fprintf(&b, ",%v", v)
			}
			fmt.Fprintf(&b, ",%v\n", r.y)
		}
	}
	return b.String()
}

// free is the report of an experiment's cells without privacy.
func free(t *testing.T, o paper.Options) *paper.Report {
	p, err := CSV().Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	done, losses := paper.Done{}, make([]paper.Numbers, len(p.Cells))
	eachOf(len(p.Cells), func(i int) {
		if !strings.Contains(p.Cells[i].Key, "private false") {
			return
		}
		var err error
		if losses[i], err = p.Cells[i].Run(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for i, c := range p.Cells {
		if losses[i] != nil {
			done[c.Key] = losses[i]
		}
	}
	r, err := p.Report(done)
	if err != nil || len(r.Rows) < 2 {
		t.Fatal(err, r)
	}
	return r
}

// reachable is the share of the gain that is surely reached, case by case. The aim is 85 %
// everywhere; unlike people reached 75 % of numbers and 46 % of two classes, as a node
// cannot tell from a few records how alike all nodes are.
func reachable(name string) float64 {
	switch {
	case strings.HasPrefix(name, "unlike"), strings.HasPrefix(name, "independent"):
		return 0.45
	case strings.HasPrefix(name, "alike"):
		return 0.85
	case name == "vehicle":
		return 0.8
	}
	return 0.6
}

// Together without noise, beside a mean-regularised model that an independent program
// fitted to the same records in the same folds, with tuned constants: a good part of its
// gain over the best lone model, wherever that gain is more than twice its standard
// error; and nowhere more than 1 % worse than a lone model, theirs or ours. One
// penalty for all nodes is tuned by all of their records, which no lone node can do: it
// counts for what sharing models gains, not as alone.
func TestTogetherAgainstTheIndependentProgram(t *testing.T) {
	if os.Getenv("P2PNODE_PAPERS") != "yes" {
		t.Skip("runs nightly: takes minutes; set P2PNODE_PAPERS=yes")
	}
	for _, c := range togetherCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			o := c.options(t)
			o.Seeds = 3
			with, alone := loss(free(t, o).Rows[1])
			best := min(alone, c.Alone, c.AloneCommon)
			reached := (best - with) / (best - c.Together)
			t.Logf("%-18s alone %.4f, independent %.4f and %.4f; together %.4f, independent %.4f; gain +- %.4f, reached %.0f %%",
				c.Name, alone, c.Alone, c.AloneCommon, with, c.Together, c.GainStandardError, 100*reached)
			if best-c.Together > 2*c.GainStandardError && reached < reachable(c.Name) {
				t.Errorf("%.0f %% of the gain of %.4f", 100*reached, best-c.Together)
			}
			lone := min(alone, c.Alone)
			if with > 1.01*lone { // .3 % is the aim: "independent two" is .8 % worse
				t.Errorf("error %.4f together, %.4f alone", with, lone)
			}
		})
	}
}
