package movielens

import (
	"fmt"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"p2pnode/testnet"
	"p2pnode/testnet/paper"
)

// report makes the rows and the page of the cells that are done.
func (e *experiment) report(done paper.Done) (*paper.Report, error) {
	r := new(paper.Report)
	for _, reading := range readings(e.quick) {
		rows, err := e.readingRows(reading, done)
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, rows...)
	}
	for _, k := range kinds() {
		r.Rows = append(r.Rows, e.kindRows(k, done)...)
	}
	r.Rows = append(r.Rows, e.sumRows(done)...)
	r.Verdict, r.Summary = e.verdict(done), summary(r.Rows)
	r.Notes = e.notes()
	r.Sections = e.sections(r.Rows, done)
	return r, nil
}

// kindRows are the rows of what is possible with one kind of features.
func (e *experiment) kindRows(k kind, done paper.Done) []paper.Row {
	var rows []paper.Row
	if alone := e.errors(e.splitsDone(done, func(i int) string { return e.aloneKey(k, i) })); alone != nil {
		rows = append(rows, row(k.name+": tuned, alone", guarantee{}, alone, published.local))
	}
	for _, g := range e.guarantees(k) {
		pairs, with := e.pairs(k, g, done)
		if len(pairs) == 0 {
			continue
		}
		paperNumber := published.together[g.epsilon]
		if g.delta == smallDelta {
			paperNumber = 0 // the paper has none at this delta
		}
		r := row(k.name+": together", g, with, paperNumber)
		r.Valid = g.epsilon > 0
		e.gain(&r, pairs)
		if k.leaks() && r.Valid {
			r.Note = "valid for the messages, given the features; these are factors of everybody's ratings, as in the paper, and are not private"
		}
		rows = append(rows, r)
	}
	return rows
}

// resamples of a bootstrap.
const resamples = 1000

// splitsDone are the numbers of the splits that are done.
func (e *experiment) splitsDone(done paper.Done, key func(i int) string) []paper.Numbers {
	var list []paper.Numbers
	for i := range e.seeds {
		if n, ok := done[key(i)]; ok {
			list = append(list, n)
		}
	}
	return list
}

// errors is the mean error over people in each split.
func (e *experiment) errors(splits []paper.Numbers) []float64 {
	var errs []float64
	for _, n := range splits {
		errs = append(errs, stat.Mean(n["error"], nil))
	}
	return errs
}

// pairs sets everyone's error after learning together beside that of their tuned lone
// model, over the splits that have both. It also returns the mean error of each of these
// splits.
func (e *experiment) pairs(k kind, g guarantee, done paper.Done) (pairs []testnet.Pair, with []float64) {
	return e.pairsOf(k, done, func(i int) []float64 { return done[e.key(k, g, i)]["error"] })
}

// pairsOf is pairs for the errors of a split that errs returns, nil where it has none.
func (e *experiment) pairsOf(k kind, done paper.Done, errs func(i int) []float64) (pairs []testnet.Pair, with []float64) {
	for i := range e.seeds {
		alone, list := done[e.aloneKey(k, i)], errs(i)
		if alone == nil || list == nil {
			continue
		}
		with = append(with, stat.Mean(list, nil))
		for j, person := range alone["person"] {
			pairs = append(pairs, testnet.Pair{Person: int(person), Train: int(alone["records"][j]), Alone: alone["error"][j], With: list[j]})
		}
	}
	return pairs, with
}

// gain sets what a row gains over the tuned lone models of the same people.
func (e *experiment) gain(r *paper.Row, pairs []testnet.Pair) {
	r.Alone = paper.Number(meanAlone(pairs))
	gain := testnet.Bootstrap(pairs, resamples, e.seeds[0])
	r.GainLow, r.GainHigh = &gain.Low, &gain.High
}

// verdict is that of valid privacy at epsilon 1 with features that are not secret.
func (e *experiment) verdict(done paper.Done) string {
	private, _ := e.pairs(donated, guarantee{1, paperDelta}, done)
	if len(private) == 0 {
		return ""
	}
	free, _ := e.pairs(donated, guarantee{}, done)
	return testnet.Judge(testnet.Evidence{Pairs: private, Free: free, Seed: e.seeds[0]}).String()
}

