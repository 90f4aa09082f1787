package node

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
)

// spoolPart is how many bytes are written between two checks of the disk.
const spoolPart = 1 << 20

// spool is a file in the data directory that holds what one end sends until the other end
// takes it, so that nothing is locked while either is slow.
type spool struct{ *os.File }

// newSpool makes a spool. Where the system allows it the file has no name from then on, so
// that a crash leaves nothing behind.
func (n *Node) newSpool() (spool, error) {
	f, err := os.CreateTemp(n.dir, datadir.SpoolPrefix+"*")
	if err != nil {
		return spool{}, fmt.Errorf("node: %w", err)
	}
	_ = os.Remove(f.Name()) // drop tries again
	return spool{f}, nil
}

// drop closes the spool and removes it.
func (s spool) drop() error {
	err := s.Close()
	if removed := os.Remove(s.Name()); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// keeping remembers why something could not be written.
type keeping struct {
	to  io.Writer
	err error
}

// Write implements [io.Writer].
func (k *keeping) Write(p []byte) (n int, err error) {
	n, k.err = k.to.Write(p)
	return n, k.err
}

// Receive writes all that r sends to a file on the disk, for a caller of [Node.Import] that
// must hold nothing while r is slow. drop removes the file. It fails with the [api.ErrRequest] of
// Import as soon as the start of r shows that r is no file of the task's records, and takes no more.
func (n *Node) Receive(r io.Reader, o api.ImportOptions) (whole io.ReadSeeker, drop func() error, err error) {
	s, err := n.newSpool()
	if err != nil {
		return nil, nil, err
	}
	if err := n.receive(s, r, o.ID); err != nil {
		return nil, nil, errors.Join(err, s.drop())
	}
	return s, s.drop, nil
}

// receive fills a spool with all that r sends, while there is room on the disk, and goes
// back to its start.
func (n *Node) receive(s spool, r io.Reader, id string) error {
	if err := n.space(); err != nil {
		return err
	}
	kept := keeping{to: s}
	if _, err := openRecords(io.TeeReader(r, &kept), n.files.Task, id); err != nil {
		if kept.err != nil { // the sender's rows are not to blame
			return fmt.Errorf("node: receive the file: %w", kept.err)
		}
		return err
	}
	for {
		if err := n.space(); err != nil {
			return err
		}
		if _, err := io.CopyN(s, r, spoolPart); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("node: receive the file: %w", err)
		}
	}
	_, err := s.Seek(0, io.SeekStart)
	return err
}
