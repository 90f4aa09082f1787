package testnet

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/learner"
	"p2pnode/node"
	"p2pnode/node/api"
)

// Person is one participant with her own records. Models are measured on Test if it is
// set, else on the held-out records.
type Person struct {
	Name    string
	Records []learner.Record // in arrival order, encoded by the task, Seq 1, 2, ...
	Test    []learner.Record // fresh records nobody learns from; nil for real data
	// Profile is the person's public profile for the graph rule "profile"; nil for the
	// rule "random".
	Profile []float64
	// Group is the hidden group of a person that [Clusters] made, from 0. It is for
	// judging what was found; nothing that learns looks at it.
	Group int

	rows [][]string // Records as text, in the same order and in the columns of the data set
}

// testRecords returns the records on which a model of this person is measured.
func (p *Person) testRecords() []learner.Record {
	if p.Test != nil {
		return p.Test
	}
	var held []learner.Record
	for _, r := range p.Records {
		if r.Seq.HeldOut() {
			held = append(held, r)
		}
	}
	return held
}

// TrainSize is m, the number of records that the person learns from.
func (p *Person) TrainSize() (m int) {
	for _, r := range p.Records {
		if !r.Seq.HeldOut() {
			m++
		}
	}
	return m
}

// base is the score of a constant that was fitted to the person's records, on the test
// records.
func (p *Person) base(t *learner.Task) learner.Score {
	var train []learner.Record
	for _, r := range p.Records {
		if !r.Seq.HeldOut() {
			train = append(train, r)
		}
	}
	return t.ScoreConstant(slices.Values(train), slices.Values(p.testRecords()))
}

// Dataset is a group of people and the task they share.
type Dataset struct {
	Name string // for people, with its source
	Task *learner.Task
	// Catalogue is the catalogue of the task's key; nil if it has none.
	Catalogue *learner.Catalogue
	// CatalogueFile is the file of the catalogue; nil if it is in no file.
	CatalogueFile []byte
	Columns       []string // those of an exported file: the task's features, then its target
	People        []Person
	// Dealt is the number of people among whom the lines of a file were dealt out,
	// because it does not name their owners; 0: it does.
	Dealt int
	// LeftOut counts people who take no part, because they have fewer than MinRecords
	// records or were left out for another stated reason.
	LeftOut int
	// Of is the number of people of the data set that these were drawn from; 0: they
	// were not drawn.
	Of int
	// Noted counts the cells that were not taken unchanged.
	Noted []learner.ColumnTally
	// Misfits are people of whom the task does not foresee a column in most of their records.
	Misfits []Misfit
}

// minRecords is the fewest records with which a person takes part. With fewer, nothing
// is held out to measure models on.
const minRecords = learner.Fold

// errTooFew says that a data set has fewer people than requested.
var errTooFew = errors.New("too few people")

// Draw returns a data set of n people chosen at random, each with their records in
// random order and numbered anew; n = 0 means all. The seed decides both choices, and a
// person's order does not depend on the other people chosen. The original is unchanged.
func (d *Dataset) Draw(seed uint64, n int) (*Dataset, error) {
	if n > len(d.People) {
		return nil, fmt.Errorf("testnet: %w: %s has %d, %d were asked for", errTooFew, d.Name, len(d.People), n)
	}
	if n == 0 {
		n = len(d.People)
	}
	const choice = 1 << 63 // no person's number is as large as this random stream's
	chosen := rand.New(rand.NewPCG(seed, choice)).Perm(len(d.People))[:n]
	slices.Sort(chosen)
	drawn := *d
	drawn.Of = len(d.People)
	drawn.People = make([]Person, n)
	for k, i := range chosen {
		drawn.People[k] = d.People[i].shuffled(rand.New(rand.NewPCG(seed, uint64(i))))
	}
	return &drawn, nil
}

// Most returns a data set with each person's first records, at most this many.
func (d *Dataset) Most(records int) *Dataset {
	shorter := *d
	shorter.People = slices.Clone(d.People)
	for i := range shorter.People {
		p := &shorter.People[i]
		n := min(records, len(p.Records))
		p.Records, p.rows = p.Records[:n], p.rows[:n]
	}
	return &shorter
}

func (p *Person) shuffled(r *rand.Rand) Person {
	s := *p
	s.Records = slices.Clone(p.Records)
	s.rows = slices.Clone(p.rows)
	r.Shuffle(len(s.Records), func(i, j int) {
		s.Records[i], s.Records[j] = s.Records[j], s.Records[i]
		s.rows[i], s.rows[j] = s.rows[j], s.rows[i]
	})
	number(s.Records)
	return s
}

// number gives the records the arrival numbers of an empty device.
func number(records []learner.Record) {
	for i := range records {
		records[i].Seq = learner.Seq(i + 1)
	}
}

