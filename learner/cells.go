package learner

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strconv"
)

// Note says how the coder took a cell.
type Note uint8

// The notes. A cell has one.
const (
	Taken   Note = iota // unchanged
	Empty               // the cell says that there is no value, and counts as unknown
	Clamped             // a number outside the task's range, which counts as the nearest end
	Unknown             // a text that is none of the task's values, which counts as no value
)

// String is the word for the note, and empty for Taken.
func (n Note) String() string {
	switch n {
	case Empty:
		return "empty"
	case Clamped:
		return "clamped"
	case Unknown:
		return "unknown"
	}
	return ""
}

// Cell is what an owner wrote in one column, and how the coder took it.
type Cell struct {
	Text string
	Note Note
}

// Cells are the cells of a row, in the order of the task's columns, the target last if
// the row has one. Nothing is learned from them: they are kept so that owners can read
// their records in their own units. They are packed into one string, so that a row
// takes one piece of memory; the zero value is a row whose cells are not known.
//
// A cell is packed as a varint, 4 n + note, followed by the n - 1 bytes of its text.
// With n = 0 the eight bytes of a number follow, whose shortest text is the cell.
type Cells string

// All returns the cells in order.
func (c Cells) All() iter.Seq2[int, Cell] {
	return func(yield func(int, Cell) bool) {
		unpack(c, func(i int, note Note, number bool, data Cells) bool {
			if number {
				v := math.Float64frombits(binary.LittleEndian.Uint64([]byte(data)))
				return yield(i, Cell{numberText(v), note})
			}
			return yield(i, Cell{string(data), note})
		})
	}
}

// unpack calls visit for each packed cell until visit returns false. data is the text
// or, for a number, its bytes. It allocates no memory, and stops at bytes that are not
// packed cells.
func unpack[T ~string | ~[]byte](packed T, visit func(i int, note Note, number bool, data T) bool) {
	at := 0
	for i := 0; at < len(packed); i++ {
		var head uint64
		for shift := 0; ; shift += 7 {
			if at == len(packed) || shift > 56 {
				return
			}
			b := packed[at]
			at++
			if head |= uint64(b&0x7f) << shift; b < 0x80 {
				break
			}
		}
		length, number := head>>2-1, head>>2 == 0
		if number {
			length = 8
		}
		if length > uint64(len(packed)-at) {
			return
		}
		end := at + int(length)
		if !visit(i, Note(head&3), number, packed[at:end]) {
			return
		}
		at = end
	}
}

// cellWriter packs cells.
type cellWriter struct{ data []byte }

func newCellWriter(t *Task) *cellWriter {
	return &cellWriter{make([]byte, 0, 9*(len(t.Features)+1))}
}

func (w *cellWriter) add(text string, note Note) {
	if len(text) > 8 {
		if v, err := strconv.ParseFloat(text, 64); err == nil && numberText(v) == text {
			w.data = binary.AppendUvarint(w.data, uint64(note))
			w.data = binary.LittleEndian.AppendUint64(w.data, math.Float64bits(v))
			return
		}
	}
	w.data = binary.AppendUvarint(w.data, uint64(len(text)+1)<<2|uint64(note))
	w.data = append(w.data, text...)
}

// addNumber is add for the shortest text of v.
func (w *cellWriter) addNumber(v float64, note Note) {
	var text [32]byte
	if n := len(strconv.AppendFloat(text[:0], v, 'g', -1, 64)); n > 8 && !math.IsNaN(v) {
		w.data = binary.AppendUvarint(w.data, uint64(note))
		w.data = binary.LittleEndian.AppendUint64(w.data, math.Float64bits(v))
		return
	}
	w.add(numberText(v), note)
}

func (w *cellWriter) cells() Cells { return Cells(w.data) }

// Tally counts, for each column of the task, the cells that were not taken unchanged.
type Tally []struct{ Empty, Clamped, Unknown int }

// Add counts the cells of a row.
func (t *Tally) Add(c Cells) { tally(t, c) }

// AddPacked is Add for [Cells] given as bytes.
func (t *Tally) AddPacked(c []byte) { tally(t, c) }

func tally[T ~string | ~[]byte](t *Tally, packed T) {
	unpack(packed, func(i int, note Note, _ bool, _ T) bool {
		if note == Taken {
			return true
		}
		t.grow(i + 1)
		switch column := &(*t)[i]; note {
		case Empty:
			column.Empty++
		case Clamped:
			column.Clamped++
		case Unknown:
			column.Unknown++
		}
		return true
	})
}

func (t *Tally) grow(columns int) {
	for len(*t) < columns {
		*t = append(*t, struct{ Empty, Clamped, Unknown int }{})
	}
}

// Plus returns the sum of two tallies and changes neither.
func (t Tally) Plus(u Tally) Tally {
	sum := slices.Clone(t)
	sum.grow(len(u))
	for i, c := range u {
		sum[i].Empty += c.Empty
		sum[i].Clamped += c.Clamped
		sum[i].Unknown += c.Unknown
	}
	return sum
}

// Minus returns t without the cells counted in u, which must be among those counted in
// t.
func (t Tally) Minus(u Tally) Tally {
	rest := slices.Clone(t)
	rest.grow(len(u))
	for i, c := range u {
		rest[i].Empty -= c.Empty
		rest[i].Clamped -= c.Clamped
		rest[i].Unknown -= c.Unknown
	}
	return rest
}

// ColumnTally is what a [Tally] counted in one column.
type ColumnTally struct {
	Column  string `json:"column"`
	Clamped int    `json:"clamped"` // numbers outside the task's range, taken for its nearest end
	Unknown int    `json:"unknown"` // texts that are none of the task's values, taken for none
	Empty   int    `json:"empty"`   // cells without a value, taken for unknown
}

// Tally lists the columns in which cells were counted, in the task's order. Cells beyond them,
// which only a damaged store has, are left out.
func (t *Task) Tally(counted Tally) []ColumnTally {
	columns, names := []ColumnTally{}, t.Columns()
	for i, c := range counted[:min(len(counted), len(names))] {
		if c.Empty+c.Clamped+c.Unknown > 0 {
			columns = append(columns, ColumnTally{names[i], c.Clamped, c.Unknown, c.Empty})
		}
	}
	return columns
}

// Coordinates returns the names of a record's coordinates, in order.
func (t *Task) Coordinates() []string {
	var names []string
	for i := range t.Features {
		if f := &t.Features[i]; f.kind().names != nil {
			names = append(names, f.kind().names(f)...)
		} else if f.width() == 1 {
			names = append(names, f.Name)
		}
	}
	names = append(names, t.Map.names()...)
	if t.Constant > 0 {
		names = append(names, "constant")
	}
	return names
}
