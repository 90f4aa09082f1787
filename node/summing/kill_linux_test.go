package summing

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/multiformats/go-multiaddr"

	"p2pnode/gossip"
	"p2pnode/internal/require"
	"p2pnode/privacy"
	"p2pnode/storage"
	"p2pnode/sums"
	"p2pnode/testnet/lab"
)

// actorVariable says what a child process is: an actor as JSON.
const actorVariable = "P2PNODE_SUMMING_ACTOR"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == underName {
		lab.RunUnder()
	}
	if text := os.Getenv(actorVariable); text != "" {
		var a actor
		if err := errors.Join(json.Unmarshal([]byte(text), &a), a.run()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// actor is a member of the committee, the first four, or a contributor, in a process of
// its own. What reaches it, it tells the parent before it does anything about it, one line
// at a time: so the parent knows all that ever left a process that it killed.
type actor struct {
	Play, Number int
	Dir          string
	Ports        []int // of all actors
	Open         time.Duration
}

const killMembers, killDimension = 4, 20

func (a *actor) key(number int) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0], seed[1], seed[2] = byte(number), byte(a.Play), byte(a.Play>>8)
	return ed25519.NewKeyFromSeed(seed)
}

func (a *actor) sum() (*sums.Sum, error) {
	terms := sums.Terms{
		Task: sums.Digest{1}, Recipe: "items", Epoch: 1, Committee: sums.Committee{Colluding: 1},
		Distance: 1.5, Std: 6.5, Dimension: killDimension, Contributors: 100, Records: 100,
	}
	for i := range killMembers {
		terms.Committee.Members = append(terms.Committee.Members, sums.Identity(a.key(i).Public().(ed25519.PublicKey)))
	}
	return sums.New(terms)
}

