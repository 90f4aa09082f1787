package ios_test

import (
	"math"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestFeaturesAgreeWithJava compares the features of both samples: phones of both kinds learn
// from each other.
func TestFeaturesAgreeWithJava(t *testing.T) {
	bareSwift(t)
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("needs a JDK, to run the features of the Android sample")
	}
	dir := t.TempDir()
	output := func(program string, args ...string) []string {
		out, err := exec.Command(program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return strings.Fields(string(out))
	}
	output("javac", "-d", dir, "-sourcepath", "../android-sample/app/src/main/java", "testdata/features/Main.java")
	java := output("java", "-cp", dir, "Main")
	whole := filepath.Join(dir, "features.swift")
	write(t, whole, read(t, "Activity/WindowFeatures.swift")+read(t, "testdata/features/main.swift"))
	swift := output("swiftc", "-frontend", "-interpret", "-module-name", "features", whole)
	if len(java) != 50*18 || len(swift) != len(java) {
		t.Fatalf("%d numbers in Java, %d in Swift, want 50 windows of 18", len(java), len(swift))
	}
	for i := range java {
		a, errA := strconv.ParseFloat(java[i], 64)
		b, errB := strconv.ParseFloat(swift[i], 64)
		if errA != nil || errB != nil || !(math.Abs(a-b) < 1e-12) { // not NaN
			t.Errorf("window %d, feature %d: %s in Java, %s in Swift", i/18, i%18, java[i], swift[i])
		}
	}
}
