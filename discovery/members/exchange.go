package members

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// An exchange is the same for both ends: each says which list it has, and the end with
// the newer list sends it.
//
//	hello: version, 8 bytes, 0 without a list; SHA-256 of its content, 32 bytes
//	list:  length, 4 bytes; the text
//
// Numbers are big endian.

// hello says which list an end has.
type hello struct {
	Version uint64
	Digest  [sha256.Size]byte
}

func helloOf(s *Signed) hello {
	if s == nil {
		return hello{}
	}
	return hello{s.Version, s.digest}
}

// newer reports whether this end's list replaces the other's; see [List].
func (h hello) newer(other hello) bool {
	return h.Version > other.Version || h.Version == other.Version && bytes.Compare(h.Digest[:], other.Digest[:]) > 0
}

// errLiar says that the peer sent something that no honest peer has.
var errLiar = errors.New("members: the peer's list is not valid")

// errStranger says that the peer is not a member any more.
var errStranger = errors.New("members: the peer is not on the list")

// exchange gives both ends of a stream the newer list and closes the stream. A peer gets a
// list only if it is on it.
func (s *spreader) exchange(stream network.Stream, mine *Signed) error {
	if mine != nil && !mine.Admits(stream.Conn().RemotePeer(), time.Now()) {
		return errors.Join(errStranger, stream.Reset())
	}
	defer context.AfterFunc(s.ctx, func() { _ = stream.Reset() })()
	if err := stream.SetDeadline(time.Now().Add(s.timeout)); err != nil {
		return errors.Join(err, stream.Reset())
	}
	err := trade(stream, mine, func(from io.Reader, promised hello) error {
		select {
		case s.receiving <- struct{}{}:
			defer func() { <-s.receiving }()
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
		// The wait for a place is not held against the peer: others had the places.
		if err := stream.SetReadDeadline(time.Now().Add(s.timeout)); err != nil {
			return err
		}
		return s.take(from, promised)
	})
	if errors.Is(err, errLiar) {
		s.suspect(stream.Conn().RemotePeer())
		s.book.log.Warn("a peer's membership list is not believed", "peer", stream.Conn().RemotePeer(), "error", err)
	}
	if err != nil {
		return errors.Join(err, stream.Reset())
	}
	s.book.refused.drop(func(p peer.ID) bool { return p == stream.Conn().RemotePeer() })
	return stream.Close()
}

// trade makes an exchange. take reads the text of a newer list that the other end has
// announced.
func trade(stream io.ReadWriter, mine *Signed, take func(io.Reader, hello) error) error {
	have := helloOf(mine)
	if err := binary.Write(stream, binary.BigEndian, have); err != nil {
		return err
	}
	var theirs hello
	if err := binary.Read(stream, binary.BigEndian, &theirs); err != nil {
		return err
	}
	switch {
	case theirs.newer(have):
		return take(stream, theirs)
	case have.newer(theirs):
		text := binary.BigEndian.AppendUint32(nil, uint32(len(mine.Text)))
		_, err := stream.Write(append(text, mine.Text...))
		return err
	}
	return nil
}

// take receives a list unless another peer has brought it meanwhile: after a change
// all neighbours offer it at once.
func (s *spreader) take(from io.Reader, promised hello) error {
	if !promised.newer(helloOf(s.book.List())) {
		return nil
	}
	text, err := readText(from)
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return fmt.Errorf("%w: it was announced and did not come", errLiar) // it holds a place
	}
	if err != nil {
		return err
	}
	list, err := s.book.parse(text)
	if err != nil {
		return fmt.Errorf("%w: %w", errLiar, err)
	}
	if helloOf(list) != promised {
		return fmt.Errorf("%w: it announced version %d and sent version %d", errLiar, promised.Version, list.Version)
	}
	if _, err := s.book.take(list); err != nil && !errors.Is(err, ErrOlder) {
		s.book.log.Error("a newer membership list cannot be stored, and does not count", "error", err)
		return err
	}
	return nil
}

// readText reads a list in pieces, so that a false length costs no memory.
func readText(from io.Reader) ([]byte, error) {
	var length uint32
	if err := binary.Read(from, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	if length > MaxText {
		return nil, fmt.Errorf("%w: it has more than %d bytes", errLiar, MaxText)
	}
	var text bytes.Buffer
	if _, err := io.CopyN(&text, from, int64(length)); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}