// run is the whole life of a child; it ends when it is killed.
func (a *actor) run() error {
	swarm.BackoffBase, swarm.BackoffMax = 50*time.Millisecond, 50*time.Millisecond // others come back at once
	s, err := a.sum()
	if err != nil {
		return err
	}
	config := fast(a.key(a.Number), filepath.Join(a.Dir, "results"))
	config.View = 400 * time.Millisecond
	config.Logger = slog.New(slog.DiscardHandler)
	d := new(device)
	at := fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", a.Ports[a.Number])
	if err := d.begin(config, a.Dir, at, func() *gossip.Service { return a.listening(d.desk) }); err != nil {
		return err
	}
	for i, port := range a.Ports {
		id, err := PeerOf(sums.Identity(a.key(i).Public().(ed25519.PublicKey)))
		if err != nil {
			return err
		}
		d.host.Peerstore().AddAddr(id, multiaddr.StringCast(fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", port)), time.Hour)
	}
	if a.Number < killMembers {
		err := d.desk.Member(context.Background(), s, Membership{Root: d.root, Open: a.Open, Later: time.Hour})
		if err != nil {
			return err
		}
		select {} // it serves the result
	}
	o, err := d.desk.Contribute(context.Background(), s, Contribution{
		Ledger: d.ledger, Cohorts: func() ([]privacy.Cohort, error) { return []privacy.Cohort{1}, nil },
		Vector: func([]privacy.Cohort) ([]float64, int, error) {
			fmt.Println("paid")
			return vectorOf(a.Number, killDimension), 10, nil
		},
	})
	if err != nil {
		return err
	}
	fmt.Println("result", hex.EncodeToString(o.Result.Bytes()), hex.EncodeToString(o.List.Bytes()))
	select {}
}

// listening tells the parent what others said to this process.
func (a *actor) listening(d *Desk) *gossip.Service {
	service := d.Service()
	answer := service.OnCall
	service.OnCall = func(ctx context.Context, from peer.ID, call []byte) ([]byte, bool) {
		kind, sum, body, ok := decodeCall(call)
		if duty := d.State(sum).Duty; ok && duty != nil && duty.Silent {
			fmt.Println("silent")
		}
		switch {
		case ok && kind == callSay:
			fmt.Println("said", hex.EncodeToString(body))
		case ok && kind == callUpload:
			fmt.Println("offered", from, hex.EncodeToString(body))
		}
		return answer(ctx, from, call)
	}
	return service
}

// play is one sum whose actors are killed again and again.
type play struct {
	t       *testing.T
	actors  []*actor
	sum     *sums.Sum
	running []*exec.Cmd
	ended   []chan struct{}

	mu      sync.Mutex
	paid    bool
	heard   map[int]int                // messages and offers, by actor
	said    map[string][]byte          // messages, by member, kind and number
	offered map[int]map[string]bool    // entries, by contributor
	results map[int]*sums.Published    // by contributor
	lists   map[int]*sums.List         // the same
	locked  map[int][]uint32           // views in which a member committed
	shown   map[int]map[uint32]*uint32 // the view of the lock that a member showed, by the view it went to
	open    map[string]bool            // lists for which anybody opened a class's sum
}

func newPlay(t *testing.T, number, contributors int) *play {
	p := &play{
		t: t, heard: make(map[int]int), said: make(map[string][]byte), offered: make(map[int]map[string]bool), results: make(map[int]*sums.Published),
		lists: make(map[int]*sums.List), locked: make(map[int][]uint32), shown: make(map[int]map[uint32]*uint32), open: make(map[string]bool),
	}
	var ports []int
	for range killMembers + contributors {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for i := range ports {
		p.actors = append(p.actors, &actor{Play: number, Number: i, Dir: t.TempDir(), Ports: ports, Open: 3 * time.Second})
	}
	p.running, p.ended = make([]*exec.Cmd, len(ports)), make([]chan struct{}, len(ports))
	var err error
	p.sum, err = p.actors[0].sum()
	require.NoError(t, err)
	return p
}

// command is an actor's process, not started.
func (p *play) command(i int) *exec.Cmd {
	text, err := json.Marshal(p.actors[i])
	require.NoError(p.t, err)
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), actorVariable+"="+string(text))
	return child
}

func (p *play) start(i int) { p.run(i, p.command(i)) }

// run starts an actor's process, and hears what it tells.
func (p *play) run(i int, child *exec.Cmd) {
	var complaint bytes.Buffer
	child.Stderr = &complaint
	out, err := child.StdoutPipe()
	require.NoError(p.t, err, child.Start())
	ended := make(chan struct{})
	p.running[i], p.ended[i] = child, ended
	go func() {
		defer close(ended)
		lines := bufio.NewReader(out)
		for line, err := lines.ReadString('\n'); err == nil; line, err = lines.ReadString('\n') {
			p.hear(i, strings.Fields(line))
		}
		_ = child.Wait()
		if complaint.Len() > 0 {
			p.t.Errorf("actor %d: %s", i, &complaint)
		}
	}()
}

// kill kills an actor's process with signal 9, and looks at what it leaves behind.
func (p *play) kill(i int) {
	_ = p.running[i].Process.Kill()
	<-p.ended[i]
	if i >= killMembers {
		p.look(i)
	}
}

// hear notes a line, and fails when it is one that there must not be.
func (p *play) hear(i int, line []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	content, err := hex.DecodeString(line[len(line)-1])
	switch {
	case line[0] == "paid":
		p.paid = true
		return
	case line[0] == "silent":
		p.t.Errorf("member %d does not know all that it has signed", i)
		return
	case err != nil:
		p.t.Errorf("actor %d told %q", i, line)
	case line[0] == "said":
		p.hearMessage(content)
	case line[0] == "offered":
		p.hearOffer(line[1], string(content))
	case line[0] == "result":
		result, _ := hex.DecodeString(line[1])
		published, err := p.sum.ReadPublished(result)
		if err != nil {
			p.t.Errorf("contributor %d has a result that is none: %v", i, err)
			return
		}
		list, err := p.sum.ReadList(content, published.Opening.Digest)
		if err != nil {
			p.t.Errorf("contributor %d has a list that is none: %v", i, err)
			return
		}
		p.results[i], p.lists[i] = published, list
	}
}

// hearMessage checks that no member contradicts itself, opens two lists or forgets a lock.
func (p *play) hearMessage(content []byte) {
	m, err := p.sum.ReadMessage(content)
	if err != nil {
		p.t.Errorf("a member said what cannot be read: %v", err)
		return
	}
	p.heard[m.By]++
	switch m.Kind {
	case sums.KindOpen:
		p.open[string(m.Payload[:digestSize])] = true
	case sums.KindCommit:
		p.locked[m.By] = append(p.locked[m.By], m.Number)
	case sums.KindView:
		if p.shown[m.By] == nil {
			p.shown[m.By] = make(map[uint32]*uint32)
		}
		p.shown[m.By][m.Number] = nil
		if len(m.Payload) > 0 {
			view := binary.BigEndian.Uint32(m.Payload)
			p.shown[m.By][m.Number] = &view
		}
	}
	switch m.Kind {
	case sums.KindPledge, sums.KindNoise, sums.KindCertify, sums.KindPropose, sums.KindPrepare, sums.KindCommit, sums.KindView, sums.KindOpen, sums.KindResult:
		name := fmt.Sprint(m.By, m.Kind, m.Number)
		if old := p.said[name]; old != nil && !bytes.Equal(old, m.Payload) {
			p.t.Errorf("member %d said two things of kind %d under number %d", m.By, m.Kind, m.Number)
		}
		p.said[name] = m.Payload
	}
}

// hearOffer notes which entry a contributor offers.
func (p *play) hearOffer(from, entry string) {
	for i := killMembers; i < len(p.actors); i++ {
		id, err := PeerOf(sums.Identity(p.actors[0].key(i).Public().(ed25519.PublicKey)))
		if err == nil && id.String() == from {
			if p.offered[i] == nil {
				p.offered[i] = make(map[string]bool)
			}
			p.offered[i][entry] = true
			p.heard[i]++
		}
	}
}

// look checks what a dead contributor has on disk: what it offered to anybody is paid for,
// and is there, byte for byte.
func (p *play) look(i int) {
	p.t.Helper()
	store, ledger, err := openLedger(p.actors[i].Dir)
	require.NoError(p.t, err)
	defer store.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	upload, err := ledger.Upload(storage.SumID(p.sum.ID))
	require.NoError(p.t, err)
	paid := ledger.Spending()
	if len(paid) > 1 || len(paid) == 1 && paid[0].Sums != 1 {
		p.t.Errorf("contributor %d has paid %+v", i, paid)
	}
	if len(p.offered[i]) == 0 {
		return
	}
	if upload == nil || len(paid) == 0 {
		p.t.Errorf("contributor %d offers what is not on its disk, paid: %v", i, paid)
		return
	}
	entry, err := p.sum.EntryDigest(upload)
	require.NoError(p.t, err)
	if len(p.offered[i]) > 1 || !p.offered[i][string(entry[:])] {
		p.t.Errorf("contributor %d has offered %d contributions to one sum", i, len(p.offered[i]))
	}
}

// strike kills one of the actors, and starts it again: at about the n-th change of its
// files from now, or the n-th message of its that anybody hears, if there are so many soon.
func (p *play) strike(i, n int, messages bool) {
	if messages {
		p.awaitMessages(i, n)
	} else {
		p.awaitChanges(i, n)
	}
	p.kill(i)
	p.start(i)
}

// strikeWithin is how long a strike waits for what it is to strike at.
const strikeWithin = 500 * time.Millisecond

func (p *play) awaitMessages(i, n int) {
	heard := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.heard[i]
	}
	for n, end := heard()+n, time.Now().Add(strikeWithin); heard() < n && time.Now().Before(end); {
		time.Sleep(50 * time.Microsecond)
	}
}

