package jvm_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/committee"
	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// scenarios are what package harness does with the bindings, each in a process of its own.
var scenarios = []string{
	"conditions", "erase", "errors", "examples", "interfaces", "learn", "listener", "network", "private", "restart", "stop",
	"sums", "threads", "train",
}

// machine starts Java programs that use the bindings.
type machine struct {
	classes, library string
	env, under       []string // beside the environment; a command that starts Java
}

func newMachine(t *testing.T) machine {
	t.Helper()
	needs(t, "javac", "java", "cc")
	if runtime.GOOS != "linux" {
		t.Skip("the stand-ins for Android's libraries are made for linux")
	}
	dir, classes := t.TempDir(), t.TempDir()
	java := filepath.Join(dir, "java")
	writeBindings(t, dir)
	if err := writeContext(java); err != nil {
		t.Fatal(err)
	}
	if err := javac(classes, generatedRelease, java); err != nil {
		t.Fatal(err)
	}
	if err := javac(classes, "11", "harness"); err != nil {
		t.Fatal(err)
	}
	if err := javac(classes, generatedRelease, append(sampleFeatures, sampleCalls...)...); err != nil {
		t.Fatal(err)
	}
	library, err := buildLibrary(moduleRoot(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	return machine{classes: classes, library: library}
}

// java runs a scenario and returns what it printed.
func (m machine) java(t *testing.T, patience time.Duration, scenario string, options ...string) (stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	args := slices.Concat(m.under, []string{"java"}, options,
		[]string{"-Djava.library.path=" + m.library, "-cp", m.classes, "harness.Main", scenario, t.TempDir()})
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), m.env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // Java then says where every thread is
	cmd.WaitDelay = 5 * time.Second
	var said, complained strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &complained
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", scenario, err, said.String(), complained.String())
	}
	return said.String(), complained.String()
}

func TestJVM(t *testing.T) {
	if os.Getenv("P2PNODE_JVM") == "" {
		t.Skip("runs in a step of its own: set P2PNODE_JVM=yes")
	}
	m := newMachine(t)
	if out := os.Getenv("P2PNODE_JVM_OUT"); out != "" {
		m.leave(t, out)
		return
	}
	for _, s := range scenarios {
		t.Run(s, func(t *testing.T) {
			t.Parallel()
			m.prove(t, s)
		})
	}
	t.Run("android-sample", func(t *testing.T) {
		t.Parallel()
		t.Log(m.sample(t, "SampleTest", t.TempDir(), "../../docs/tasks/activity.toml"))
	})
}

// leave puts the classes and the library into a new directory, for somebody who runs Java of
// her own.
func (m machine) leave(t *testing.T, out string) {
	t.Helper()
	if !filepath.IsAbs(out) {
		t.Fatalf("P2PNODE_JVM_OUT is %q: give an absolute path of a directory that does not exist", out)
	}
	require.NoError(t, os.CopyFS(out, os.DirFS(m.classes)))
	const name = "libgojni.so"
	library, err := os.ReadFile(filepath.Join(m.library, name))
	require.NoError(t, err, os.WriteFile(filepath.Join(out, name), library, 0o755))
}

// prove runs a scenario under the JVM's checks.
func (m machine) prove(t *testing.T, scenario string) {
	t.Helper()
	options := []string{"-Xcheck:jni", "-Xmx128m", "-XX:+DisplayVMOutputToStderr"}
	if scenario == "sums" {
		options = append(options, committees(t)...)
	}
	said, checks := m.java(t, 3*time.Minute, scenario, options...)
	t.Log(said)
	// That it asks for no exception after some calls is gobind's way: it knows them to
	// throw none.
	if strings.Contains(checks, "exception pending") {
		t.Errorf("JNI was called while an exception was pending, which ends an app on Android:\n%s", checks)
	}
}

// committees starts a committee and tells Java of it.
func committees(t *testing.T) (options []string) {
	t.Helper()
	task := committee.Task()
	at := committee.Start(t, task)
	text, err := datadir.FormatTask(task)
	require.NoError(t, err)
	taskFile, catalogue := filepath.Join(t.TempDir(), "task.toml"), filepath.Join(t.TempDir(), "catalogue.csv")
	require.NoError(t, os.WriteFile(taskFile, text, 0o644), os.WriteFile(catalogue, []byte(committee.Catalogue), 0o644))
	return []string{"-Dp2pnode.peer=" + at, "-Dp2pnode.task=" + taskFile, "-Dp2pnode.catalogue=" + catalogue, "-Dp2pnode.ticket=" + ticketFile(t, task, at)}
}

// ticketFile writes a ticket of a task that leads to an address.
func ticketFile(t *testing.T, task *learner.Task, address string) string {
	t.Helper()
	dir, file := filepath.Join(t.TempDir(), "node"), filepath.Join(t.TempDir(), "ticket.txt")
	require.NoError(t, datadir.Make(dir, datadir.New{Task: task, Config: datadir.DefaultConfig(task), Catalogue: []byte(committee.Catalogue)}))
	invitation, err := datadir.Invitation(dir)
	require.NoError(t, err)
	start, err := peer.AddrInfoFromString(address)
	require.NoError(t, err)
	invitation.Peers = []peer.AddrInfo{*start}
	text, err := invitation.Encode()
	require.NoError(t, err, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// TestMeasure prints what the bindings cost: memory, time, growth.
func TestMeasure(t *testing.T) {
	if os.Getenv("P2PNODE_MEASURE") == "" {
		t.Skip("runs nightly: set P2PNODE_MEASURE=yes")
	}
	m := newMachine(t)
	for _, s := range []string{"footprint", "growth", "calls"} {
		t.Run(s, func(t *testing.T) {
			said, _ := m.java(t, 30*time.Minute, s, "-Xmx64m")
			t.Log("\n" + said)
		})
	}
}

// declared finds the methods of a generated class.
var declared = regexp.MustCompile(`(?m)^\tpublic (?:static |final )*native \S+ (\w+)\(`)

// The harness would be no proof of what it never calls.
func TestHarnessCallsEverything(t *testing.T) {
	dir := t.TempDir()
	writeBindings(t, dir)
	harness := read(t, "harness/*.java")
	for _, class := range []string{"Mobile", "Node", "Config", "Features"} {
		text := read(t, filepath.Join(dir, "java/org/p2pnode/mobile", class+".java"))
		methods := declared.FindAllStringSubmatch(text, -1)
		if len(methods) == 0 {
			t.Errorf("no methods found in %s.java", class)
		}
		for _, m := range methods {
			name := m[1]
			if field := strings.TrimPrefix(name, "get"); field != name && strings.Contains(text, " set"+field+"(") {
				continue // of a field that an app only sets
			}
			if !strings.Contains(harness, "."+name+"(") {
				t.Errorf("the harness never calls %s.%s", class, name)
			}
		}
	}
}

// read is the text of all files that match.
func read(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	var text strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	return text.String()
}
