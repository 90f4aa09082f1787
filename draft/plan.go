package draft

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"p2pnode/csvfile"
	"p2pnode/learner"
)

// Wishes are what the owner has said about the task.
type Wishes struct {
	Name string // of the task, for people; "": the target's
	// Public means that the file is public: ranges and values are then taken from it,
	// rounded outward.
	Public bool
	// Ranges and Values are answers, by column. They also decide what a column is:
	// numbers, or one of these values.
	Ranges map[string]Range
	Values map[string][]string
	// Kinds sets the kind of a column, whatever its cells; [LeftOut] leaves the column
	// out.
	Kinds map[string]string
	// Committee has the peer IDs of the members that add up private sums; nil: there
	// are no sums.
	Committee []string
	// Nodes and Records are the expected numbers of nodes, and of records of each; 0:
	// those that the rule of usual values assumes.
	Nodes, Records int
	Epsilon        float64 // the budget of a record; 0: the usual one
}

// Plan says what each column becomes.
type Plan struct {
	survey *Survey
	wishes Wishes
	uses   []use // one for each column, in order
}

// use says what becomes of a column, or of many columns that are one vector.
type use struct {
	*Column
	judgement
	target bool
}

// NewPlan decides of which kind each column is. The survey must be of a whole file. It
// returns an error if the target cannot be predicted, if nothing is left to predict it
// from, or if a wish names no column or cannot be in a task. It changes neither argument.
func NewPlan(s *Survey, w Wishes) (*Plan, error) {
	if s.Rows == 0 {
		return nil, errors.New("the file has a header and no records")
	}
	w.Ranges, w.Values = cloned(w.Ranges), cloned(w.Values)
	if err := w.check(s); err != nil {
		return nil, err
	}
	p := &Plan{survey: s, wishes: w}
	for i, c := range s.Columns {
		u := use{Column: c, target: i == s.Target}
		switch {
		case i == s.Node:
			u.judgement = judgement{kind: LeftOut, why: "it says whose record a line is"}
		case c.Name == "":
			u.judgement = judgement{kind: LeftOut, why: "it has no name, as where a program writes the number of each line; to learn from it give it one in the first line"}
		case u.target:
			u.judgement = w.judgeTarget(c)
		default:
			u.judgement = w.judge(c)
		}
		switch {
		case u.kind != LeftOut && u.unreadable.cells > 0:
			return nil, fmt.Errorf("column %q: %s not text in UTF-8, the first on line %d: save the file as CSV in UTF-8", c.Name, cellsAre(u.unreadable.cells), u.unreadable.line)
		case u.target && u.why != "":
			return nil, fmt.Errorf("column %q cannot be predicted: %s; name the column to predict with --target", c.Name, u.why)
		case u.kind == "":
			return nil, fmt.Errorf("column %q cannot be of the kind %q: %s", c.Name, w.Kinds[c.Name], u.why)
		}
		p.uses = append(p.uses, u)
	}
	p.vectors()
	p.oneKey()
	if len(p.features()) == 0 {
		return nil, fmt.Errorf("no column is left to predict %q from:\n  %s", p.target().Name, strings.Join(p.LeftOut(), "\n  "))
	}
	return p, p.takePublic()
}

