package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/datadir"
)

// taskFile writes the task "movies" for another learner.
func taskFile(t *testing.T, change func(*learner.Task)) string {
	t.Helper()
	task, err := datadir.LoadTask("movies")
	if err != nil {
		t.Fatal(err)
	}
	change(task)
	text, err := datadir.FormatTask(task)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "task.toml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func inRounds(t *learner.Task) {
	t.Rounds = learner.Rounds{Seconds: 1, Step: 0.1}
}

// Daemons of every learner that are killed with -9 in the middle go on where their
// disk says, with their budget, and the others go on without them.
func TestKilledLearnersContinue(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*learner.Task){
		"diffusion": func(t *learner.Task) {
			inRounds(t)
			t.Learner, t.Diffusion.Noise = "diffusion", "iid"
		},
		"graph-homomorphic": func(t *learner.Task) {
			inRounds(t)
			t.Learner, t.Diffusion.Noise = "diffusion", "graph-homomorphic"
		},
		"km": func(t *learner.Task) {
			inRounds(t)
			t.Learner, t.KM = "km", learner.KM{Operator: "proximal", Relaxation: 1, L1: 0.01}
		},
	} {
		t.Run(name, func(t *testing.T) {
			task := taskFile(t, change)
			nodes := []*daemon{start(t, initNode(t, "--task", task))}
			for range 2 {
				nodes = append(nodes, start(t, initNode(t, "--task", task, "--bootstrap", nodes[0].address)))
			}
			require.Within(t, patience, "a few rounds", func() bool { return everybody(t, nodes, 5) })
			nodes[1] = killAndRestart(t, nodes, 1)
			for _, d := range nodes {
				d.interrupt(t, os.Interrupt)
			}
		})
	}
}

// everybody reports whether all nodes are at that round.
func everybody(t *testing.T, nodes []*daemon, round uint64) bool {
	for _, d := range nodes {
		if d.status(t).Round < round {
			return false
		}
	}
	return true
}

// A daemon of learner propagation releases once in its life, killed or not.
func TestKilledPropagationReleasesOnce(t *testing.T) {
	t.Parallel()
	task := taskFile(t, func(t *learner.Task) {
		t.Learner = "propagation"
		t.Propagation = learner.Propagation{Ridge: 0.5, Tolerance: 1e-6}
		t.Release.Releases, t.Release.MaxReleases = 1, 1
	})
	first := start(t, initNode(t, "--task", task, "--releases", "1"))
	second := start(t, initNode(t, "--task", task, "--releases", "1", "--bootstrap", first.address))
	both := func() bool { return first.heard(t, second.id) > 0 && second.heard(t, first.id) > 0 }
	require.Within(t, patience, "both have heard each other", both)
	for range 2 {
		round := second.status(t).Round
		if err := second.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		second.end(t)
		second = start(t, second.dir)
		if s := second.status(t); s.Round < round {
			t.Errorf("round %d after a kill in round %d", s.Round, round)
		}
		require.Within(t, patience, "the neighbour listens again", func() bool { return second.status(t).Listening == 1 })
		if c := spent(t, second); c.Releases != 1 || c.Spent > 1 {
			t.Errorf("after the kill the budget is %+v", c)
		}
	}
	for _, d := range []*daemon{first, second} {
		d.interrupt(t, os.Interrupt)
	}
}

// Daemons of learner polar: the operators of the servers make their identities
// first. A server and a client are killed with -9, and all go on.
func TestKilledPolarContinues(t *testing.T) {
	t.Parallel()
	const servers = 3
	base := t.TempDir()
	var keys, ids []string
	for _, name := range []string{"a", "b", "c"} {
		var made newIdentity
		key := filepath.Join(base, name)
		cli(t, &made, "identity", key)
		keys, ids = append(keys, key), append(ids, made.Peer)
	}
	task := taskFile(t, func(t *learner.Task) {
		inRounds(t)
		t.Learner = "polar"
		t.Polar = learner.Polar{
			Servers: ids, Delta: 4, Update: "minimum-wait", Obfuscation: "both", Law: "uniform",
			Decay: 0.6, Sum: servers, Bound: 20, Additive: 1, Box: 0.9,
		}
	})
	var nodes []*daemon
	for i := range servers + 2 {
		flags := []string{"--task", task, "--unprotected", datadir.Consent}
		if i < servers {
			flags = append(flags, "--identity", keys[i])
		}
		if i > 0 {
			flags = append(flags, "--bootstrap", nodes[0].address)
		}
		nodes = append(nodes, start(t, initNode(t, flags...)))
	}
	require.Within(t, patience, "a few steps", func() bool { return everybody(t, nodes[:servers], 5) })
	for _, victim := range []int{1, servers} {
		if err := nodes[victim].cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		nodes[victim].end(t)
		nodes[victim] = start(t, nodes[victim].dir)
		if id := nodes[victim].id; victim < servers && id != ids[victim] {
			t.Errorf("server %d came back as %s", victim, id)
		}
		further := nodes[0].status(t).Round + 5
		require.Within(t, patience, "all go on", func() bool { return everybody(t, nodes[:servers], further) })
	}
	if text := statusText("")(nodes[0].status(t)); !strings.Contains(text, obfuscation) {
		t.Errorf("the status is\n%s", text)
	}
	for _, d := range nodes {
		d.interrupt(t, os.Interrupt)
	}
}
