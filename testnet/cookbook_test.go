package testnet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"p2pnode/learner"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
)

// Made-up people for the recipes of docs/cookbook.md and for the map: CSVs as a household, a
// shop or a phone could write them.

// households measure their power (kW) now and then. They heat below 16 degrees, cool above
// 24, and cook and watch in the morning and in the evening, at hours and in amounts of
// their own.
func households(people int, r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("node,time,outside,power\n")
	for i := range people {
		base, heat, cool := 0.2+0.3*r.Float64(), 0.03+0.06*r.Float64(), 0.02+0.08*r.Float64()
		shift, habit := 0.7*r.NormFloat64(), 0.6+0.8*r.Float64()
		for range 20 + r.IntN(60) {
			at := time.Date(2026, 1, 1, r.IntN(24), r.IntN(60), 0, 0, time.UTC).AddDate(0, 0, r.IntN(365))
			season := math.Cos(2 * math.Pi * float64(at.YearDay()-20) / 365)
			hour := float64(at.Hour()) + float64(at.Minute())/60
			outside := 11 - 11*season + 4*math.Cos(2*math.Pi*(hour-15)/24) + 4*r.NormFloat64()
			around := func(when, width float64) float64 {
				d := math.Mod(hour-when-shift+36, 24) - 12
				return math.Exp(-d * d / (2 * width * width))
			}
			power := base + heat*max(0, 16-outside) + cool*max(0, outside-24)
			if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
				power += habit * (0.8*around(11, 3) + 1.2*around(19, 2.5))
			} else {
				power += habit * (1.2*around(7, 1.2) + 1.6*around(19, 2))
			}
			fmt.Fprintf(&b, "house%d,%s,%.1f,%.2f\n", i+1, at.Format("2006-01-02 15:04"), outside, max(0, power+0.3*r.NormFloat64()))
		}
	}
	return b.String()
}

// rings: a thing is good if it is neither too little nor too much, around a middle of
// everybody's own; 5 % are labelled wrong.
func rings(people int, r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("node,x1,x2,y\n")
	for i := range people {
		c1, c2, radius := 0.15*r.NormFloat64(), 0.15*r.NormFloat64(), 0.75+0.08*r.NormFloat64()
		for range 20 + r.IntN(60) {
			x1, x2 := 2*r.Float64()-1, 2*r.Float64()-1
			good := math.Hypot(x1-c1, x2-c2) < radius
			if r.IntN(20) == 0 {
				good = !good
			}
			fmt.Fprintf(&b, "%d,%.3f,%.3f,%d\n", i+1, x1, x2, map[bool]int{true: 1}[good])
		}
	}
	return b.String()
}

// straight: a straight line is right.
func straight(people int, r *rand.Rand) string {
	const p = 7
	var b strings.Builder
	b.WriteString("node,x1,x2,x3,x4,x5,x6,x7,y\n")
	shared := make([]float64, p)
	for k := range shared {
		shared[k] = r.NormFloat64()
	}
	for i := range people {
		own := make([]float64, p)
		for k := range own {
			own[k] = shared[k] + 0.5*r.NormFloat64()
		}
		for range 20 + r.IntN(60) {
			y := 0.7 * r.NormFloat64()
			fmt.Fprint(&b, i+1)
			for k := range p {
				x := 2*r.Float64() - 1
				y += own[k] * x
				fmt.Fprintf(&b, ",%.3f", x)
			}
			fmt.Fprintf(&b, ",%.2f\n", y)
		}
	}
	return b.String()
}

// photos are vectors of an encoder: each shows one of 30 subjects, and people like those
// that most like, with exceptions of their own.
func photos(people int, r *rand.Rand) string { return photographs(people, r, nil) }

// pixels are the same photos as no encoder has seen them: each number is a wave of a mixture
// of all that the encoder would say.
func pixels(people int, r *rand.Rand) string {
	mixture := rand.New(rand.NewPCG(8, 8))
	by := mat.NewDense(photoLength, photoLength, nil)
	by.Apply(func(int, int, float64) float64 { return 2 * mixture.NormFloat64() / math.Sqrt(photoLength) }, by)
	return photographs(people, r, func(v []float64) {
		var mixed mat.VecDense
		mixed.MulVec(by, mat.NewVecDense(photoLength, v))
		for k := range v {
			v[k] = math.Sin(mixed.AtVec(k))
		}
	})
}

const photoLength = 128

