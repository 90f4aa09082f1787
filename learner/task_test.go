package learner

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// row makes a cell function of column, text pairs.
func row(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func encodeTask() *Task {
	return &Task{
		Loss: "squared",
		Features: []Feature{
			{Name: "size", Kind: "number", Min: 1, Max: 5},
			{Name: "tags", Kind: "set", Values: []string{"red", "blue"}},
			{Name: "year", Kind: "range", Edges: []float64{1990, 2000}},
		},
		Constant: 0.5,
		Target:   Target{Name: "y", Min: 0, Max: 10, Center: 4},
	}
}

func TestEncode(t *testing.T) {
	task := encodeTask()
	if task.Dimension() != 7 {
		t.Fatalf("dimension %d, want 7", task.Dimension())
	}
	for _, c := range []struct {
		cells []string
		x     []float64 // before scaling to norm at most 1
		y     float64
	}{
		{[]string{"size", "3.5", "tags", "", "year", "", "y", "4"}, []float64{0.25, 0, 0, 0, 0, 0}, 0},
		{[]string{"size", "4", "tags", "blue", "year", "1989", "y", "11"}, []float64{0.5, 0, 1, 1, 0, 0}, 6},
		{[]string{"size", " -9 ", "tags", "red| blue", "year", "1990", "y", "-3"}, []float64{-1, 1, 1, 0, 1, 0}, -4},
		{[]string{"size", "3", "tags", "", "year", "2000", "y", "1e1"}, []float64{0, 0, 0, 0, 0, 1}, 6},
		{[]string{"size", "?", "tags", "n/a", "year", "NULL", "y", "4"}, []float64{0, 0, 0, 0, 0, 0}, 0},
		{[]string{"size", "5", "tags", "green|red", "year", "", "y", "4"}, []float64{1, 1, 0, 0, 0, 0}, 0},
	} {
		r, err := task.Encode(row(c.cells...))
		if err != nil {
			t.Fatal(err)
		}
		floats.Scale(1/math.Sqrt(1./3+1+1), c.x)
		if norm := floats.Norm(c.x, 2); norm > 1 {
			floats.Scale(1/norm, c.x)
		}
		wantClose(t, strings.Join(c.cells, " "), r.X, append(c.x, 0.5), 1e-15)
		if r.Y != c.y {
			t.Errorf("%v: target %v, want %v", c.cells, r.Y, c.y)
		}
	}
	task.Normalise = true
	r, _ := task.Encode(row("size", "3.5", "tags", "", "year", "", "y", "4"))
	wantClose(t, "scaled up", r.X, []float64{1, 0, 0, 0, 0, 0, 0.5}, 1e-15)
	task.Normalise, task.UsualNorm = false, 5
	r, _ = task.Encode(row("size", "3.5", "tags", "", "year", "", "y", "4"))
	wantClose(t, "by the task's usual norm", r.X, []float64{0.05, 0, 0, 0, 0, 0, 0.5}, 1e-15)
}

func TestEncodeNamesTheColumn(t *testing.T) {
	good := []string{"size", "0.5", "tags", "red", "year", "1990", "y", "4"}
	for column, text := range map[string]string{"size": "big", "year": "-Inf", "y": "+Inf"} {
		cells := append([]string{column, text}, good...)
		if _, err := encodeTask().Encode(row(cells...)); err == nil || !strings.Contains(err.Error(), column) {
			t.Errorf("%s = %q: %v", column, text, err)
		}
		missing := row(good...)
		_, err := encodeTask().Encode(func(name string) (string, bool) {
			if name == column {
				return "", false
			}
			return missing(name)
		})
		if err == nil || !strings.Contains(err.Error(), column) {
			t.Errorf("without %s: %v", column, err)
		}
	}
	if _, err := encodeTask().Encode(row("size", "1", "tags", "", "year", "", "y", " NA ")); !errors.Is(err, errNoLabel) {
		t.Errorf("a row without a label: %v", err)
	}
}

func TestEncodeLabels(t *testing.T) {
	task := encodeTask()
	task.Loss = "logistic"
	for text, want := range map[string]float64{"1": 1, "+1": 1, "0": -1, "-1": -1, "1.0": 1} {
		r, err := task.Encode(row("size", "0", "tags", "", "year", "", "y", text))
		if err != nil || r.Y != want {
			t.Errorf("label %q: %v, %v, want %v", text, r.Y, err, want)
		}
	}
	if _, err := task.Encode(row("size", "0", "tags", "", "year", "", "y", "2")); err == nil {
		t.Error("label 2 was taken")
	}
}

func TestEncodeClasses(t *testing.T) {
	task := encodeTask()
	task.Loss, task.Target = "multinomial", Target{Name: "y", Classes: []string{"low", "2", "very high"}}
	if task.Width() != 7 || task.Dimension() != 21 {
		t.Errorf("a record of %d numbers and a model of %d, want 7 and 21", task.Width(), task.Dimension())
	}
	for text, want := range map[string]float64{"low": 0, "2": 1, " very high ": 2} {
		r, err := task.Encode(row("size", "0", "tags", "", "year", "", "y", text))
		if err != nil || r.Y != want || len(r.X) != task.Width() {
			t.Errorf("class %q: %v, %v, want %v", text, r.Y, err, want)
		}
	}
	for _, text := range []string{"0", "1", "Low", "+Inf"} {
		_, err := task.Encode(row("size", "0", "tags", "", "year", "", "y", text))
		if err == nil || !strings.Contains(err.Error(), "is none of low, 2, very high") {
			t.Errorf("class %q: %v", text, err)
		}
	}
}

// A label that no import could have made reaches no loss.
func TestAgentsRefuseLabelsThatAreNoClass(t *testing.T) {
	task := plainTask("multinomial", 1)
	for y, good := range map[float64]bool{0: true, 2: true, 3: false, -1: false, 0.5: false, math.NaN(): false, math.Inf(1): false} {
		var data training
		if err := data.check(task, []Record{{Seq: 1, X: []float64{1}, Y: y}}); (err == nil) != good {
			t.Errorf("label %v: %v", y, err)
		}
	}
}

// What belongs to one loss is refused with every other, and wanted with its own.
func TestValidateTheKeysOfLosses(t *testing.T) {
	for _, c := range []struct {
		loss, key string
		change    func(*Task)
	}{
		{"huber", "threshold", func(t *Task) { t.Threshold = 0 }},
		{"huber", "threshold", func(t *Task) { t.Threshold = math.Inf(1) }},
		{"huber", "target.min", func(t *Task) { t.Target.Min = t.Target.Max }},
		{"huber", "target.log", func(t *Task) { t.Target.Min, t.Target.Log = -1, true }},
		{"huber", "target.max", func(t *Task) {
			t.Target.Min, t.Target.Max, t.Target.Center, t.Target.Log = 1e9, 1e9*(1+1e-15), 1e9, true
		}},
		{"hinge", "target", func(t *Task) { t.Target.Log = true }},
		{"hinge", "smoothing", func(t *Task) { t.Smoothing = 0 }},
		{"hinge", "smoothing", func(t *Task) { t.Smoothing = 1.5 }},
		{"hinge", "target", func(t *Task) { t.Target.Max = 1 }},
		{"squared", "threshold", func(t *Task) { t.Threshold = 1 }},
		{"logistic", "smoothing", func(t *Task) { t.Smoothing = 0.1 }},
		{"logistic", "target.classes", func(t *Task) { t.Target.Classes = []string{"no", "yes", "perhaps"} }},
		{"squared", "target.classes", func(t *Task) { t.Target.Classes = []string{"no", "yes"} }},
		{"hinge", "target.classes", func(t *Task) { t.Target.Classes = []string{"no", "yes"} }},
		{"squared", "usual_norm", func(t *Task) { t.UsualNorm = -1 }},
		{"squared", "usual_norm", func(t *Task) { t.UsualNorm = math.Inf(1) }},
		{"squared", "usual_norm", func(t *Task) { t.UsualNorm, t.Normalise = 2, true }},
		{"multinomial", "target.classes", func(t *Task) { t.Target.Classes = nil }},
		{"multinomial", "target.classes", func(t *Task) { t.Target.Classes = []string{"alone"} }},
		{"multinomial", "target.classes", func(t *Task) { t.Target.Classes = []string{"a", "b", "a"} }},
		{"multinomial", "target.classes", func(t *Task) { t.Target.Classes = manyClasses(65) }},
		{"multinomial", "target", func(t *Task) { t.Target.Center = 1 }},
		{"multinomial", "features", func(t *Task) { t.Features[0] = Feature{Name: "a", Kind: "range", Edges: manyEdges(22_000)} }},
		{"multinomial", "clip", func(t *Task) {
			t.Learner, t.Propagation, t.Clip = "propagation", Propagation{Ridge: 0.1, Tolerance: 1e-6}, 1.414
		}},
	} {
		task := plainTask(c.loss, 2)
		if err := task.Validate(); err != nil {
			t.Errorf("%s: %v", c.loss, err)
		}
		c.change(task)
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), "key "+c.key+":") {
			t.Errorf("%s without a good %s: %v", c.loss, c.key, err)
		}
	}
}

