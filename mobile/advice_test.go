package mobile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/node"
	"p2pnode/node/api"
)

// No app has the command that the daemon's errors advise; what it can do is said instead.
func TestErrorsAdviseWhatAnAppCanDo(t *testing.T) {
	reopened := func(spoil func(dir string) error) error {
		c := linearConfig(t)
		n, err := NewNode(c, nil)
		check(t, err)
		check(t, n.AddExamples(rows(fixed(1), 5)), n.Stop(), spoil(c.DataDir))
		_, err = NewNode(c, nil)
		return err
	}
	write := func(name, text string) func(string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	remove := func(name string) func(string) error {
		return func(dir string) error { return os.Remove(filepath.Join(dir, name)) }
	}
	n := open(t, linearConfig(t), nil)
	csv := filepath.Join(t.TempDir(), "a.csv")
	header := "y"
	for i := range 20 {
		header += ",x" + jsonNumber(i+1)
	}
	check(t, os.WriteFile(csv, []byte(header+"\n1,2\n"), 0o600))
	_, imported := n.ImportCSV(csv, false, false)
	other, busy := linearConfig(t), n.config
	check(t, open(t, other, nil).Stop())
	other.Task, other.Settings = "movies", ""
	opened := func(c *Config) error {
		_, err := NewNode(c, nil)
		return err
	}
	const erase = "or erase it"
	for _, c := range []struct {
		err        error
		code, says string
	}{
		{reopened(write("p2pnode.erasing", "")), CodeStorage, erase},
		{reopened(write("p2pnode.db", "nonsense")), CodeStorage, erase},
		{reopened(remove("p2pnode.db")), CodeStorage, erase},
		{n.config.AddBootstrap("/ip4/127.0.0.1/tcp/4001"), CodeInput, "does not end in /p2p/"},
		{n.AddPeer("/ip4/127.0.0.1/tcp/4001"), CodeInput, "does not end in /p2p/"},
		{n.RemovePeer("12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"), CodeInput, "is no peer that you added"},
		{n.ImportMembers(nil), CodeInput, "with joinMembers"},
		{reopened(write("members.toml", "")), CodeStorage, erase},
		{opened(other), CodeTask, "or erase this one"},
		{opened(&busy), CodeBusy, "a node that was not stopped, of this app or of another process, uses this directory"},
		{Erase(busy.DataDir), CodeBusy, "a node that was not stopped"},
		{imported, CodeInput, "nothing was imported (1 bad lines, the first is line 2)"},
	} {
		if errorCode(c.err) != c.code || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%v, want %s: ... %s", c.err, c.code, c.says)
		}
		if c.err != nil && (strings.Contains(c.err.Error(), ": p2pnode ") || strings.Contains(c.err.Error(), "--")) {
			t.Errorf("%v: no app can run a command", c.err)
		}
		if c.err != nil && (strings.Contains(c.err.Error(), "task.toml back") || strings.Contains(c.err.Error(), "another p2pnode")) {
			t.Errorf("%v: no app has that", c.err)
		}
	}
	if text, err := n.DiagnoseJSON(); err != nil || strings.Contains(text, "p2pnode ") {
		t.Errorf("%s, %v: no app can run a command", text, err)
	}
}

// Neither the state, nor the events, nor an error around another have the daemon's advice.
func TestAdviceIsReplacedEverywhere(t *testing.T) {
	old := fmt.Errorf("around it: %w", &api.Advised{Err: fmt.Errorf("%w: by round 7", node.ErrRolledBack), Advice: "p2pnode restore"})
	want := "around it: " + node.ErrRolledBack.Error() + ": by round 7; put the newest copy of the directory back, or erase it"
	if got := failed(old).Reason; got != want {
		t.Errorf("the state says %q, want %q", got, want)
	}
	guarded := func(err error) (out error) { defer guard(&out); return err }
	if got := guarded(old).Error(); got != "storage: "+want {
		t.Errorf("an error says %q, want storage: %s", got, want)
	}
	if got := guarded(fmt.Errorf("more: %w", guarded(old))).Error(); got != "storage: more: storage: "+want {
		t.Errorf("an error around an error says %q", got)
	}
	if got := inApp(errors.New("plain"), CodeStorage); got != "plain" {
		t.Errorf("a plain error says %q", got)
	}
}