func (p *play) awaitChanges(i, n int) {
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	require.NoError(p.t, err)
	defer syscall.Close(watch)
	_ = filepath.WalkDir(p.actors[i].Dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_, _ = syscall.InotifyAddWatch(watch, path, syscall.IN_CREATE|syscall.IN_MODIFY|syscall.IN_MOVED_TO|syscall.IN_DELETE)
		}
		return nil
	})
	var buffer [4096]byte
	for end := time.Now().Add(strikeWithin); n > 0 && time.Now().Before(end); {
		size, err := syscall.Read(watch, buffer[:])
		if err != nil {
			time.Sleep(50 * time.Microsecond)
			continue
		}
		for at := 0; at+syscall.SizeofInotifyEvent <= size; n-- {
			at += syscall.SizeofInotifyEvent + int(buffer[at+12]) + int(buffer[at+13])<<8
		}
	}
}

// done reports whether all contributors have the result.
func (p *play) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.results) == len(p.actors)-killMembers
}

func (p *play) anyPaid() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paid
}

// finish ends all processes and checks what the whole sum led to.
func (p *play) finish() {
	for i, child := range p.running {
		if child != nil {
			p.kill(i)
		}
	}
	if len(p.open) > 1 {
		p.t.Errorf("%d lists were opened", len(p.open))
	}
	for member, views := range p.locked {
		for _, view := range views {
			for later, shown := range p.shown[member] {
				if later > view && (shown == nil || *shown < view) {
					p.t.Errorf("member %d was locked in view %d and did not say so in view %d", member, view, later)
				}
			}
		}
	}
}