func manyClasses(n int) []string {
	classes := make([]string, n)
	for i := range classes {
		classes[i] = strconv.Itoa(i)
	}
	return classes
}

func manyEdges(n int) []float64 {
	edges := make([]float64, n)
	for i := range edges {
		edges[i] = float64(i)
	}
	return edges
}

// Whatever the text, an accepted record keeps every public bound.
func FuzzEncode(f *testing.F) {
	f.Add("0.5", "red", "1990", "4")
	f.Add("1e308", "red|blue|red", "-0", "1e-300")
	f.Add("-inf", "||", "0x1p4", "nan")
	task := encodeTask()
	f.Fuzz(func(t *testing.T, size, tags, year, y string) {
		r, err := task.Encode(row("size", size, "tags", tags, "year", year, "y", y))
		if err != nil {
			return
		}
		if len(r.X) != task.Dimension() || !finite(r.X) || floats.Norm(r.X, 2) > task.FeatureNorm()*(1+1e-12) {
			t.Errorf("features %v of norm %v", r.X, floats.Norm(r.X, 2))
		}
		if !(r.Y >= -4 && r.Y <= 6) {
			t.Errorf("target %v outside [-4, 6]", r.Y)
		}
	})
}

func TestBuiltInTasksAreValid(t *testing.T) {
	for _, task := range []*Task{Movies(), Linear()} {
		if err := task.Validate(); err != nil {
			t.Errorf("%s: %v", task.Name, err)
		}
	}
	if got := Movies().Dimension(); got != 19+8+1 {
		t.Errorf("movies has %d coordinates, want 28", got)
	}
	if got := Linear().Dimension(); got != 20 {
		t.Errorf("linear has %d coordinates, want 20", got)
	}
	a, b := Movies(), Movies()
	a.Features[0].Values[0] = "changed"
	if reflect.DeepEqual(a, b) {
		t.Error("two calls share memory")
	}
}

