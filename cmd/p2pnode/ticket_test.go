package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rsc.io/qr"

	things "p2pnode/internal/committee"
	"p2pnode/internal/require"
	"p2pnode/node/client"
	"p2pnode/node/datadir"
	"p2pnode/node/local"
	"p2pnode/node/ticket"
)

// ticketOf asks a running daemon for a ticket.
func (d *daemon) ticket(t *testing.T, flags ...string) invitation {
	t.Helper()
	var made invitation
	cli(t, &made, append([]string{"invite", "--dir", d.dir}, flags...)...)
	return made
}

// joinNode makes a node of a ticket and stops it when it has met the first neighbour; then
// the node runs as a daemon.
func joinNode(t *testing.T, ticket string, flags ...string) (*daemon, joined) {
	t.Helper()
	var done joined
	dir := filepath.Join(shortTemp(t), "node")
	cli(t, &done, append([]string{"join", ticket, "--dir", dir, "--yes", "--once", "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0"}, flags...)...)
	if done.First == "" || len(done.Addresses) == 0 {
		t.Errorf("joined: %+v", done)
	}
	return start(t, dir), done
}

// Three daemons join by one ticket, and all four know each other.
func TestThreeJoinByOneTicket(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"open": nil, "with a key": {"--with-key"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := initNode(t)
			if flags != nil {
				cli(t, nil, "network-key", "create", "--dir", dir)
			}
			all := []*daemon{start(t, dir)}
			made := all[0].ticket(t, flags...)
			if made.Secret != (flags != nil) || strings.HasPrefix(made.Ticket, ticket.SecretPrefix) != made.Secret || !made.Carried {
				t.Errorf("%+v", made)
			}
			for range 3 {
				d, done := joinNode(t, made.Ticket)
				if done.Network != made.Network || done.First != all[0].id && !slices.ContainsFunc(all, func(d *daemon) bool { return d.id == done.First }) {
					t.Errorf("%+v", done)
				}
				all = append(all, d)
			}
			require.Within(t, patience, "everybody listens to everybody", func() bool {
				return !slices.ContainsFunc(all, func(d *daemon) bool { return d.status(t).Listening != 3 })
			})
		})
	}
}

