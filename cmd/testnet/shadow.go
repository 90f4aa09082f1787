package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/spf13/cobra"

	"p2pnode/node/datadir"
	"p2pnode/testnet"
)

// Times of a simulation under Shadow, in its seconds.
const (
	shadowImport = 10 // when the records are imported into the nodes that were made at 0
	shadowRun    = 20
	shadowWake   = 5 // mean time between two releases
	shadowAfter  = 120
)

// shadowNetwork puts all hosts in one place.
const shadowNetwork = `graph [
  directed 0
  node [
    id 0
    host_bandwidth_up "20 Mbit"
    host_bandwidth_down "100 Mbit"
  ]
  edge [
    source 0
    target 0
    latency "50 ms"
    packet_loss 0.0
  ]
]
`

// shadow is a configuration of the Shadow simulator. The names are Shadow's.
type shadow struct {
	General struct {
		StopTime string `json:"stop_time"`
		Seed     uint64 `json:"seed"`
		// Without this, a program that asks for the time repeatedly would never see it
		// pass.
		UnblockedLatency bool `json:"model_unblocked_syscall_latency"`
	} `json:"general"`
	Network struct {
		Graph struct {
			Type   string `json:"type"`
			Inline string `json:"inline"`
		} `json:"graph"`
	} `json:"network"`
	Hosts map[string]shadowHost `json:"hosts"`
}

type shadowHost struct {
	Node      int             `json:"network_node_id"`
	Address   string          `json:"ip_addr"`
	Processes []shadowProcess `json:"processes"`
}

type shadowProcess struct {
	Path  string   `json:"path"`
	Args  []string `json:"args"`
	Start string   `json:"start_time"`
	Final any      `json:"expected_final_state"`
}

// writeShadow writes a configuration of the Shadow simulator in which each person is a
// host with a daemon, and her records.
func (o *options) writeShadow(cmd *cobra.Command) error {
	if err := onlyWith(cmd, "shadow", "which runs nothing", "nodes", "seed", "data", "task", "node-column", "skip-bad", "groups", "p2pnode"); err != nil {
		return err
	}
	task, source, err := o.source(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	d, err := source(o.seed)
	if err != nil {
		return err
	}
	if d.People[0].Profile != nil {
		return usageError{errors.New("--shadow: nodes that declare a public profile are not written down; choose another task than linear")}
	}
	dir, err := filepath.Abs(o.shadow)
	if err != nil {
		return err
	}
	if err := d.Export(filepath.Join(dir, "people")); err != nil {
		return err
	}
	first, err := datadir.NewIdentity(filepath.Join(dir, "first.key"))
	if err != nil {
		return err
	}
	if o.daemons.program != "" { // hosts have working directories of their own
		if o.daemons.program, err = locate(cmd, o.daemons.program, dir); err != nil {
			return err
		}
	}
	named := o.task
	if filepath.Ext(named) == ".toml" {
		if named, err = filepath.Abs(named); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(o.simulated(d, dir, named, first, task.Release.Releases), "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "shadow.yaml")
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), `%d hosts: %s. Shadow runs it where p2pnode is linked dynamically:
  CGO_ENABLED=1 go build -o bin/p2pnode ./cmd/p2pnode && shadow --data-directory %s/data %s
After that, p2pnode status --dir %s/node1 says what the first node learned.
%s`, len(d.People), file, dir, file, dir, o.credit())
	return err
}

// simulated is the configuration for the people of d. The first node is the one that the
// others start from.
func (o *options) simulated(d *testnet.Dataset, dir, task string, first peer.ID, releases int) (s shadow) {
	program := o.daemons.program
	if program == "" {
		program = "p2pnode"
	}
	s.General.StopTime = fmt.Sprintf("%d s", shadowRun+shadowWake*releases+shadowAfter)
	s.General.Seed = o.seed
	s.General.UnblockedLatency = true
	s.Network.Graph.Type, s.Network.Graph.Inline = "gml", shadowNetwork
	s.Hosts = make(map[string]shadowHost)
	for i := range d.People {
		name, node := fmt.Sprintf("node%d", i+1), filepath.Join(dir, fmt.Sprintf("node%d", i+1))
		start := []string{"--identity", filepath.Join(dir, "first.key")}
		if i > 0 {
			start = []string{"--bootstrap", fmt.Sprintf("/ip4/%s/tcp/4001/p2p/%s", shadowAddress(0), first)}
		}
		step := func(at int, final any, args ...string) shadowProcess {
			return shadowProcess{program, append(args, "--dir", node), fmt.Sprintf("%d s", at), final}
		}
		ended := map[string]int{"exited": 0}
		s.Hosts[name] = shadowHost{Address: shadowAddress(i), Processes: []shadowProcess{
			step(0, ended, append([]string{"init", "--task", task, "--no-mdns", "--set", "upnp=false", "--wake", fmt.Sprint(shadowWake),
				"--listen", "/ip4/" + shadowAddress(i) + "/tcp/4001"}, start...)...),
			step(shadowImport, ended, "data", "import", filepath.Join(dir, "people", fmt.Sprintf("%d.csv", i+1))),
			step(shadowRun, "running", "run"),
		}}
	}
	return s
}

// shadowAddress is the address of a host: 11.0.0.1 and so on.
func shadowAddress(i int) string { return fmt.Sprintf("11.%d.%d.%d", i/(250*250), i/250%250, 1+i%250) }