// cloned is a copy that can be written into.
func cloned[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// check returns an error if a wish names no column of the file, or is none that a task can
// have. What a committee must be, the task's own check says.
func (w *Wishes) check(s *Survey) error {
	switch {
	case !(w.Epsilon >= 0) || math.IsInf(w.Epsilon, 1):
		return fmt.Errorf("epsilon %v: must be a number above 0, or 0 for the usual budget", w.Epsilon)
	case w.Nodes < 0 || w.Records < 0:
		return fmt.Errorf("%d nodes with %d records: must be at least 1 each, or 0 for the usual numbers", w.Nodes, w.Records)
	}
	var names []string
	for _, c := range s.Columns {
		names = append(names, c.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(w.Kinds)) {
		if !slices.Contains(Kinds(), w.Kinds[name]) {
			return fmt.Errorf("column %q cannot be of the kind %q; choose one of %s", name, w.Kinds[name], strings.Join(Kinds(), ", "))
		}
	}
	about := slices.Concat(slices.Collect(maps.Keys(w.Ranges)), slices.Collect(maps.Keys(w.Values)), slices.Collect(maps.Keys(w.Kinds)))
	slices.Sort(about)
	for _, name := range about {
		if !slices.Contains(names, name) {
			return fmt.Errorf("there is no column %q; there are %s%s", name, csvfile.Enumerate(names, ", "), csvfile.Meant(name, names))
		}
		if r, ranged := w.Ranges[name]; ranged {
			if err := r.check(r.String()); err != nil {
				return fmt.Errorf("column %q: %w", name, err)
			}
		}
		if values, valued := w.Values[name]; valued {
			if err := checkValues(values, valuesText(values)); err != nil {
				return fmt.Errorf("column %q: %w", name, err)
			}
		}
	}
	return nil
}

// judge decides which kind of feature a column is, by the owner's wish or by its cells.
func (w *Wishes) judge(c *Column) judgement {
	looks := c.judge()
	kind := w.Kinds[c.Name]
	_, ranged := w.Ranges[c.Name]
	_, valued := w.Values[c.Name]
	switch {
	case kind == LeftOut:
		return judgement{kind: LeftOut, why: "you left it out"}
	case kind == "" && ranged:
		kind = Number
	case kind == "" && valued:
		kind = Set
	case kind == "":
		return looks
	}
	said := judgement{kind: kind, long: looks.long || c.meanWords() > 1}
	switch kind {
	case Number:
		said.log, said.doubt = c.skewed(), c.strays(kind)
		if w.Kinds[c.Name] == "" {
			said.doubt = cmp.Or(said.doubt, c.written())
		}
	case Time:
		if why := c.timeless(); why != "" {
			return judgement{why: why}
		}
		said.doubt = c.strays(kind)
	}
	return said
}

// judgeTarget decides what is predicted: a number, or a class of a set.
func (w *Wishes) judgeTarget(c *Column) judgement {
	_, ranged := w.Ranges[c.Name]
	_, valued := w.Values[c.Name]
	switch kind := w.Kinds[c.Name]; {
	case c.full() == 0:
		return judgement{why: "it is empty"}
	case kind == Set, valued:
		return judgement{kind: Set}
	case kind == Number, ranged:
		return judgement{kind: Number, doubt: c.strays(Number)}
	case kind != "":
		return judgement{why: fmt.Sprintf("what is predicted is of the kind %s or %s, not %s", Number, Set, kind)}
	case c.distinctCells() == 1:
		return judgement{why: "all its cells are the same"}
	case c.classes() && (c.few() || c.otherwise() == ""):
		return judgement{kind: Set, doubt: c.otherwise()}
	case c.mostlyNumbers():
		j := judgement{kind: Number, doubt: c.strays(Number)}
		if c.whole && c.repeats() && j.doubt == "" {
			j.doubt = fmt.Sprintf("it is predicted as a number; %s makes its %d numbers classes", c.flag("kind", Set), len(c.values))
		}
		return j
	case c.otherwise() != "":
		return judgement{why: c.otherwise()}
	case c.mostlyTimes():
		return judgement{why: "its cells are times, and what is predicted is a number or a class"}
	case c.Numbers > 0:
		why := fmt.Sprintf("%s: mend or empty the others, or leave their lines out with %s", c.mixed(), c.flag("kind", Number))
		if c.values != nil {
			why += fmt.Sprintf(", or take its %d different values for classes with %s", len(c.values), c.flag("kind", Set))
		}
		return judgement{why: why}
	}
	return judgement{why: fmt.Sprintf("it has %d different texts, and a class is one of %d at most", c.distinctCells(), mostValues)}
}

// vectors joins columns of numbers with counted names, such as e0 to e383, into one
// vector.
func (p *Plan) vectors() {
	for at := 0; at < len(p.uses); at++ {
		stem, n := p.counted(at)
		if n < leastColumns || stem == "" || p.taken(stem, at, n) || p.gaps(at, n) {
			continue
		}
		whole := *p.uses[at].Column
		whole.Name, whole.Length = stem, n
		doubt := fmt.Sprintf("the columns %s to %s are taken for the %d numbers of one vector", p.uses[at].Name, p.uses[at+n-1].Name, n)
		p.uses = slices.Replace(p.uses, at, at+n, use{Column: &whole, judgement: judgement{kind: Vector, doubt: doubt}})
	}
}

// taken reports whether a column beside these n has the name of the vector that they would be, or
// is left out and has a name under which the vector's first number, or one after its last, is looked for.
func (p *Plan) taken(stem string, at, n int) bool {
	var names []string
	for _, number := range []int{0, 1, n, n + 1} {
		names = append(names, fmt.Sprint(stem, "_", number), fmt.Sprint(stem, number))
	}
	return slices.ContainsFunc(slices.Concat(p.uses[:at], p.uses[at+n:]), func(u use) bool {
		return u.Name == stem || u.kind == LeftOut && slices.Contains(names, u.Name)
	})
}

// gaps reports whether some rows lack some of the n numbers from this column on and have others: a
// vector cannot, and numbers of their own can.
func (p *Plan) gaps(at, n int) bool {
	return slices.ContainsFunc(p.uses[at:at+n], func(u use) bool { return u.lacking != p.uses[at].lacking })
}

// leastColumns is the number of counted columns of numbers from which they are one
// vector.
const leastColumns = 32

// counted is the number of columns, from this one on, that are numbers without a wish
// of the owner and whose names are a stem and a number that counts up from 0 or 1. The stem,
// without an underscore at its end, may be empty.
func (p *Plan) counted(at int) (stem string, n int) {
	name := p.uses[at].Name
	digit := len(name) - 1
	if digit < 1 || name[digit] != '0' && name[digit] != '1' {
		return "", 0
	}
	stem, first := name[:digit], int(name[digit]-'0')
	for ; at+n < len(p.uses); n++ {
		u := &p.uses[at+n]
		_, ranged := p.wishes.Ranges[u.Name]
		if u.target || p.names(u.Column) || u.Numbers < u.full() || u.Name != fmt.Sprint(stem, first+n) || ranged || p.wishes.Kinds[u.Name] != "" {
			break
		}
	}
	return strings.TrimSuffix(stem, "_"), n
}

// names reports whether the cells of a column say whose record a line is.
func (p *Plan) names(c *Column) bool {
	return p.survey.Node >= 0 && c == p.survey.Columns[p.survey.Node]
}

// oneKey keeps only one key, the one with the most different cells, if private sums can
// add up what people think of each: for a target that is a number, and with a
// committee. The other keys become texts.
func (p *Plan) oneKey() {
	best := -1
	for i, u := range p.uses {
		if u.kind == Key && (best < 0 || u.distinctCells() > p.uses[best].distinctCells()) {
			best = i
		}
	}
	sums := len(p.wishes.Committee) > 0 && p.target().kind == Number
	for i := range p.uses {
		if u := &p.uses[i]; u.kind == Key && (i != best || !sums) && p.wishes.Kinds[u.Name] != Key {
			u.kind = Text
		}
	}
}

// features are the columns that become features, in order.
func (p *Plan) features() (list []use) {
	for _, u := range p.uses {
		if !u.target && u.kind != LeftOut {
			list = append(list, u)
		}
	}
	return list
}

func (p *Plan) target() *use {
	return &p.uses[slices.IndexFunc(p.uses, func(u use) bool { return u.target })]
}

// LeftOut says which columns are left out and why, a line each.
func (p *Plan) LeftOut() (lines []string) {
	for _, u := range p.uses {
		if u.kind == LeftOut {
			lines = append(lines, fmt.Sprintf("%s: %s", cmp.Or(u.Name, fmt.Sprintf("column %d", u.at+1)), u.why))
		}
	}
	return lines
}

// Doubts says which columns the owner should look at again and why, a line each.
func (p *Plan) Doubts() (lines []string) {
	target, gain := p.scale()
	if none := p.survey.ownerless; none.cells > 0 {
		lines = append(lines, fmt.Sprintf("%s: %s empty, the first on line %d, and testnet cannot know whose such a line is: fill it in, or leave it out with --skip-bad",
			p.survey.Columns[p.survey.Node].Name, cellsAre(none.cells), none.line))
	}
	for _, u := range p.uses {
		for _, doubt := range []string{u.doubt, u.faulty(), u.thousands(), u.unanswered(p.wishes.Values[u.Name]), u.unlisted(p.wishes.Values[u.Name]), u.capitals(), p.ranged(&u, target), u.logarithm(target, gain), p.bends(&u, target)} {
			if doubt != "" {
				lines = append(lines, fmt.Sprintf("%s: %s", u.Name, doubt))
			}
		}
	}
	return append(lines, p.together()...)
}

// together says what concerns many columns alike, a line for all of them.
func (p *Plan) together() (lines []string) {
	var gaps, codes []string
	for _, u := range p.features() {
		values := p.wishes.Values[u.Name]
		if empty, _ := u.unsaid(values); empty > 0 && u.unanswered(values) == "" {
			gaps = append(gaps, fmt.Sprintf("%s %d", u.Name, empty))
		}
		if u.coded {
			codes = append(codes, u.Name)
		}
	}
	if gaps != nil {
		lines = append(lines, "cells are empty, and count as unknown: "+firstOf(gaps, mostShown))
	}
	if codes != nil {
		lines = append(lines, fmt.Sprintf("these have few different whole numbers, which are taken for amounts: %s; of one whose numbers are codes, --kind COLUMN=%s learns from each by itself", firstOf(codes, mostShown), Set))
	}
	return lines
}

// BadLines reports whether some lines of the file cannot be read as the task says, or do not say
// whose they are.
func (p *Plan) BadLines() bool {
	return p.survey.ownerless.cells > 0 || slices.ContainsFunc(p.uses, func(u use) bool {
		unsaid, _ := u.unsaid(p.wishes.Values[u.Name])
		switch {
		case u.target && unsaid+u.faults.cells > 0:
			return true
		case u.kind == Number:
			return u.faults.cells+u.noNumber.cells+u.misread > 0
		case u.kind == Time:
			return u.faults.cells+u.noTime.cells > 0
		case u.kind == Vector: // in a column, or in one for each number
			return u.faults.cells > 0 || u.Vectors > 0 && (u.Vectors < u.full() || u.Length == 0)
		case u.kind == Set && u.target:
			return u.values == nil || u.unlisted(p.wishes.Values[u.Name]) != ""
		}
		return false
	})
}

// faulty says what becomes of cells in which a spreadsheet shows an error.
func (u *use) faulty() string {
	if u.faults.cells == 0 || u.kind == LeftOut {
		return ""
	}
	text := fmt.Sprintf("%s what a spreadsheet shows for an error, as #N/A, the first on line %d: mend them or empty them", cellsAre(u.faults.cells), u.faults.line)
	switch {
	case u.target, u.kind == Number, u.kind == Time, u.kind == Vector:
		return text + ", or their lines cannot be imported"
	case u.kind == Text, u.kind == Key:
		return text + ", or they are learned from as texts"
	}
	return text
}

// thousands says that points which are read as decimal ones may stand between thousands: all
// have three digits behind them, and other numbers of the column have no point.
func (u *use) thousands() string {
	if u.kind == Number && u.misread > 0 {
		return fmt.Sprintf("%s refused: %s, or such lines cannot be imported", cellsAre(u.misread), u.firstMisread)
	}
	if u.kind != Number || u.grouped == 0 || u.grouped < u.pointed || u.pointed == u.Numbers {
		return ""
	}
	return fmt.Sprintf("a point is read as a decimal one, first in %s, take such points out", u.firstGrouped)
}

// offCenter says that what is usual of the target is far from the middle of its range,
// which is the center of the task, unless the logarithm is better.
func (p *Plan) offCenter(u *use, target *learner.Target) string {
	const far = 0.25 // of the range
	r, ranged := p.wishes.Ranges[u.Name]
	if !u.target || u.kind != Number || !ranged || u.Numbers < enough || target.Log {
		return ""
	}
	center, usual := r.Low/2+r.High/2, median(u.typical.kept)
	side := "below"
	switch {
	case usual > center+far*(r.High-r.Low):
		side = "above"
	case usual >= center-far*(r.High-r.Low):
		return ""
	}
	return fmt.Sprintf("half of its numbers are %s %s, and center = %s, the middle of the range, is far from that: write there what everybody may know to be usual, "+
		"or take a narrower range, as what lies outside counts as its nearest end", side, short(usual), numberText(center))
}

// unanswered says what is wrong with a target that some rows lack, and with a set that has these values
// and may lack a word that counts as none.
func (u *use) unanswered(values []string) string {
	empty := u.empty(u.kind, values)
	if _, word := u.unsaid(values); !u.target && (u.kind != Set || word.cells == 0) {
		return ""
	}
	if !u.target || empty == "" {
		return empty
	}
	return empty + ". A line without what is predicted cannot be imported: take it out, or leave it out with data import --skip-bad"
}

// unlisted names the values of the file that are not among those of an answer.
func (u *use) unlisted(answer []string) string {
	if u.kind != Set || answer == nil {
		return ""
	}
	others := slices.DeleteFunc(u.Values(), func(v string) bool { return slices.Contains(answer, v) })
	switch {
	case len(others) == 0:
		return ""
	case u.target:
		return fmt.Sprintf("the file has other values than you name, and their lines cannot be imported: %s", firstOf(others, mostShown))
	}
	return fmt.Sprintf("the file has other values than you name, and they count as unknown: %s", firstOf(others, mostShown))
}

// capitals names values that differ in capitals only.
func (u *use) capitals() string {
	if u.kind != Set {
		return ""
	}
	alike := map[string][]string{}
	for _, v := range u.Values() {
		small := strings.ToLower(v)
		alike[small] = append(alike[small], valuesText([]string{v}))
	}
	var said []string
	for _, small := range slices.Sorted(maps.Keys(alike)) {
		if values := alike[small]; len(values) > 1 {
			said = append(said, strings.Join(values, " and "))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("values that differ in capitals only count as different ones: %s; write them alike", strings.Join(said, ", "))
}

// takePublic answers the questions from a public file.
func (p *Plan) takePublic() error {
	if !p.wishes.Public {
		return nil
	}
	for _, q := range p.Questions() {
		if q.rounded == "" {
			return fmt.Errorf("column %q has nothing to take that from: give it with %s, or say with --kind of which other kind the column is", q.Column, q.Flag())
		}
		if err := p.Answer(q, q.rounded); err != nil {
			return fmt.Errorf("column %q: %w; give it with %s", q.Column, err, q.Flag())
		}
	}
	return nil
}

// Questions are the questions without an answer: about ranges of numbers and values of
// sets, the target's last.
func (p *Plan) Questions() (list []Question) {
	for _, u := range append(p.features(), *p.target()) {
		_, ranged := p.wishes.Ranges[u.Name]
		_, valued := p.wishes.Values[u.Name]
		if u.kind == Number && !ranged || u.kind == Set && !valued {
			list = append(list, u.question(u.kind, u.target))
		}
	}
	return list
}

// Answer takes the answer to a question, as the owner writes it.
func (p *Plan) Answer(q Question, text string) error {
	if q.Values {
		values, err := ParseValues(text)
		if err == nil && q.Target && len(values) < 2 {
			return fmt.Errorf("%q is one value, and what is predicted has two at least", text)
		}
		if err == nil {
			p.wishes.Values[q.Column] = values
		}
		return err
	}
	r, err := ParseRange(text)
	if err == nil {
		p.wishes.Ranges[q.Column] = r
	}
	return err
}
