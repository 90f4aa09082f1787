package summing

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/discovery"
	"p2pnode/gossip"
	"p2pnode/storage"
	"p2pnode/sums"
)

// Config says what a [Desk] needs.
type Config struct {
	Identity ed25519.PrivateKey // the identity of the host
	Results  string             // directory of the results, which are public
	Logger   *slog.Logger
	// Find makes the addresses of a member known to the host, if it can. Optional.
	Find func(context.Context, peer.ID)
	// Reason says for people why a call of a member failed. Optional.
	Reason func(who peer.ID, err error) string
	// Tick is the time after which a member repeats what may have been lost, and the unit
	// of the time after which a device sends its contribution. View is how long a
	// member's first view of a vote lasts. Retry is the time after which a device asks
	// and sends again. While it waits for a sum to open, or for its result, its pauses
	// grow up to Rest, and news end them. The defaults, for 0, are a second, 10 s, 15 s
	// and 4 minutes.
	Tick, View, Retry, Rest time.Duration
	// Fetch is how long a device waits for what a member serves before it goes on to the
	// next one, at first: each time that this is too short, it waits twice as long. The
	// default, for 0, is a minute.
	Fetch time.Duration
}

// Desk is where a node's private sums meet its network. All methods are safe for
// concurrent use.
type Desk struct {
	config Config
	self   sums.Identity
	ready  chan struct{} // closed once gossip is set
	gossip *gossip.Gossip

	mu       sync.Mutex
	parts    map[sums.Digest]*part
	contacts map[peer.ID]Contact
}

// part is what a node knows of one sum. mu guards the fields below it.
type part struct {
	sum     *sums.Sum
	log     *slog.Logger
	peers   []peer.ID // the members of the committee, in its order
	changed chan struct{}
	others  chan struct{} // closed once so many members began or want to, while the one here did not, that one of them is honest

	mu        sync.Mutex
	began     map[int]bool // those members
	opening   []byte
	closes    time.Time                  // when opening closes the sum
	duty      *Duty                      // what the member here has done; nil: no member runs here
	failure   error                      // why it does not run; nil: it does, or there is none
	decision  reference                  // the certified list
	result    reference                  // the published result
	published *sums.Published            // that result; nil: there is none, or it is on a shelf
	shelf     map[gossip.BlobName]string // by their names, the files with list and result, once this device keeps them
	accepts   map[sums.Digest][]byte     // a member's acceptances, by the entry that they accept
	blobs     map[gossip.BlobName][]byte // blobs in memory that anybody may fetch
	member    *member                    // nil: no member runs here
	dead      bool                       // the member here erased its keys when the sum had no result
	buried    bool                       // more members say so than may collude
	absent    map[peer.ID]bool           // members that had not begun with the sum when they were asked last
	told      map[peer.ID]time.Time      // when news of each member of the committee made those who wait look last, or will
	oldest    []gossip.BlobName          // the names of messages among the blobs, oldest first
}

// NewDesk makes a desk. Its [Desk.Service] belongs in the configuration of the gossip
// that [Desk.Use] takes.
func NewDesk(c Config) *Desk {
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&c.Tick, time.Second}, {&c.View, 10 * time.Second}, {&c.Retry, 15 * time.Second}, {&c.Rest, 4 * time.Minute}, {&c.Fetch, fetchTimeout}} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	if c.Reason == nil {
		c.Reason = func(_ peer.ID, err error) string { return discovery.Reason(err) }
	}
	return &Desk{
		config: c, self: sums.Identity(c.Identity.Public().(ed25519.PublicKey)),
		ready: make(chan struct{}), parts: make(map[sums.Digest]*part), contacts: make(map[peer.ID]Contact),
	}
}

// Use gives the desk its network. It must be called once.
func (d *Desk) Use(g *gossip.Gossip) {
	d.gossip = g
	close(d.ready)
}

// Service returns the functions through which the network reaches the desk.
func (d *Desk) Service() *gossip.Service {
	return &gossip.Service{OnCall: d.onCall, OnBlob: d.onBlob, OnNews: d.onNews}
}

// Serve serves the result of a sum if this device keeps it, and returns its outcome; nil if the
// device keeps none.
func (d *Desk) Serve(s *sums.Sum, l *storage.Ledger) (*Outcome, error) { return d.resume(s, l) }

// PeerOf returns the peer that holds an identity.
func PeerOf(id sums.Identity) (peer.ID, error) {
	key, err := crypto.UnmarshalEd25519PublicKey(id[:])
	if err != nil {
		return "", err
	}
	return peer.IDFromPublicKey(key)
}

