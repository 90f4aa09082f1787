package sim

import (
	"slices"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// door is the door of a device without its disk: the same filter, seeded noise.
type door struct {
	account *privacy.Account // nil: unprotected
	noise   *privacy.SeededNoise
	limit   int // on the number of releases; 0: none
	made    int
}

func newDoor(p *Participant, noise *privacy.SeededNoise) (door, error) {
	d := door{noise: noise, limit: p.Releases}
	if p.Policy.Terms == (privacy.Terms{}) {
		return d, nil
	}
	var err error
	d.account, err = privacy.NewAccount(p.Policy)
	return d, err
}

func (d *door) answer(q *learner.Query) (privacy.Answer, error) {
	if d.limit > 0 && d.made >= d.limit {
		return privacy.Answer{}, nil
	}
	sums := q.Sums
	if d.account != nil {
		var err error
		if sums, err = d.pay(q); err != nil {
			return privacy.Answer{}, err
		}
	}
	a := d.noise.Answer(q.Mechanism, sums)
	if !a.Exhausted() {
		d.made++
	}
	return a, nil
}

// pay returns the sums whose cohorts could pay.
func (d *door) pay(q *learner.Query) ([]privacy.Sum, error) {
	cohorts := make([]privacy.Cohort, len(q.Sums))
	for i := range q.Sums {
		cohorts[i] = q.Sums[i].Cohort()
	}
	var paid []privacy.Sum
	for _, debit := range d.account.Admit(q.Mechanism, cohorts) {
		if err := d.account.Apply(debit); err != nil {
			return nil, err
		}
		paid = append(paid, q.Sums[slices.Index(cohorts, debit.Cohort)])
	}
	return paid, nil
}

func (d *door) spent(c privacy.Cohort) float64 {
	if d.account == nil {
		return 0
	}
	return d.account.Spent(c)
}
