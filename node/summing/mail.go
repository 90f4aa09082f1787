package summing

import (
	"context"
	"slices"
	"sync"

	"github.com/libp2p/go-libp2p/core/peer"

	"p2pnode/gossip"
	"p2pnode/sums"
)

// heard handles a call of another member. sound is false for what no honest member sends.
func (m *member) heard(by int, kind callKind, body []byte) (sound bool) {
	if kind == callSay {
		if _, err := m.part.sum.ReadMessage(body); err != nil {
			return false
		}
		m.post(sums.Heard{From: by, Message: body})
		return true
	}
	r, err := decodeReference(body)
	if err != nil || r.size == 0 || r.size > int64(m.part.sum.LongestMessage()) {
		return false
	}
	places := m.offers[by]
	select {
	case places <- struct{}{}:
	default:
		return true // it says it again
	}
	turn := func() (func(), bool) { return func() { <-places }, true }
	if !m.get(r.name, r.size, []peer.ID{m.part.peers[by]}, turn, r.check, func(message []byte) {
		m.post(sums.Heard{From: by, Message: message})
	}) {
		<-places
	}
	return true
}

// offered fetches an upload that a peer offers to this member. It fetches one upload at a
// time from each peer.
func (m *member) offered(from peer.ID, entry sums.Digest) {
	m.mu.Lock()
	busy := m.visiting[from] || m.held[entry]
	if !busy {
		m.visiting[from] = true
	}
	m.mu.Unlock()
	if busy {
		return
	}
	if !m.fetch(entry, []peer.ID{from}) {
		m.mu.Lock()
		delete(m.visiting, from)
		m.mu.Unlock()
	}
}

// fetch gets an upload from peers, and stores it before the machine hears of it. It
// reports whether a fetch has begun.
func (m *member) fetch(entry sums.Digest, from []peer.ID) bool {
	s := m.part.sum
	var in sums.Arrived
	check := func(upload []byte) (err error) {
		in, err = s.Receive(entry, upload)
		return err
	}
	turn := func() (func(), bool) { return m.turn(from) }
	return m.get(gossip.BlobName(entry), int64(s.UploadSize()), from, turn, check, func(upload []byte) { m.arrived(entry, upload, in) })
}

// arrived stores an upload and tells the machine, which drops it if it does not accept it. It
// waits until the machine can hear of it: otherwise nobody would drop it. One that comes again
// before the machine has heard of it is ignored: what drops the first would take it away.
func (m *member) arrived(entry sums.Digest, upload []byte, in sums.Arrived) {
	m.mu.Lock()
	again := m.coming[entry]
	m.coming[entry] = true
	m.mu.Unlock()
	if again {
		return
	}
	if err := m.dir.keep(entry, upload); err != nil {
		m.part.log.Error("an upload cannot be stored", "error", err)
		m.mu.Lock()
		delete(m.coming, entry)
		m.mu.Unlock()
		return
	}
	select {
	case m.inbox <- in:
	case <-m.ctx.Done():
	}
}

// fetch is a blob that is being fetched, from the one peer that offers it, or from any that may
// have it. Who offers what is another's, and sends it slowly, must not keep it from arriving.
type fetch struct {
	name gossip.BlobName
	from peer.ID // empty: several may have it
}

// get fetches a blob in its turn, on a goroutine of its own, unless that is being done
// already, and passes it to take. Then the turn is over. It reports whether a fetch has begun.
// Of what several peers may have only so many blobs wait: the machine asks again at each tick.
func (m *member) get(name gossip.BlobName, size int64, from []peer.ID, turn func() (func(), bool), check func([]byte) error, take func([]byte)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	missed := len(from) > 1
	begins := fetch{name: name}
	if !missed {
		begins.from = from[0]
	}
	if m.fetching[begins] || m.ctx.Err() != nil || missed && m.missed == fetches+waits {
		return false
	}
	m.fetching[begins] = true
	if missed {
		m.missed++
	}
	m.running.Go(func() {
		if over, taken := turn(); taken {
			if content := m.load(name, size, from, check); content != nil {
				take(content)
			}
			over()
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.fetching, begins)
		if missed {
			m.missed--
		} else {
			delete(m.visiting, from[0])
		}
	})
	return true
}