// part returns what is known of a sum. It is created when somebody here takes part.
func (d *Desk) part(s *sums.Sum) (*part, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.parts[s.ID]; p != nil {
		return p, nil
	}
	p := &part{
		sum: s, log: d.logOf(s), changed: make(chan struct{}, 1), others: make(chan struct{}), began: make(map[int]bool),
		accepts: make(map[sums.Digest][]byte), blobs: make(map[gossip.BlobName][]byte), told: make(map[peer.ID]time.Time), absent: make(map[peer.ID]bool),
	}
	for i, id := range s.Committee.Members {
		who, err := PeerOf(id)
		if err != nil {
			return nil, fmt.Errorf("summing: member %d of the committee is no peer: %w", i+1, err)
		}
		p.peers = append(p.peers, who)
	}
	d.parts[s.ID] = p
	return p, nil
}

// logOf returns a log that names a sum, as far as p2pnode sums list does.
func (d *Desk) logOf(s *sums.Sum) *slog.Logger {
	return d.config.Logger.With("sum", fmt.Sprintf("%x", s.ID[:4]))
}

func (d *Desk) known(sum sums.Digest) *part {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.parts[sum]
}

// onCall answers calls from anybody. About a sum in which this node has no part it knows
// nothing.
func (d *Desk) onCall(_ context.Context, from peer.ID, call []byte) (reply []byte, sound bool) {
	kind, sum, body, ok := decodeCall(call)
	if !ok {
		return nil, false
	}
	p := d.known(sum)
	if p == nil {
		return (&news{absent: true}).bytes(), kind >= callSay && kind <= callAsk
	}
	p.mu.Lock()
	m := p.member
	p.mu.Unlock()
	switch {
	case kind == callAsk:
		if by := slices.Index(p.peers, from); by >= 0 && m == nil && bytes.Equal(body, p.sum.ID[:]) {
			p.otherBegan(by)
		}
		return p.tell(body)
	case kind == callUpload && len(body) == digestSize:
		if m != nil {
			m.offered(from, sums.Digest(body))
		}
		return nil, true
	case kind == callSay || kind == callOffer:
		by := slices.Index(p.peers, from)
		if by < 0 {
			return nil, false
		}
		if m == nil {
			p.otherBegan(by)
			return nil, true
		}
		return nil, m.heard(by, kind, body)
	}
	return nil, false
}

// tell returns what is known of a sum, and of an entry if one is named.
func (p *part) tell(body []byte) (reply []byte, sound bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := news{opening: p.opening, decision: p.decision, result: p.result}
	if len(body) == digestSize {
		n.accept = p.accepts[sums.Digest(body)]
	} else if len(body) > 0 {
		return nil, false
	}
	n.dead = p.dead && p.result.size == 0
	n.absent = p.duty == nil && !p.dead && p.result.size == 0
	return n.bytes(), true
}

// onBlob opens a blob that anybody may fetch, because it is public or masked.
func (d *Desk) onBlob(_ peer.ID, name gossip.BlobName) gossip.Blob {
	d.mu.Lock()
	parts := make([]*part, 0, len(d.parts))
	for _, p := range d.parts {
		parts = append(parts, p)
	}
	d.mu.Unlock()
	for _, p := range parts {
		p.mu.Lock()
		content, file, m := p.blobs[name], p.shelf[name], p.member
		p.mu.Unlock()
		if content != nil {
			return inMemory{bytes.NewReader(content)}
		}
		if file != "" {
			return gossip.OpenBlob(file, gossip.MaxBlob)
		}
		if m == nil {
			continue
		}
		if b := m.dir.open(sums.Digest(name)); b != nil {
			return b
		}
	}
	return nil
}

// onNews learns that a sum has news, for example a result, and makes this device look
// again. It does not pass on news whose author is not in the committee. Those that follow
// others of the author sooner than a device asks by itself make it look only at that time,
// and of them only the first are passed on: one member that tells news without end would
// make all devices ask the whole committee without end.
func (d *Desk) onNews(author peer.ID, b []byte) bool {
	if len(b) != digestSize {
		return false
	}
	p := d.known(sums.Digest(b))
	if p == nil || !slices.Contains(p.peers, author) {
		return false
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	last, again := p.told[author]
	next := last.Add(d.config.Retry)
	switch {
	case !again || !now.Before(next):
		p.told[author] = now
		p.wake()
	case now.Before(last): // it will look anyway
		return false
	default:
		p.told[author] = next
		time.AfterFunc(next.Sub(now), p.wake)
	}
	return true
}

// Refresh makes this device look again at each sum that it waits for, because the network
// has changed.
func (d *Desk) Refresh() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.parts {
		p.wake()
	}
}

// wake makes [Desk.Contribute] look again, now or as soon as it waits. Only one run of it
// may wait for a sum: a second one would not wake.
func (p *part) wake() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// hold serves a content under the hash of its bytes. The caller holds p.mu.
func (p *part) hold(content []byte) reference {
	r := referenceOf(content)
	p.blobs[r.name] = content
	return r
}

