package members

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
)

// Config says what a [Book] needs. All fields but Introducers are required.
type Config struct {
	File        string    // keeps the list; made when the first one comes
	Network     string    // name of the private network
	Authorities []peer.ID // who may sign its lists
	Self        peer.ID
	// Introducers may connect as long as there is no list, and bring the first
	// one. What was connected by then is closed, and admitted by the list.
	Introducers []peer.ID
	Logger      *slog.Logger
}

// ErrOlder: the list offered is older than the one that is there.
var ErrOlder = errors.New("members: the list is older than the one this node has")

// Fork says that there are two different lists of one version, because a change was made to
// a copy that was not the newest one. As an error it means that the one that was offered is
// ignored; it is an [ErrOlder], too.
type Fork struct{ Kept, Ignored *Signed }

// Error implements [error].
func (f *Fork) Error() string {
	text := fmt.Sprintf("members: two different lists have version %d, because one was made from a copy that was not the newest. This one, signed by %s, is ignored everywhere, and that of this node, signed by %s, counts",
		f.Kept.Version, f.Ignored.Authority, f.Kept.Authority)
	return text + f.Lost() + "; make the change again on the list that counts: p2pnode members export NEW, change that one with --list NEW, which makes it a newer version, and import it"
}

// Lost names the members that only one of the two lists has.
func (f *Fork) Lost() (text string) {
	for _, side := range []struct {
		has, lacks *Signed
		what       string
	}{{f.Ignored, f.Kept, "only the ignored list has "}, {f.Kept, f.Ignored, "only the one that counts has "}} {
		var names []string
		for _, m := range side.has.Members {
			if _, both := side.lacks.Member(m.Peer); !both {
				names = append(names, strings.TrimSpace(m.Name+" "+m.Peer.String()))
			}
		}
		if more := len(names) - mostNamed; more > 0 {
			names = append(names[:mostNamed], fmt.Sprintf("%d more", more))
		}
		if len(names) > 0 {
			text += "; " + side.what + strings.Join(names, ", ")
		}
	}
	return text
}

// mostNamed is how many members an error names.
const mostNamed = 5

// Is makes a fork an [ErrOlder].
func (f *Fork) Is(target error) bool { return target == ErrOlder }

// Book holds the newest list of one network. It implements
// [github.com/libp2p/go-libp2p/core/connmgr.ConnectionGater]. Its methods are safe
// for concurrent use.
type Book struct {
	config  Config
	log     *slog.Logger
	list    atomic.Pointer[Signed] // nil before the first one
	storing sync.Mutex             // held from the comparison with list to its change
	changed chan struct{}          // holds a value after list has changed
	away    refusals               // the peers that this node has turned away
	refused refusals               // the peers that have turned this node away
	timeout time.Duration          // of an exchange
	damage  error                  // why the list on disk is ignored
}

// Open reads the stored list. It leaves a damaged list, or one of an authority that is no
// longer trusted, on disk and ignores it: only the introducers are admitted until another
// list comes.
func Open(c Config) (*Book, error) {
	if err := CheckNetwork(c.Network); err != nil {
		return nil, err
	}
	if c.File == "" || len(c.Authorities) == 0 || c.Self == "" || c.Logger == nil {
		return nil, errors.New("members: File, Authorities, Self and Logger are required")
	}
	b := &Book{config: c, log: c.Logger, changed: make(chan struct{}, 1), timeout: exchangeTimeout}
	text, err := os.ReadFile(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return nil, fmt.Errorf("members: read the list: %w", err)
	}
	list, err := b.parse(text)
	if err != nil {
		b.damage = fmt.Errorf("%s: %w", c.File, err)
		return b, nil
	}
	b.list.Store(list)
	return b, nil
}

// parse reads a list of this network.
func (b *Book) parse(text []byte) (*Signed, error) {
	return ParseOf(b.config.Network, text, b.config.Authorities)
}

// Network returns the name of the private network.
func (b *Book) Network() string { return b.config.Network }