// turn waits for its turn to fetch an upload from peers. Members do not wait for others.
func (m *member) turn(from []peer.ID) (over func(), taken bool) {
	if len(from) == 1 && !slices.Contains(m.part.peers, from[0]) {
		return m.uploads.take(m.ctx, m.desk.gossip.AddressOf(from[0]))
	}
	select {
	case m.slots <- struct{}{}:
		return func() { <-m.slots }, true
	case <-m.ctx.Done():
		return nil, false
	}
}

// load fetches a blob; it returns nil if nobody had it.
func (m *member) load(name gossip.BlobName, size int64, from []peer.ID, check func([]byte) error) []byte {
	ctx, cancel := context.WithTimeout(m.ctx, fetchTimeout)
	defer cancel()
	content, err := m.desk.gossip.Fetch(ctx, name, size, from, check)
	if err != nil {
		m.part.log.Debug("not fetched", "error", err)
		return nil
	}
	return content
}

// taken notes which uploads the machine holds, and drops the others.
func (m *member) taken(in sums.Input, err error) {
	a, ok := in.(sums.Arrived)
	if !ok || len(a.Entry) != m.part.sum.EntrySize() {
		return
	}
	entry := m.part.sum.NameOf(a.Entry)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && !m.held[entry] {
		m.held[entry] = true
		m.holds++
	}
	if !m.held[entry] {
		m.dir.drop(entry)
	}
	delete(m.coming, entry)
}

// send passes a letter to the queues of its receivers, and keeps what others ask for.
func (m *member) send(l sums.Letter) {
	m.keep(l)
	for to, q := range m.queues {
		if to == m.self || l.To != -1 && l.To != to {
			continue
		}
		q.put(l.Message)
	}
}

// queue holds the messages that wait for one member. A message that is already waiting is
// not added again, so that a slow peer gets new messages in time.
type queue struct {
	messages chan []byte
	mu       *sync.Mutex
	waiting  map[gossip.BlobName]bool
}

func newQueue() queue {
	return queue{make(chan []byte, letters), new(sync.Mutex), make(map[gossip.BlobName]bool)}
}

// put adds a message, unless it is waiting already or the queue is full: the member
// repeats its messages.
func (q queue) put(message []byte) {
	name := referenceOf(message).name
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[name] {
		return
	}
	select {
	case q.messages <- message:
		q.waiting[name] = true
	default:
	}
}

// took notes that a message is not waiting any more.
func (q queue) took(message []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, referenceOf(message).name)
}

// keep serves what contributors look for in a member's letters, and the letters that are
// too long for a call.
func (m *member) keep(l sums.Letter) {
	msg, err := m.part.sum.ReadMessage(l.Message)
	if err != nil {
		return
	}
	p := m.part
	p.mu.Lock()
	defer p.mu.Unlock()
	switch msg.Kind {
	case sums.KindAccept:
		for b := msg.Payload; len(b) >= digestSize; b = b[digestSize:] {
			p.accepts[sums.Digest(b)] = l.Message
		}
	case sums.KindDecided:
		p.decideLocked(msg.Payload)
	}
	if len(l.Message) <= gossip.MaxCall-callHeader || l.Secret {
		return
	}
	if r := referenceOf(l.Message); p.blobs[r.name] == nil {
		p.hold(l.Message)
		p.oldest = append(p.oldest, r.name)
		if len(p.oldest) > keptMessages+len(p.sum.Committee.Classes()) {
			delete(p.blobs, p.oldest[0])
			p.oldest = p.oldest[1:]
		}
	}
}

// deliver sends the messages for another member until ctx ends.
func (m *member) deliver(to int) {
	for {
		select {
		case <-m.ctx.Done():
			return
		case message := <-m.queues[to].messages:
			m.queues[to].took(message)
			call := encodeCall(callSay, m.part.sum.ID, message)
			if len(call) > gossip.MaxCall {
				call = encodeCall(callOffer, m.part.sum.ID, referenceOf(message).bytes())
			}
			if _, err := m.desk.call(m.ctx, m.part.peers[to], call); err != nil {
				m.part.log.Debug("a letter was lost", "to", to, "error", err)
			}
		}
	}
}