// forget drops the messages of members, which nobody asks for once the sum is over.
func (p *part) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range p.oldest {
		delete(p.blobs, name)
	}
	p.oldest = nil
	p.accepts = make(map[sums.Digest][]byte)
}

// decide serves the certified list. Only the first one counts.
func (p *part) decide(decision []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decideLocked(decision)
}

func (p *part) decideLocked(decision []byte) {
	if p.decision.size == 0 {
		p.decision = p.hold(decision)
		p.wake()
	}
}

// publish stores a result that was checked, and serves it. Only the first one counts.
func (p *part) publish(pub *sums.Published) {
	content := pub.Bytes()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.result.size > 0 {
		return
	}
	p.published, p.result = pub, p.hold(content)
	p.openedLocked(pub.Opening)
	p.wake()
}

// shelve serves a result that was checked, and its list, from the files in which this device
// keeps them under root, and nothing of them from memory: a node that runs for years has many.
func (p *part) shelve(root string, pub *sums.Published, result, decision []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.blobs, p.result.name)
	delete(p.blobs, p.decision.name)
	p.published, p.result, p.decision = nil, referenceOf(result), referenceOf(decision)
	p.openedLocked(pub.Opening)
	p.shelf = map[gossip.BlobName]string{
		p.result.name:   filepath.Join(root, ResultFile(p.sum.ID)),
		p.decision.name: filepath.Join(root, listFile(p.sum.ID)),
	}
}

// take reads a result's bytes, makes all checks that a result must pass, and serves it.
func (p *part) take(content []byte) (*sums.Published, error) {
	pub, err := p.sum.ReadPublished(content)
	if err != nil {
		return nil, err
	}
	p.publish(pub)
	return pub, nil
}

// contents returns the published result, nil if there is none or it is on the shelf, and what is
// served of its list.
func (p *part) contents() (result, decision []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.blobs[p.result.name], p.blobs[p.decision.name]
}

// resultOf returns the certified result of a sum; nil while this node has none.
func (d *Desk) resultOf(sum sums.Digest) *sums.Published {
	p := d.known(sum)
	if p == nil {
		return nil
	}
	p.mu.Lock()
	published, file := p.published, p.shelf[p.result.name]
	p.mu.Unlock()
	if file == "" {
		return published
	}
	content, err := os.ReadFile(file)
	if err == nil {
		published, err = p.sum.ReadPublished(content)
	}
	if err != nil {
		p.log.Warn("the result of a private sum cannot be read", "file", file, "error", err)
	}
	return published
}

// call calls a peer. If that fails, it looks for the peer's addresses, so that the next
// call may succeed.
func (d *Desk) call(ctx context.Context, who peer.ID, call []byte) ([]byte, error) {
	reply, err := d.gossip.Call(ctx, who, call)
	if ctx.Err() == nil {
		d.called(who, err)
	}
	if err != nil && d.config.Find != nil && ctx.Err() == nil {
		d.config.Find(ctx, who)
	}
	return reply, err
}

// ask asks a peer what it knows of a sum.
func (d *Desk) ask(ctx context.Context, p *part, who peer.ID, entry []byte) (*news, error) {
	reply, err := d.call(ctx, who, encodeCall(callAsk, p.sum.ID, entry))
	if err != nil {
		return nil, err
	}
	n, err := decodeNews(reply)
	if err == nil {
		p.mu.Lock()
		p.absent[who] = n.absent
		p.mu.Unlock()
	}
	return n, err
}

// fetchResult fetches and checks a result that a peer has.
func (d *Desk) fetchResult(ctx context.Context, p *part, r reference, who peer.ID) error {
	if r.size > int64(p.sum.LongestResult()) {
		return errLong
	}
	content, err := d.gossip.Fetch(ctx, r.name, r.size, []peer.ID{who}, r.check)
	if err != nil {
		return err
	}
	_, err = p.take(content)
	return err
}

// seekResult asks the committee for a result, until somebody has one.
func (d *Desk) seekResult(ctx context.Context, p *part) {
	for i, who := range p.peers {
		if p.over() {
			break
		}
		if p.sum.Committee.Members[i] == d.self {
			continue
		}
		n, err := d.ask(ctx, p, who, nil)
		if err == nil && n.result.size > 0 {
			limited, cancel := context.WithTimeout(ctx, d.config.Fetch)
			err = d.fetchResult(limited, p, n.result, who)
			cancel()
		}
		if err != nil {
			p.log.Debug("no result", "peer", who, "error", err)
		}
	}
}

// started waits until the network is there.
func (d *Desk) started(ctx context.Context) error {
	select {
	case <-d.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inMemory is a blob that need not be closed.
type inMemory struct{ *bytes.Reader }

// Close implements [io.Closer]. There is nothing to close.
func (inMemory) Close() error { return nil }
