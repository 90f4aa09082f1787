package summing

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/testnet/lab"
)

// underName is the name under which the test binary is the helper of [lab.NewSystem].
const underName = "under"

// A member starts with a clock that is 45 minutes behind, and that is set before the sum closes.
// Then it closes the sum in time: one of the others is away, and without it there are too few.
func TestClockThatIsSetLate(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the lab sets clocks on amd64 only")
	}
	p := newPlay(t, 1000, 1)
	defer p.finish()
	for _, a := range p.actors {
		a.Open = 10 * time.Second
	}
	self, err := os.Executable()
	require.NoError(t, err)
	helper := filepath.Join(t.TempDir(), underName)
	require.NoError(t, os.Symlink(self, helper))
	child := p.command(0)
	s, err := lab.NewSystem(child, helper)
	require.NoError(t, err)
	s.SetAhead(-45 * time.Minute)
	p.run(0, child)
	go func() { _ = s.Run() }() // until the member is killed
	for i := 1; i < len(p.actors); i++ {
		p.start(i)
	}
	require.Within(t, time.Minute, "the sum is open, and the device has paid", p.anyPaid)
	s.SetAhead(0)
	p.kill(3)
	require.Within(t, time.Minute, "the device has the result", p.done)
	p.checkResult()
}
