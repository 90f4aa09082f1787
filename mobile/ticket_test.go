package mobile

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/internal/committee"
	"p2pnode/internal/require"
	"p2pnode/node/datadir"
	"p2pnode/node/ticket"
)

// ticketOf writes a ticket of the network of a directory that leads to an address.
func ticketOf(t *testing.T, dir, address string, change func(*ticket.Ticket)) string {
	t.Helper()
	invitation, err := datadir.Invitation(dir)
	check(t, err)
	start, err := peer.AddrInfoFromString(address)
	check(t, err)
	invitation.Peers = []peer.AddrInfo{*start}
	if change != nil {
		change(invitation)
	}
	text, err := invitation.Encode()
	check(t, err)
	return text
}

// ofTicket is a phone's configuration of a ticket.
func ofTicket(t *testing.T, text string) *Config {
	t.Helper()
	c, err := TicketConfig(t.TempDir(), text)
	check(t, err)
	check(t, c.AddListen("/ip4/127.0.0.1/tcp/0"))
	return c
}

func describedTicket(t *testing.T, c *Config) (info ticketInfo) {
	t.Helper()
	text, err := c.TicketJSON()
	check(t, err, json.Unmarshal([]byte(text), &info))
	return info
}

// A phone joins with the ticket that a daemon prints, and again with the same at its next start.
func TestPhoneJoinsByTicket(t *testing.T) {
	one := online(t, nil)
	awaitState(t, one, stateRunning)
	c := ofTicket(t, strings.ToUpper(ticketOf(t, one.config.DataDir, address(t, one), nil)))
	info := describedTicket(t, c)
	if info.Secret || info.ForOneNode || info.LacksKey || info.Fetch || info.Task == nil || info.Task.Name != "movies" || len(info.Addresses) != 1 ||
		info.Guarantee == nil || info.Guarantee.Epsilon != 1 || info.Guarantee.Releases == 0 || !info.Guarantee.Protected || info.Committee != nil {
		t.Errorf("%+v", info)
	}
	check(t, c.Fetch()) // nothing is missing
	two, err := NewNode(c, nil)
	check(t, err)
	self := two.node.ID()
	onWiFi(t, two)
	awaitNeighbours(t, two, 1)
	check(t, two.Stop())
	if two = open(t, c, nil); two.node.ID() != self {
		t.Error("the next start made another node")
	}
}

// A secret ticket brings the network key and who the phone is; one without them says what is
// missing.
func TestPhoneJoinsPrivateNetworkByTicket(t *testing.T) {
	g := newGarden(t)
	one := closed(t, nil, func(c *Config) error {
		return errors.Join(c.SetNetworkKey(keyText("a5")), c.JoinMembers("garden", g.authority, nil))
	})
	dir, at := one.config.DataDir, address(t, one)
	lacking := ofTicket(t, ticketOf(t, dir, at, nil))
	if info := describedTicket(t, lacking); info.Secret || !info.LacksKey || info.Members != "garden" {
		t.Errorf("%+v", info)
	}
	if _, err := NewNode(lacking, nil); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "which the ticket does not hold") || strings.Contains(err.Error(), "--") {
		t.Errorf("without the key: %v", err)
	}
	check(t, lacking.SetNetworkKey(keyText("a5")))
	if info := describedTicket(t, lacking); info.LacksKey {
		t.Errorf("with the key: %+v", info)
	}
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	whole := ofTicket(t, ticketOf(t, dir, at, func(x *ticket.Ticket) {
		_, err := datadir.NewMember(x, ends)
		check(t, err, datadir.AddKey(dir, x))
	}))
	if info := describedTicket(t, whole); !info.Secret || !info.ForOneNode || info.LacksKey || info.Expires != ends.UTC().Format(time.RFC3339) {
		t.Errorf("%+v", info)
	}
	two := open(t, whole, nil)
	check(t, one.ImportMembers(g.list(one, two)), two.SetNetwork(NetUnmetered, "", ""), two.Start())
	awaitNeighbours(t, two, 1)
	if want, err := peer.IDFromPrivateKey(whole.invited.Key); err != nil || two.node.ID() != want {
		t.Errorf("the node is %s, the ticket is for %s", two.node.ID(), want)
	}
}

