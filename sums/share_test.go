package sums

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"p2pnode/internal/require"
)

// Streams, masks and opened sums are those of an independent program, exactly.
func TestSharingAgainstTheIndependentProgram(t *testing.T) {
	dir := os.Getenv("P2PNODE_SHARED")
	if dir == "" {
		t.Skip("P2PNODE_SHARED does not say where the reference values are")
	}
	data, err := os.ReadFile(filepath.Join(dir, "reference", "sums_golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Sharing []struct {
			Bits, S, T   int
			Missing      [][]int
			Contributors []struct {
				Seeds              []string
				V                  []string
				Masked             []string
				First_stream_words []string
			}
			Share_sums    [][]string
			Opened        []string
			Opened_signed []string
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	numbers := func(list []string) []uint64 {
		var v []uint64
		for _, s := range list {
			if x, err := strconv.ParseUint(s, 10, 64); err == nil {
				v = append(v, x)
			} else if x, err := strconv.ParseInt(s, 10, 64); err == nil {
				v = append(v, uint64(x))
			} else {
				t.Fatal(err)
			}
		}
		return v
	}
	cases := 0
	for _, g := range golden.Sharing {
		if g.Bits != 64 {
			continue // a ring this protocol does not use
		}
		cases++
		classes := Committee{Members: make([]Identity, g.S), Colluding: g.T}.Classes()
		for k, class := range classes {
			for member := range g.S {
				if class.lacks(member) != slices.Contains(g.Missing[k], member) {
					t.Errorf("(%d,%d): class %d and member %d", g.S, g.T, k, member)
				}
			}
		}
		// The program gives the last share to the holders of a class; here it is public.
		shares := make([][]uint64, len(g.Share_sums))
		for k := range shares {
			shares[k] = make([]uint64, len(g.Opened))
		}
		for _, c := range g.Contributors {
			var keys []Digest
			for k, text := range c.Seeds {
				b, err := hex.DecodeString(text)
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, Digest(b))
				addStream(shares[k], Digest(b))
			}
			first := make([]uint64, len(c.V))
			addStream(first, keys[0])
			if want := numbers(c.First_stream_words); !slices.Equal(first[:len(want)], want) && len(want) > 0 {
				t.Error("the stream differs")
			}
			var v []int64
			for _, x := range numbers(c.V) {
				v = append(v, int64(x))
			}
			masked := mask(v, keys)
			if !slices.Equal(masked, numbers(c.Masked)) {
				t.Error("the masked vector differs")
			}
			if err := AddWords(shares[len(shares)-1], words(masked)); err != nil {
				t.Fatal(err)
			}
		}
		opened := make([]uint64, len(g.Opened))
		for k, want := range g.Share_sums {
			if !slices.Equal(shares[k], numbers(want)) {
				t.Errorf("(%d,%d): share %d differs", g.S, g.T, k)
			}
			for j, x := range shares[k] {
				opened[j] += x
			}
		}
		if !slices.Equal(opened, numbers(g.Opened)) || !slices.Equal(opened, numbers(g.Opened_signed)) {
			t.Errorf("(%d,%d): the opened sum differs", g.S, g.T)
		}
	}
	if cases == 0 {
		t.Error("no case of 64 bits")
	}
}

// view is what members of a coalition can take off a contribution: all streams of which
// one of them opens the seed.
func (n *network) view(o *Opening, upload []byte, coalition []int) []uint64 {
	header, masked, err := n.sum.Split(upload)
	if err != nil {
		n.t.Fatal(err)
	}
	e, err := n.sum.readEntry(header, o.Digest)
	if err != nil {
		n.t.Fatal(err)
	}
	rest := make([]uint64, n.sum.Dimension)
	if err := AddWords(rest, masked); err != nil {
		n.t.Fatal(err)
	}
	known := make(map[Class]bool)
	for _, i := range coalition {
		seeds, ok := n.sum.openSeeds(n.members[i].secrets.seal, o.Digest, e.From, i, e.Sealed[i])
		if !ok {
			n.t.Fatal("a member cannot open what is sealed to it")
		}
		streams, fit := n.sum.check(e, seeds)
		for k, class := range n.sum.classes {
			if fit[k] && !known[class] {
				known[class] = true
				addStream(rest, streams[k])
			}
		}
	}
	return rest
}

// To t members a contribution is uniform, whatever it holds; t+1 read all of it.
//
// The chi-square of 256 cells over 51,200 bytes is within 255 +- 7 sqrt(510), at each of
// the eight bytes of a word: false with probability below 1e-9 a byte.
func TestViewOfColludingMembers(t *testing.T) {
	const dim, devices = 512, 100
	for _, size := range []struct{ s, t int }{{4, 1}, {7, 2}} {
		n := newNetwork(t, size.s, size.t, dim, 1)
		o := n.open()
		coalition := []int{3, 1, 2}[:size.t]
		var counts [8][256]int
		for device := range devices {
			v := make([]int64, dim)
			for j := range v {
				v[j] = int64(j % 2 * 1000)
			}
			upload, err := n.sum.Contribute(o, identityOf(device), 1, v)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range n.view(o, upload, coalition) {
				for b := range counts {
					counts[b][byte(x>>(8*b))]++
				}
			}
			if device > 3 {
				continue
			}
			one := append(slices.Clone(coalition), 0)
			for j, x := range n.view(o, upload, one) {
				if int64(x) != v[j] {
					t.Fatalf("(%d,%d): %d members do not read coordinate %d", size.s, size.t, len(one), j)
				}
			}
		}
		for b := range counts {
			chi, want := 0.0, float64(dim*devices)/256
			for _, c := range counts[b] {
				chi += (float64(c) - want) * (float64(c) - want) / want
			}
			if math.Abs(chi-255) > 7*math.Sqrt(510) {
				t.Errorf("(%d,%d): byte %d of what %d members see has chi-square %v", size.s, size.t, b, size.t, chi)
			}
		}
	}
}

// What is sealed opens for one holder, contributor and opening only.
func TestSealedSeedsNameTheirPurpose(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 1)
	k, err := n.sum.newKeys([]Pledge{n.members[0].pledge, n.members[1].pledge, n.members[2].pledge, n.members[3].pledge})
	if err != nil {
		t.Fatal(err)
	}
	seeds := []seed{{1}, {2}, {3}, {4}}
	sealed, err := n.sum.sealSeeds(k.seal[2], Digest{1}, Identity{7}, 2, seeds)
	if err != nil {
		t.Fatal(err)
	}
	secret := n.members[2].secrets.seal
	got, ok := n.sum.openSeeds(secret, Digest{1}, Identity{7}, 2, sealed)
	if !ok || !slices.Equal(got, []seed{{1}, {2}, {}, {4}}) {
		t.Fatalf("opened %v", got)
	}
	terms := testTerms(4, 1, 2)
	terms.Round++
	other := newSum(t, terms)
	for name, open := range map[string]func() ([]seed, bool){
		"another contributor": func() ([]seed, bool) { return n.sum.openSeeds(secret, Digest{1}, Identity{8}, 2, sealed) },
		"another opening":     func() ([]seed, bool) { return n.sum.openSeeds(secret, Digest{2}, Identity{7}, 2, sealed) },
		"another holder":      func() ([]seed, bool) { return n.sum.openSeeds(secret, Digest{1}, Identity{7}, 1, sealed) },
		"another sum":         func() ([]seed, bool) { return other.openSeeds(secret, Digest{1}, Identity{7}, 2, sealed) },
		"another key": func() ([]seed, bool) {
			return n.sum.openSeeds(n.members[1].secrets.seal, Digest{1}, Identity{7}, 2, sealed)
		},
	} {
		if _, ok := open(); ok {
			t.Errorf("%s opens it", name)
		}
	}
	// The stream and the check value name the same things.
	key, check := expand(n.sum.ID, Identity{7}, 1, seeds[0])
	if key == check {
		t.Error("the check value, which is published, is the key of the stream")
	}
	for name, again := range map[string]func() (Digest, Digest){
		"contributor": func() (Digest, Digest) { return expand(n.sum.ID, Identity{8}, 1, seeds[0]) },
		"class":       func() (Digest, Digest) { return expand(n.sum.ID, Identity{7}, 2, seeds[0]) },
		"sum":         func() (Digest, Digest) { return expand(other.ID, Identity{7}, 1, seeds[0]) },
		"seed":        func() (Digest, Digest) { return expand(n.sum.ID, Identity{7}, 1, seeds[1]) },
	} {
		if k, c := again(); k == key || c == check || k == check {
			t.Errorf("another %s gives the same stream or check value", name)
		}
	}
}