// checkResult compares the results with what the listed contributors added.
func (p *play) checkResult() {
	var first *sums.Published
	want := make([]float64, killDimension)
	for i := killMembers; i < len(p.actors); i++ {
		published, list := p.results[i], p.lists[i]
		if first == nil {
			first = published
			for number := range p.actors {
				if _, listed := list.Find(sums.Identity(p.actors[0].key(number).Public().(ed25519.PublicKey))); listed {
					for j, x := range vectorOf(number, killDimension) {
						want[j] += x
					}
				}
			}
		}
		if published.Result.Digest() != first.Result.Digest() {
			p.t.Errorf("contributor %d has another result", i)
		}
	}
	// The noise is at most some eight standard deviations (false failures: 1e-14).
	for j, x := range first.Result.Values {
		if d := float64(x) - want[j]; d > 8*p.sum.Noise() || d < -8*p.sum.Noise() {
			p.t.Errorf("coordinate %d is %v off, with noise of standard deviation %v", j, d, p.sum.Noise())
		}
	}
}

// Processes of members, leaders and contributors are killed with signal 9, most of them at
// changes of their files or when they are heard, fifty times, a thousand at night. No
// member contradicts itself or forgets what it signed, at most one list is opened, and what
// a contributor offers is paid for and never changes. If one member is gone for good after
// the sum was open, the sum completes; if one never comes, nothing is paid.
func TestKillsOfProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: processes that take seconds to start miss a sum that is open for three")
	}
	least := 50
	if text := os.Getenv("P2PNODE_KILLS"); text != "" {
		var err error
		least, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	random := rand.New(rand.NewPCG(15, 3))
	kills, listed, views := 0, 0, 0
	for number := 0; kills < least || listed == 0 && number < 8; number++ {
		p := newPlay(t, number, 2)
		absent, gone := -1, -1
		if number%4 == 3 {
			absent = random.IntN(killMembers)
		}
		for i := range p.actors {
			if i != absent {
				p.start(i)
			}
		}
		end := time.Now().Add(3 * time.Minute)
		for strikes := 0; !t.Failed() && !p.done() && (absent < 0 || strikes < 12); strikes++ {
			if time.Now().After(end) {
				t.Errorf("play %d does not end", number)
				break
			}
			if number%4 == 1 && gone < 0 && p.anyPaid() {
				gone = random.IntN(killMembers) // in the first view, one in four is its leader
				p.kill(gone)
				kills++
			}
			victims := slices.DeleteFunc(random.Perm(len(p.actors)), func(i int) bool { return i == absent || i == gone })
			p.strike(victims[0], 1+random.IntN(30), random.IntN(2) == 0)
			kills++
		}
		if gone >= 0 {
			p.running[gone] = nil
		}
		p.finish()
		views += len(p.shown)
		switch {
		case absent >= 0 && p.paid:
			t.Errorf("play %d: somebody paid although a member never came", number)
		case absent < 0 && p.done():
			p.checkResult()
			listed += len(p.lists[killMembers].Entries)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills, %d contributions in sums, %d times a member gave a view up", kills, listed, views)
	if listed == 0 {
		t.Error("no contribution came through: the test shows little")
	}
}
