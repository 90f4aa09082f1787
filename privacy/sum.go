package privacy

// MaxSlots is the largest number of record slots in one release.
const MaxSlots = 1 << 20

// Cohort numbers a group of records that share one budget.
type Cohort uint64

// Sum adds up the contributions of the records of one cohort. It is opaque: its content
// leaves only through the Answer methods, with noise. It is built by
// [Mechanism.NewSum], [Sum.Add] and [Sum.AddEmpty] alone, and so replacing one record
// moves it by at most twice the clip, in l1 norm under the Laplace laws and in l2 norm
// otherwise, whatever was added; or by [Mechanism.NewBounded], whose caller answers for
// the distance. A copy shares its content with the original and, if it was made in a
// [Memory], its life. A sum is not safe for concurrent use.
type Sum struct {
	mechanism Mechanism
	cohort    Cohort
	slots     int
	total     []int64 // in grid units; stays 0 in a subsampled sum
	records   []int64 // in a subsampled sum: every slot's contribution, one after the other
	record    []int64 // working memory of Add: one record's contribution
	inside    inside
	memory    *Memory // in which the sum lives; nil: its own
	life      uint64  // the life of the memory when the sum was made
}

// NewSum returns an empty sum of vectors of length dim for the records of c. A
// subsampled sum takes 8 bytes for each slot and coordinate, any other 8 bytes for each
// coordinate. It panics if the mechanism is from [Mechanism.Bounded].
func (m Mechanism) NewSum(c Cohort, dim int) Sum {
	m.clips()
	return Sum{mechanism: m, cohort: c, total: make([]int64, dim), record: make([]int64, dim), inside: m.inside(dim)}
}

// clips panics if the mechanism is from [Mechanism.Bounded].
func (m Mechanism) clips() {
	if m.distance > 0 {
		panic("privacy: this mechanism takes whole vectors, use NewBounded")
	}
}

// Add fills one slot with the gradient of one record: coordinates that are not
// finite become 0, the vector is scaled down to the clip if it is longer, and
// coordinates are rounded toward zero to the grid. The gradient is not kept. A
// sum that has [MaxSlots] slots takes no more; this looks at the number of
// records only. It panics if the length is not that of the sum, and on a sum from
// [Mechanism.NewBounded], which is complete.
func (s *Sum) Add(gradient []float64) { s.add(gradient, 1) }

// AddEmpty fills one slot with nothing: the slot of a deleted record, so that the
// number of slots says nothing about the deletion. It takes as long as Add takes for
// the gradient like, so that the time says nothing about it either.
func (s *Sum) AddEmpty(like []float64) { s.add(like, 0) }

// add is Add for weight times the contribution; weight is 1 or 0.
func (s *Sum) add(gradient []float64, weight int64) {
	switch {
	case !s.alive():
		panic(errDead)
	case len(gradient) != len(s.total):
		panic("privacy: the gradient's length is not the dimension of the sum")
	case s.mechanism.distance > 0:
		panic("privacy: a bounded sum takes no records")
	}
	if s.mechanism.slots == 0 && s.slots < MaxSlots {
		f, ordinary, inside := s.mechanism.factor(gradient)
		f *= float64(weight)
		if inside {
			addInside(s.total, gradient, f)
		}
		if inside || ordinary && addWithin(s.total, gradient, f, s.mechanism.clip) {
			s.slots++
			return
		}
	}
	s.mechanism.quantise(s.record, gradient)
	for j := range s.record {
		s.record[j] *= weight
	}
	s.fill(s.record)
}

// fill gives the contribution a slot, if one is left.
func (s *Sum) fill(contribution []int64) {
	switch {
	case s.slots == MaxSlots:
		return
	case s.mechanism.slots > 0:
		s.records = append(s.records, contribution...)
	default:
		add(s.total, contribution)
	}
	s.slots++
}

// add adds v to total, coordinate by coordinate.
func add(total, v []int64) {
	for j, n := range v {
		total[j] += n
	}
}

// Cohort returns the cohort of the sum's records.
func (s *Sum) Cohort() Cohort { return s.cohort }

// Dimension returns the number of coordinates.
func (s *Sum) Dimension() int { return len(s.total) }

// Slots returns how many record slots, empty ones included, are in the sum.
func (s *Sum) Slots() int { return s.slots }
