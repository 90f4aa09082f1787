package gossip

// Reason says why a message was not accepted, or not sent.
type Reason int

// The reasons. A rejected message is one that no honest node would have sent or passed
// on. An ignored one is stale or not for this node. A dropped one was lost on the way.
const (
	Malformed    Reason = iota // rejected: it does not decode, or breaks the task's rules
	Oversized                  // rejected
	BadSignature               // rejected: it does not end with its author's proof
	Stale                      // ignored: not newer than the last one heard of its author
	NotFollowed                // ignored: its author is no neighbour
	TooMuch                    // ignored: the sender sends more than any honest node, or passes on more than there is time for
	RefusedPeer                // ignored: its author, or the peer that passed it on, is refused for a while or is not a member
	UnwantedNews               // ignored: news of private sums that are not new to this node
	QueueFull                  // dropped
	StreamFailed               // dropped
	reasons                    // the number of reasons
)

// Outcome is what happens to a message.
type Outcome int

// The outcomes for messages that are not accepted.
const (
	Rejected Outcome = iota
	Ignored
	Dropped
)

var reasonNames = [reasons]string{
	"malformed", "oversized", "bad_signature",
	"stale", "not_followed", "too_much", "refused_peer", "unwanted_news",
	"queue_full", "stream_failed",
}

// String is a word for the reason, the same in all versions.
func (r Reason) String() string { return reasonNames[r] }

// Outcome returns what happens to a message for this reason.
func (r Reason) Outcome() Outcome {
	switch {
	case r < Stale:
		return Rejected
	case r < QueueFull:
		return Ignored
	}
	return Dropped
}