func photographs(people int, r *rand.Rand, lens func(v []float64)) string {
	const subjects = 30
	var b strings.Builder
	b.WriteString("node,photo,liked\n")
	center, popular := make([][photoLength]float64, subjects), make([]float64, subjects)
	for s := range center {
		popular[s] = r.NormFloat64()
		for k := range center[s] {
			center[s][k] = r.NormFloat64()
		}
	}
	v := make([]float64, photoLength)
	for i := range people {
		taste := make([]float64, subjects)
		for s := range taste {
			taste[s] = 2*popular[s] + r.NormFloat64()
		}
		for range 20 + r.IntN(60) {
			s := r.IntN(subjects)
			for k := range v {
				v[k] = center[s][k] + 0.8*r.NormFloat64()
			}
			if lens != nil {
				lens(v)
			}
			liked := r.Float64() < 1/(1+math.Exp(-taste[s]))
			fmt.Fprintf(&b, "%d,\"%.2f\",%d\n", i+1, v, map[bool]int{true: 1}[liked])
		}
	}
	return b.String()
}

// topics are messages to shops about three things. Everybody's customers have words of
// their own for them, beside those that all use.
func topics(people int, r *rand.Rand) string {
	const vocabulary, usual = 400, 40
	var b strings.Builder
	b.WriteString("node,text,folder\n")
	for i := range people {
		for range 10 + r.IntN(40) {
			topic := r.IntN(3)
			fmt.Fprintf(&b, "%d,", i+1)
			for range 4 + r.IntN(8) {
				word := r.IntN(vocabulary) // of no topic
				switch r.IntN(4) {
				case 0:
					word = vocabulary + usual*topic + int(usual*r.Float64()*r.Float64())
				case 1:
					word = 1000*(i+1) + 10*topic + r.IntN(10)
				}
				fmt.Fprintf(&b, "w%d ", word)
			}
			fmt.Fprintf(&b, ",%s\n", [...]string{"order", "fault", "thanks"}[topic])
		}
	}
	return b.String()
}