// How large things are, everything included.
func TestSizes(t *testing.T) {
	for _, size := range []struct{ s, t, most int }{{4, 1, 5500}, {7, 2, 13000}} {
		n := newNetwork(t, size.s, size.t, 100, 1)
		upload := n.contribute(n.open(), 1, make([]int64, 100))
		if got := len(upload) - 8*100; got > size.most || got != n.sum.EntrySize() {
			t.Errorf("(%d,%d): %d bytes beside the vector, at most %d", size.s, size.t, got, size.most)
		}
	}
}

// The name of a sum depends on every term.
func TestNameDependsOnEverything(t *testing.T) {
	first := newSum(t, testTerms(4, 1, 3))
	seen := map[Digest]string{first.ID: "nothing"}
	change := map[string]func(*Terms){
		"Task": func(t *Terms) { t.Task[31]++ }, "Recipe": func(t *Terms) { t.Recipe += " " }, "Catalogue": func(t *Terms) { t.Catalogue[0]++ },
		"Epoch": func(t *Terms) { t.Epoch++ }, "Round": func(t *Terms) { t.Round++ },
		"Committee": func(t *Terms) { slices.Reverse(t.Committee.Members) },
		"Distance":  func(t *Terms) { t.Distance *= 1.001 }, "Std": func(t *Terms) { t.Std *= 1.001 }, "Dimension": func(t *Terms) { t.Dimension++ },
		"Contributors": func(t *Terms) { t.Contributors++ }, "Records": func(t *Terms) { t.Records++ },
	}
	for i := range reflect.TypeFor[Terms]().NumField() {
		name := reflect.TypeFor[Terms]().Field(i).Name
		if change[name] == nil {
			t.Errorf("the term %s is not tested", name)
			continue
		}
		terms := testTerms(4, 1, 3)
		change[name](&terms)
		id := newSum(t, terms).ID
		if seen[id] != "" {
			t.Errorf("%s and %s give the same name", name, seen[id])
		}
		seen[id] = name
	}
	more := testTerms(4, 1, 3)
	more.Committee.Members = append(more.Committee.Members, Identity{9})
	if newSum(t, more).ID == first.ID {
		t.Error("a fifth member does not change the name")
	}
}

