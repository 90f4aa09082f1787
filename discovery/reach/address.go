package reach

import (
	"errors"
	"fmt"
	"strings"

	"github.com/libp2p/go-libp2p/core/peer"
)

// NoAddress says in words why a text is not the expected multiaddress, such as example,
// given the error of its parser. It leaves out what the parser tried internally.
func NoAddress(text, example string, err error) error {
	if errors.Is(err, peer.ErrInvalidAddr) {
		return fmt.Errorf("%q does not end in /p2p/ and a peer ID", text)
	}
	why := strings.TrimPrefix(err.Error(), fmt.Sprintf("failed to parse multiaddr %q: ", text))
	why, _, _ = strings.Cut(why, ": failed to parse")
	return fmt.Errorf("%q is no multiaddress, such as %s: %s", text, example, why)
}
