package main

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"p2pnode/internal/require"
	"p2pnode/node/api"
	"p2pnode/testnet/lab"
)

// The daemons of a storm. Each can be killed but the first, which shows after all of it what
// a process holds that never ended.
const (
	steady  = iota
	astray  // its clock is wrong
	slowed  // its disk is slow
	full    // its disk is small
	cramped // its memory is small
	plain
	sixth // how many there are
)

// storm is daemons that learn while everything fails.
type storm struct {
	network
	length  time.Duration
	random  *rand.Rand
	systems map[int]*system
	disk    string     // of full
	group   string     // the control group of cramped; "": there can be none
	records [sixth]int // at least: what was acknowledged
	befell  map[string]int
}

// storming is how long the daemons are tormented: seconds in the gate, an hour in the nightly
// tests.
func storming(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("P2PNODE_CHAOS")
	if text == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// Packets are lost, come twice and out of order; nodes are cut off; processes are killed in
// volleys, also while they start; a clock is wrong by hours or years, a disk full, another one
// slow, memory small: all at once. Afterwards everybody hears everybody, every ledger is exact,
// every record that was acknowledged is there, and no process and no directory has anything
// that it should not.
func TestLabChaos(t *testing.T) {
	nightly(t)
	length := storming(t)
	s := newStorm(t, length)
	strikes := s.strikes(t)
	for end := time.Now().Add(length); time.Now().Before(end); {
		kinds := slices.Sorted(maps.Keys(strikes))
		s.random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		for _, kind := range kinds {
			strikes[kind]()
			s.befell[kind]++
			s.look(t)
			s.wait(5 * time.Second)
		}
	}
	s.calm(t)
	t.Logf("in %v: %v", length, s.befell)
	s.leaks(t)
	s.close(t)
}

func newStorm(t *testing.T, length time.Duration) *storm {
	t.Helper()
	l := newLab(t)
	s := &storm{
		network: network{lab: l, spent: make([]float64, sixth), nodes: make([]*daemon, sixth)},
		length:  length, random: rand.New(rand.NewPCG(18, 1)), systems: make(map[int]*system), befell: make(map[string]int),
	}
	s.disk, s.group = smallDisk(t), smallMemory(t)
	segment, err := l.Segment(netip.MustParsePrefix("10.66.0.0/24"))
	require.NoError(t, err)
	weather := lab.Delay{Latency: time.Millisecond, Jitter: 20 * time.Millisecond, Reorder: true, Duplicate: 0.05}
	for i := range sixth {
		host, err := l.Host(fmt.Sprintf("host %d", i))
		require.NoError(t, err)
		link, err := host.JoinSlow(segment, segment.Addr(i+1), weather)
		require.NoError(t, err)
		require.NoError(t, link.Lose(0.02))
		s.links = append(s.links, link)
		s.begin(t, i)
	}
	s.flows(t, 2*time.Minute, "before the storm")
	return s
}

// begin makes a node and starts it.
func (s *storm) begin(t *testing.T, i int) {
	t.Helper()
	dir := shortTemp(t)
	if i == full {
		dir = filepath.Join(s.disk, "node")
	}
	// In an hour most of the budget of 1000 releases is spent. The last strikes end after that,
	// and then models must flow.
	args := []string{"init", "--dir", dir, "--no-mdns", "--listen", "/ip4/0.0.0.0/tcp/4001", "--releases", "1000",
		"--wake", strconv.FormatFloat((s.length+5*time.Minute).Seconds()/900, 'g', 4, 64)}
	if i > 0 {
		args = append(args, "--bootstrap", fmt.Sprintf("/ip4/%v/tcp/4001/p2p/%s", s.links[0].Addr(), s.nodes[0].id))
	}
	cli(t, nil, args...)
	var report api.ImportReport
	cli(t, &report, "data", "import", filepath.Join("testdata", "files", "ratings.csv"), "--dir", dir)
	s.records[i] = report.Records
	s.nodes[i] = &daemon{dir: dir}
	s.start(t, i)
}

// start runs a node's daemon, as what it is.
func (s *storm) start(t *testing.T, i int) {
	t.Helper()
	dir := s.nodes[i].dir
	cmd := s.command(t, i, dir)
	switch i {
	case astray, slowed:
		before := s.systems[i]
		s.systems[i] = under(t, cmd)
		if before != nil {
			require.NoError(t, <-before.ended)
		}
		if i == astray {
			s.systems[i].SetAhead(s.wrong())
		}
		s.nodes[i] = s.systems[i].start(t, dir)
	case cramped:
		cmd.Env = append(os.Environ(), "GOMEMLIMIT=40MiB")
		s.nodes[i] = startWith(t, dir, cmd)
		s.limit(t, roomy)
	default:
		s.nodes[i] = startWith(t, dir, cmd)
	}
}

// wrong is how far a clock may be ahead.
func (s *storm) wrong() time.Duration {
	return []time.Duration{0, 9 * time.Hour, -7 * time.Hour, 26 * time.Hour, 10 * 365 * 24 * time.Hour, -48 * time.Hour}[s.random.IntN(6)]
}

// strikes are what may befall the daemons. Each waits for a while that suits it.
func (s *storm) strikes(t *testing.T) map[string]func() {
	return map[string]func(){
		"killed":  func() { s.volley(t) },
		"cut off": func() { s.part(t) },
		"lossy": func() {
			link := s.links[s.random.IntN(len(s.links))]
			require.NoError(t, link.Lose(0.3))
			s.wait(20 * time.Second)
			require.NoError(t, link.Lose(0.02))
		},
		"clock": func() { s.systems[astray].SetAhead(s.wrong()) },
		"slow disk": func() {
			s.systems[slowed].Stall(s.some(time.Minute))
			s.nodes[slowed].status(t) // answers all the same
		},
		"full disk": func() {
			s.fill(t)
			if _, err := s.nodes[full].owner.Import(t.Context(), strings.NewReader(rows), api.ImportOptions{Again: true}); err == nil || !strings.Contains(err.Error(), "free some") {
				t.Errorf("the full disk takes records: %v", err)
			}
			s.wait(20 * time.Second)
			s.free(t)
		},
		"memory": func() {
			s.limit(t, cramping[s.random.IntN(len(cramping))])
			s.wait(20 * time.Second)
			s.recover(t)
		},
		"records": func() { s.give(t) },
	}
}

// some is a random time, of so much at most, so that a storm has many strikes.
func (s *storm) some(most time.Duration) time.Duration {
	return time.Duration(s.random.Float64() * float64(min(most, s.length/15)))
}

// wait lets the storm go on as it is: time is all that happens.
func (s *storm) wait(most time.Duration) { time.Sleep(s.some(most)) }

// part cuts some of the daemons off from the others.
func (s *storm) part(t *testing.T) {
	t.Helper()
	var sides [2][]*lab.Link
	for at, i := range s.random.Perm(len(s.links)) {
		side := s.random.IntN(2)
		if at < 2 {
			side = at // neither is empty
		}
		sides[side] = append(sides[side], s.links[i])
	}
	require.NoError(t, s.lab.Block(sides[0], sides[1]))
	s.wait(40 * time.Second)
	require.NoError(t, s.lab.Unblock())
}

// volley kills some daemons at once. Each is killed again while it starts, up to three times,
// before it may live.
func (s *storm) volley(t *testing.T) {
	t.Helper()
	order := s.random.Perm(sixth - 1)
	victims := order[:1+s.random.IntN(len(order))]
	for _, k := range victims {
		require.NoError(t, s.nodes[k+1].cmd.Process.Kill())
	}
	for _, k := range victims {
		i := k + 1
		s.nodes[i].end(t)
		for range s.random.IntN(4) {
			cmd := s.command(t, i, s.nodes[i].dir)
			require.NoError(t, cmd.Start())
			time.Sleep(time.Duration(s.random.IntN(400)) * time.Millisecond) // any moment will do
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
			s.befell["killed at the start"]++
		}
		s.start(t, i)
	}
}

// look checks that no budget has become smaller. A daemon may end a moment after it had no room.
func (s *storm) look(t *testing.T) {
	t.Helper()
	s.revive(t, full)
	s.revive(t, cramped)
	for i, d := range s.nodes {
		now := d.status(t).Privacy.Spent
		if now < s.spent[i] || now > 1 {
			t.Errorf("node %d has spent %v of its budget, before it was %v", i, now, s.spent[i])
		}
		s.spent[i] = now
	}
}

// rows are two records.
const rows = "genres,year,rating\nDrama,1994,4\nComedy|Romance,2001,3\n"

// give imports records into some node.
func (s *storm) give(t *testing.T) {
	t.Helper()
	i := s.random.IntN(sixth)
	report, err := s.nodes[i].owner.Import(t.Context(), strings.NewReader(rows), api.ImportOptions{Again: true})
	if err != nil && (i == full || i == cramped) {
		s.look(t) // it is about to end
		return
	}
	require.NoError(t, err)
	s.records[i] += report.Records
}

// fill takes all room of the small disk.
func (s *storm) fill(t *testing.T) {
	t.Helper()
	var room syscall.Statfs_t
	require.NoError(t, syscall.Statfs(s.disk, &room))
	err := os.WriteFile(filepath.Join(s.disk, "filler"), make([]byte, int64(room.Bavail)*room.Bsize), 0o600)
	if !errors.Is(err, syscall.ENOSPC) { // the daemon may be quicker
		require.NoError(t, err)
	}
}

// free gives the room back, and starts the daemon again if it has ended for want of it.
func (s *storm) free(t *testing.T) {
	t.Helper()
	require.NoError(t, os.Remove(filepath.Join(s.disk, "filler")))
	s.revive(t, full)
}

// recover gives memory back, and starts the daemon again if the kernel has ended it.
func (s *storm) recover(t *testing.T) {
	t.Helper()
	s.limit(t, roomy)
	s.revive(t, cramped)
}

// revive starts a daemon that has ended, or is about to.
func (s *storm) revive(t *testing.T, i int) {
	t.Helper()
	d := s.nodes[i]
	if _, err := d.owner.Status(t.Context()); err != nil {
		s.befell[fmt.Sprintf("%d ended", i)]++
		if state := d.end(t); state.Exited() && !strings.Contains(d.log.String(), "the disk is full: free space, then start again") {
			t.Errorf("node %d ended by itself (%v):\n%s", i, state, &d.log)
		}
		s.start(t, i)
	}
}

// calm ends what may still go on, and waits until everybody hears everybody.
func (s *storm) calm(t *testing.T) {
	t.Helper()
	s.systems[astray].SetAhead(0)
	s.systems[slowed].Stall(0)
	s.flows(t, 3*time.Minute, "after the storm")
}

// leaks compares the process that never ended with one that begins.
func (s *storm) leaks(t *testing.T) {
	t.Helper()
	before := held(t, s.nodes[steady])
	s.nodes[steady].interrupt(t, os.Interrupt)
	s.start(t, steady)
	s.flows(t, 2*time.Minute, "after a restart")
	after := held(t, s.nodes[steady])
	t.Logf("goroutines %d, files %d, memory %d kB; in a new process %d, %d, %d",
		before.goroutines, before.files, before.memory, after.goroutines, after.files, after.memory)
	if before.goroutines > after.goroutines*3/2+50 || before.files > after.files*3/2+20 || before.memory > 2*after.memory+32<<10 {
		t.Errorf("after the storm a process holds %+v, a new one %+v", before, after)
	}
}

// close stops all daemons and looks at what they leave behind.
func (s *storm) close(t *testing.T) {
	t.Helper()
	var heard [sixth]uint64
	for i, d := range s.nodes {
		for _, other := range s.nodes {
			if other != d {
				heard[i] = max(heard[i], other.heard(t, d.id))
			}
		}
	}
	for i, d := range s.nodes {
		d.interrupt(t, os.Interrupt)
		if system := s.systems[i]; system != nil {
			require.NoError(t, <-system.ended)
		}
	}
	for i, d := range s.nodes {
		t.Logf("node %d: %d releases", i, exact(t, d.dir, heard[i]))
		var status api.Status
		cli(t, &status, "status", "--dir", d.dir)
		if status.Records != s.records[i] {
			t.Errorf("node %d has %d records, and %d were acknowledged", i, status.Records, s.records[i])
		}
		files, err := os.ReadDir(d.dir)
		require.NoError(t, err)
		for _, f := range files {
			if !slices.Contains([]string{"config.toml", "identity.key", "p2pnode.db", "p2pnode.db.anchor", "task.toml"}, f.Name()) {
				t.Errorf("node %d leaves the file %s", i, f.Name())
			}
		}
	}
}
