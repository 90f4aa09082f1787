package mobile

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"p2pnode/internal/require"
)

// testConfig is a node of its own, that listens on loopback and knows nobody.
func testConfig(t testing.TB) *Config {
	c := NewConfig(t.TempDir(), "movies")
	if err := c.AddListen("/ip4/127.0.0.1/tcp/0"); err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens a node that is stopped at the end of the test.
func open(t testing.TB, c *Config, l Listener) *Node {
	n, err := NewNode(c, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// awaitState waits until the node is in a state.
func awaitState(t testing.TB, n *Node, want string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.driver.await(ctx, func() bool { return n.driver.state().State == want }); err != nil {
		t.Fatalf("state %+v, want %s", n.driver.now(), want)
	}
}

// awaitHeard waits until the listener was told of something.
func awaitHeard(t testing.TB, r *recorder, text string) {
	t.Helper()
	require.Nothing(t, func() string {
		if heard := r.all(); !strings.Contains(strings.Join(heard, "\n"), text) {
			return fmt.Sprintf("heard %q, want %q", heard, text)
		}
		return ""
	})
}

func check(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestLifecycle(t *testing.T) {
	r := &recorder{}
	n := open(t, testConfig(t), r)
	check(t, n.Start(), n.Start())
	awaitState(t, n, stateWaiting)
	check(t, n.SetNetwork(NetUnmetered, "", ""))
	awaitState(t, n, stateRunning)
	check(t, n.SetPower(10, false, false))
	awaitState(t, n, stateWaiting)
	check(t, n.SetPower(10, true, false))
	awaitState(t, n, stateRunning)
	check(t, n.Pause("in the background"))
	awaitState(t, n, statePaused)
	if n.driver.current != nil {
		t.Error("it runs after Pause has returned")
	}
	check(t, n.Pause("twice"), n.Resume(), n.Resume())
	awaitState(t, n, stateRunning)
	for _, want := range []string{"waiting for a network", `{"state":"running","reason":""}`, "battery below 20 %", "in the background"} {
		awaitHeard(t, r, want)
	}
	check(t, n.Stop(), n.Stop())
	for name, err := range map[string]error{"Start": n.Start(), "Pause": n.Pause(""), "SetPower": n.SetPower(1, true, true)} {
		if errorCode(err) != CodeStopped {
			t.Errorf("%s after Stop: %v", name, err)
		}
	}
}

func TestDirectoryIsBusyUntilStop(t *testing.T) {
	c := testConfig(t)
	n := open(t, c, nil)
	if _, err := NewNode(c, nil); errorCode(err) != CodeBusy {
		t.Errorf("a second node: %v", err)
	}
	check(t, n.Stop())
	check(t, open(t, c, nil).Stop())
}

// An activity and a worker may open the same new directory at the same time: one gets
// it, and there is one identity.
func TestNewNodeFromManyThreads(t *testing.T) {
	c := testConfig(t)
	var threads sync.WaitGroup
	opened := make(chan *Node, 8)
	for range 8 {
		threads.Go(func() {
			n, err := NewNode(c, nil)
			if err == nil {
				opened <- n
			} else if errorCode(err) != CodeBusy {
				t.Error(err)
			}
		})
	}
	threads.Wait()
	if len(opened) != 1 {
		t.Fatalf("%d nodes have the directory open", len(opened))
	}
	n := <-opened
	check(t, n.Stop())
	if again := open(t, c, nil); again.node.ID() != n.node.ID() {
		t.Error("another identity")
	}
}

func TestStopFromManyThreads(t *testing.T) {
	n := open(t, testConfig(t), nil)
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	var threads sync.WaitGroup
	for range 8 {
		threads.Go(func() { check(t, n.Stop()) })
	}
	threads.Wait()
}

// The bindings let an app make a Node without NewNode.
func TestNodeThatWasNotMade(t *testing.T) {
	n := new(Node)
	for name, err := range map[string]error{"Start": n.Start(), "Stop": n.Stop(), "SetPower": n.SetPower(1, true, true)} {
		if errorCode(err) != CodeStopped || !strings.Contains(err.Error(), "newNode") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sockets counts those of this process; it skips the test where they cannot be counted.
func sockets(t *testing.T) (count int) {
	const fds = "/proc/self/fd"
	list, err := os.ReadDir(fds)
	if err != nil {
		t.Skip("this system does not list what is open: ", err)
	}
	for _, f := range list {
		if to, err := os.Readlink(filepath.Join(fds, f.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			count++
		}
	}
	return count
}

// A system that suspends an app takes its sockets; none may be left in a pause.
func TestPauseClosesEverySocket(t *testing.T) {
	before := sockets(t)
	r := &recorder{}
	one, two := online(t, r), online(t, nil)
	awaitState(t, one, stateRunning)
	check(t, one.AddPeer(address(t, two)))
	awaitHeard(t, r, `"connected":true`)
	if sockets(t) < before+4 { // two that listen, two ends of a connection
		t.Errorf("%d sockets, %d before: they are not counted", sockets(t), before)
	}
	check(t, one.Pause("in the background"), two.Pause("in the background"))
	if after := sockets(t); after != before {
		t.Errorf("%d sockets are open in a pause, %d before", after, before)
	}
}

// What keeps a node from the network for a while is told, and tried again.
func TestPortInUse(t *testing.T) {
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := NewConfig(t.TempDir(), "movies")
	_, port, _ := net.SplitHostPort(other.Addr().String())
	check(t, c.AddListen("/ip4/127.0.0.1/tcp/"+port))
	r := &recorder{}
	n := open(t, c, r)
	check(t, n.SetNetwork(NetUnmetered, "", ""), n.Start())
	awaitHeard(t, r, `"state":"failed"`)
	awaitHeard(t, r, "address already in use")
	check(t, n.Pause("")) // while it waits to try again
	check(t, n.Resume(), other.Close())
	awaitState(t, n, stateRunning)
}
