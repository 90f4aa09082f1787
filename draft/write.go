package draft

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"p2pnode/learner"
)

// TOML writes the task of the plan as a file: its columns, and what its owner may want
// to change, with a comment beside each. All other keys have the values that follow
// from these, so a reader of the file gets the same task. The error is that of
// the plan's task.
func (p *Plan) TOML() ([]byte, error) {
	t, err := p.task()
	if err != nil {
		return nil, err
	}
	w := &writer{}
	w.comment("All nodes of the network have this file: its hash is the network's name. It is public. " + whence(p.wishes.Public) + "\n" +
		"What it leaves out has the value that docs/tasks.md says.")
	w.key("name", t.Name, "for people")
	w.key("learner", t.Learner, learnerWords(t))
	w.key("loss", t.Loss, lossWords(t.Loss))
	if p.wishes.Records > 0 {
		w.key("confidence_at", t.ConfidenceAt, "a node with fewer records counts for less")
	}
	for i := range t.Features {
		w.feature(&t.Features[i])
	}
	w.target(t)
	w.release(t)
	w.network(t, p.wishes)
	w.sums(t, p.wishes)
	return w.Bytes(), nil
}

// writer writes TOML with comments.
type writer struct{ bytes.Buffer }

func (w *writer) comment(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(w, strings.TrimSpace("# "+line))
	}
	fmt.Fprintln(w)
}

func (w *writer) table(name string) { fmt.Fprintf(w, "\n%s\n", name) }

// widest is how long a line may be with a comment beside the value.
const widest = 130

// key writes a line with its comment beside it, or above where there is no room.
func (w *writer) key(name string, value any, comment string) {
	line := name + " = " + valueText(value)
	switch {
	case comment == "":
		fmt.Fprintln(w, line)
	case len(line)+len(comment) > widest:
		fmt.Fprintf(w, "# %s:\n%s\n", comment, line)
	default:
		fmt.Fprintf(w, "%s  # %s\n", line, comment)
	}
}

// inline is a value that is TOML already.
type inline string

// valueText is a value as TOML writes it.
func valueText(value any) string {
	switch v := value.(type) {
	case string:
		return stringText(v)
	case []string:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = stringText(v[i])
		}
		return "[" + strings.Join(texts, ", ") + "]"
	case []int:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	case float64:
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(value) // a whole number, or true
}

// stringText is a basic string: what is not printable is escaped by its number.
func stringText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "\\U%08X", r)
		}
	}
	return b.String() + `"`
}

// whence says what in the task follows from the records that it was made from. No noise hides
// them, and of a file at the edge between two forms one record decides.
func whence(public bool) string {
	if public {
		return "So are the records that it was made from."
	}
	return "Ranges and values are what its\n" +
		"owner said. The records that it was made from decided, without noise, which columns are here, and of each its kind and log,\n" +
		"parts, length and letters: read whether everybody may know these."
}

// learnerWords says why the task has its learner.
func learnerWords(t *learner.Task) string {
	if t.Silent() {
		return "nodes add up what they know in private sums, and send nothing else"
	}
	return "nodes send each other models with noise; a committee could add up instead, see docs/sums.md"
}

func lossWords(loss string) string {
	switch loss {
	case "squared":
		return "predicts a number; huber bears outliers"
	case "logistic":
		return "predicts one of two classes, with its probability"
	}
	return "predicts one of several classes, with its probability"
}

