package gossip

// Reason says why a message was not taken, or did not get away.
type Reason int

// The reasons. What is rejected no honest node would have sent or passed on; what is
// ignored is stale or not for this node; what is dropped was lost on the way.
const (
	Malformed    Reason = iota // rejected: it does not decode, or breaks the task's rules
	Oversized                  // rejected
	WrongAuthor                // rejected: it is on a topic of somebody else's
	BadSignature               // rejected: signature or envelope
	Stale                      // ignored: nothing newer than what was heard of its author
	NotFollowed                // ignored: its author is no neighbour
	TooMuch                    // ignored: who sent it sends more than any honest node, or passes on more than there is time for
	RefusedPeer                // ignored: its author, or who passed it on, is refused for a while or no member
	UnwantedNews               // ignored: news of private sums that tell this node nothing
	QueueFull                  // dropped
	StreamFailed               // dropped
	reasons                    // how many there are
)

// Outcome is what becomes of a message.
type Outcome int

// The outcomes of messages that are not taken.
const (
	Rejected Outcome = iota
	Ignored
	Dropped
)

var reasonNames = [reasons]string{
	"malformed", "oversized", "wrong_author", "bad_signature",
	"stale", "not_followed", "too_much", "refused_peer", "unwanted_news",
	"queue_full", "stream_failed",
}

// String is a word for the reason, the same in all versions.
func (r Reason) String() string { return reasonNames[r] }

// Outcome is what becomes of a message for this reason.
func (r Reason) Outcome() Outcome {
	switch {
	case r < Stale:
		return Rejected
	case r < QueueFull:
		return Ignored
	}
	return Dropped
}