// More coordinates than an int of 32 bits counts are too many all the same: 64 classes of 2^26+1
// are 64 more than 2^32.
func TestValidateCountsAllCoordinates(t *testing.T) {
	task := Movies()
	task.Features = nil
	for i := range 1024 {
		task.Features = append(task.Features, Feature{Name: fmt.Sprint("v", i), Kind: "vector", Length: MaxDimension})
	}
	task.Loss, task.Target.Classes = "multinomial", nil
	for i := range 64 {
		task.Target.Classes = append(task.Target.Classes, fmt.Sprint(i))
	}
	if !slices.ContainsFunc(task.Faults(), func(f *Fault) bool { return f.Key == "features" }) {
		t.Errorf("faults %v", task.Faults())
	}
}

func TestValidateNamesTheKey(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for key, change := range map[string]func(*Task){
		"name":               func(t *Task) { t.Name = "" },
		"learner":            func(t *Task) { t.Learner = "oracle" },
		"loss":               func(t *Task) { t.Loss = "quantile" },
		"features":           func(t *Task) { t.Features = nil },
		"features[0].name":   func(t *Task) { t.Features[0].Name = strings.Repeat("x", 300) },
		"features[1].name":   func(t *Task) { t.Features[1].Name = t.Features[0].Name },
		"features[1].kind":   func(t *Task) { t.Features[1].Kind = "image" },
		"features[0].values": func(t *Task) { t.Features[0].Values[3] = "Drama" },
		"features[1].edges":  func(t *Task) { t.Features[1].Edges[0] = 3000 },
		"features[1].edges ": func(t *Task) { t.Features[1].Edges[0] = nan },
		"features[3].min":    func(t *Task) { t.Features = append(t.Features, Feature{Name: "n", Kind: "number", Min: 1, Max: 1}) },
		"constant":           func(t *Task) { t.Constant = 2 },
		"constant ":          func(t *Task) { t.Constant = nan },
		"target.name":        func(t *Task) { t.Target.Name = "year" },
		"target.min":         func(t *Task) { t.Target.Min = 9 },
		"target.center":      func(t *Task) { t.Target.Center = -1 },
		"target.min (large)": func(t *Task) { t.Target.Min = -2 * LargestTarget },
		"target.max (large)": func(t *Task) { t.Target.Max = 2 * LargestTarget },
		"target.max (small)": func(t *Task) { t.Target.Min, t.Target.Center, t.Target.Max = 0, 0, narrowestRange/2 },
		"target.min (log)": func(t *Task) {
			t.Target = Target{Name: "stars", Min: narrowestRange / 2, Center: 1, Max: 5, Log: true}
		},
		"target":        func(t *Task) { t.Loss = "logistic" },
		"mu":            func(t *Task) { t.Mu = 0 },
		"mu ":           func(t *Task) { t.Mu = nan },
		"mu  ":          func(t *Task) { t.Mu = 1e31 },
		"lambda":        func(t *Task) { t.Lambda = -1 },
		"lambda ":       func(t *Task) { t.Lambda = 1e31 },
		"clip":          func(t *Task) { t.Clip = inf },
		"confidence_at": func(t *Task) { t.ConfidenceAt = 0 },
		"radius":        func(t *Task) { t.Radius = 0 },
		"radius ":       func(t *Task) { t.Radius = 1e101 },
		"radius  ":      func(t *Task) { t.Radius = nan },
		"cohort_size":   func(t *Task) { t.CohortSize = 0 },
		"graph.rule":    func(t *Task) { t.Graph.Rule = "full" },
		"graph.degree":  func(t *Task) { t.Graph.Degree = 0 },
		"graph.gamma":   func(t *Task) { t.Graph.Rule, t.Graph.Profile = "profile", 2 },
		"graph.profile": func(t *Task) { t.Graph.Rule, t.Graph.Gamma = "profile", 1 },
		"graph.profile ": func(t *Task) {
			t.Graph.Rule, t.Graph.Gamma, t.Graph.Profile = "profile", 1, maxProfile+1
		},
		"graph.kernel":           func(t *Task) { t.Graph.Kernel = "cosine" },
		"graph.kernel ":          func(t *Task) { t.Graph = Graph{Rule: "released", Degree: 4, Gamma: 1, Kernel: "euclid"} },
		"graph.gamma ":           func(t *Task) { t.Graph = Graph{Rule: "released", Degree: 4, Gamma: 0.01} },
		"graph.profile (no)":     func(t *Task) { t.Graph = Graph{Rule: "released", Degree: 4, Gamma: 1, Profile: 2} },
		"local.eta":              func(t *Task) { t.Local.Eta = 0 },
		"local.eta_constant":     func(t *Task) { t.Local.EtaConstant = 0 },
		"local.kappa":            func(t *Task) { t.Local.Kappa = nan },
		"smoothing (small)":      func(t *Task) { *t = *plainTask("hinge", 1); t.Smoothing = 1e-310 },
		"threshold (small)":      func(t *Task) { *t = *plainTask("huber", 1); t.Threshold = 1e-310 },
		"local.eta (small)":      func(t *Task) { t.Local.Eta = 1e-310 },
		"local.eta (large)":      func(t *Task) { t.Local.Eta = 1e308 },
		"local.kappa (large)":    func(t *Task) { t.Local.Kappa = 1e200 },
		"release.epsilon":        func(t *Task) { t.Release.Epsilon = 11 },
		"release.delta":          func(t *Task) { t.Release.Delta = 0 },
		"release.releases":       func(t *Task) { t.Release.Releases = 0 },
		"release.max_epsilon":    func(t *Task) { t.Release.MaxEpsilon = inf },
		"release.max_delta":      func(t *Task) { t.Release.MaxDelta = 1 },
		"release.max_releases":   func(t *Task) { t.Release.MaxReleases = 0 },
		"release.min_wake":       func(t *Task) { t.Release.MinWake = 0 },
		"release.min_wake (low)": func(t *Task) { t.Release.MinWake = 0.009 },
		"release.wake_seconds":   func(t *Task) { t.Release.WakeSeconds = 0.001 },
		"features[0].values ":    func(t *Task) { t.Features[0].Values = nil },
		"features[1].edges (no)": func(t *Task) { t.Features[1].Edges = nil },
	} {
		task := Movies()
		change(task)
		name, _, _ := strings.Cut(key, " ")
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), "key "+name+":") {
			t.Errorf("%s: %v", key, err)
		}
	}
	big := Movies()
	for i := range 66_000 {
		big.Features[1].Edges = append(big.Features[1].Edges, 3000+float64(i))
	}
	if err := big.Validate(); err == nil || !strings.Contains(err.Error(), "key features:") {
		t.Errorf("too many coordinates: %v", err)
	}
	both := Movies()
	both.Mu, both.Clip = 0, 0
	if err := both.Validate(); err == nil || strings.Count(err.Error(), "key ") != 2 {
		t.Errorf("two faults: %v", err)
	}
}

