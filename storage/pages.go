package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"go.etcd.io/bbolt"
)

// pageWalk reads the pages of a bbolt file with plain file reads and checks them. bbolt
// trusts the pages: one damaged bit can send it into an endless loop that uses up memory,
// or to an address outside the file, and its own Check behaves the same. The layout
// (version 2 of bbolt's format, native byte order) is defined in its package
// internal/common.
//
// Loops over all records read this way too. bbolt reads through a memory map, and each
// page that is read counts as memory of this process.
type pageWalk struct {
	file  io.ReaderAt
	size  int                           // bytes of a page
	limit uint64                        // number of pages
	used  []bool                        // the pages that the walk has reached
	from  []byte                        // the first key to visit
	visit func(key, value []byte) error // called for the leaves, in order; its arguments are valid until it returns; nil: not called

	levels []walkLevel // reused memory, by depth
}

// walkLevel is one page on the way down.
type walkLevel struct {
	page     []byte
	elements []pageElement
}

// pageElement is a key with its value or, in a branch, the page below it.
type pageElement struct {
	key, value []byte
	below      uint64
	bucket     bool // the value is a bucket
}

const (
	pageHeader   = 8 + 2 + 2 + 4                   // number, kind, elements, further pages it spans
	elementSize  = 16                              // of either kind
	bucketHeader = 8 + 8                           // root page or 0, a counter
	metaFreelist = pageHeader + 4*4 + bucketHeader // where a meta page has the page number of the free list

	branchPage   = 1
	leafPage     = 2
	freelistPage = 16

	newFile = 4 // pages of a new file: two of meta, the free list, an empty root
)

func newPageWalk(tx *bbolt.Tx, file io.ReaderAt) *pageWalk {
	size := tx.DB().Info().PageSize
	return walkOf(file, size, uint64(tx.Size())/uint64(size))
}

func walkOf(file io.ReaderAt, size int, pages uint64) *pageWalk {
	return &pageWalk{file: file, size: size, limit: pages, used: make([]bool, pages)}
}

// checkPages verifies that every page below the root is reached once, has the form of
// its kind and has its keys in order, and that every other page is listed as free. A page
// that is both used and free would be overwritten; one that is neither has been lost.
func checkPages(tx *bbolt.Tx, file io.ReaderAt) error {
	w := newPageWalk(tx, file)
	if err := w.tree(uint64(tx.Cursor().Bucket().Root()), nil, nil, 0); err != nil {
		return err
	}
	free, err := w.free(tx)
	if err != nil {
		return err
	}
	for number := uint64(2); number < w.limit; number++ {
		if free[number] == w.used[number] {
			return fmt.Errorf("%w: page %d is both used and free, or neither", ErrDamaged, number)
		}
	}
	return nil
}

// scan calls visit for each key of a bucket from the given one on, in order, with the
// sealed value. Key and value are valid until visit returns.
func scan(tx *bbolt.Tx, file io.ReaderAt, bucket, from []byte, visit func(key, sealed []byte) error) error {
	b := tx.Bucket(bucket)
	if b == nil {
		return fmt.Errorf("%w: a bucket is missing", ErrDamaged)
	}
	w := newPageWalk(tx, file)
	w.from, w.visit = from, visit
	if b.Root() == 0 { // a small bucket lies in its parent's page
		return b.ForEach(w.leaf)
	}
	return w.tree(uint64(b.Root()), nil, nil, 0)
}

// free returns which pages were free when the last transaction was committed, and
// marks those of the list itself as used.
func (w *pageWalk) free(tx *bbolt.Tx) ([]bool, error) {
	last := tx.ID()
	if tx.Writable() {
		last--
	}
	meta := make([]byte, metaFreelist+8)
	if err := w.read(meta, uint64(last%2)); err != nil {
		return nil, err
	}
	page, err := w.load(binary.NativeEndian.Uint64(meta[metaFreelist:]), 0)
	if err != nil {
		return nil, err
	}
	malformed := fmt.Errorf("%w: the list of free pages has the wrong form", ErrDamaged)
	count, list := uint64(binary.NativeEndian.Uint16(page[10:])), page[pageHeader:]
	if count == math.MaxUint16 { // there are more, and the first number of the list says how many
		count, list = binary.NativeEndian.Uint64(list), list[8:]
	}
	if binary.NativeEndian.Uint16(page[8:]) != freelistPage || count > uint64(len(list)/8) {
		return nil, malformed
	}
	free := make([]bool, w.limit)
	for i := range count {
		number := binary.NativeEndian.Uint64(list[8*i:])
		if number < 2 || number >= w.limit || free[number] {
			return nil, malformed
		}
		free[number] = true
	}
	return free, nil
}

