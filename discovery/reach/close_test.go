package reach

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
)

// closeRounds is how often a host is closed under load; P2PNODE_STRESS says more.
const closeRounds = 20

// A host closes however many peers are just getting to know it. With the manager
// of observed addresses as libp2p starts it, the first Close here never returns.
func TestCloseReturns(t *testing.T) {
	rounds := closeRounds
	if text := os.Getenv("P2PNODE_STRESS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("P2PNODE_STRESS: %v", err)
		}
		rounds = n
	}
	callers := make([]host.Host, 8)
	for i := range callers {
		callers[i], _ = newHost(t, false)
	}
	for range rounds {
		closeUnderLoad(t, callers)
	}
}

// closeUnderLoad closes a host while its peers come, and while others are said to
// be identified, as fast as that can be said.
func closeUnderLoad(t *testing.T, callers []host.Host) {
	t.Helper()
	h, _, err := startHost(true)
	if err != nil {
		t.Fatal(err)
	}
	target := info(h)
	for _, c := range callers[1:] {
		go func() { _ = c.Connect(t.Context(), target) }()
	}
	if err := callers[0].Connect(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	conn := callers[0].Network().ConnsToPeer(h.ID())[0]
	emitter, err := h.EventBus().Emitter(new(event.EvtPeerIdentificationCompleted))
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = emitter.Emit(event.EvtPeerIdentificationCompleted{Peer: callers[0].ID(), Conn: conn})
			}
		}
	}()
	closed := make(chan error, 1)
	go func() { closed <- h.Close() }()
	late := time.After(4 * time.Minute) // what waits for itself waits for ever
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-late:
		t.Fatal("Close does not return")
	}
	close(stop)
	select {
	case <-stopped:
	case <-late:
		t.Fatal("an event is never taken")
	}
}
