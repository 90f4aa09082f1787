package jvm_test

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/node"
)

// sample is the Android sample's sources; those in Java need no Android.
const sample = "../android-sample/app/src"

// The features that the sample makes are those of its task, in the same order, and lie
// in its ranges but for the odd window: the node clamps that.
func TestSampleMakesTheTasksFeatures(t *testing.T) {
	needs(t, "javac", "java")
	classes := t.TempDir()
	if err := javac(classes, generatedRelease, filepath.Join(sample, "main/java/org/example/activity"), "../android-sample/jvm"); err != nil {
		t.Fatal(err)
	}
	runJava(t, classes, "WindowFeaturesTest")
	rows, err := csv.NewReader(strings.NewReader(runJava(t, classes, "People", "6", "1"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	task := activityTask(t)
	columns := []string{"node"}
	for _, f := range task.Features {
		columns = append(columns, f.Name)
	}
	columns = append(columns, task.Target.Name)
	if got, want := strings.Join(rows[0], " "), strings.Join(columns, " "); got != want {
		t.Fatalf("the sample makes\n%s\nand its task wants\n%s", got, want)
	}
	var outside int
	for _, row := range rows[1:] {
		for i, f := range task.Features {
			v, err := strconv.ParseFloat(row[1+i], 64)
			if err != nil {
				t.Fatal(err)
			}
			if v < f.Min || v > f.Max {
				outside++
			}
		}
	}
	if cells := len(rows[1:]) * len(task.Features); outside > cells/100 {
		t.Errorf("%d of %d numbers lie outside the task's ranges", outside, cells)
	}
}

func activityTask(t *testing.T) *learner.Task {
	t.Helper()
	text, err := os.ReadFile("../../docs/tasks/activity.toml")
	if err != nil {
		t.Fatal(err)
	}
	task, err := node.ParseTask(text)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// runJava runs a class of the sample and returns what it prints.
func runJava(t *testing.T, classes, class string, args ...string) string {
	t.Helper()
	cmd := exec.Command("java", append([]string{"-cp", classes, "org.example.activity." + class}, args...)...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", class, err, complaints.String())
	}
	return string(out)
}
