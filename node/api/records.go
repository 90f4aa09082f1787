package api

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"p2pnode/learner"
	"p2pnode/privacy"
	"p2pnode/storage"
)

// RecordInfo is where one record stands; its content only if that was asked for.
type RecordInfo struct {
	Number  learner.Seq    `json:"number"` // by arrival, from 1
	Cohort  privacy.Cohort `json:"cohort"`
	HeldOut bool           `json:"held_out"` // measures the personal model, never takes part in a release
	Deleted bool           `json:"deleted"`  // its slot stays until the cohort's budget is used
	UsedUp  bool           `json:"used_up"`  // its cohort takes part in no more releases or private sums
	Retired bool           `json:"retired"`  // by a restore, which is one reason
	// Refused: an earlier version stored it and the task does not admit it. Its slot is
	// empty, and the personal model does not know of it.
	Refused bool `json:"refused"`
	// Sums is what its cohort has to do with the task's private sums; "": the task has none.
	Sums SumsOfRecord `json:"sums,omitempty"`
	// ID is the owner's key of the record, if it was stored with one and content was asked for.
	ID string `json:"id,omitempty"`

	// Cells are what the owner wrote, the target last; nil: it was not kept.
	Cells []WrittenCell `json:"cells,omitempty"`
	// What is learned from it, as the task encodes it.
	Target   *float64     `json:"target,omitempty"`
	Class    string       `json:"class,omitempty"`    // its name, if the task names classes
	Features []Coordinate `json:"features,omitempty"` // those that are not 0
}

// SumsOfRecord is what a record has to do with the private sums of a task.
type SumsOfRecord string

// What a record has to do with private sums. It pays for those of one epoch.
const (
	SumsToCome SumsOfRecord = "to come" // it has paid for none yet
	SumsPaid   SumsOfRecord = "paid"    // for those of an epoch that goes on
	SumsOver   SumsOfRecord = "over"    // it paid for those of an epoch that is over
	SumsNever  SumsOfRecord = "never"   // it has paid for none, and there is none that it can pay for
)

// ColumnTally counts the cells of a column that were not taken as they are.
type ColumnTally = learner.ColumnTally

// WrittenCell is what a record's owner wrote in a column.
type WrittenCell struct {
	Column string `json:"column"`
	Text   string `json:"text"`
	Note   string `json:"note,omitempty"` // how it was taken: "clamped", "unknown", "empty"; "": as it is
}

// Coordinate is one number of a record, as the task encodes it.
type Coordinate struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// ImportReport says what became of a CSV file.
type ImportReport struct {
	Records int       `json:"records"` // stored
	Bad     int       `json:"bad"`     // lines that were no record
	Lines   []BadLine `json:"lines"`   // the first of them
	// Total is the first line that looks like the total of others. It is a record like them;
	// 0: no line does.
	Total int `json:"total_line,omitempty"`
	// Same are lines whose ID was known and that say the same to the task: nothing changed.
	Same int `json:"same,omitempty"`
	// Replaced are those of Records whose ID was known with something else. The old record
	// is erased, its slot stays, and the new one has a budget of its own.
	Replaced int `json:"replaced,omitempty"`
	// NeverShared says that the records stored serve this device only, because nothing is
	// sent any more: the plan is over, or the node is stranded.
	NeverShared bool `json:"never_shared,omitempty"`
	// Missing is how many more training records must come before the newest take part in
	// what is sent, as in [Budget]; 0: they do, or never will.
	Missing int `json:"records_missing,omitempty"`
	// Cells counts the cells of good lines that were not taken as they are, for each column
	// that has any.
	Cells []ColumnTally `json:"cells"`
}

// BadLine is a line of a CSV file that is no record, and why.
type BadLine struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Gathered describes bad lines to people, those with the same reason together.
func Gathered(lines []BadLine) (text []string) {
	alike := make(map[string][]int)
	var reasons []string // in the order of their first lines
	for _, l := range lines {
		if alike[l.Reason] == nil {
			reasons = append(reasons, l.Reason)
		}
		alike[l.Reason] = append(alike[l.Reason], l.Line)
	}
	for _, reason := range reasons {
		which := fmt.Sprintf("line %d", alike[reason][0])
		if n := len(alike[reason]); n > 1 {
			which = fmt.Sprintf("%d lines (%d to %d)", n, alike[reason][0], alike[reason][n-1])
		}
		text = append(text, which+": "+reason)
	}
	return text
}

// ErrBadLines is returned with a report when bad lines kept a file from being
// imported.
var ErrBadLines error = &Advised{errors.New("node: the file has bad lines, nothing was imported"), "mend them, or leave them out with skip_bad=true"}

// ErrSomeBad is returned with a report when the bad lines of a file with IDs were left out.
var ErrSomeBad error = &Advised{errors.New("node: the file has bad lines, the others are stored"), "mend them and import it again: what is there changes nothing; or leave them out with skip_bad=true"}

