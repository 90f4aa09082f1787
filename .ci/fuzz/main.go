// Command fuzz runs every fuzz target of some packages, so many executions in all, and keeps
// the inputs that were found to reach new code:
//
//	go run ./.ci/fuzz -n 50000000 -corpus DIR ./gossip ./sums
//
// Each target has a turn of some seconds. What is left goes to the quarter of them that is
// quickest: there an execution costs least. Counting executions, a run ends when they are made,
// and not in the midst of one. An input that fails is written below testdata/fuzz of its
// package, as go test does, and the exit code is 1.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	probe = 2000             // executions that show how quick a target is
	turn  = 15 * time.Second // that each has afterwards, about
)

func main() {
	n := flag.Int("n", 1_000_000, "how many executions in all")
	corpus := flag.String("corpus", "", "the directory of the inputs that are kept; required")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./.ci/fuzz [flags] PACKAGE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || *corpus == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*n, *corpus, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

// target is a fuzz target.
type target struct {
	pkg, dir, program, name string
	made                    int
	took                    time.Duration
}

// rate is how many executions it makes in a second.
func (t *target) rate() float64 { return float64(t.made) / max(t.took.Seconds(), 1e-3) }

func run(n int, corpus string, packages []string) error {
	work, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if corpus, err = filepath.Abs(corpus); err != nil {
		return err
	}
	targets, err := build(work, packages)
	if err != nil {
		return err
	}
	var failed []string
	spend := func(count func(*target) int) {
		for _, t := range targets {
			if c := count(t); c > 0 && !slices.Contains(failed, t.name) && t.fuzz(corpus, c) != nil {
				failed = append(failed, t.name)
			}
		}
	}
	spend(func(*target) int { return probe })
	spend(func(t *target) int { return int(t.rate() * turn.Seconds()) })
	share := rest(targets, n)
	spend(func(t *target) int { return share[t] })
	report(targets)
	if len(failed) > 0 {
		return fmt.Errorf("%s failed; the inputs are below testdata/fuzz", strings.Join(failed, ", "))
	}
	return nil
}

// rest divides what is left of n executions among the quickest quarter of the targets.
func rest(targets []*target, n int) map[*target]int {
	order := slices.SortedFunc(slices.Values(targets), func(a, b *target) int { return cmp.Compare(b.rate(), a.rate()) })
	for _, t := range targets {
		n -= t.made
	}
	quick := order[:(len(order)+3)/4]
	share := make(map[*target]int)
	for i, t := range quick {
		share[t] = max(0, (n+i)/len(quick))
	}
	return share
}

// build lists the targets, and builds the tests of each package with what fuzzing needs.
func build(work string, packages []string) (targets []*target, err error) {
	list, err := exec.Command("go", append([]string{"list", "-f", "{{.ImportPath}} {{.Dir}}"}, packages...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(list)) {
		pkg, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		names, err := exec.Command("go", "test", "-vet=off", "-list", "^Fuzz", pkg).Output()
		if err != nil {
			return nil, fmt.Errorf("list the targets of %s: %w", pkg, err)
		}
		program := filepath.Join(work, strings.ReplaceAll(pkg, "/", "_")+".test")
		for name := range strings.FieldsSeq(string(names)) {
			if strings.HasPrefix(name, "Fuzz") {
				targets = append(targets, &target{pkg: pkg, dir: dir, program: program, name: name})
			}
		}
		if !slices.ContainsFunc(targets, func(t *target) bool { return t.pkg == pkg }) {
			continue
		}
		if out, err := exec.Command("go", "test", "-vet=off", "-c", "-fuzz", ".", "-o", program, pkg).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the tests of %s: %w\n%s", pkg, err, out)
		}
	}
	return targets, nil
}

// fuzz makes some executions. Inputs are hardly made smaller: that takes minutes for nothing.
func (t *target) fuzz(corpus string, count int) error {
	cmd := exec.Command(t.program, "-test.run=^$", "-test.fuzz=^"+t.name+"$", fmt.Sprintf("-test.fuzztime=%dx", count),
		"-test.fuzzminimizetime=10x", "-test.fuzzcachedir="+filepath.Join(corpus, t.pkg))
	cmd.Dir = t.dir
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	t.made, t.took = t.made+count, t.took+time.Since(begin)
	if err != nil {
		fmt.Printf("%s %s: %v\n%s\n", t.pkg, t.name, err, out)
	}
	return err
}

func report(targets []*target) {
	all := 0
	for _, t := range targets {
		fmt.Printf("%12d executions, %8.0f in a second: %s %s\n", t.made, t.rate(), t.pkg, t.name)
		all += t.made
	}
	fmt.Printf("%12d executions of %d targets\n", all, len(targets))
}
