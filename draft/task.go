package draft

import (
	"cmp"
	"errors"
	"fmt"

	"p2pnode/learner"
)

// The numbers of coordinates or lists into which texts, names and keys are hashed. They
// are public, and do not depend on the file. Larger numbers distinguish more texts, and
// need more noise.
const (
	textBuckets = 256
	wordBuckets = 64
	keyBuckets  = 1024
)

// task returns the task that follows from the plan, whole and valid. There must be no
// [Plan.Questions] left.
func (p *Plan) task() (*learner.Task, error) {
	if left := p.Questions(); len(left) > 0 {
		return nil, fmt.Errorf("column %q: nobody has said %s", left[0].Column, left[0].Flag())
	}
	target := p.target()
	said := learner.Task{Name: cmp.Or(p.wishes.Name, target.Name), Target: learner.Target{Name: target.Name}}
	keys := learner.Keys{"name": true, "features": true, "target": true}
	if target.kind == Set {
		said.Target.Classes = p.wishes.Values[target.Name]
		if len(said.Target.Classes) < 2 {
			return nil, fmt.Errorf("column %q: there must be two classes at least to tell apart", target.Name)
		}
	} else {
		r := p.wishes.Ranges[target.Name]
		said.Target.Min, said.Target.Max = r.Low, r.High
	}
	scale, _ := p.scale()
	said.Target.Log = scale.Log
	for _, u := range p.features() {
		said.Features = append(said.Features, p.feature(u, scale))
	}
	if p.wishes.Epsilon != 0 {
		said.Release.Epsilon, keys["release.epsilon"] = p.wishes.Epsilon, true
	}
	if p.wishes.Committee != nil {
		said.Sums.Committee, keys["sums.committee"] = p.wishes.Committee, true
	}
	t := said.Complete(keys, learner.Expected{Nodes: p.wishes.Nodes, Records: float64(p.wishes.Records)})
	if max(-t.Target.Min, t.Target.Max) > learner.LargestTarget {
		return nil, target.boundless(p.wishes.Ranges[target.Name])
	}
	return t, valid(t)
}

// valid returns an error that names all that is wrong with a task.
func valid(t *learner.Task) error {
	var wrong []error
	for _, f := range t.Faults() {
		wrong = append(wrong, fmt.Errorf("the task's %s %s", f.Key, f.Text))
	}
	return errors.Join(wrong...)
}

// feature is a column as a feature of the task. The logarithm of a number is taken if the target is
// surely more of a straight line of it, or if it looks more useful and the target is surely not more of
// one of the number.
func (p *Plan) feature(u use, target *learner.Target) learner.Feature {
	f := p.form(u)
	if f.Kind == Number && 0 <= f.Min && f.Min < f.Max {
		other := f
		other.Log = !f.Log
		if surelyMore(p.survey.along(u.Column, target), &f, &other) {
			f = other
		}
	}
	return f
}

// form is the feature that a column looks like.
func (p *Plan) form(u use) learner.Feature {
	f := learner.Feature{Name: u.Name, Kind: u.kind}
	switch u.kind {
	case Number:
		f.Min, f.Max = p.wishes.Ranges[u.Name].Low, p.wishes.Ranges[u.Name].High
		f.Log = u.log && f.Min >= 0
	case Set:
		f.Values = p.wishes.Values[u.Name]
	case Key:
		f.Buckets = keyBuckets
	case Time:
		f.Parts = []string{"day", "week", "year"}
		if u.dates == u.Times && u.Numbers == 0 { // they have no hour
			f.Parts = f.Parts[1:]
		}
	case Vector:
		f.Length = u.Length
	case Text:
		f.Words, f.Buckets = []int{1, 1}, wordBuckets
		if u.long { // in sentences a word has many forms
			f.Letters, f.Buckets = []int{3, 4}, textBuckets
		}
	}
	return f
}
