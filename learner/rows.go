package learner

import (
	"iter"
	"slices"

	"gonum.org/v1/gonum/mat"

	"p2pnode/privacy"
)

// Rows are records in few pieces of memory, in the order in which they were added. A
// million records of ten features, kept one by one, need as much memory for their
// headers as for their content. The zero value has no records. Rows are not safe for
// concurrent use, except for the results of [Rows.Snapshot].
type Rows struct {
	pieces []piece
}

// piece holds some records, whose features lie one after the other. Its records never
// change; new ones are appended.
type piece struct {
	seq    []Seq
	cohort []privacy.Cohort
	y      []float64
	x      []float64
	key    []uint64 // nil: no record has one
}

// pieceRows is how many records a piece takes: few enough for a processor's cache, and
// enough that adding up piece by piece costs no more than adding up one large piece.
const pieceRows = 1024

// pieceOf is how many records with so many features a piece takes. It is fewer for wide
// ones, because a piece is allocated at once, and a multiple of the block size of
// matrix multiplication.
func pieceOf(width int) int {
	const numbers, block = 1 << 20, 64
	return min(pieceRows, max(block, numbers/max(width, 1)/block*block))
}

// RowsOf returns rows with these records.
func RowsOf(records []Record) *Rows {
	r := new(Rows)
	for i, record := range records {
		if rows := pieceOf(len(record.X)); i%rows == 0 {
			r.pieces = append(r.pieces, newPiece(min(rows, len(records)-i), len(record.X)))
		}
		r.Add(record)
	}
	return r
}

// newPiece returns a piece with room for n records of so many features.
func newPiece(n, width int) piece {
	return piece{seq: make([]Seq, 0, n), cohort: make([]privacy.Cohort, 0, n), y: make([]float64, 0, n), x: make([]float64, 0, n*width)}
}

// Add adds a copy of a record, which must have as many features as the others, and
// returns it. Its X lies in the memory of the rows, and stays unchanged whatever
// happens to them.
func (r *Rows) Add(record Record) Record {
	switch n := len(r.pieces); {
	case n == 0:
		r.pieces = append(r.pieces, piece{})
	case len(r.pieces[n-1].y) >= pieceOf(len(record.X)):
		// The piece is allocated at once: if it grew, a caller that keeps a record
		// would keep every array that the record was ever in.
		r.pieces = append(r.pieces, newPiece(pieceOf(len(record.X)), len(record.X)))
	}
	p := &r.pieces[len(r.pieces)-1]
	p.seq, p.cohort = append(p.seq, record.Seq), append(p.cohort, record.Cohort)
	if record.Key != 0 && p.key == nil {
		p.key = make([]uint64, len(p.y), cap(p.y))
	}
	if p.key != nil {
		p.key = append(p.key, record.Key)
	}
	p.y, p.x = append(p.y, record.Y), append(p.x, record.X...)
	return p.record(len(p.y) - 1)
}

// Drop takes out the records with these numbers.
func (r *Rows) Drop(drop []Seq) {
	gone := make(map[Seq]bool, len(drop))
	for _, q := range drop {
		gone[q] = true
	}
	r.pieces = slices.Clone(r.pieces)
	for i := range r.pieces {
		p := &r.pieces[i]
		if !slices.ContainsFunc(p.seq, func(q Seq) bool { return gone[q] }) {
			continue
		}
		var stay Rows
		for record := range p.records {
			if !gone[record.Seq] {
				stay.Add(record)
			}
		}
		*p = piece{}
		if stay.Len() > 0 {
			*p = stay.pieces[0]
		}
	}
	r.pieces = slices.DeleteFunc(r.pieces, func(p piece) bool { return len(p.y) == 0 })
}

// Snapshot returns the rows as they are now, for example for another goroutine: adding
// or dropping records later does not change it.
func (r *Rows) Snapshot() *Rows { return &Rows{slices.Clone(r.pieces)} }

// Len is how many records there are.
func (r *Rows) Len() (n int) {
	for i := range r.pieces {
		n += len(r.pieces[i].y)
	}
	return n
}

// All returns the records in order. Their X lies in the memory of the rows.
func (r *Rows) All() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for i := range r.pieces {
			for record := range r.pieces[i].records {
				if !yield(record) {
					return
				}
			}
		}
	}
}

// labels are the records' Y in order.
func (r *Rows) labels() []float64 {
	y := make([]float64, 0, r.Len())
	for i := range r.pieces {
		y = append(y, r.pieces[i].y...)
	}
	return y
}

// width is how many features a record has, and 0 without records.
func (r *Rows) width() int {
	if len(r.pieces) == 0 {
		return 0
	}
	return len(r.pieces[0].x) / len(r.pieces[0].y)
}

func (p *piece) records(yield func(Record) bool) {
	for i := range p.y {
		if !yield(p.record(i)) {
			return
		}
	}
}

func (p *piece) record(i int) Record {
	width := len(p.x) / len(p.y)
	r := Record{Seq: p.seq[i], Cohort: p.cohort[i], Y: p.y[i], X: p.x[i*width : (i+1)*width : (i+1)*width]}
	if p.key != nil {
		r.Key = p.key[i]
	}
	return r
}

// matrix returns the features as a matrix, one row for each record.
func (p *piece) matrix() *mat.Dense { return mat.NewDense(len(p.y), len(p.x)/len(p.y), p.x) }
