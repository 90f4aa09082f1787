package netedge

import (
	"fmt"
	"testing"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/multiformats/go-multiaddr"
)

// openDoor lets everybody in.
type openDoor struct{ connmgr.ConnectionGater }

func (openDoor) InterceptAccept(network.ConnMultiaddrs) bool { return true }

// knocking is a connection that has just come.
type knocking struct{ at multiaddr.Multiaddr }

func (k knocking) LocalMultiaddr() multiaddr.Multiaddr  { return k.at }
func (k knocking) RemoteMultiaddr() multiaddr.Multiaddr { return k.at }
func (knocking) Close() error                           { return nil }

// Many addresses that connect again and again cost no more than so many handshakes, and leave
// an honest newcomer its part. What comes from this machine is not counted.
func TestHandshakesAreShared(t *testing.T) {
	e := newEntrance(Power{connections: 256}, openDoor{})
	port := 0
	knock := func(address string) bool {
		port++
		at := multiaddr.StringCast(fmt.Sprintf("/ip4/%s/tcp/%d", address, port%60000+1))
		in := e.InterceptAccept(knocking{at})
		if from, ok := addrPort(at); ok { // its handshakes are over
			e.mu.Lock()
			e.pass(from)
			e.mu.Unlock()
		}
		return in
	}
	const addresses = 256
	let := 0
	for i := range 100 * addresses {
		if knock(fmt.Sprintf("64.%d.0.1", i%addresses)) {
			let++
		}
	}
	// A second window may have begun on a slow machine.
	if most := 256 + knocksMore; let < most || let > 2*most {
		t.Errorf("%d handshakes", let)
	}
	if !knock("8.8.8.8") {
		t.Error("a newcomer is turned away")
	}
	for range 2000 {
		if !knock("127.0.0.1") {
			t.Fatal("a node on this machine is turned away")
		}
	}
}
