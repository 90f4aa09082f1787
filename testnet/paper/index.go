package paper

import (
	"fmt"
	"io"

	"p2pnode/testnet/page"
)

// Entry is an experiment in the index, with its result or the reason why there is none.
type Entry struct {
	Name    string
	Title   string
	Result  *Result
	LeftOut string
}

// WriteIndex writes the page that links to those of the experiments. made says how they
// were made.
func WriteIndex(w io.Writer, entries []Entry, made ...page.Fact) error {
	p := &page.Page{
		Title: "The papers' experiments, beside what is really possible",
		Lead: []string{
			"Each page repeats an experiment of a paper and sets beside the published numbers what can be had: " +
				"privacy that holds, tuned baselines, equal epsilon. What is crossed out there does not have the privacy it claims.",
		},
		Facts: made,
	}
	done := page.Table{Caption: "Experiments", Head: []string{"experiment", "main result", "rows", "seeds", "time"}}
	out := page.Table{Caption: "Left out", Head: []string{"experiment", "why"}}
	for _, e := range entries {
		if e.Result == nil {
			out.Rows = append(out.Rows, page.Line{Cells: []string{e.Name + ": " + e.Title, e.LeftOut}})
			continue
		}
		done.Rows = append(done.Rows, page.Line{Link: e.Name + ".html", Cells: []string{
			e.Title, e.Result.summary(), fmt.Sprint(len(e.Result.Rows)), fmt.Sprint(e.Result.Seeds), fmt.Sprintf("%.0f s", e.Result.Seconds),
		}})
	}
	p.Sections = append(p.Sections, page.Section{Title: "Results", Tables: []page.Table{done}})
	if len(out.Rows) > 0 {
		p.Sections = append(p.Sections, page.Section{Title: "Left out", Tables: []page.Table{out}})
	}
	return p.Write(w)
}

// summary is the main result, with a warning if some cells are missing.
func (r *Result) summary() string {
	text := r.Summary
	if r.Verdict != "" {
		text = r.Verdict + ". " + text
	}
	if r.Complete {
		return text
	}
	return "INTERRUPTED, so far: " + text
}