// A ticket with a membership makes one node a member; without one the keeper lets it in.
func TestJoinMembers(t *testing.T) {
	t.Parallel()
	home := shortTemp(t)
	dir, key := initNode(t), filepath.Join(home, "garden.key")
	cli(t, nil, "members", "init", "garden", "--dir", dir, "--key", key, "--name", "house")
	house := start(t, dir)

	made := house.ticket(t, "--with-membership", key, "--name", "shed", "--expires", "2100-01-31")
	if !made.Secret || !made.OneNode || made.Peer == "" || !strings.HasPrefix(made.Ticket, ticket.SecretPrefix) {
		t.Fatalf("%+v", made)
	}
	shed, done := joinNode(t, made.Ticket)
	if shed.id != made.Peer || done.Members != "garden" || !done.Invited || !strings.Contains(done.Until, "2100-01-31") {
		t.Errorf("%s joined as %+v", shed.id, done)
	}
	if p := shed.status(t).Private; p.Network != "garden" || !p.Listed || p.Members != 2 {
		t.Errorf("%+v", p)
	}
	var again joined
	cli(t, &again, "join", made.Ticket, "--dir", shed.dir)
	if !again.Before || !again.Running {
		t.Errorf("the same ticket again: %+v", again)
	}

	open := house.ticket(t)
	if open.Secret || open.Members != "garden" {
		t.Errorf("%+v", open)
	}
	barn := filepath.Join(home, "barn")
	cmd := exec.Command("p2pnode", "join", open.Ticket, "--dir", barn, "--yes", "--once", "--json", "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	newcomer := client.New(client.Socket(local.SocketPath(barn)))
	require.Within(t, patience, "the newcomer is refused", func() bool {
		s, err := newcomer.Status(t.Context())
		return err == nil && s.Private != nil && len(s.Private.RefusedBy) > 0
	})
	s, err := newcomer.Status(t.Context())
	require.NoError(t, err)
	cli(t, nil, "members", "add", s.Peer, "--name", "barn", "--key", key, "--dir", dir)
	var met joined
	require.NoError(t, json.NewDecoder(out).Decode(&met), cmd.Wait())
	if met.Peer != s.Peer || met.First == "" || met.Invited {
		t.Errorf("%+v", met)
	}
}

// wideTask is a task that is too long for a ticket.
func wideTask(t *testing.T, columns int) string {
	t.Helper()
	text := "name = 'wide'\n"
	for i := range columns {
		text += fmt.Sprintf("[[features]]\nname = 'column %x'\nkind = 'number'\nmin = %d.5\nmax = %d.25\n", i*i*7919, -i, i*i+1)
	}
	text += "[target]\nname = 'y'\nmin = 0.0\nmax = 1.0\n"
	file := filepath.Join(shortTemp(t), "wide.toml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// A task that is too long for the ticket comes from the node that invites.
func TestJoinGetsLongTask(t *testing.T) {
	t.Parallel()
	dir := shortTemp(t)
	cli(t, nil, "init", "--dir", dir, "--task", wideTask(t, 300), "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
	cli(t, nil, "network-key", "create", "--dir", dir)
	first := start(t, dir)
	made := first.ticket(t, "--with-key")
	if made.Carried || len(made.Ticket) > 400 {
		t.Errorf("%d characters: %+v", len(made.Ticket), made)
	}
	second, _ := joinNode(t, made.Ticket)
	want, err := os.ReadFile(filepath.Join(dir, "task.toml"))
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(second.dir, "task.toml"))
	require.NoError(t, err)
	if string(got) != string(want) {
		t.Error("the task has changed on its way")
	}
	first.interrupt(t, os.Interrupt)
	third := filepath.Join(shortTemp(t), "node")
	out, err := exec.Command("p2pnode", "join", made.Ticket, "--dir", third, "--yes").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the task cannot be got from a node of the ticket") || !strings.Contains(string(out), "nothing listens at that address") {
		t.Errorf("%v: %s", err, out)
	}
	second.interrupt(t, os.Interrupt) // or it would call where the first was
	said := interruptedJoin(t, first.address, made.Ticket, third)
	if said != "p2pnode: interrupted; nothing was made\n" {
		t.Errorf("who interrupts is told %q", said)
	}
	if _, err := os.Stat(third); err == nil {
		t.Error("what failed made the directory")
	}
}

// interruptedJoin joins where somebody listens at the address and says nothing, interrupts
// the command, and returns what it says.
func interruptedJoin(t *testing.T, address, ticket, dir string) string {
	t.Helper()
	port := regexp.MustCompile(`/tcp/(\d+)`).FindStringSubmatch(address)[1]
	silent, err := net.Listen("tcp", "127.0.0.1:"+port)
	require.NoError(t, err)
	defer silent.Close()
	require.NoError(t, silent.(*net.TCPListener).SetDeadline(time.Now().Add(patience)))
	join := exec.Command("p2pnode", "join", ticket, "--dir", dir, "--yes")
	var said strings.Builder
	join.Stderr = &said
	require.NoError(t, join.Start())
	kill := time.AfterFunc(patience, func() { _ = join.Process.Kill() })
	defer kill.Stop()
	called, err := silent.Accept()
	require.NoError(t, err)
	defer called.Close()
	require.NoError(t, join.Process.Signal(os.Interrupt))
	_ = join.Wait()
	return said.String()
}

// A node whose task sums up by keys sends the file that lists them, too. Nodes of such a task
// have no neighbours; a newcomer is done when it is connected.
func TestJoinGetsCatalogue(t *testing.T) {
	t.Parallel()
	home := shortTemp(t)
	task, file, list := things.Task(), filepath.Join(home, "things.toml"), filepath.Join(home, "things.csv")
	var member newIdentity
	for i := range 4 {
		cli(t, &member, "identity", filepath.Join(home, fmt.Sprint(i, ".key")))
		task.Sums.Committee = append(task.Sums.Committee, member.Peer)
	}
	text, err := datadir.FormatTask(task)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, text, 0o600), os.WriteFile(list, []byte(things.Catalogue), 0o600))
	dir := filepath.Join(home, "member")
	cli(t, nil, "init", "--dir", dir, "--task", file, "--catalogue", list, "--identity", member.File, "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0")
	first := start(t, dir)
	made := first.ticket(t)
	if made.Catalogue == "" {
		t.Errorf("%+v", made)
	}
	second, done := joinNode(t, made.Ticket)
	got, err := os.ReadFile(filepath.Join(second.dir, "catalogue.csv"))
	if err != nil || string(got) != things.Catalogue {
		t.Errorf("the catalogue is %q, %v", got, err)
	}
	if done.First != first.id || len(done.Sums.Committee) != 4 || done.Sums.Member {
		t.Errorf("%+v", done)
	}
}

// The printed code is the one that the ticket makes, with a light border around it.
func TestQRCodeIsOfTheTicket(t *testing.T) {
	text := ticket.Prefix + strings.Repeat("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 12)
	picture, err := qrCode(text)
	require.NoError(t, err)
	code, err := qr.Encode(strings.ToUpper(text), qr.L)
	require.NoError(t, err)
	var rows [][]bool
	for line := range strings.Lines(picture) {
		line, ok := strings.CutPrefix(strings.TrimSuffix(line, "\x1b[0m\n"), "\x1b[30;107m")
		if !ok {
			continue
		}
		var upper, lower []bool
		for _, r := range line {
			upper = append(upper, r == '▀' || r == '█')
			lower = append(lower, r == '▄' || r == '█')
		}
		rows = append(rows, upper, lower)
	}
	for y, row := range rows {
		if len(row) != code.Size+2*quiet {
			t.Fatalf("row %d has %d modules", y, len(row))
		}
		for x, got := range row {
			if got != dark(code, x-quiet, y-quiet) {
				t.Fatalf("module %d, %d is %v", x-quiet, y-quiet, got)
			}
		}
	}
	if len(rows) < code.Size+2*quiet {
		t.Errorf("%d rows", len(rows))
	}
}

// Tasks and tickets come from strangers, and a terminal obeys some characters.
func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[2Jb\nc\u202e\u00e9"); got != "a?[2Jb\nc?\u00e9" {
		t.Errorf("%q", got)
	}
}

func TestReaches(t *testing.T) {
	for want, addresses := range map[string][]string{
		toThisMachine:  {"/ip4/127.0.0.1/tcp/1", "/ip6/::1/tcp/1"},
		toLocalNetwork: {"/ip4/127.0.0.1/tcp/1", "/ip4/192.168.1.2/tcp/1"},
		toInternet:     {"/ip4/192.168.1.2/tcp/1", "/ip4/45.0.0.1/tcp/1"},
	} {
		if got := reaches(addresses); got != want {
			t.Errorf("%v reach %s", addresses, got)
		}
	}
	if got := expiry(time.Time{}); got != "" {
		t.Errorf("%q", got)
	}
}
