package jvm_test

import (
	"encoding/csv"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"p2pnode/learner"
	"p2pnode/mobile/internal/bindings"
	"p2pnode/node/datadir"
)

// sampleSources is where the Android sample keeps its own; those in Java need no Android.
const sampleSources = "../android-sample/app/src/main/java/org/example/activity"

var (
	// sampleFeatures is what the sample makes of the accelerometer, with its tests.
	sampleFeatures = []string{
		sampleSources + "/WindowFeatures.java", sampleSources + "/Windows.java",
		"../android-sample/jvm/People.java", "../android-sample/jvm/FeaturesTest.java",
	}
	// sampleCalls needs the bindings.
	sampleCalls = []string{sampleSources + "/P2PNode.java", "../android-sample/jvm/SampleTest.java"}
)

// The features that the sample makes are those of its task, in the same order, and lie
// in its ranges but for the odd window: the node clamps that.
func TestSampleMakesTheTasksFeatures(t *testing.T) {
	needs(t, "javac", "java")
	classes := t.TempDir()
	if err := javac(classes, generatedRelease, sampleFeatures...); err != nil {
		t.Fatal(err)
	}
	m := machine{classes: classes}
	m.sample(t, "FeaturesTest")
	rows, err := csv.NewReader(strings.NewReader(m.sample(t, "People", "6", "1"))).ReadAll()
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

// The one file that calls the bindings needs no Android either.
func TestSampleCallsTheBindings(t *testing.T) {
	needs(t, "javac")
	dir, classes := t.TempDir(), t.TempDir()
	writeBindings(t, dir)
	if err := writeContext(filepath.Join(dir, "java")); err != nil {
		t.Fatal(err)
	}
	all := append([]string{filepath.Join(dir, "java")}, append(sampleFeatures, sampleCalls...)...)
	if err := javac(classes, generatedRelease, all...); err != nil {
		t.Error(err)
	}
}

func TestOneFileOfTheSampleCallsTheBindings(t *testing.T) {
	for _, path := range sources(t, sampleSources) {
		if got, want := strings.Contains(read(t, path), bindings.JavaPackage), filepath.Base(path) == "P2PNode.java"; got != want {
			t.Errorf("%s names %s: %t", path, bindings.JavaPackage, got)
		}
	}
}

// sources lists the Java and Kotlin files of a directory.
func sources(t *testing.T, dir string) []string {
	t.Helper()
	java, err := filepath.Glob(dir + "/*.java")
	kotlin, kotlinErr := filepath.Glob(dir + "/*.kt")
	if err != nil || kotlinErr != nil || len(java) == 0 || len(kotlin) == 0 {
		t.Fatalf("%s has %d Java and %d Kotlin files: %v, %v", dir, len(java), len(kotlin), err, kotlinErr)
	}
	return append(java, kotlin...)
}

func activityTask(t *testing.T) *learner.Task {
	t.Helper()
	task, err := datadir.ParseTask([]byte(read(t, "../../docs/tasks/activity.toml")))
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// sample runs a class of the sample and returns what it prints.
func (m machine) sample(t *testing.T, class string, args ...string) string {
	t.Helper()
	cmd := exec.Command("java", append([]string{
		"-Xcheck:jni", "-XX:+DisplayVMOutputToStderr", "-Djava.library.path=" + m.library, "-cp", m.classes, "org.example.activity." + class,
	}, args...)...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", class, err, complaints.String())
	}
	return string(out)
}
