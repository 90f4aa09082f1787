package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"p2pnode/internal/durable"
)

// The anchor file holds the head of the ledger's chain outside the database. It has two
// slots, which are written in turn: sequence (8), CRC (4), little endian, sealed. If a
// power failure tears a write, the other slot is whole and only older, which is allowed:
// an anchor may be behind its ledger. Writing a slot in place takes a third of the time
// of replacing the file and syncing its directory.
const (
	anchorSlots    = 2
	anchorSlotSize = 8 + 4 + crcSize
)

func anchorPath(path string) string { return path + ".anchor" }

// anchor is the content of an anchor file.
type anchor struct {
	head  link
	slot  int  // the slot that holds head; the other one is written next
	found bool // a slot is readable
	cut   bool // the file is shorter than its slots, which no crash causes
}

// writeAnchor returns after the slot is on disk. The directory entry of a new
// file needs [durable.SyncDir] too.
func writeAnchor(path string, slot int, head link) error {
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(encodeAnchor(head), int64(slot*anchorSlotSize))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// readAnchor returns the newest head in the file. Its found is false if no slot is
// readable or the file does not exist.
func readAnchor(path string) (a anchor, err error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return anchor{}, fmt.Errorf("storage: read the anchor: %w", err)
	}
	a.cut = err == nil && len(data) < anchorSlots*anchorSlotSize
	for i := range anchorSlots {
		slot := data[:min(anchorSlotSize, len(data))]
		data = data[len(slot):]
		if l, err := decodeAnchor(slot); err == nil && (!a.found || l.sequence > a.head.sequence) {
			a.head, a.slot, a.found = l, i, true
		}
	}
	return a, nil
}

func encodeAnchor(head link) []byte {
	data := binary.LittleEndian.AppendUint64(nil, head.sequence)
	return seal(nil, binary.LittleEndian.AppendUint32(data, head.crc))
}

func decodeAnchor(slot []byte) (link, error) {
	data, err := unseal(nil, slot)
	if err != nil {
		return link{}, err
	}
	if len(data) != anchorSlotSize-crcSize {
		return link{}, ErrDamaged
	}
	return link{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint32(data[8:])}, nil
}
