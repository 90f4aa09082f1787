package statement

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"p2pnode/node/api"
	"p2pnode/node/datadir"
	"p2pnode/privacy"
)

// MaxSize bounds the file of a statement.
const MaxSize = 4 << 20

// errNone says that a file is not a statement.
var errNone = errors.New("node: it is not a privacy statement of a node: give the page that p2pnode budget --statement writes, or its JSON")

// Check reads the file of a statement, or its JSON alone, and says whether it is sound:
// whether its signature and its words are right, and whether its numbers fit together. It
// returns an error if the file is not a statement.
func Check(file []byte, now time.Time) (api.StatementCheck, error) {
	page, text := split(string(file))
	s, err := read(text)
	if err != nil {
		return api.StatementCheck{}, err
	}
	c := api.StatementCheck{Statement: s.Statement, Faults: []string{}, Doubts: []string{}}
	fault := func(err error) {
		if err != nil {
			c.Faults = append(c.Faults, err.Error())
		}
	}
	fault(signedBy(s))
	if page != "" {
		fault(samePage(s, page, string(file)))
	}
	fault(consistent(&s.Statement, now))
	c.Sound = len(c.Faults) == 0
	c.Doubts = doubts(&s.Statement, now)
	return c, nil
}

// split returns the words of a file and its JSON. JSON alone has no words.
func split(file string) (page, text string) {
	if at := strings.LastIndex(file, opening); at >= 0 && !strings.HasPrefix(strings.TrimSpace(file), "{") {
		return file[:at], strings.TrimSuffix(strings.TrimSpace(file[at+len(opening):]), strings.TrimSpace(closing))
	}
	return "", file
}

// read decodes a statement. It refuses fields that it does not know and fields that occur
// twice, because people would then read something that is not signed.
func read(text string) (s api.SignedStatement, err error) {
	var known struct {
		Format int `json:"format"`
	}
	if json.Unmarshal([]byte(text), &known) != nil || known.Format < 1 {
		return s, errNone
	}
	if known.Format > api.StatementFormat {
		return s, fmt.Errorf("node: the statement has format %d and this program knows %d: use a newer p2pnode", known.Format, api.StatementFormat)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("node: the JSON of the statement is not as a node writes it: %w", err)
	}
	if d.More() {
		return s, errors.New("node: there is more than one statement in it")
	}
	var given, signed bytes.Buffer
	again, err := json.Marshal(s)
	if err = errors.Join(err, json.Compact(&given, []byte(text)), json.Compact(&signed, again)); err != nil {
		return s, fmt.Errorf("node: the JSON of the statement is not as a node writes it: %w", err)
	}
	if !bytes.Equal(given.Bytes(), signed.Bytes()) {
		return s, errors.New("node: the JSON of the statement is not as a node writes it: another order, or something twice")
	}
	return s, nil
}

// samePage returns an error unless people read exactly what was signed.
func samePage(s api.SignedStatement, page, file string) error {
	text, err := indented(s)
	if err != nil {
		return err
	}
	if hashOf(page) != s.Page || file != page+opening+text+closing {
		return errors.New("what people read in it is not what was signed: somebody changed the words, or a program changed the ends of lines")
	}
	return nil
}

// consistent returns an error for numbers that no node would write together.
func consistent(s *api.Statement, now time.Time) error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(s.Time.After(now.Add(clockTolerance)), "it says that it was signed in the future, at %s", s.Time.Format(time.RFC3339))
	wrong(s.Bare < 0, "it counts %d releases without a guarantee", s.Bare)
	wrong(s.Guarantee != nil && s.Bare > 0, "it claims a guarantee, and %d releases that had none", s.Bare)
	for _, p := range s.Spent {
		wrong(!(p.Spent >= 0 && p.Spent <= 1 && p.AtLeast >= 0 && p.AtLeast <= p.Spent), "cohort %d has spent %v, and %v at least", p.Cohort, p.Spent, p.AtLeast)
		wrong(p.Retired && p.Spent != 1, "cohort %d is retired, and its budget is not spent", p.Cohort)
		wrong(s.Guarantee != nil && p.Releases+p.Sums == 0 && p.AtLeast > 0, "cohort %d has spent without a release", p.Cohort)
	}
	for _, a := range s.Audiences {
		wrong((a.Epsilon == nil) != (s.Guarantee == nil) || (a.Delta == nil) != (s.Guarantee == nil), "what it says of %q does not fit its guarantee", a.Who)
		wrong(a.Epsilon != nil && a.Delta != nil && s.Guarantee != nil && (*a.Epsilon < s.Guarantee.Epsilon || *a.Delta < s.Guarantee.Delta),
			"it promises more of %q than its guarantee does", a.Who)
		wrong(a.Colluding < 0 || a.Colluding > 0 && len(a.Peers) < 3*a.Colluding+1, "of %d members %d may not work together", len(a.Peers), a.Colluding)
	}
	if s.Guarantee != nil {
		errs = append(errs, possible(s.Guarantee))
	}
	return errors.Join(errs...)
}

// clockTolerance is how far the clocks of two machines may be apart.
const clockTolerance = 10 * time.Minute

// possible returns an error for a guarantee whose numbers do not follow from one another.
func possible(g *api.Guarantee) error {
	if !(g.Epsilon > 0 && g.Delta >= 0 && g.Delta < 1 && g.Excess >= 0 && g.Excess <= 1) {
		return fmt.Errorf("epsilon %v, delta %v and a chance of %v are no guarantee", g.Epsilon, g.Delta, g.Excess)
	}
	c := datadir.Config{Epsilon: g.Epsilon, Delta: g.Delta, Accounting: string(g.Accounting)}
	if len(g.Person) == 0 || g.Person[0].Records != 1 {
		return errors.New("it does not say what one record has")
	}
	for _, p := range g.Person {
		if w := c.Person(max(1, p.Records)); p.Records < 1 || !near(p.Epsilon, w.Epsilon) || !near(p.Delta, w.Delta) || !near(p.Belief, w.Belief) {
			return fmt.Errorf("for %d records of one person it says epsilon %v and delta %v, and %v and %v follow from its guarantee", p.Records, p.Epsilon, p.Delta, w.Epsilon, w.Delta)
		}
	}
	if g.Accounting != privacy.GaussianFilter && g.Accounting != privacy.PureFilter {
		return nil // for other accountings more is needed than a statement says
	}
	terms := privacy.Terms{Budget: c.Guarantee(), Accounting: g.Accounting, Dimension: 1}
	if excess, err := (privacy.Policy{Terms: terms}).Excess(); err != nil || !near(g.Excess, excess) {
		return fmt.Errorf("it says that more than epsilon is told with a chance of %v, and %v follows from its guarantee", g.Excess, excess)
	}
	return nil
}

// near allows for processors that differ in the last digits.
func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b)) }

// doubts lists what a reader should know of a statement that is sound.
func doubts(s *api.Statement, now time.Time) []string {
	list := []string{"A signature shows who wrote it, not that it is true. Ask the owner by another way whether the node's ID is hers."}
	if s.Guarantee == nil {
		list = append(list, "There is no guarantee: it says so itself.")
	}
	for _, p := range s.Spent {
		if p.Retired {
			list = append(list, "The directory was restored from a copy: what the retired cohorts spent after that copy is not in it, so they count as spent.")
			break
		}
	}
	if age := now.Sub(s.Time); age > 24*time.Hour {
		list = append(list, fmt.Sprintf("It is %.0f days old, and the node may have spent more since.", age.Hours()/24))
	}
	return list
}
