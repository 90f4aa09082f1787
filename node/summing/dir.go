package summing

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"p2pnode/gossip"
	"p2pnode/internal/durable"
	"p2pnode/sums"
)

// directory is what a member keeps of one sum. Only one goroutine uses it, except for the
// uploads.
type directory struct {
	path    string
	journal *os.File

	uploads sync.RWMutex // locked to erase the uploads
	erased  bool
}

// The names of the files in a member's directory of a sum.
const (
	keysName     = "keys"
	journalName  = "journal"
	uploadsName  = "uploads"
	overName     = "over" // the file is empty or holds deadText
	resultName   = "result"
	decisionName = "list"
)

// deadText is in that file if the sum ended before it had a result.
const deadText = "dead\n"

// Forget erases everything that members keep under root; it overwrites keys and journals. A
// member whose database was restored may have continued elsewhere in the sums that it was in,
// so it must not go on here: it is silent in those sums.
func Forget(root string) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		if e.IsDir() {
			err = errors.Join(err, shred(filepath.Join(path, keysName)), shred(filepath.Join(path, journalName)))
		}
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// directoryOf returns the directory in which a member keeps what it has of a sum.
func directoryOf(root string, sum sums.Digest) string {
	return filepath.Join(root, hex.EncodeToString(sum[:16]))
}

// openDirectory makes or finds the directory of a sum.
func openDirectory(root string, sum sums.Digest) (*directory, error) {
	d := &directory{path: directoryOf(root, sum)}
	return d, durable.MkdirAll(filepath.Join(d.path, uploadsName))
}

func (d *directory) name(file string) string { return filepath.Join(d.path, file) }

// begun reports whether the member made keys for the sum in an earlier run.
func (d *directory) begun() bool {
	_, err := os.Stat(d.name(keysName))
	return err == nil
}

// leastRoom is how many bytes a member must have on its disk to begin: its keys and the start of
// its journal take far less.
const leastRoom = 1 << 20

// room returns an error if the disk is known to have no room for that.
func (d *directory) room() error {
	if free := durable.Free(d.path); free >= 0 && free < leastRoom {
		return fmt.Errorf("summing: %d KB are free on the disk of %s, and a member of a committee needs %d to begin: free some (%w)", free>>10, d.path, leastRoom>>10, syscall.ENOSPC)
	}
	return nil
}

// dead reports whether the sum ended without a result.
func (d *directory) dead() bool {
	content, err := os.ReadFile(d.name(overName))
	return err == nil && string(content) == deadText
}

// over reports whether the member's part in the sum ended in an earlier run.
func (d *directory) over() bool { return d.noted() || d.cleared() }

// noted reports whether there is a note that it has ended.
func (d *directory) noted() bool {
	_, err := os.Stat(d.name(overName))
	return err == nil
}

// cleared reports whether there are zeros in place of keys: when they were erased there was no
// room for the note.
func (d *directory) cleared() bool {
	content, err := os.ReadFile(d.name(keysName))
	return err == nil && len(content) > 0 && len(bytes.Trim(content, "\x00")) == 0
}

// secrets reads the keys for the sum, or makes them: they are on disk when it returns.
// closes is when this member wants the sum to close, in Unix seconds. It is stored with
// the keys, and the stored time counts.
func (d *directory) secrets(closes int64) (sums.Secrets, int64, error) {
	b, err := os.ReadFile(d.name(keysName))
	if err == nil {
		content, err := unframe(b)
		if err != nil || len(content) < 8 {
			return sums.Secrets{}, 0, fmt.Errorf("summing: the keys in %s are damaged: delete the directory; this member is then silent in that sum", d.path)
		}
		k, err := sums.ReadSecrets(content[8:])
		return k, int64(binary.BigEndian.Uint64(content)), err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return sums.Secrets{}, 0, err
	}
	k, err := sums.NewSecrets()
	if err != nil {
		return sums.Secrets{}, 0, err
	}
	text, err := k.Bytes()
	if err != nil {
		return sums.Secrets{}, 0, err
	}
	content := append(binary.BigEndian.AppendUint64(nil, uint64(closes)), text...)
	return k, closes, d.write(keysName, frame(content))
}

