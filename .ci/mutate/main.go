// Command mutate asks whether tests notice mistakes: it changes one line of a
// package at a time, runs the package's tests, and lists the changes that no test
// noticed.
//
//	go run ./.ci/mutate -n 200 ./privacy ./privacy/accountant
//
// The files in the tree stay as they are: the compiler is given the changed ones in
// their place. Changes that do not compile do not count, and others are drawn for
// them. A test that runs longer than -timeout has noticed. The same seed draws the
// same changes of the same code. The exit code is 1 if a smaller share than -least was
// noticed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	count    int
	seed     uint64
	least    float64
	timeout  time.Duration
	packages []string
}

func main() {
	var o options
	flag.IntVar(&o.count, "n", 40, "how many changes to test")
	flag.Uint64Var(&o.seed, "seed", 1, "draws the changes")
	flag.Float64Var(&o.least, "least", 0, "the smallest share of changes that the tests must notice, 0 to 1")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long the tests of one package may take")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./.ci/mutate [flags] PACKAGE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if o.packages = flag.Args(); len(o.packages) == 0 || o.count < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run tests changes one after another, and reports to w.
func run(ctx context.Context, o options, w io.Writer) error {
	drawn, err := draw(ctx, o)
	if err != nil {
		return err
	}
	if err := healthy(ctx, o); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tested, killed, begin := 0, 0, time.Now()
	for _, m := range drawn {
		if tested == o.count {
			break
		}
		result, err := try(ctx, dir, m, o.timeout)
		if err != nil {
			return err
		}
		switch result {
		case uncompiled:
			continue
		case noticed:
			killed++
		case survived:
			if err := report(w, m); err != nil {
				return err
			}
		}
		tested++
	}
	fmt.Fprintf(w, "noticed %d of %d changes (%.1f %%) in %s, seed %d, in %.0f s\n", killed, tested,
		100*float64(killed)/float64(max(tested, 1)), strings.Join(o.packages, " "), o.seed, time.Since(begin).Seconds())
	if tested < o.count {
		return fmt.Errorf("only %d changes compile; ask for fewer with -n", tested)
	}
	if share := float64(killed) / float64(tested); share < o.least {
		return fmt.Errorf("the tests noticed %.3f of the changes, want at least %.3f", share, o.least)
	}
	return nil
}

// draw returns the changes of all packages in random order: a line first, each with
// the same chance, then one of its changes.
func draw(ctx context.Context, o options) ([]mutant, error) {
	lines := map[string][]mutant{}
	for _, pkg := range o.packages {
		files, err := sources(ctx, pkg)
		if err != nil {
			return nil, err
		}
		for _, path := range files {
			src, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			found, err := mutants(path, src)
			if err != nil {
				return nil, err
			}
			for _, m := range found {
				key := fmt.Sprintf("%s:%06d", path, m.line)
				lines[key] = append(lines[key], m)
			}
		}
	}
	return shuffled(lines, rand.New(rand.NewPCG(o.seed, 0))), nil
}

// shuffled returns the changes of each line in turn, one of each line before a second of any.
func shuffled(lines map[string][]mutant, r *rand.Rand) (drawn []mutant) {
	keys := make([]string, 0, len(lines))
	for key := range lines {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		ms := lines[key]
		r.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for turn, more := 0, true; more; turn++ {
		more = false
		for _, key := range keys {
			if turn < len(lines[key]) {
				drawn, more = append(drawn, lines[key][turn]), true
			}
		}
	}
	return drawn
}

// sources returns the files that make a package on this machine, without its tests.
func sources(ctx context.Context, pkg string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-json=Dir,GoFiles", pkg).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = errors.New(strings.TrimSpace(string(failed.Stderr)))
		}
		return nil, fmt.Errorf("package %s: %w", pkg, err)
	}
	var p struct {
		Dir     string
		GoFiles []string
	}
	if err := json.Unmarshal(out, &p); err != nil {
		return nil, err
	}
	for i, name := range p.GoFiles {
		p.GoFiles[i] = filepath.Join(p.Dir, name)
	}
	return p.GoFiles, nil
}

// goTest is a run of tests that stops at the first failure.
func goTest(ctx context.Context, timeout time.Duration, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "go", append([]string{"test", "-short", "-failfast", "-vet=off", "-timeout", timeout.String()}, args...)...)
}

// healthy reports whether the tests pass as long as nothing is changed.
func healthy(ctx context.Context, o options) error {
	if out, err := goTest(ctx, o.timeout, o.packages...).CombinedOutput(); err != nil {
		return fmt.Errorf("the tests fail before anything is changed:\n%s", out)
	}
	return nil
}

// outcome is what became of a change.
type outcome int

const (
	uncompiled outcome = iota
	noticed
	survived
)

// try runs the tests of the package that m changes.
func try(ctx context.Context, dir string, m mutant, timeout time.Duration) (outcome, error) {
	src, err := os.ReadFile(m.path)
	if err != nil {
		return 0, err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{m.path: changed}})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(os.WriteFile(changed, m.apply(src), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return 0, err
	}
	test := goTest(ctx, timeout, "-overlay", overlay, ".")
	test.Dir = filepath.Dir(m.path)
	out, err := test.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err == nil:
		return survived, nil
	case bytes.Contains(out, []byte("[build failed]")), bytes.Contains(out, []byte("[setup failed]")):
		return uncompiled, nil
	}
	return noticed, nil
}

// report says what change no test noticed.
func report(w io.Writer, m mutant) error {
	src, err := os.ReadFile(m.path)
	if err != nil {
		return err
	}
	path := m.path
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, path); err == nil {
			path = rel
		}
	}
	_, err = fmt.Fprintf(w, "survived: %s:%d\n\t- %s\n\t+ %s\n", path, m.line, m.lineOf(src), m.lineOf(m.apply(src)))
	return err
}