func TestTermsThatMakeNoSense(t *testing.T) {
	for name, change := range map[string]func(*Terms){
		"three members":         func(t *Terms) { t.Committee.Members = t.Committee.Members[:3] },
		"nobody colludes":       func(t *Terms) { t.Committee.Colluding = 0 },
		"too many collude":      func(t *Terms) { t.Committee.Colluding = 2 },
		"a member twice":        func(t *Terms) { t.Committee.Members[1] = t.Committee.Members[0] },
		"eleven members":        func(t *Terms) { t.Committee.Members = make([]Identity, 11) },
		"no recipe":             func(t *Terms) { t.Recipe = "" },
		"no dimension":          func(t *Terms) { t.Dimension = 0 },
		"a huge dimension":      func(t *Terms) { t.Dimension = mostDimension + 1 },
		"no contributors":       func(t *Terms) { t.Contributors = 0 },
		"too many contributors": func(t *Terms) { t.Contributors = 1<<20 + 1 },
		"no records":            func(t *Terms) { t.Records = 0 },
		"too many records":      func(t *Terms) { t.Records = 1<<20 + 1 },
		"no distance":           func(t *Terms) { t.Distance = 0 },
		"no noise":              func(t *Terms) { t.Std = 0 },
		"no number":             func(t *Terms) { t.Std = math.NaN() },
	} {
		terms := testTerms(4, 1, 3)
		change(&terms)
		if _, err := New(terms); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// As many contributors as there may be, all at the limit, and the noise stay in the ring.
func TestLimitKeepsTheSumInTheRing(t *testing.T) {
	for _, contributors := range []int{1, 610, 1 << 20} {
		terms := testTerms(10, 3, 1)
		terms.Contributors = contributors
		s := newSum(t, terms)
		noise := 40 * s.Noise() / s.Mechanism.Unit()
		if total := float64(s.Limit)*float64(contributors) + noise; total >= 1<<63 {
			t.Errorf("%d contributors add up to %v", contributors, total)
		}
		if s.Limit < 1<<41 {
			t.Errorf("%d contributors of at most %d units each", contributors, s.Limit)
		}
	}
}

func TestContributeRefuses(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 1)
	o := n.open()
	for name, c := range map[string]struct {
		records int
		v       []int64
	}{
		"another dimension":   {1, make([]int64, 3)},
		"too many records":    {n.sum.Records + 1, make([]int64, 2)},
		"fewer than none":     {-1, make([]int64, 2)},
		"beyond the limit":    {1, []int64{n.sum.Limit + 1, 0}},
		"below minus that":    {1, []int64{0, -n.sum.Limit - 1}},
		"the least of all":    {1, []int64{math.MinInt64, 0}},
		"the largest of them": {1, []int64{math.MaxInt64, 0}},
	} {
		if _, err := n.sum.Contribute(o, identityOf(1), c.records, c.v); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// Nothing is sealed under an opening that is not this sum's and certified.
func TestContributeChecksItsOpening(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 1)
	o := *n.open()
	terms := testTerms(4, 1, 2)
	terms.Epoch++
	if _, err := newSum(t, terms).Contribute(&o, identityOf(1), 1, make([]int64, 2)); err == nil {
		t.Error("another sum's opening is taken")
	}
	o.proof = nil
	if _, err := n.sum.Contribute(&o, identityOf(1), 1, make([]int64, 2)); err == nil {
		t.Error("an opening that nobody has certified is taken")
	}
}

func TestSecretsSurviveTheirBytes(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 1)
	b, err := n.members[0].secrets.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadSecrets(b)
	if err != nil {
		t.Fatal(err)
	}
	p, err := n.sum.Pledge(n.members[0].identity, again, 1000)
	if err != nil || p != n.members[0].pledge {
		t.Errorf("other keys are read than were written: %v", err)
	}
	for _, b := range [][]byte{nil, b[:31], b[:40], append(slices.Clone(b), 0)} {
		if _, err := ReadSecrets(b); err == nil {
			t.Errorf("%d bytes are keys", len(b))
		}
	}
	if _, err := n.sum.Pledge(identityOf(1), again, 1000); err == nil {
		t.Error("somebody who is no member pledges")
	}
}

// A member of a committee names a class by any 32 bits, whatever an int of this device has.
func TestAClaimNamesAnyClass(t *testing.T) {
	n := newNetwork(t, 4, 1, 2, 1)
	o := n.open()
	n.contribute(o, 1, []int64{1, 2})
	n.run()
	n.close()
	for _, number := range []uint32{uint32(len(n.sum.classes)), 1 << 31, math.MaxUint32} {
		for _, m := range n.members {
			if err := m.machine.hearOpen(&Message{By: 1, Number: number}); err != errUnexpected {
				t.Errorf("class %d: %v", number, err)
			}
		}
	}
}

// Decoders take nothing that they would write otherwise.
func FuzzDecode(f *testing.F) {
	n := newNetwork(f, 4, 1, 2, 1)
	o := n.open()
	upload := n.contribute(o, 1, []int64{1, 2})
	n.run()
	n.close()
	for _, m := range n.members {
		for _, l := range m.machine.said {
			f.Add(l.Message)
		}
		f.Add(m.done.Bytes())
		f.Add(m.machine.decided.bytes())
		f.Add(m.machine.decided.list.Bytes())
	}
	f.Add(o.Bytes())
	f.Add(upload)
	f.Add(binary.BigEndian.AppendUint32(nil, math.MaxUint32))
	// A count that is below nothing where an int has 32 bits, and whose entries are as long as one.
	f.Add(append(binary.BigEndian.AppendUint32(o.Digest[:], 1<<31|1), make([]byte, listedSize)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		same := func(what string, err error, again func() []byte) {
			if err == nil && !slices.Equal(again(), b) {
				t.Errorf("%s of other bytes", what)
			}
		}
		m, err := n.sum.ReadMessage(b)
		same("a message", err, func() []byte { return m.Bytes() })
		l, err := n.sum.ReadList(b, o.Digest)
		same("a list", err, func() []byte { return l.Bytes() })
		p, err := n.sum.ReadPublished(b)
		same("a result", err, func() []byte { return p.Bytes() })
		opening, err := n.sum.readOpening(b)
		same("an opening", err, func() []byte { return opening.Bytes() })
		d, err := n.sum.readDecision(o, b)
		same("a decision", err, func() []byte { return d.bytes() })
		if header, _, err := n.sum.Split(b); err == nil {
			e, err := n.sum.readEntry(header, o.Digest)
			if err == nil && !slices.Equal(append(e.unsigned(), e.Signature[:]...), header) {
				t.Error("an entry of other bytes")
			}
		}
		for _, node := range n.members {
			node.machine.Step(Heard{1, b})
		}
		n.members[0].machine.Step(Arrived{b, Digest{}})
	})
}

// What a device does for one contribution at the dimension of ml-latest-small.
func BenchmarkContribute(b *testing.B) {
	n := newNetwork(b, 4, 1, 19484, 1)
	o := n.open()
	v := make([]int64, 19484)
	for b.Loop() {
		if _, err := n.sum.Contribute(o, identityOf(1), 1, v); err != nil {
			b.Fatal(err)
		}
	}
}

// What a member does for one contribution: hash, signature, seeds, and later the streams.
func BenchmarkMember(b *testing.B) {
	n := newNetwork(b, 4, 1, 19484, 1)
	upload, err := n.sum.Contribute(n.open(), identityOf(1), 1, make([]int64, 19484))
	require.NoError(b, err)
	name, err := n.sum.EntryDigest(upload)
	require.NoError(b, err)
	m := n.members[0].machine
	total := make([]uint64, 19484)
	for b.Loop() {
		clear(m.entries)
		clear(m.first)
		m.fresh = nil // accepts are signed together, at ticks
		in, err := n.sum.Receive(name, upload)
		require.NoError(b, err)
		EncodeInput(in)
		_, err = m.Step(in)
		require.NoError(b, err)
		for i, stream := range m.entries[name].streams {
			if m.entries[name].fit[i] {
				addStream(total, stream)
			}
		}
		_, masked, err := n.sum.Split(upload)
		require.NoError(b, err, AddWords(total, masked))
	}
}