func (w *writer) feature(f *learner.Feature) {
	w.table("[[features]]")
	w.key("name", f.Name, "")
	switch f.Kind {
	case Number:
		w.key("kind", f.Kind, "in the units of the data")
		w.key("min", f.Min, "public; a lower number counts as this one, and is counted")
		w.key("max", f.Max, "and a higher one as this")
		if f.Log {
			w.key("log", true, "its logarithm is learned from, as it tells more, or is small mostly and seldom large; leave it out for the number itself")
		}
	case Set:
		w.key("kind", f.Kind, "one of these values, or several with | between")
		w.key("values", f.Values, "public; a text that is none of them counts as none, and is counted")
	case Key:
		w.key("kind", f.Kind, "the name of what a record is about; the sums learn what people think of it")
		w.key("buckets", f.Buckets, "names are hashed into so many; the more, the fewer share one, and the more noise")
	case Time:
		w.key("kind", f.Kind, "clocks are those of UTC; utc_offset = \"+01:00\" says otherwise")
		w.key("parts", f.Parts, "of what it learns; leave out one that says nothing, and write \"hours\" for \"day\" where it has several peaks")
	case Vector:
		w.key("kind", f.Kind, "numbers that an encoder of yours computed")
		w.key("length", f.Length, "so many; only their direction counts, unless scale says the length of a usual one")
	case Text:
		w.key("kind", f.Kind, "what it says is hashed, so no list of words is needed")
		w.key("words", f.Words, "from so many words on to so many in a row are counted")
		if f.Letters != nil {
			w.key("letters", f.Letters, "and so many letters of a word, for its other forms")
		}
		w.key("buckets", f.Buckets, "into so many coordinates; more tell more words apart, and take more noise")
	}
}

func (w *writer) target(t *learner.Task) {
	w.table("[target]")
	w.key("name", t.Target.Name, "what is predicted")
	switch {
	case len(t.Target.Classes) == 2:
		w.key("classes", t.Target.Classes, "public, as the data spells them; the second is the one that counts as positive")
	case len(t.Target.Classes) > 0:
		w.key("classes", t.Target.Classes, "public, as the data spells them; another one is a bad line")
	default:
		w.key("min", t.Target.Min, "public; a lower number counts as this one, and is counted")
		w.key("max", t.Target.Max, "and a higher one as this")
		if t.Target.Log {
			w.key("log", true, "its logarithm is learned, and errors are shares; leave it out, and center, for the number itself")
		}
		w.key("center", t.Target.Center, "what is usual, as far as everybody knows")
	}
}

func (w *writer) release(t *learner.Task) {
	w.table("[release]")
	w.key("epsilon", t.Release.Epsilon, "the budget of each record, for its whole life: smaller protects more and learns less")
	w.key("delta", t.Release.Delta, "room for exceptions to epsilon, see docs/privacy.md")
	if t.Silent() {
		return
	}
	w.key("releases", t.Release.Releases, "so many models share the budget")
	if t.Clocked() {
		w.key("wake_seconds", t.Release.WakeSeconds, "mean time between two of a node")
	}
}

// network writes the keys that follow from the expected numbers of nodes and records,
// if the owner has given these.
func (w *writer) network(t *learner.Task, said Wishes) {
	if t.Silent() {
		return
	}
	if said.Nodes > 0 {
		w.table("[graph]")
		w.key("degree", t.Graph.Degree, "neighbours that a node looks for")
	}
	if t.InRounds() {
		w.table("[rounds]")
		w.key("seconds", t.Rounds.Seconds, "a round ends after this at the latest")
		if said.Nodes > 0 || said.Records > 0 {
			w.key("step", t.Rounds.Step, "of each release, so long for the nodes and records that are expected")
		}
	}
}

func (w *writer) sums(t *learner.Task, said Wishes) {
	if len(t.Sums.Committee) == 0 {
		return
	}
	s := &t.Sums
	w.table("[sums]")
	w.key("committee", s.Committee, fmt.Sprintf("who adds up; all who take part trust that no %d of them work together", s.Colluding+1))
	if said.Nodes > 0 || said.Records > 0 {
		w.key("recipes", inline("[{kind = "+stringText(s.Recipes[0].Kind)+"}]"), "what is added up, so chosen for the nodes and records that are expected")
	}
	w.key("contributors", s.Contributors, "people in a sum at most")
	w.key("records", s.Records, "of each at most")
	w.key("epochs", s.Epochs, "so often at most, at growing intervals; a record is in one of them")
	w.key("close_seconds", s.CloseSeconds, "how long each takes contributions; 30.0 to try it on one machine")
}
