package node

import (
	"testing"
	"time"

	"p2pnode/gossip/reputation"
	"p2pnode/node/api"
)

func TestStandingsInWords(t *testing.T) {
	since := time.Unix(100, 0)
	for _, c := range []struct {
		counts  [reputation.Kinds]uint64
		refused bool
		state   api.State
		why     string
	}{
		{[reputation.Kinds]uint64{reputation.Malformed: 1}, false, api.Distrusted, "it sent 1 message that no honest node sends"},
		{[reputation.Kinds]uint64{reputation.Models: 2048}, false, api.Limited, "it sent 2048 messages more than an honest node has to say"},
		{[reputation.Kinds]uint64{reputation.Relayed: 600}, false, api.Limited, "it passed on 600 messages of others that nobody had asked for"},
		{[reputation.Kinds]uint64{reputation.Control: 1_000_001, reputation.Streams: 2}, true, api.RefusedHere,
			"it sent 1001 kilobytes about messages more than an honest node does, and opened 2 streams more than are answered"},
	} {
		s := standing(reputation.Held{Peer: "p", Refused: c.refused, Since: since, Until: since.Add(time.Minute), Counts: c.counts})
		if s.State != c.state || s.Why != c.why || !s.Since.Equal(since) || !s.Until.Equal(since.Add(time.Minute)) {
			t.Errorf("%+v, want %s, %q", s, c.state, c.why)
		}
		if list := refused([]api.Standing{s}); (len(list) == 1) != c.refused {
			t.Errorf("%+v is refused: %+v", s, list)
		}
	}
}
