package testnet

import (
	"strings"
	"testing"

	"p2pnode/node/api"
)

func TestMeterKeepsTheMost(t *testing.T) {
	m := newMeter()
	m.look([]api.Status{{Connections: 3}, {Connections: 4}})
	m.look([]api.Status{{Connections: 1}, {Connections: 2}})
	l := m.total()
	if l.Connections != 7 || l.Goroutines < 1 || l.Heap == 0 || l.FileLimit == 0 {
		t.Errorf("%+v", l)
	}
	var none *meter
	none.look(nil)
	none.linked()
	if none.total() != nil {
		t.Error("nobody measured, and there is a load")
	}
}

// What the system does not tell is left out, not shown as nothing.
func TestLoadTextWithoutProcessNumbers(t *testing.T) {
	text := (&Load{Heap: 6e6, Goroutines: 700, Connections: 120, Linking: 3}).text(10)
	if strings.Contains(text, "of memory") || strings.Contains(text, "files") || !strings.Contains(text, "600 kB of heap, 70 goroutines, 12.0 connections") {
		t.Error(text)
	}
}
