package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"go.etcd.io/bbolt"
)

// pageWalk checks the pages of a bbolt file before bbolt follows them. bbolt
// trusts what it reads: one damaged bit can send it round in a circle until
// memory is used up, or to memory that is not there, and its own Check does the
// same. The layout (version 2 of bbolt's format, native byte order) is that of
// its package internal/common.
type pageWalk struct {
	file  io.ReaderAt
	size  int             // bytes of a page
	limit uint64          // number of pages
	used  map[uint64]bool // pages reached
}

const (
	pageHeader   = 8 + 2 + 2 + 4 // number, kind, elements, further pages it spans
	pageElement  = 16            // of either kind
	bucketHeader = 8 + 8         // root page or 0, a counter

	branchPage = 1
	leafPage   = 2

	newFile = 4 // pages: two of meta, the free list, an empty root
)

// checkPages verifies that every page below the root is reached once and holds
// what its kind must hold with its keys in order, and that of the others each
// is listed as free: one that is both would be overwritten, one that is neither
// has been cut off.
func checkPages(tx *bbolt.Tx, file io.ReaderAt) error {
	size := tx.DB().Info().PageSize
	w := &pageWalk{file: file, size: size, limit: uint64(tx.Size()) / uint64(size), used: make(map[uint64]bool)}
	if err := w.tree(uint64(tx.Cursor().Bucket().Root()), nil, nil); err != nil {
		return err
	}
	for number := uint64(2); number < w.limit; number++ {
		info, err := tx.Page(int(number))
		if err != nil {
			return err
		}
		if info.Type == "freelist" && !w.used[number] {
			number += uint64(info.OverflowCount)
			continue
		}
		if (info.Type == "free") == w.used[number] {
			return fmt.Errorf("%w: page %d is both used and free, or neither", ErrDamaged, number)
		}
	}
	return nil
}

// tree checks a page and all below it. Its keys must be at or above low and
// below high; nil is no bound.
func (w *pageWalk) tree(number uint64, low, high []byte) error {
	if number < 2 || number >= w.limit { // 0 and 1 are the meta pages
		return fmt.Errorf("%w: there is no page %d", ErrDamaged, number)
	}
	var header [pageHeader]byte
	if err := w.read(header[:], number); err != nil {
		return err
	}
	further := uint64(binary.NativeEndian.Uint32(header[12:]))
	if binary.NativeEndian.Uint64(header[:]) != number || further >= w.limit-number {
		return fmt.Errorf("%w: page %d is another one", ErrDamaged, number)
	}
	for n := number; n <= number+further; n++ {
		if w.used[n] {
			return fmt.Errorf("%w: page %d is used twice", ErrDamaged, n)
		}
		w.used[n] = true
	}
	page := make([]byte, (1+further)*uint64(w.size))
	if err := w.read(page, number); err != nil {
		return err
	}
	return w.page(page, low, high)
}

func (w *pageWalk) read(p []byte, number uint64) error {
	if _, err := w.file.ReadAt(p, int64(number)*int64(w.size)); err == io.EOF {
		return fmt.Errorf("%w: it ends before page %d does", ErrDamaged, number)
	} else if err != nil {
		return fmt.Errorf("storage: read page %d: %w", number, err)
	}
	return nil
}

// page checks the contents of a page, or of the small bucket kept inside one.
func (w *pageWalk) page(page, low, high []byte) error {
	kind, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	end := pageHeader + count*pageElement
	empty := len(page) == pageHeader || w.limit == newFile
	if (kind != leafPage && kind != branchPage) || end > len(page) || (count == 0 && !empty) {
		return fmt.Errorf("%w: a page has the wrong form", ErrDamaged)
	}
	keys, values := make([][]byte, count), make([][]byte, count)
	for i := range count {
		key, value, err := elementBytes(page, pageHeader+i*pageElement, kind, end)
		if err != nil {
			return err
		}
		end += len(key) + len(value)
		ordered := bytes.Compare(low, key) <= 0 && (high == nil || bytes.Compare(key, high) < 0)
		if !ordered || (i > 0 && bytes.Equal(low, key)) {
			return fmt.Errorf("%w: the keys of a page are out of order", ErrDamaged)
		}
		low, keys[i], values[i] = key, key, value
	}
	for i, key := range keys {
		at := page[pageHeader+i*pageElement:]
		var err error
		if kind == branchPage {
			below := high
			if i+1 < count {
				below = keys[i+1]
			}
			err = w.tree(binary.NativeEndian.Uint64(at[8:]), key, below)
		} else if at[0]&1 != 0 { // the value is a bucket
			err = w.bucket(values[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// elementBytes returns the key and value of the element at the given place. It
// says itself where they are, but bbolt packs them from start on without gaps:
// so a wrong number of elements cannot hide any.
func elementBytes(page []byte, at int, kind uint16, start int) (key, value []byte, err error) {
	word := func(i int) uint64 { return uint64(binary.NativeEndian.Uint32(page[at+4*i:])) }
	from, keySize, valueSize := word(0), word(1), uint64(0)
	if kind == leafPage {
		from, keySize, valueSize = word(1), word(2), word(3)
	}
	if uint64(at)+from != uint64(start) || keySize == 0 || keySize+valueSize > uint64(len(page)-start) {
		return nil, nil, fmt.Errorf("%w: a value is not in its place", ErrDamaged)
	}
	middle := start + int(keySize)
	return page[start:middle], page[middle : middle+int(valueSize)], nil
}

func (w *pageWalk) bucket(value []byte) error {
	if len(value) < bucketHeader {
		return fmt.Errorf("%w: a bucket is too short", ErrDamaged)
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return w.tree(root, nil, nil)
	}
	inside := value[bucketHeader:]
	if len(inside) < pageHeader || binary.NativeEndian.Uint16(inside[8:]) != leafPage {
		return fmt.Errorf("%w: a small bucket has the wrong form", ErrDamaged)
	}
	return w.page(inside, nil, nil)
}
