package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/api"
)

// A phone's processor rounds otherwise where it multiplies and adds at once. Daemons of
// both kinds learn together all the same: no model of either is refused by the other,
// and both ends of an edge compute the same weight, to the bit. The environment names
// the command that runs a p2pnode built for another processor.
func TestAcrossProcessors(t *testing.T) {
	foreign := strings.Fields(os.Getenv("P2PNODE_FOREIGN"))
	if len(foreign) == 0 {
		t.Skip("runs nightly: P2PNODE_FOREIGN names no p2pnode for another processor; .ci/nightly makes one")
	}
	first := start(t, clustersNode(t))
	nodes := []*daemon{first, start(t, clustersNode(t, "--bootstrap", first.address))}
	for range 2 {
		dir := clustersNode(t, "--bootstrap", first.address)
		nodes = append(nodes, startWith(t, dir, exec.Command(foreign[0], append(foreign[1:], "run", "--json", "--dir", dir)...)))
	}
	require.Within(t, patience, "everybody has used the budget and knows how alike all are", func() bool {
		for _, d := range nodes {
			known := 0
			for _, p := range neighbours(t, d) {
				if p.Known {
					known++
				}
			}
			if known < len(nodes)-1 || !d.status(t).Done {
				return false
			}
		}
		return true
	})
	require.Within(t, patience, "both ends of every edge agree", func() bool { return symmetric(t, nodes) })
	for _, d := range nodes {
		if s := d.status(t); s.Traffic.Rejected > 0 || s.Traffic.Delivered == 0 {
			t.Errorf("%s rejected %d models and took %d", d.id, s.Traffic.Rejected, s.Traffic.Delivered)
		}
	}
}

// symmetric reports whether both ends of all edges have one weight: an edge that was
// agreed on anew is so at one end a moment before the other.
func symmetric(t *testing.T, nodes []*daemon) bool {
	t.Helper()
	weights := make(map[[2]string]float64)
	for _, d := range nodes {
		for _, p := range neighbours(t, d) {
			weights[[2]string{d.id, p.ID}] = p.Weight
		}
	}
	for ends, w := range weights {
		if weights[[2]string{ends[1], ends[0]}] != w {
			return false
		}
	}
	return true
}

func neighbours(t *testing.T, d *daemon) []api.Peer {
	t.Helper()
	peers, err := d.owner.Peers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return peers
}

// clustersNode makes a data directory of the task clusters, with records made up by a
// fixed seed.
func clustersNode(t *testing.T, flags ...string) string {
	t.Helper()
	dir := shortTemp(t)
	cli(t, nil, append([]string{"init", "--dir", dir, "--task", "clusters", "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0",
		"--wake", "1", "--releases", "16"}, flags...)...)
	random := rand.New(rand.NewPCG(1, uint64(len(flags))))
	var csv strings.Builder
	csv.WriteString("x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,y\n")
	for range 100 {
		var sum float64
		for range 10 {
			x := 2*random.Float64() - 1
			sum += x
			fmt.Fprintf(&csv, "%.3f,", x)
		}
		fmt.Fprintln(&csv, map[bool]int{true: 1}[sum > 0])
	}
	file := filepath.Join(t.TempDir(), "records.csv")
	if err := os.WriteFile(file, []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cli(t, nil, "data", "import", file, "--dir", dir)
	return dir
}