// ErrFull is returned when there is no room for more records, or for a copy of the database.
var ErrFull = errors.New("node: there is no room")

// ErrImported is returned for a file that was imported before.
var ErrImported = errors.New("node: the file was imported before")

// ErrChanged is returned for a file whose name was imported with other content, or that begins
// with all of one that was imported.
var ErrChanged = errors.New("node: rows of the file may have been imported before")

// File is a file as a whole.
type File struct {
	Digest Digest `json:"digest"`
	Name   string `json:"name,omitempty"`  // of the file, for who reads lists
	ByID   bool   `json:"by_id,omitempty"` // its lines have IDs, so it may change
}

// Digest is the SHA-256 of a whole file.
type Digest = storage.Digest

// ImportOptions are how a file is imported. The zero value leaves nothing out.
type ImportOptions struct {
	SkipBad bool // leave bad lines out instead of refusing the file
	// ID names the column of the owner's own keys; "": there is none. A line whose key
	// is known replaces that record, or changes nothing if it says the same. Lines are
	// then stored some at a time and bad ones left out. Importing the file again,
	// corrected or after an interruption, changes nothing that is stored.
	ID    string
	Again bool // import a file that was imported before; its records get a budget of their own
	// Name is what the file is called where files come again and again; "": it does not
	// matter. A file of this name that was imported with other content is refused with
	// ErrChanged, unless its lines have IDs: those that were there would be records twice.
	Name string
	// Room is asked before each record is taken, and its error ends the import; nil:
	// there is always room.
	Room func() error
}

// File is the file with these options.
func (o *ImportOptions) File(d Digest) File { return File{d, o.Name, o.ID != ""} }

// CheckKnown asks whether a file that can be read twice is refused for its digest.
func CheckKnown(r io.Reader, refuse func(Digest) error) error {
	return ReadAhead(r, func(file io.Reader) error {
		whole := sha256.New()
		if _, err := io.Copy(whole, file); err != nil {
			return fmt.Errorf("node: read the file: %w", err)
		}
		return refuse(Digest(whole.Sum(nil)))
	})
}

// ReadAhead lets look read a file that can be read twice, and goes back to where it was. It
// does nothing with others: what is in a pipe is known when it ends.
func ReadAhead(r io.Reader, look func(file io.Reader) error) error {
	file, ok := r.(io.ReadSeeker)
	if !ok {
		return nil
	}
	start, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	err = look(file)
	if _, failed := file.Seek(start, io.SeekStart); failed != nil && err == nil {
		err = fmt.Errorf("node: read the file: %w", failed)
	}
	return err
}

// Lines are some lines of a pipe, to be stored together.
type Lines struct {
	Header string   `json:"header,omitempty"` // the first line of CSV; "": each line is a JSON object
	From   int      `json:"from"`             // the number of the first of Lines in the pipe, from 1
	Lines  []string `json:"lines"`            // without their ends; empty ones are ignored
	ID     string   `json:"id,omitempty"`     // as in [ImportOptions]

	// File is the digest of the whole pipe, which has come to its end; nil: it has not, or
	// is not to be known again as a file.
	File    *Digest `json:"file,omitempty"`
	Size    int64   `json:"size,omitempty"`    // of the whole pipe, in bytes; 0: not known
	Records int     `json:"records,omitempty"` // that were put before of this file
	Whole   bool    `json:"whole,omitempty"`   // nothing was put before: refuse a file that was imported
	Again   bool    `json:"again,omitempty"`   // take a file that was imported before all the same
}

// The outcomes of a line.
const (
	LineNew      = "new"      // a record more
	LineSame     = "same"     // its ID is known, and it says the same to the task
	LineReplaced = "replaced" // its ID was known with something else
	LineBad      = "bad"      // no record; it was left out
)

// LineOutcome is what became of a line.
type LineOutcome struct {
	Line    int    `json:"line"`             // from 1, or the place of a record
	Outcome string `json:"outcome"`          // "new", "same", "replaced" or "bad"
	Reason  string `json:"reason,omitempty"` // of a bad one
}

// Acknowledgement says what became of [Lines] that are now on disk.
type Acknowledgement struct {
	Lines       []LineOutcome `json:"lines"`
	Retired     int           `json:"retired,omitempty"`         // slots of records that were there before and were replaced
	NeverShared bool          `json:"never_shared,omitempty"`    // what was stored serves this device only, as in [ImportReport]
	Missing     int           `json:"records_missing,omitempty"` // training records that must come before these take part in what is sent
	Cells       []ColumnTally `json:"cells"`                     // of good lines, as in [ImportReport]
}

// Deletion names records by their numbers.
type Deletion struct {
	Numbers []uint64 `json:"numbers"`
}

// NewRecords are records to be stored together: of each the cells, by column, as texts or
// numbers.
type NewRecords struct {
	Records []map[string]json.RawMessage `json:"records" minItems:"1" maxItems:"10000"`
	ID      string                       `json:"id,omitempty"` // as in [ImportOptions]
}