// write replaces a file in the directory.
func (d *directory) write(file string, content []byte) error {
	return durable.Replace(d.name(file), content)
}

// A frame is a content, preceded by its length and its CRC-32C, 4 bytes each.
const (
	frameHeader = 8
	shortFrame  = 64 << 10 // more than those without a vector or a long list have
	mostLooked  = 1 << 30  // bytes, beside the last frame
)

func frame(content []byte) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, frameHeader+len(content)), uint32(len(content)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
	return append(b, content...)
}

var errFrame = errors.New("summing: damaged")

func unframe(b []byte) ([]byte, error) {
	if len(b) < frameHeader || uint64(binary.BigEndian.Uint32(b)) != uint64(len(b)-frameHeader) {
		return nil, errFrame
	}
	content := b[frameHeader:]
	if crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)) != binary.BigEndian.Uint32(b[4:]) {
		return nil, errFrame
	}
	return content, nil
}

// replay calls visit for the inputs of earlier runs, in order, and opens the journal for
// more. A last frame that is incomplete was never acted on, and is cut off; replay returns
// how many bytes that was. Damage before it is an error: it is unknown what the member has
// said, so it must be silent.
func (d *directory) replay(visit func(sums.Input) error) (cut int, err error) {
	f, err := durable.OpenFile(d.name(journalName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	d.journal = f
	rest, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	end := int64(0)
	for len(rest) > 0 {
		n, in, err := firstInput(rest)
		if errors.Is(err, errTorn) {
			break
		}
		if err == nil {
			err = visit(in)
		}
		if err != nil {
			return 0, fmt.Errorf("summing: the journal %s is damaged, so it is not known what this member has signed: delete the directory; it is then silent in that sum: %w", f.Name(), err)
		}
		rest = rest[n:]
		end += n
	}
	if err := f.Truncate(end); err != nil {
		return 0, err
	}
	_, err = f.Seek(end, io.SeekStart)
	return len(rest), errors.Join(err, f.Sync(), durable.SyncDir(d.path))
}

// errTorn says that a journal ends in a frame that a crash has left incomplete.
var errTorn = errors.New("summing: the last frame is incomplete")

// firstInput decodes the first frame of the rest of a journal, and returns its length. If
// that length is more than there is, or the frame ends there and is not sound, then either a
// crash has torn the journal's end, or the length is damaged. It is damaged if a whole frame
// follows. A file system that wrote later bytes before earlier ones would look the same, and
// so would a message that holds a frame: the member is then silent in that sum, which is safe.
// To look at each place of a long frame that was torn must not take minutes. A frame is looked
// at only if it is short, as nearly all are, or the last one, and so many bytes in all: what
// would take more was made for that, as no honest member's masked numbers do, and the member is
// silent, too.
func firstInput(rest []byte) (n int64, in sums.Input, err error) {
	n, content, err := firstFrame(rest)
	if err == nil {
		in, err = sums.DecodeInput(content)
		return n, in, err
	}
	if n < int64(len(rest)) {
		return n, nil, err
	}
	var looked int64
	for i := 1; i+frameHeader < len(rest); i++ {
		n := frameHeader + int64(binary.BigEndian.Uint32(rest[i:]))
		if n > shortFrame && n != int64(len(rest)-i) {
			continue
		}
		if looked += n; looked > mostLooked+int64(len(rest)) {
			return 0, nil, errFrame
		}
		if _, content, err := firstFrame(rest[i:]); err == nil && len(content) > 0 {
			return 0, nil, errFrame
		}
	}
	return 0, nil, errTorn
}

// firstFrame returns the content of the frame with which b begins. n is how long the frame
// says that it is, which may be more than b has.
func firstFrame(b []byte) (n int64, content []byte, err error) {
	n = frameHeader
	if len(b) >= frameHeader {
		n += int64(binary.BigEndian.Uint32(b))
	}
	content, err = unframe(b[:min(n, int64(len(b)))])
	return n, content, err
}

// append adds an input to the journal. Call sync to make it durable.
func (d *directory) append(in sums.Input) error {
	_, err := d.journal.Write(frame(sums.EncodeInput(in)))
	return err
}

func (d *directory) sync() error { return d.journal.Sync() }

func (d *directory) upload(entry sums.Digest) string {
	return filepath.Join(uploadsName, hex.EncodeToString(entry[:]))
}

// keep stores an upload, unless all uploads were erased.
func (d *directory) keep(entry sums.Digest, upload []byte) error {
	d.uploads.RLock()
	defer d.uploads.RUnlock()
	if d.erased {
		return nil
	}
	return d.write(d.upload(entry), upload)
}

// drop removes an upload that the member does not accept.
func (d *directory) drop(entry sums.Digest) { _ = os.Remove(d.name(d.upload(entry))) }

// read returns an upload that was stored.
func (d *directory) read(entry sums.Digest) ([]byte, error) {
	return os.ReadFile(d.name(d.upload(entry)))
}

// open opens an upload for a peer that fetches it; nil if there is none.
func (d *directory) open(entry sums.Digest) gossip.Blob {
	return gossip.OpenBlob(d.name(d.upload(entry)), gossip.MaxBlob)
}

// erase removes everything that could open a contribution, and notes that the sum is over. It
// writes the note first, so that no new keys are made after a crash. If the disk has no room for
// the note, zeros in place of the keys say so, until there is: without the uploads and the
// journal there mostly is.
func (d *directory) erase(dead bool) error {
	d.uploads.Lock()
	d.erased = true
	err := os.RemoveAll(d.name(uploadsName))
	d.uploads.Unlock()
	if d.note(dead) != nil {
		if err := zero(d.name(keysName)); err != nil {
			return err
		}
		err = errors.Join(err, d.close(), shred(d.name(journalName)))
		if again := d.note(dead); again != nil {
			return errors.Join(err, again)
		}
	}
	return errors.Join(err, d.close(), shred(d.name(keysName)), shred(d.name(journalName)), durable.SyncDir(d.path))
}

// note notes that the sum is over, unless that was noted already.
func (d *directory) note(dead bool) error {
	var text []byte
	if dead {
		text = []byte(deadText)
	}
	if d.noted() {
		return nil
	}
	return d.write(overName, text)
}

// close closes the journal, if it is open.
func (d *directory) close() error {
	if d.journal == nil {
		return nil
	}
	err := d.journal.Close()
	d.journal = nil
	return err
}

// shred overwrites a file and removes it. It is no error if there is none.
func shred(path string) error {
	err := zero(path)
	if gone := os.Remove(path); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}

// zero overwrites a file. It is no error if there is none.
func zero(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(durable.Clear(f), f.Close())
}

// Holding is what a member keeps of a sum under its root.
type Holding struct {
	Name          string    // of the directory; the sum's name begins with it
	Made          time.Time // when the keys were made; zero: there are none
	Over          bool      // the keys are erased and will not be made again
	Contributions int       // how many are stored, including the noise of members
}

// Holdings lists what a member keeps under root, sorted by name. The member may be
// running.
func Holdings(root string) ([]Holding, error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []Holding
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		d := directory{path: filepath.Join(root, e.Name())}
		h := Holding{Name: e.Name(), Over: d.over()}
		if info, err := os.Stat(d.name(keysName)); err == nil {
			h.Made = info.ModTime()
		}
		if uploads, err := os.ReadDir(d.name(uploadsName)); err == nil { // otherwise they are erased
			h.Contributions = len(uploads)
		}
		list = append(list, h)
	}
	return list, err
}
