package tabular

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"p2pnode/privacy"
	"p2pnode/testnet/paper"
)

// schoolText is a made-up file in School's format.
func schoolText(schools, pupils int) string {
	var b strings.Builder
	b.WriteString("row,school,score")
	for k := 1; k <= 28; k++ {
		fmt.Fprintf(&b, ",x%d", k)
	}
	b.WriteString("\n")
	for i := range schools {
		for j := range pupils {
			band := j % 3
			fmt.Fprintf(&b, "%d,%d,%d,1,0,0,%d,30,%d,%d,%d,%d,%d,1,0,0,0,0,0,0,0,0,0,0,1,0,0,1,0,0,1\n",
				i*pupils+j, i+1, 5+20*band+i%7+j%5, 10+i, j%2, 1-j%2, min(1, max(0, 1-band)), (3-band)/2*(band%2), band/2)
		}
	}
	return b.String()
}

func TestSchoolOfMadeUpPupils(t *testing.T) {
	r := report(t, School(), paper.Options{Seed: 1, Seeds: 2, Quick: true, Data: write(t, "school.csv", schoolText(6, 12))})
	if len(r.Rows) != 2+2*6 || !strings.Contains(r.Verdict, "of 6 nodes better") {
		t.Fatalf("%d rows, verdict %q", len(r.Rows), r.Verdict)
	}
	for _, row := range r.Rows {
		claims := row.Epsilon != nil
		if claims != row.Valid || row.Seeds != 2 || row.Spread == nil || claims && (row.Published != nil) != (*row.Epsilon == publishedEpsilon) {
			t.Errorf("%+v", row)
		}
	}
}

func TestSchoolRefuses(t *testing.T) {
	good := schoolText(3, 6)
	for want, path := range map[string]string{
		"no such file":                    "/nowhere/school.csv",
		`no column "score"`:               write(t, "a.csv", strings.Replace(good, "score", "mark", 1)),
		`no column "x27"`:                 write(t, "b.csv", strings.Replace(good, "x27", "x", 1)),
		`line 2: column "score"`:          write(t, "c.csv", strings.Replace(good, "\n0,1,5,", "\n0,1,71,", 1)),
		`no number from 0 to 100`:         write(t, "d.csv", strings.Replace(good, ",10,30,", ",110,30,", 1)),
		"15362 lines; school is 1 to 139": write(t, "e.csv", "a,b\n1,2\n"),
		"learning together needs 3":       write(t, "f.csv", schoolText(2, 6)),
		"must name the examination":       write(t, "i.csv", good+"1,2\n"),
		"no header line":                  write(t, "g.csv", ""),
		`"x4": "ten"`:                     write(t, "h.csv", strings.Replace(good, ",10,30,", ",ten,30,", 1)),
	} {
		if _, err := School().Plan(paper.Options{Data: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}

// The bar: below what Liu et al. publish at epsilon 6, on one split, with room for
// the spread between splits, which is .0003.
func TestSchoolBeatsThePublishedError(t *testing.T) {
	shared := os.Getenv("P2PNODE_SHARED")
	if shared == "" {
		t.Skip("P2PNODE_SHARED does not name the reference files, School among them")
	}
	data, err := readSchool(filepath.Join(shared, "data", "school"))
	if err != nil {
		t.Fatal(err)
	}
	e := &schoolRun{schoolData: data, ways: schoolWays(true), seed: 1, splits: 1}
	w := schoolWay{"diffusion", privacy.Budget{Epsilon: publishedEpsilon, Delta: publishedDelta}}
	n, err := e.run(w, 1)
	if err != nil {
		t.Fatal(err)
	}
	done := paper.Done{w.key(1): n}
	for model, bar := range map[string]float64{"with": .0225, "shared": publishedFedAvg} {
		if got := e.results(done, w, model).pooled[0]; !(got > .02 && got < bar) {
			t.Errorf("%s: error %.5f, want less than %.5f", model, got, bar)
		}
	}
}

// A private sum at (1, 1e-6) lowers the error of the schools' own fits by a fortieth, for
// schools that added nothing too.
func TestSchoolBySum(t *testing.T) {
	shared := os.Getenv("P2PNODE_SHARED")
	if shared == "" {
		t.Skip("P2PNODE_SHARED does not name the reference files, School among them")
	}
	data, err := readSchool(filepath.Join(shared, "data", "school"))
	if err != nil {
		t.Fatal(err)
	}
	e := &schoolRun{schoolData: data, ways: schoolWays(true), seed: 1, splits: 4}
	w, done := schoolWay{bySum, privacy.Budget{Epsilon: 1, Delta: 1e-6}}, paper.Done{}
	for split := range uint64(4) {
		if done[w.key(1+split)], err = e.run(w, 1+split); err != nil {
			t.Fatal(err)
		}
	}
	mean := func(model string) float64 { return stat.Mean(e.results(done, w, model).pooled, nil) }
	if alone := mean("alone"); mean("with") > .975*alone || mean("newcomer") > .975*alone {
		t.Errorf("errors %.5f with a private sum, %.5f of newcomers, %.5f alone", mean("with"), mean("newcomer"), alone)
	}
}