// Authorities returns the authorities whose lists are believed. The caller must not change
// them.
func (b *Book) Authorities() []peer.ID { return b.config.Authorities }

// Damage returns why the list on disk is not used. It is nil if there was none, if it is
// used, or if a good one has come since.
func (b *Book) Damage() error {
	if b.list.Load() != nil {
		return nil
	}
	return b.damage
}

// List returns the newest list, or nil.
func (b *Book) List() *Signed { return b.list.Load() }

// Offer takes a list in if it is newer than the present one. The list is on disk before it
// counts. The same list again is no news. It fails with [ErrOlder] for an older list; other
// errors say why the list is not believed, or that it cannot be stored.
func (b *Book) Offer(text []byte) (news bool, err error) {
	list, err := b.parse(text)
	if err != nil {
		return false, err
	}
	return b.take(list)
}

// take is Offer for a list that is believed, the owner's or a peer's. A newer one that was put
// into the file meanwhile stays.
func (b *Book) take(list *Signed) (news bool, err error) {
	b.reread()
	return b.store(list)
}

func (b *Book) store(list *Signed) (news bool, err error) {
	b.storing.Lock()
	defer b.storing.Unlock()
	old := b.list.Load()
	switch {
	case old != nil && old.digest == list.digest:
		return false, nil
	case old != nil && old.Version == list.Version && !list.newer(old):
		return false, &Fork{Kept: old, Ignored: list}
	case !list.newer(old):
		return false, fmt.Errorf("%w: version %d by %s, and here is version %d by %s", ErrOlder, list.Version, list.Authority, old.Version, old.Authority)
	}
	if err := list.Save(b.config.File); err != nil {
		return false, fmt.Errorf("members: store the list: %w; the one before still counts", err)
	}
	b.list.Store(list)
	b.tell(old, list)
	select {
	case b.changed <- struct{}{}:
	default:
	}
	return true, nil
}

// reread takes in a newer list that somebody has put into the file: a relay has no
// interface over which it could be given one. An older list there is replaced, and what is no list
// is left alone.
func (b *Book) reread() {
	text, err := os.ReadFile(b.config.File)
	old := b.list.Load()
	if err != nil || old != nil && bytes.Equal(text, old.Text) {
		return
	}
	list, err := b.parse(text)
	switch {
	case err != nil:
		return
	case list.newer(old):
		_, err = b.store(list)
	case old.newer(list): // it was put there by somebody who did not know of the newer one
		err = b.keep()
	}
	if err != nil && !errors.Is(err, ErrOlder) {
		b.log.Error("the newest membership list cannot be stored", "error", err)
	}
}

// keep stores the list that counts.
func (b *Book) keep() error {
	b.storing.Lock()
	defer b.storing.Unlock()
	return b.list.Load().Save(b.config.File)
}

// tell logs a new list. Two lists of one version mean that one authority did not know the
// other's list. The changes in the list that is ignored are lost, so both must be told.
func (b *Book) tell(old, list *Signed) {
	b.log.Info("new membership list", "network", list.Network, "version", list.Version, "members", len(list.Members), "authority", list.Authority)
	if old != nil && old.Version == list.Version {
		b.log.Warn("two membership lists have the same version, and one of them is ignored everywhere; its authority must make the change again",
			"version", list.Version, "counts", list.Authority, "ignored", old.Authority)
	}
	if !list.Admits(b.config.Self, time.Now()) {
		b.log.Warn("this node is not on the membership list; ask the keeper of the list to add the peer", "network", list.Network, "peer", b.config.Self)
	}
}

// Member reports whether a peer is a member now; without a list nobody is.
func (b *Book) Member(p peer.ID) bool {
	list := b.list.Load()
	return list != nil && list.Admits(p, time.Now())
}

// admits reports whether a peer may be connected. Members may, and introducers while
// there is no list.
func (b *Book) admits(p peer.ID) bool {
	if b.list.Load() == nil {
		return slices.Contains(b.config.Introducers, p)
	}
	return b.Member(p)
}
