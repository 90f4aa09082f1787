package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"p2pnode/internal/require"
	"p2pnode/node/datadir"
)

// A report has what helps and nothing of what is planted: keys, tickets, records, names,
// addresses, peers.
func TestBugreportHasNothingPrivate(t *testing.T) {
	t.Parallel()
	const other = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
	dir := initNode(t, "--bootstrap", "/dns4/ada.example.org/tcp/4001/p2p/"+other, "--bootstrap", "/ip4/198.51.100.77/tcp/4001/p2p/"+other)
	config := filepath.Join(dir, datadir.ConfigFile)
	text, err := os.ReadFile(config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(config, append(text, []byte("announce = ['/ip6/2001:db8::77/tcp/4001']\nneighbours = ['"+other+"']\n")...), 0o600))
	cli(t, nil, "network-key", "create", "--dir", dir)
	cli(t, nil, "members", "init", "ada-family", "--dir", dir, "--key", filepath.Join(dir, "authority"))
	own, err := datadir.PeerOf(dir)
	require.NoError(t, err)
	cli(t, nil, "members", "add", own.String(), "--name", "adas-hut", "--key", filepath.Join(dir, "authority"), "--dir", dir)
	d := start(t, dir)
	cli(t, nil, "data", "import", filepath.Join("testdata", "files", "ratings.csv"), "--again", "--dir", dir)
	var ticket invitation
	cli(t, &ticket, "invite", "--with-key", "--dir", dir)

	out := filepath.Join(shortTemp(t), "report.json")
	said, err := exec.Command("p2pnode", "bugreport", "--yes", "--out", out, "--dir", dir).Output()
	require.NoError(t, err)
	written, err := os.ReadFile(out)
	require.NoError(t, err)
	if string(said) != string(written) {
		t.Error("it writes something else than it shows")
	}
	host, err := os.Hostname()
	require.NoError(t, err)
	planted := map[string]string{
		"the other peer": other, "the own peer ID": own.String(), "the end of the own peer ID": own.String()[len(own.String())-8:], "a name": "ada", "an address": "198.51.100", "another address": "2001:db8",
		"the directory": dir, "the host": host, "the task": "\"movies", "a genre": "Comedy", "a column": "genres", "a ticket": ticket.Ticket[:20], "a ticket of keys": "p2psecret1", "a member": "hut",
		"a count of records": "\"records\":", "how good the model is": "verdict\": \"better", "an imported count": "records=1",
	}
	for _, name := range []string{datadir.KeyFile, "swarm.key", "authority"} {
		key, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		planted["the bytes of "+name] = string(key)
		planted["the hexadecimal of "+name] = hex.EncodeToString(key)[:40]
		planted["the base 64 of "+name] = base64.StdEncoding.EncodeToString(key)[:40]
		for line := range strings.Lines(string(key)) {
			if line = strings.TrimSpace(line); len(line) > 30 {
				planted["a line of "+name] = line
			}
		}
	}
	for what, secret := range planted {
		if strings.Contains(string(written), secret) {
			t.Errorf("%s is in it: %q", what, secret)
		}
	}
	var r findings
	require.NoError(t, json.Unmarshal(written, &r))
	if r.Program.Go == "" || r.Config["epsilon"] != 1.0 || r.Config["dht"] != "server" || r.Doctor == nil || r.Ledger == nil || r.Node["running"] != true || len(r.Files) < 5 {
		t.Errorf("it lacks something: %s", written)
	}
	for part, why := range r.Missing {
		if part != "log" { // kept by a daemon from some version on
			t.Errorf("%s is missing: %s", part, why)
		}
	}
	if !strings.Contains(string(written), "/tcp/4001/p2p/PEER-") || !strings.Contains(string(written), "/dns4/NAME-") || !strings.Contains(string(written), d.network(t)) {
		t.Errorf("it lacks reduced addresses or the hash of the task: %s", written)
	}
}

// network is the hash of the daemon's task.
func (d *daemon) network(t *testing.T) string { return d.status(t).Network }

// Where nothing can be opened, it says so, and is written all the same, if the owner agrees.
func TestBugreportOfADamagedNode(t *testing.T) {
	t.Parallel()
	dir := initNode(t)
	require.NoError(t, os.Truncate(filepath.Join(dir, datadir.StoreFile), 20000))
	out := filepath.Join(shortTemp(t), "report.json")
	for _, answer := range []string{"no\n", "yes\n"} {
		want := answer == "yes\n"
		c := exec.Command("p2pnode", "bugreport", "--out", out, "--dir", dir)
		c.Stdin = strings.NewReader(answer)
		text, err := c.Output()
		if _, statErr := os.Stat(out); (err == nil) != want || (statErr == nil) != want {
			t.Fatalf("answered %q: %v, and the file: %v", answer, err, statErr)
		}
		var r findings
		require.NoError(t, json.Unmarshal(text, &r))
		if !strings.Contains(r.Missing["node"], "damaged") || strings.Contains(r.Missing["node"], dir) || r.Config == nil {
			t.Errorf("it says %s", text)
		}
	}
}

// The same thing gets the same word, and what everybody has stays.
func TestScrub(t *testing.T) {
	t.Parallel()
	const peer = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"
	s := newScrubber("0123456789abcdef0123456789abcdef")
	s.hide("/home/ada/node", "DIR")
	for in, want := range map[string]string{
		"/ip4/192.168.1.7/tcp/4001/p2p/" + peer:         "/ip4/LOCAL4-1/tcp/4001/p2p/PEER-1",
		peer + " at 192.168.1.7:4001":                   "PEER-1 at LOCAL4-1:4001",
		"/ip6/::1/tcp/1, /ip4/0.0.0.0/tcp/0, 127.0.0.1": "/ip6/::1/tcp/1, /ip4/0.0.0.0/tcp/0, 127.0.0.1",
		"[fe80::1%eth0]:80 at 20:18:36":                 "[LOCAL6-1]:80 at 20:18:36",
		"open /home/ada/node/task.toml: no":             "open DIR/task.toml: no",
		"p2p1qyqxqabcdefgh and p2psecret1qyqxqabcdefgh": "TICKET and TICKET",
		"/dns4/ada.example/tcp/1 ada@example.org":       "/dns4/NAME-1/tcp/1 MAIL",
		"0123456789abcdef0123456789abcdef":              "0123456789abcdef0123456789abcdef",
		"0123456789abcdef0123456789abcdee":              "LONG-1",
		"2026-11-23T20:18:36Z info node: epsilon 1e-06": "2026-11-23T20:18:36Z info node: epsilon 1e-06",
	} {
		if got := s.scrub(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// Of a line of the log what could be of records goes.
func TestReducedLine(t *testing.T) {
	t.Parallel()
	const line = `records stored records=7 file="a b" round=3 error="no: route" at"x=y`
	if got, want := reducedLine(line), `records stored records=... file=... round=3 error="no: route" at"x=y`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
