package ios_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"p2pnode/mobile"
)

// TestSampleReadsTheJSON makes a node of the sample's task and lets the sample's code read what the
// node says.
func TestSampleReadsTheJSON(t *testing.T) {
	bareSwift(t)
	status, task := sayings(t)
	path := filepath.Join(t.TempDir(), "read.swift")
	write(t, path, read(t, "Activity/NodeState.swift")+`
let state = try decode(NodeState.self, #"""
`+status+`
"""#)
let task = try decode(TaskShape.self, #"""
`+task+`
"""#)
let node = state.node!, personal = node.personal!
print(state.state, state.sentence, node.records, node.heldOut == personal.heldOut, personal.personal <= 1, personal.alone <= 1)
print(node.privacy.epsilon, node.privacy.delta, node.privacy.left > 0, task.length, task.target.classes)
let notice = try decode(Notice.self, #"{"id":"12D3","connected":false,"reason":"nobody answers"}"#)
print(notice.connected!, notice.reason!, try decode(Notice.self, #"{"code":"full","message":"full: the disk"}"#).message!)
`)
	out, err := runSwiftc("-frontend", "-interpret", "-module-name", "reading", path)
	want := `off Off 40 true true true
1.0 1e-06 true 18 ["still", "walking", "running", "stairs", "cycling"]
false nobody answers full: the disk
`
	if err != nil || out != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
}

// sayings are the StatusJSON and the TaskJSON of a node with 40 examples.
func sayings(t *testing.T) (status, task string) {
	t.Helper()
	n, err := mobile.NewNode(mobile.NewConfig(filepath.Join(t.TempDir(), "node"), read(t, "../../docs/tasks/activity.toml")), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	}()
	features := mobile.NewFeatures(18)
	for i := range 40 {
		if err := features.Set(i%18, float64(i)/40); err != nil {
			t.Fatal(err)
		}
		if err := n.AddExample(features.Bytes(), float64(i%5)); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Flush(); err != nil {
		t.Fatal(err)
	}
	if task, err = n.TaskJSON(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if status, err = n.StatusJSON(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(status, `"personal":{`) && strings.Contains(status, `"records":40`) {
			return status, task
		}
	}
	t.Fatalf("no comparison: %s", status)
	return "", ""
}
