package learner

import (
	"cmp"
	"slices"
)

// negligible is how far below the best a log weight says nothing any more.
const negligible = 12

// line is the fits around one centre, from the task's own eta to either side.
type line struct {
	kappa float64
	sides [2]side // weaker pulls, stronger ones
}

// side is the end of a line.
type side struct {
	last  candidate
	ended bool // what would follow weighs nothing
}

// lean makes the fits that weigh something. They begin with the task's own eta and
// kappa and go outward: along a line the weight rises to one peak and falls, as it
// measured in all tasks, so that a line ends where it falls below what counts. All
// lines of one eta come one after the other, as they may share the work on S.
func (s *search) lean(train *Rows, yield func(PersonalModel) bool) {
	f := newLeanFitter(s.task.loss(), train, func() bool { return yield(s.model) })
	lines := s.lines()
	for distance := range s.widest + 1 {
		for i, octave := range []int{-distance, distance} {
			if octave == 0 && i > 0 {
				continue
			}
			for j := range lines {
				if !s.extend(f, &lines[j], i, octave) {
					return
				}
			}
		}
	}
	yield(s.model)
}

// lines begins with the one that is most plausible before a record is seen.
func (s *search) lines() []line {
	kappas := []float64{0}
	if n := len(s.kappas); n > 0 {
		own := s.kappas[n/2]
		kappas = append([]float64{own, 0}, slices.DeleteFunc(slices.Clone(s.kappas), func(k float64) bool { return k == own })...)
	}
	lines := make([]line, len(kappas))
	for i, k := range kappas {
		lines[i].kappa = k
	}
	return lines
}

// extend makes the next fit of a side of the line, and reports whether it was let.
func (s *search) extend(f *leanFitter, l *line, i, octave int) bool {
	end := &l.sides[i]
	if end.ended {
		return true
	}
	centre, weight := s.centre(l.kappa), s.pull(octave)
	theta := slices.Clone(end.last.theta)
	if theta == nil {
		theta = s.start(centre)
	}
	seen := func() {
		if s.alone == nil && s.together == nil { // better than nothing
			s.show(slices.Clone(theta), make([]float64, len(theta)))
		}
	}
	if !f.minimise(theta, weight, centre, seen) {
		return false
	}
	scores, more := f.leaveOneOut(weight)
	if !more {
		return false
	}
	c := s.add(l.kappa, octave, theta, f.loss.evidence(scores, f.y))
	if octave == 0 {
		l.sides = [2]side{{last: c}, {last: c}}
		return true
	}
	end.ended = c.logWeight < end.last.logWeight && c.logWeight < s.best(l.kappa)-negligible
	end.last = c
	return true
}

// start is where the first fit around a centre begins: where one around another
// ended, or the centre.
func (s *search) start(centre []float64) []float64 {
	if len(s.together) > 0 {
		return slices.Clone(s.together[0].theta)
	}
	return slices.Clone(centre)
}

// best is the largest log weight of those that a fit around kappa times the prior
// shares the weight with.
func (s *search) best(kappa float64) float64 {
	rivals := s.alone
	if kappa != 0 {
		rivals = s.rivals()
	}
	return slices.MaxFunc(rivals, func(a, b candidate) int { return cmp.Compare(a.logWeight, b.logWeight) }).logWeight
}
