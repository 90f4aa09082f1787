package learner

import (
	"cmp"
	"math"
	"slices"
)

// negligible is how far a log weight must be below the best for its fit to be ignored.
const negligible = 8

// line is the series of fits around one centre, from the most plausible eta in both
// directions.
type line struct {
	kappa float64
	wary  bool    // of the noise in the centre, see [search.doubt]
	noise float64 // the share of the noise's variance that is believed to be there
	loose bool    // in its constant, see [search.loosen]
	sides [2]side // weaker pulls, stronger pulls
}

// side is the present end of a line in one direction.
type side struct {
	last  candidate
	ended bool // further fits would weigh nothing
}

// among makes the fits with a weight that counts. It begins with the most plausible eta
// and goes outward: in all measured tasks the weight along a line rises to one peak and
// falls, so a line ends where the weight falls below what counts. All lines make their
// fit of one eta before the next, because these may share work.
func (s *search) among(f fits, yield func(PersonalModel) bool) {
	first, lines := int(math.Round(s.plausible)), []line(nil)
	noise := s.variance != nil // zero variance is the limit of a small one: as many lines keep the weights from a jump there
	for _, kappa := range s.kappas {
		lines = append(lines, line{kappa: kappa, wary: noise && s.raw, noise: 1})
		if noise && s.between() && kappa != 0 {
			lines = append(lines, line{kappa: kappa, wary: true, noise: s.least})
		}
	}
	if noise && !s.raw {
		lines = append(lines, line{kappa: s.kappas[0], wary: true, noise: 1})
	}
	if s.aside > 0 && slices.Contains(s.kappas, 0) { // competes with the other lone line; what a prior says of its constant is worth more
		lines = append(lines, line{kappa: 0, loose: true})
	}
	for distance := 0; ; distance++ {
		more := false
		for i, octave := range []int{first - distance, first + distance} {
			if distance == 0 && i > 0 {
				continue
			}
			for j := range lines {
				if lines[j].sides[i].ended {
					continue
				}
				if !s.extend(f, &lines[j], i, octave, distance == 0) || !yield(s.model) {
					return
				}
				more = true
			}
		}
		if !more || s.task.Local.Fixed {
			return
		}
	}
}

// extend makes the next fit of a side of the line, or the first fit of both sides. It
// returns false if the search was stopped.
func (s *search) extend(f fits, l *line, i, octave int, first bool) bool {
	end := &l.sides[i]
	centre, weight, theta := s.centre(l.kappa), s.pull(l.kappa, octave), slices.Clone(end.last.theta)
	if l.loose {
		s.loosen(weight, octave)
	}
	if l.kappa != 0 {
		s.doubt(weight, centre, l)
	}
	if theta == nil {
		theta = s.start(l.kappa, centre)
	}
	seen := func() {
		if s.alone == nil && s.together == nil { // show it rather than nothing
			s.show(slices.Clone(theta), make([]float64, len(theta)))
		}
	}
	e, more := f.fit(theta, weight, centre, seen)
	if !more {
		return false
	}
	c := s.add(l.kappa, octave, theta, e)
	if first {
		l.sides = [2]side{{last: c}, {last: c}}
		return true
	}
	weighs := c.logWeight >= end.last.logWeight || c.logWeight >= s.best(l.kappa)-negligible // not if it is no number
	end.ended = !weighs || math.IsInf(c.logWeight, -1)
	end.last = c
	return true
}

// start returns the starting point of the first fit around a centre: the end of a fit
// around another centre, or the centre itself. Lone fits use nothing of the others.
func (s *search) start(kappa float64, centre []float64) []float64 {
	if kappa != 0 && len(s.together) > 0 {
		return slices.Clone(s.together[0].theta)
	}
	return slices.Clone(centre)
}

// best is the largest log weight among the fits that share the weight with one around
// kappa times the prior.
func (s *search) best(kappa float64) float64 {
	rivals := s.alone
	if kappa != 0 {
		rivals = s.rivals()
	}
	return slices.MaxFunc(rivals, func(a, b candidate) int { return cmp.Compare(a.logWeight, b.logWeight) }).logWeight
}