// What a ticket names by its hash only comes from the node that it leads to.
func TestPhoneFetchesWhatATicketNames(t *testing.T) {
	text := "name = 'wide'\n"
	for i := range 300 {
		text += fmt.Sprintf("[[features]]\nname = 'column %x'\nkind = 'number'\nmin = %d.5\nmax = %d.25\n", i*i*7919, -i, i*i+1)
	}
	first := testConfig(t)
	first.Task = text + "[target]\nname = 'y'\nmin = 0.0\nmax = 1.0\n"
	one := onWiFi(t, open(t, first, nil))
	awaitState(t, one, stateRunning)
	invitation := ticketOf(t, first.DataDir, address(t, one), nil)
	c := ofTicket(t, invitation)
	if info := describedTicket(t, c); !info.Fetch || info.Task != nil || info.Guarantee != nil {
		t.Errorf("%+v", info)
	}
	if _, err := NewNode(c, nil); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "call fetch first") {
		t.Errorf("without its task: %v", err)
	}
	check(t, c.Fetch())
	if info := describedTicket(t, c); info.Fetch || info.Task == nil || len(info.Task.Columns) != 300 {
		t.Errorf("%+v", info)
	}
	two, err := NewNode(c, nil)
	check(t, err, two.Stop(), one.Stop())
	again, err := TicketConfig(c.DataDir, invitation)
	check(t, err, again.Fetch(), open(t, again, nil).Stop()) // from the directory
	alone := ofTicket(t, invitation)
	if err := alone.Fetch(); errorCode(err) != CodeBusy {
		t.Errorf("from nobody: %v", err)
	}
	alone.Task = "name = 'another'"
	if err := alone.Fetch(); errorCode(err) != CodeInput || !strings.Contains(err.Error(), "not the task that the ticket names") {
		t.Errorf("another task: %v", err)
	}
}

// The file that lists a task's keys comes from a member of the committee, for example.
func TestPhoneFetchesCatalogue(t *testing.T) {
	task := committee.Task()
	at := committee.Start(t, task)
	home := open(t, thingsConfig(t, task, at), nil)
	c := ofTicket(t, ticketOf(t, home.config.DataDir, at, nil))
	info := describedTicket(t, c)
	if !info.Fetch || info.Committee == nil || len(info.Committee.Members) != 4 || info.Committee.Colluding != 1 || info.Committee.Share != 1 || info.Guarantee.Releases != 0 {
		t.Errorf("%+v", info)
	}
	check(t, c.Fetch())
	if string(c.catalogue) != committee.Catalogue {
		t.Errorf("the catalogue is %q", c.catalogue)
	}
	open(t, c, nil)
	if info := describedTicket(t, c); info.Fetch {
		t.Errorf("%+v", info)
	}
}

func TestTicketRefusals(t *testing.T) {
	one := open(t, testConfig(t), nil)
	good := ticketOf(t, one.config.DataDir, "/ip4/192.0.2.7/tcp/4001/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", nil)
	for says, text := range map[string]string{
		"begins with p2p1":           "movies",
		"a character of it":          good[:len(good)-1],
		"written by a newer p2pnode": "p2p2" + good[4:],
	} {
		if _, err := TicketConfig(t.TempDir(), text); errorCode(err) != CodeInput || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	plain := testConfig(t)
	if err := plain.Fetch(); errorCode(err) != CodeInput {
		t.Errorf("without a ticket: %v", err)
	}
	if _, err := plain.TicketJSON(); errorCode(err) != CodeInput {
		t.Errorf("without a ticket: %v", err)
	}
	c := ofTicket(t, good)
	c.DataDir = one.config.DataDir
	require.NoError(t, c.Fetch())
}