// Only learners whose releases tell a node's own optimum have estimates to compare.
func TestEstimatesNeedALearnerThatMakesThem(t *testing.T) {
	for _, name := range []string{"personal", "propagation", "diffusion", "km", "polar"} {
		task := Clusters()
		task.Learner = name
		if name == "propagation" {
			task.Propagation, task.Release.Releases, task.Release.MaxReleases = Propagation{0.1, 1e-4}, 1, 1
		}
		err := task.Validate()
		if refused := err != nil && strings.Contains(err.Error(), "released needs the learner"); refused != (name != "personal" && name != "propagation") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A task that names what is gone is told what to write instead.
func TestWhatIsGoneNamesItsReplacement(t *testing.T) {
	for change, want := range map[[2]string]string{
		{"learned", ""}:          "key graph.rule: is \"learned\", which no version has any more; write \"released\"",
		{"released", "distance"}: "key graph.kernel: is \"distance\", which no version has any more; leave it out: directions are compared by \"cosine\"",
	} {
		task := Clusters()
		task.Graph.Rule, task.Graph.Kernel = change[0], change[1]
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", change, err, want)
		}
	}
	task := Clusters()
	task.Graph.Kernel = "cosine"
	if err := task.Validate(); err != nil {
		t.Errorf("cosine: %v", err)
	}
}
