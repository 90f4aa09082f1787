// Package compose reads deploy/compose.yaml as the Compose specification wants.
package compose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

func TestCompositionIsValid(t *testing.T) {
	p, err := load(t, text(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.ServiceNames(), " "); got != "node1 node2 node3 testnet" {
		t.Errorf("the services are %s", got)
	}
	if node := p.Services["node2"]; !node.ReadOnly || len(node.Volumes) != 2 {
		t.Errorf("node2 did not take over what all nodes share: %+v", node)
	}
}

func TestMistakesInACompositionAreFound(t *testing.T) {
	for right, wrong := range map[string]string{
		"cap_drop":         "cap_drip",
		"node1:/data":      "nodex:/data",
		"read_only: true":  "read_only: perhaps",
		"image: testnet":   "picture: testnet",
		"stop_grace_perio": "stop_grace_hour",
	} {
		mistaken := strings.ReplaceAll(text(t), right, wrong)
		if mistaken == text(t) {
			t.Errorf("there is no %q to replace", right)
		}
		if _, err := load(t, mistaken); err == nil {
			t.Errorf("%q was accepted", wrong)
		}
	}
}

func text(t *testing.T) string {
	data, err := os.ReadFile("../../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// load reads a composition with all its profiles.
func load(t *testing.T, text string) (*types.Project, error) {
	file := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := cli.NewProjectOptions([]string{file}, cli.WithProfiles([]string{"*"}))
	if err != nil {
		t.Fatal(err)
	}
	return o.LoadProject(t.Context())
}