// load reads a page together with the pages that it spans, marks them as used and returns
// the bytes. They are valid until another page is loaded at this depth.
func (w *pageWalk) load(number uint64, depth int) ([]byte, error) {
	if number < 2 || number >= w.limit { // 0 and 1 are the meta pages
		return nil, fmt.Errorf("%w: there is no page %d", ErrDamaged, number)
	}
	l := w.level(depth)
	l.page = slices.Grow(l.page[:0], w.size)[:w.size]
	if err := w.read(l.page, number); err != nil {
		return nil, err
	}
	further := uint64(binary.NativeEndian.Uint32(l.page[12:]))
	if binary.NativeEndian.Uint64(l.page) != number || further >= w.limit-number {
		return nil, fmt.Errorf("%w: page %d carries another number", ErrDamaged, number)
	}
	for n := number; n <= number+further; n++ {
		if w.used[n] {
			return nil, fmt.Errorf("%w: page %d is used twice", ErrDamaged, n)
		}
		w.used[n] = true
	}
	if further > 0 {
		all := int(1+further) * w.size
		l.page = slices.Grow(l.page, all-w.size)[:all]
		if err := w.read(l.page[w.size:], number+1); err != nil {
			return nil, err
		}
	}
	return l.page, nil
}

func (w *pageWalk) level(depth int) *walkLevel {
	for len(w.levels) <= depth {
		w.levels = append(w.levels, walkLevel{})
	}
	return &w.levels[depth]
}

func (w *pageWalk) read(p []byte, number uint64) error {
	if _, err := w.file.ReadAt(p, int64(number)*int64(w.size)); err == io.EOF {
		return fmt.Errorf("%w: it ends before page %d does", ErrDamaged, number)
	} else if err != nil {
		return fmt.Errorf("storage: read page %d: %w", number, err)
	}
	return nil
}

// tree walks a page and all pages below it. The page's keys must be at or above low and
// below high; nil means no bound.
func (w *pageWalk) tree(number uint64, low, high []byte, depth int) error {
	page, err := w.load(number, depth)
	if err != nil {
		return err
	}
	return w.page(page, low, high, depth)
}

// page walks the contents of a page, or of the small bucket kept inside one.
func (w *pageWalk) page(page, low, high []byte, depth int) error {
	elements, err := w.elements(page, low, high, depth)
	if err != nil {
		return err
	}
	for i, e := range elements {
		switch {
		case e.below > 0:
			below := high
			if i+1 < len(elements) {
				below = elements[i+1].key
			}
			if below == nil || bytes.Compare(w.from, below) < 0 {
				err = w.tree(e.below, e.key, below, depth+1)
			}
		case e.bucket:
			err = w.bucket(e.value, depth+1)
		default:
			err = w.leaf(e.key, e.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *pageWalk) leaf(key, value []byte) error {
	if w.visit == nil || bytes.Compare(key, w.from) < 0 {
		return nil
	}
	return w.visit(key, value)
}

// elements returns the elements of a page. Their keys must be in order and within the
// bounds.
func (w *pageWalk) elements(page, low, high []byte, depth int) ([]pageElement, error) {
	kind, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
	end := pageHeader + count*elementSize
	empty := len(page) == pageHeader || w.limit == newFile
	if (kind != leafPage && kind != branchPage) || end > len(page) || (count == 0 && !empty) {
		return nil, fmt.Errorf("%w: a page has the wrong form", ErrDamaged)
	}
	out := w.level(depth).elements[:0]
	for i := range count {
		at := pageHeader + i*elementSize
		key, value, err := elementBytes(page, at, kind, end)
		if err != nil {
			return nil, err
		}
		end += len(key) + len(value)
		ordered := bytes.Compare(low, key) <= 0 && (high == nil || bytes.Compare(key, high) < 0)
		if !ordered || (i > 0 && bytes.Equal(low, key)) {
			return nil, fmt.Errorf("%w: the keys of a page are out of order", ErrDamaged)
		}
		low = key
		e := pageElement{key: key, value: value}
		if kind == branchPage {
			if e.below = binary.NativeEndian.Uint64(page[at+8:]); e.below == 0 {
				return nil, fmt.Errorf("%w: there is no page 0", ErrDamaged)
			}
		} else {
			e.bucket = page[at]&1 != 0
		}
		out = append(out, e)
	}
	w.level(depth).elements = out
	return out, nil
}

// elementBytes returns the key and value of the element at the given place. An element
// says where its bytes are. They must follow each other from start on without gaps, as
// bbolt packs them, so that a wrong number of elements cannot hide any.
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

func (w *pageWalk) bucket(value []byte, depth int) error {
	if len(value) < bucketHeader {
		return fmt.Errorf("%w: a bucket is too short", ErrDamaged)
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return w.tree(root, nil, nil, depth)
	}
	inside := value[bucketHeader:]
	if len(inside) < pageHeader || binary.NativeEndian.Uint16(inside[8:]) != leafPage {
		return fmt.Errorf("%w: a small bucket has the wrong form", ErrDamaged)
	}
	return w.page(inside, nil, nil, depth)
}