// cook measures a task on people, under virtual time.
func cook(t *testing.T, all *Dataset, methods ...Method) *Result {
	t.Helper()
	release := all.Task.Release
	r, err := Run(t.Context(), Config{
		Source:  func(seed uint64) (*Dataset, error) { return all.Draw(seed, 0) },
		Budget:  privacy.Budget{Epsilon: release.Epsilon, Delta: release.Delta},
		Methods: methods, Seed: 1, Simulate: true, NoCurve: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%s: constant %.4f", all.Name, r.base())
	for _, row := range r.rows() {
		text += fmt.Sprintf(", %s %.4f", row.Method, row.Error)
		if row.Method == Private {
			text += fmt.Sprintf(" in %.0f kB", row.Bytes/1000)
		}
		if row.Method != Alone {
			text += " (" + verdictOf(r.Pairs(row.Method), 1).change() + ")"
		}
	}
	t.Logf("%s; %.1f s", text, r.Seconds)
	return r
}

// peopleOf reads people's records as a task takes them.
func peopleOf(t *testing.T, name, csv string, task *learner.Task) *Dataset {
	t.Helper()
	all, err := readCSV(strings.NewReader(csv), name, task)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// errorOf is the mean error of a method.
func errorOf(r *Result, m Method) float64 {
	for _, row := range r.rows() {
		if row.Method == m {
			return row.Error
		}
	}
	return math.NaN()
}

// Every recipe of docs/cookbook.md with the task file of its own, on the data that it describes,
// gives the numbers of its table. They are those of a seed; another processor rounds
// otherwise, which moves them by less than the tolerance. All but the quickest recipe run nightly.
func TestCookbook(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: ten seconds of processor time")
	}
	for _, recipe := range []struct {
		name   string
		people func(task *learner.Task) (*Dataset, error)
	}{
		{"energy", made(households, 100)},
		{"topics", made(topics, 80)},
		{"photos", made(photos, 100)},
		{"ratings", func(task *learner.Task) (*Dataset, error) {
			all, err := ReadMovieLens(os.DirFS("../cmd/testnet/ml-latest-small"), "ratings", task)
			if err != nil {
				return nil, err
			}
			return all.Draw(1, 300)
		}},
	} {
		t.Run(recipe.name, func(t *testing.T) {
			if recipe.name != "energy" && os.Getenv("P2PNODE_PAPERS") != "yes" {
				t.Skip("runs nightly: up to half a minute of processor time; set P2PNODE_PAPERS=yes")
			}
			task, err := datadir.LoadTask("../docs/tasks/" + recipe.name + ".toml")
			if err != nil {
				t.Fatal(err)
			}
			all, err := recipe.people(task)
			if err != nil {
				t.Fatal(err)
			}
			r, told := cook(t, all), tableRow(t, recipe.name)
			if len(told) != 6 {
				t.Fatalf("the row of %s has %d numbers", recipe.name, len(told))
			}
			want := []float64{float64(r.nodes()), r.base(), errorOf(r, Alone), errorOf(r, Together), errorOf(r, Private), errorOf(r, Broadcast)}
			for i := range want {
				if math.Abs(told[i]-want[i]) > 0.02*want[i]+0.0005 {
					t.Errorf("the cookbook says %v, and it is %.4f", told[i], want[i])
				}
			}
		})
	}
}

// Vectors of an encoder against what it looked at: a straight line learns from the one, and
// from the other neither it nor the map does.
func TestEncoderPays(t *testing.T) {
	if os.Getenv("P2PNODE_PAPERS") != "yes" {
		t.Skip("runs nightly: a quarter of a minute of processor time; set P2PNODE_PAPERS=yes")
	}
	task, err := datadir.LoadTask("../docs/tasks/photos.toml")
	if err != nil {
		t.Fatal(err)
	}
	raw := *task
	raw.Name = "pixels"
	bent := raw
	bent.Name, bent.Map = "pixels with a map", learner.Map{Kind: "fourier", Features: 128, Width: 1}
	for _, task := range []*learner.Task{&raw, &bent} {
		all, err := made(pixels, 100)(task)
		if err != nil {
			t.Fatal(err)
		}
		r := cook(t, all, Private)
		encoded := tableRow(t, "photos")
		if alone, private := errorOf(r, Alone), errorOf(r, Private); alone < encoded[2]+0.03 || private < encoded[4]+0.1 {
			t.Errorf("%s: errors %.4f alone and %.4f together, beside those of the encoder, %v", task.Name, alone, private, encoded)
		}
	}
}

// made are people made up for a task. With P2PNODE_COOKBOOK their file is left in that
// directory.
func made(write func(people int, r *rand.Rand) string, people int) func(*learner.Task) (*Dataset, error) {
	return func(task *learner.Task) (*Dataset, error) {
		csv := write(people, rand.New(rand.NewPCG(7, 7)))
		if dir := os.Getenv("P2PNODE_COOKBOOK"); dir != "" {
			if err := os.WriteFile(filepath.Join(dir, task.Name+".csv"), []byte(csv), 0o600); err != nil {
				return nil, err
			}
		}
		return readCSV(strings.NewReader(csv), task.Name, task)
	}
}

// tableRow are the numbers of a recipe's row in the cookbook's table.
func tableRow(t *testing.T, name string) (numbers []float64) {
	t.Helper()
	text, err := os.ReadFile("../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.Contains(cells[0], "["+name+"]") || len(cells) < 3 {
			continue
		}
		for _, cell := range cells[1:] {
			v, err := strconv.ParseFloat(strings.Trim(cell, " *"), 64)
			if err != nil {
				t.Fatalf("the row of %s: %v", name, err)
			}
			numbers = append(numbers, v)
		}
	}
	return numbers
}

// plainNumbers is a task of numbers in [-1, 1], each with these keys too.
func plainNumbers(t *testing.T, target string, columns int, keys, table string) *learner.Task {
	t.Helper()
	text := "name = \"made up\"\n" + target
	for i := range columns {
		text += fmt.Sprintf("[[features]]\nname = \"x%d\"\nkind = \"number\"\nmin = -1.0\nmax = 1.0\n%s", i+1, keys)
	}
	return parsed(t, text+table)
}

// parsed is a task's file.
func parsed(t *testing.T, text string) *learner.Task {
	t.Helper()
	task, err := datadir.ParseTask([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// What the map brings where a straight line fails, and what it costs where one is right; the
// numbers are those of docs/experiments.md.
func TestMapPays(t *testing.T) {
	if os.Getenv("P2PNODE_PAPERS") != "yes" {
		t.Skip("runs nightly: a quarter of a minute of processor time; set P2PNODE_PAPERS=yes")
	}
	const sign, number = "[target]\nname = \"y\"\n", "[target]\nname = \"y\"\nmin = -10.0\nmax = 10.0\n"
	csv := rings(100, rand.New(rand.NewPCG(7, 7)))
	line := cook(t, peopleOf(t, "rings", csv, plainNumbers(t, sign, 2, "", "")))
	bent := cook(t, peopleOf(t, "rings with a map", csv, plainNumbers(t, sign, 2, "", "[map]\n")))
	if a, b := errorOf(line, Alone), errorOf(bent, Alone); !(b < 0.6*a) {
		t.Errorf("rings, alone: error %.4f with a map, %.4f without", b, a)
	}
	if gain := verdictOf(bent.Pairs(Private), 1).Change; !(gain.High < 0) {
		t.Errorf("rings, together within the budget: the error changes by %v", gain)
	}
	cook(t, peopleOf(t, "times with a map", households(100, rand.New(rand.NewPCG(7, 7))), home(t, `"day", "week"`, "", "[map]\n")))
	csv = straight(100, rand.New(rand.NewPCG(7, 7)))
	line = cook(t, peopleOf(t, "straight", csv, plainNumbers(t, number, 7, "", "")))
	bent = cook(t, peopleOf(t, "straight with a map", csv, plainNumbers(t, number, 7, "", "[map]\n")))
	if a, b := errorOf(line, Alone), errorOf(bent, Alone); !(b < 1.02*a) {
		t.Errorf("straight, alone: error %.4f with a map, %.4f without", b, a)
	}
}

// home is the task of a household whose file has times.
func home(t *testing.T, parts, outside, table string) *learner.Task {
	return parsed(t, "name = \"energy\"\n[[features]]\nname = \"time\"\nkind = \"time\"\nparts = ["+parts+"]\n"+
		"[[features]]\nname = \"outside\"\nkind = \"number\"\nmin = -30.0\nmax = 50.0\n"+outside+
		"[target]\nname = \"power\"\nmax = 12.0\ncenter = 1.0\n"+table)
}

// clocks are households whose file has the hour in a column of its own.
func clocks(people int, r *rand.Rand) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSpace(households(people, r)), "\n") {
		cells := strings.Split(line, ",")
		if i == 0 {
			b.WriteString("node,hour,weekday,outside,power\n")
			continue
		}
		at, err := time.Parse("2006-01-02 15:04", cells[1])
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "%s,%.2f,%.3s,%s,%s\n", cells[0], float64(at.Hour())+float64(at.Minute())/60, at.Weekday(), cells[2], cells[3])
	}
	return b.String()
}

// What numbers and times with bends bring where a straight line, or a circle, fails in each column by
// itself; the numbers are those of docs/experiments.md.
func TestBendsPay(t *testing.T) {
	if os.Getenv("P2PNODE_PAPERS") != "yes" {
		t.Skip("runs nightly: a quarter of a minute of processor time; set P2PNODE_PAPERS=yes")
	}
	const sign, number = "[target]\nname = \"y\"\n", "[target]\nname = \"y\"\nmin = -10.0\nmax = 10.0\n"
	const parts = "bends = [-0.5, 0.0, 0.5]\n"
	day := func(hour, outside, table string) *learner.Task {
		return parsed(t, "name = \"clocks\"\n[[features]]\nname = \"hour\"\nkind = \"number\"\nmax = 24.0\n"+hour+
			"[[features]]\nname = \"weekday\"\nkind = \"set\"\nvalues = [\"Mon\", \"Tue\", \"Wed\", \"Thu\", \"Fri\", \"Sat\", \"Sun\"]\n"+
			"[[features]]\nname = \"outside\"\nkind = \"number\"\nmin = -30.0\nmax = 50.0\n"+outside+
			"[target]\nname = \"power\"\nmax = 12.0\ncenter = 1.0\n"+table)
	}
	source := func() *rand.Rand { return rand.New(rand.NewPCG(7, 7)) }
	for _, c := range []struct {
		name, csv  string
		line, bent *learner.Task
		most       float64 // error alone with bends, as a share of that without
	}{
		{"rings", rings(100, source()), plainNumbers(t, sign, 2, "", ""), plainNumbers(t, sign, 2, parts, ""), 0.6},
		{"straight", straight(100, source()), plainNumbers(t, number, 7, "", ""), plainNumbers(t, number, 7, parts, ""), 1.5},
		{"clocks", clocks(100, source()), day("", "", ""), day("bends = [4.0, 8.0, 12.0, 16.0, 20.0]\n", "bends = [-10.0, 10.0, 30.0]\n", ""), 0.9},
		{"times", households(100, source()), home(t, `"day", "week"`, "", ""), home(t, `"hours", "week"`, "bends = [0.0, 10.0, 20.0, 30.0]\n", ""), 0.8},
	} {
		line, bent := cook(t, peopleOf(t, c.name, c.csv, c.line)), cook(t, peopleOf(t, c.name+" with bends", c.csv, c.bent))
		if a, b := errorOf(line, Alone), errorOf(bent, Alone); !(b < c.most*a) {
			t.Errorf("%s, alone: error %.4f with bends, %.4f without", c.name, b, a)
		}
	}
	cook(t, peopleOf(t, "clocks with a map", clocks(100, source()), day("", "", "[map]\n")))
}
