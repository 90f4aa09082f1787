package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"p2pnode/testnet"
)

// daemonFlags are the flags that make nodes processes.
type daemonFlags struct {
	processes, phones int
	program           string
	loss, online      float64
	latency, spell    time.Duration
}

func (f *daemonFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.processes, "processes", 0, "so many people, and every node a p2pnode process")
	flags.StringVar(&f.program, "p2pnode", "", "the p2pnode to run (default: the one beside testnet, or built from the source)")
	flags.IntVar(&f.phones, "netns", 0, "so many of the processes are phones in network namespaces; takes root")
	flags.Float64Var(&f.loss, "loss", 0.1, "share of the packets a phone's link loses, in either direction")
	flags.DurationVar(&f.latency, "latency", 40*time.Millisecond, "what a phone's link adds to every packet")
	flags.Float64Var(&f.online, "online", 0.2, "share of the time a phone is online")
	flags.DurationVar(&f.spell, "spell", 20*time.Second, "how long it is online at a stretch, on average")
}

// find returns what the flags ask for, with the program to run; nil for nodes in
// this process. It may build the program, in dir.
func (f *daemonFlags) find(cmd *cobra.Command, o *options, dir string) (*testnet.Daemons, error) {
	if err := needs(cmd, "processes", "netns", "p2pnode", "loss", "latency", "online", "spell"); err != nil || !cmd.Flags().Changed("processes") {
		return nil, err
	}
	if err := needs(cmd, "netns", "loss", "latency", "online", "spell"); err != nil {
		return nil, err
	}
	switch {
	case f.processes < 2:
		return nil, usageError{fmt.Errorf("--processes %d: must be a number from 2 up", f.processes)}
	case o.sim:
		return nil, usageError{errors.New("--processes: real processes and --sim exclude each other")}
	}
	d := &testnet.Daemons{Program: "p2pnode", Phones: f.phones, Loss: f.loss, Latency: f.latency, Online: f.online, Spell: f.spell}
	if err := d.Validate(f.processes); err != nil {
		return nil, usageError{err}
	}
	program, err := locate(cmd, f.program, dir)
	d.Program = program
	return d, err
}

// locate finds the daemon's program: the one that was named, if any, the one beside this
// program, or one built in dir from the source around the working directory.
func locate(cmd *cobra.Command, named, dir string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", usageError{fmt.Errorf("--p2pnode: %w", err)}
		}
		return filepath.Abs(path)
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), "p2pnode")
		if _, err := exec.LookPath(beside); err == nil {
			return beside, nil
		}
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "testnet: building p2pnode")
	built := filepath.Join(dir, "p2pnode")
	build := exec.CommandContext(cmd.Context(), "go", "build", "-o", built, "p2pnode/cmd/p2pnode")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("there is no p2pnode beside testnet, and it cannot be built here (%w: %s); say where it is with --p2pnode", err, bytes.TrimSpace(out))
	}
	return built, nil
}