// reader collects the rows of a file by person, and the bad lines.
type reader struct {
	set     *Dataset
	numeric func(column string) bool // see [learner.Task.Numerics]
	person  map[string]int           // index in set.People
	bad     BadLines
	wrong   error           // with a cell of the row that is read
	noted   []learner.Tally // of each of set.People
	// skipped is called with the bad lines, which are then left out; nil: they are an
	// error.
	skipped func(*BadLines)
}

func newReader(name, file string, t *learner.Task) *reader {
	return &reader{
		set:     &Dataset{Name: name, Task: t, Columns: t.Columns()},
		numeric: t.Numerics(),
		person:  make(map[string]int),
		bad:     BadLines{File: file},
	}
}

// needs returns an error if the file, whose columns have names, lacks one that the task
// reads.
func (r *reader) needs(has func(column string) bool, names []string) error {
	c, lacks := r.set.Task.Lacks(r.set.Columns, has)
	if !lacks {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(names), r.set.Task.Reads)
	hint := csvfile.Meant(c, others)
	if hint == "" {
		hint = "; name the task that belongs to the file with --task"
	}
	return fmt.Errorf("testnet: %s has no column %q, which the task %q reads%s", r.bad.File, c, r.set.Task.Name, hint)
}

// cells finds the cells of a row of a table, which begins in a line, by their columns. What is wrong
// with one is for the next add.
func (r *reader) cells(rows *csvfile.Reader, line int, cells []string) func(column string) (string, bool) {
	return func(column string) (string, bool) {
		i, ok := rows.Column(column)
		switch {
		case !ok:
			return "", false
		case r.numeric(column):
			text, err := rows.Number(line, i, cells[i])
			r.wrong = cmp.Or(r.wrong, err)
			return text, true
		}
		return cells[i], true
	}
}

// add appends a row to the records of a person; cell must know every column.
func (r *reader) add(line int, person string, cell func(column string) (string, bool)) {
	record, err := r.set.Task.Encode(cell)
	err, r.wrong = cmp.Or(r.wrong, err), nil
	if err != nil {
		r.bad.Add(line, err)
		return
	}
	row := make([]string, len(r.set.Columns))
	for i, c := range record.Cells.All() {
		row[i] = c.Text
	}
	i, known := r.person[person]
	if !known {
		i = len(r.set.People)
		r.person[person] = i
		r.set.People, r.noted = append(r.set.People, Person{Name: person}), append(r.noted, nil)
	}
	p := &r.set.People[i]
	r.noted[i].Add(record.Cells)
	record.Cells = "" // the rows keep the cells
	p.Records = append(p.Records, record)
	p.rows = append(p.rows, row)
}

// done returns the data set, or all errors of the file.
func (r *reader) done() (*Dataset, error) {
	if err := r.bad.Refused(r.skipped); err != nil {
		return nil, err
	}
	r.tally()
	all := len(r.set.People)
	r.set.People = slices.DeleteFunc(r.set.People, func(p Person) bool { return len(p.Records) < minRecords })
	r.set.LeftOut = all - len(r.set.People)
	if len(r.set.People) < 2 {
		return nil, fmt.Errorf("testnet: %s: %w: learning together needs two people with %d records or more", r.bad.File, errTooFew, minRecords)
	}
	for i := range r.set.People {
		number(r.set.People[i].Records)
	}
	return r.set, nil
}

// BadLines is the error of a file with lines that cannot be read.
type BadLines struct {
	File  string
	Count int           // number of all bad lines
	First []api.BadLine // at most maxBadLines of them
}

// maxBadLines is how many bad lines an error lists.
const maxBadLines = 20

// Add notes a bad line and why.
func (b *BadLines) Add(line int, err error) {
	b.Count++
	if len(b.First) < maxBadLines {
		b.First = append(b.First, api.BadLine{Line: line, Reason: node.Mended(err).Error()})
	}
}

// Refused returns the bad lines as an error, if there are any. They are left out instead if
// skipped is not nil, which is then called with them.
func (b *BadLines) Refused(skipped func(*BadLines)) error {
	switch {
	case b.Count == 0:
		return nil
	case skipped == nil:
		return b
	}
	skipped(b)
	return nil
}

func (b *BadLines) counted() string {
	if b.Count == 1 {
		return "1 bad line"
	}
	return fmt.Sprintf("%d bad lines", b.Count)
}

// Error lists the bad lines, those with the same reason on one line.
func (b *BadLines) Error() string {
	text := fmt.Sprintf("testnet: %s has %s:\n\t%s", b.File, b.counted(), strings.Join(api.Gathered(b.First), "\n\t"))
	if more := b.Count - len(b.First); more > 0 {
		text += fmt.Sprintf("\n\tand %d more", more)
	}
	return text
}
