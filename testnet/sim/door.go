package sim

import (
	"slices"

	"p2pnode/learner"
	"p2pnode/privacy"
)

// door is the door of a device without its disk: the same filter, seeded noise.
type door struct {
	account *privacy.Account     // nil: unprotected
	noise   *privacy.SeededNoise // nil before there is any
	seed    uint64
	who     int32
	limit   int // on the number of releases; 0: none
	made    int
}

func newDoor(p *Participant, seed uint64, i int) (door, error) {
	d := door{seed: seed, who: int32(i), limit: p.Releases}
	if p.Policy.Terms == (privacy.Terms{}) {
		return d, nil
	}
	var err error
	d.account, err = privacy.NewAccount(p.Policy)
	return d, err
}

// payment is the working memory of paying.
type payment struct {
	cohorts []privacy.Cohort
	sums    []privacy.Sum
}

// answer writes the door's answer to a.
func (d *door) answer(q *learner.Query, a *privacy.Answer, p *payment) error {
	if d.limit > 0 && d.made >= d.limit {
		*a = privacy.Answer{}
		return nil
	}
	sums := q.Sums
	if d.account != nil {
		var err error
		if sums, err = d.pay(q, p); err != nil {
			return err
		}
	}
	if d.noise == nil && q.Mechanism.Draws() {
		d.noise = AgentNoise(d.seed, int(d.who))
	}
	d.noise.AnswerInto(a, q.Mechanism, sums)
	if !a.Exhausted() {
		d.made++
	}
	return nil
}

// pay returns the sums whose cohorts could pay.
func (d *door) pay(q *learner.Query, p *payment) ([]privacy.Sum, error) {
	p.cohorts, p.sums = p.cohorts[:0], p.sums[:0]
	for i := range q.Sums {
		p.cohorts = append(p.cohorts, q.Sums[i].Cohort())
	}
	for _, debit := range d.account.Admit(q.Mechanism, p.cohorts) {
		if err := d.account.Apply(debit); err != nil {
			return nil, err
		}
		p.sums = append(p.sums, q.Sums[slices.Index(p.cohorts, debit.Cohort)])
	}
	return p.sums, nil
}

func (d *door) spent(c privacy.Cohort) float64 {
	if d.account == nil {
		return 0
	}
	return d.account.Spent(c)
}
