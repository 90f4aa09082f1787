package datadir

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/internal/require"
	"p2pnode/learner"
	"p2pnode/node/api"
	"p2pnode/node/ticket"
)

// inviting makes a directory in a private network, and a ticket of it that was read back.
func inviting(t *testing.T, change func(dir string, t *ticket.Ticket)) (dir string, read *ticket.Ticket) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "x")
	task := lineTask()
	made := New{Task: task, Config: DefaultConfig(task), Private: with(t, keyText("a5"), "garden", randomPeer(t))}
	require.NoError(t, Make(dir, made))
	invitation, err := Invitation(dir)
	require.NoError(t, err)
	invitation.Peers = []peer.AddrInfo{{ID: randomPeer(t), Addrs: []multiaddr.Multiaddr{multiaddr.StringCast("/ip4/192.0.2.7/tcp/4001")}}}
	change(dir, invitation)
	text, err := invitation.Encode()
	require.NoError(t, err)
	read, err = ticket.Decode(text)
	require.NoError(t, err)
	return dir, read
}

// everything puts all secrets into a ticket.
func everything(t *testing.T) func(string, *ticket.Ticket) {
	return func(dir string, invitation *ticket.Ticket) {
		_, err := NewMember(invitation, time.Now().Add(time.Hour).Truncate(time.Second))
		require.NoError(t, AddKey(dir, invitation), err)
	}
}

// asNew is a directory to be made of a ticket.
func asNew(t *testing.T, invitation *ticket.Ticket) New {
	t.Helper()
	made, err := Invited(invitation)
	require.NoError(t, err, made.TakeTask(invitation, invitation.Task))
	made.Config = DefaultConfig(made.Task)
	return made
}

func TestDirectoryOfATicket(t *testing.T) {
	t.Parallel()
	old, invitation := inviting(t, everything(t))
	made := asNew(t, invitation)
	dir := filepath.Join(t.TempDir(), "y")
	require.NoError(t, Make(dir, made), Rejoin(dir, invitation, made), Configure(dir, made))
	first, second := reopened(t, old), reopened(t, dir)
	if NetworkName(first.Task) != NetworkName(second.Task) || !second.Files.Key.Equals(made.Key) {
		t.Error("another network, or another identity")
	}
	if string(first.private.Key) != string(second.private.Key) || second.private.Book == nil || second.private.Book.Network() != "garden" {
		t.Errorf("%+v", second.private)
	}
	made.until = time.Now().Add(-time.Minute)
	require.NoError(t, Rejoin(dir, invitation, made), Configure(dir, made))
	late := filepath.Join(t.TempDir(), "z")
	for _, err := range []error{made.Current(time.Now()), Make(late, made), Configure(late, made)} {
		expectEnded(t, err)
	}
}

func expectEnded(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), "membership in this ticket ended") {
		t.Errorf("a membership that has ended: %v", err)
	}
}

// A ticket without the network key is of use to somebody who has it.
func TestTicketWithoutItsKey(t *testing.T) {
	t.Parallel()
	_, invitation := inviting(t, func(string, *ticket.Ticket) {})
	made := asNew(t, invitation)
	dir := filepath.Join(t.TempDir(), "y")
	for _, err := range []error{made.Private.Ready(dir), Make(dir, made), Configure(dir, made)} {
		if !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), "which the ticket does not hold") {
			t.Errorf("without the key: %v", err)
		}
	}
	wrong := made
	require.NoError(t, wrong.Private.SetKey(keyText("00")))
	if err := wrong.Private.Ready(dir); !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), "not the key of the network") {
		t.Errorf("with another key: %v", err)
	}
	require.NoError(t, made.Private.SetKey(keyText("a5")), made.Private.Ready(dir), Make(dir, made))
	keyless := asNew(t, invitation) // the directory has it
	require.NoError(t, keyless.Private.Ready(dir), Rejoin(dir, invitation, keyless))
}

// A directory stays what it is, whatever ticket comes.
func TestRejoinRefuses(t *testing.T) {
	t.Parallel()
	_, invitation := inviting(t, everything(t))
	made := asNew(t, invitation)
	dir := filepath.Join(t.TempDir(), "y")
	require.NoError(t, Make(dir, made))
	other := *invitation
	_, err := NewMember(&other, invitation.Expires)
	require.NoError(t, err)
	foreign := asNew(t, &other)
	for _, err := range []error{Rejoin(dir, &other, foreign), Configure(dir, foreign)} {
		if !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), "an identity of its own") {
			t.Errorf("another identity: %v", err)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "z")
	require.NoError(t, configured(t, elsewhere, learner.Movies(), nil))
	if err := Rejoin(elsewhere, invitation, made); !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), `task "movies"`) {
		t.Errorf("another task: %v", err)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, networkKeyFile)); err == nil {
		t.Error("the refused ticket has left its key")
	}
}

func TestTakeTaskRefuses(t *testing.T) {
	t.Parallel()
	_, good := inviting(t, func(string, *ticket.Ticket) {})
	older, strange, text := *good, *good, []byte("name = 'x'\nshoe_size = 43\n")
	older.Network = networkName(lineTask(), 1)
	strange.Network = strings.Repeat("ab", 16)
	newer := *good
	newer.Task, newer.TaskHash = text, sha256.Sum256(text)
	long := *good
	padded := append(bytes.Repeat([]byte("\n"), ticket.MaxTask), good.Task...)
	long.Task, long.TaskHash = nil, sha256.Sum256(padded)
	for says, c := range map[string]struct {
		ticket *ticket.Ticket
		text   []byte
	}{
		"not the task that the ticket names":                   {good, []byte("name = 'y'\n")},
		"install the version of the node that":                 {&newer, text},
		"another version of p2pnode, which is older":           {&older, good.Task},
		"written by another version of p2pnode: its network i": {&strange, good.Task},
		"none may have more than 1048576; ask who invites":     {&long, padded},
	} {
		var n New
		if err := n.TakeTask(c.ticket, c.text); !errors.Is(err, api.ErrRequest) || !strings.Contains(err.Error(), says) || n.Task != nil {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