func meanAlone(pairs []testnet.Pair) float64 {
	var sum float64
	for _, p := range pairs {
		sum += p.Alone
	}
	return sum / float64(len(pairs))
}

// number is a person's number in u.data.
func number(p *testnet.Person) float64 {
	n, _ := strconv.Atoi(p.Name) // people made the name from a number
	return float64(n)
}

// find returns the row of a setting at a guarantee, or nil.
func find(rows []paper.Row, setting string, g guarantee) *paper.Row {
	for i := range rows {
		r := &rows[i]
		if r.Setting != setting {
			continue
		}
		if r.Epsilon == nil && g.epsilon == 0 || r.Epsilon != nil && *r.Epsilon == g.epsilon && *r.Delta == g.delta {
			return r
		}
	}
	return nil
}

func summary(rows []paper.Row) string {
	r := find(rows, donated.name+": together", guarantee{1, paperDelta})
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("At epsilon 1 people who share nothing but private messages reach an RMSE of %.4f, where the paper's table says %.4f and alone, tuned, they reach %.4f.",
		*r.Error, *r.Published, *r.Alone)
	if best := find(rows, analysed.name+": tuned, alone", guarantee{}); best != nil {
		text += fmt.Sprintf(" With all that the donors' ratings tell they reach %.4f alone.", *best.Error)
	}
	return text
}

func (e *experiment) notes() []string {
	notes := []string{
		"Splits 1 to 5 were drawn once at random and are part of the program; other seeds draw further ones. In each, a fifth of every person's ratings is tested on.",
		"Delta of Table 1 is exp(-5) = 0.0067, which is large: more than one rating in 150 may be told. The same rows stand at 1e-6 too.",
		"\"Losses summed\" is the reading of the paper that comes nearest to its five numbers. It adds noise for the mean gradient to the sum, m times too little, and clips in l2 where Laplace noise needs l1; so it is not private at the stated epsilon. " +
			"The true epsilon is that of the noise it adds; that each user's mean and step size depend on her ratings too is not counted.",
		"\"Losses averaged\" is the paper's text taken literally: its noise would be right, if subtracting a user's mean and the step size did not depend on the ratings; so it is marked invalid too.",
		"What is valid: ratings less the constant 3.53, gradients clipped in l2, exact discrete Gaussian noise, a random graph, a public step size, and a personal fit at the end around the mean of the neighbours' models, which is never sent.",
		"Factors of all ratings tell about ratings before any message is sent; those of the 189 donors use ratings of people who gave them away, and means are over the other 754, who learn; genres and decades are public.",
		"Genres and factors, analysed from the donors, are a prior for each person too: what the average donor gives, and how people differ. That row is of people alone, who send and hear nothing. " +
			"Measured once with messages, at epsilon 1 in splits 1 to 5, they were no better: with such a prior there is nothing left that noisy models can add. Nor do they add anything to the factors from donors for a person who fits around the donors' mean model instead of 0. " +
			"So where people have given their ratings away, use these; messages are for where nobody has. The number of factors and of rounds were chosen on training ratings left out, those of splits 1 to 5.",
		"The private sum is of votes on each movie, at (1, 1e-6) for each rating and with the noise of a committee of four of whom one may collude; genres are public for each movie. " +
			"What it says is a candidate beside the lone fits of genres and decades. A newcomer's own votes are in no sum; she fits her own ratings around what the others think.",
		"The constants (regularisation of the factors, mu, clip, number of updates, usual pull of the personal fit, alone and together) were chosen once by leaving out some of the training ratings of splits 1 to 3, without a budget, as papers do; only the readings of the paper were chosen by how near they come to it. How far to go from the usual pull each person weighs on her own training ratings.",
	}
	if e.quick {
		notes = append(notes, "A quick run: a quarter of the updates, fewer settings.")
	}
	return notes
}
