//go:build linux && amd64

package node

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"p2pnode/privacy"
	"p2pnode/storage"
)

// saying is one line of a child.
type saying struct {
	what    string // drawn, sent, failed, refused, used, done
	round   uint64
	message string // of sent; of failed the error
}

// parseSayings drops a line that the child's death cut off.
func parseSayings(text string) (all []saying, err error) {
	lines := strings.Split(text, "\n")
	for _, line := range lines[:len(lines)-1] {
		var s saying
		what, rest, _ := strings.Cut(line, " ")
		switch s.what = what; what {
		case "drawn", "sent":
			_, err = fmt.Sscan(rest, &s.round)
			_, s.message, _ = strings.Cut(rest, " ")
		case "failed":
			s.message = rest
		case "refused", "used", "done":
		default:
			err = fmt.Errorf("the child said %q", line)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// holding is what a directory holds when it is opened again.
type holding struct {
	round, stored uint64 // highest paid, newest committed
	message       string // of the stored round
	spending      []storage.Spending
	// debits are by round. One without a guarantee has cohort 0 and costs nothing.
	debits map[uint64][]privacy.Debit
}

// readCopy opens a copy of the directory as the next start would: a start is
// another chance to repair something, and the next child shall not have it.
func readCopy(dir string) (h holding, err error) {
	copied := dir + ".copy"
	defer func() { err = errors.Join(err, os.RemoveAll(copied)) }()
	if err := copyFiles(copied, dir); err != nil {
		return holding{}, err
	}
	return readHolding(copied)
}

func readHolding(dir string) (h holding, err error) {
	n, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return holding{}, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if _, err := n.newAgent(); err != nil {
		return holding{}, err
	}
	lines, err := n.ledger.Lines()
	if err != nil {
		return holding{}, err
	}
	unprotected := 0
	h.debits = make(map[uint64][]privacy.Debit)
	for _, l := range lines {
		if l.Kind == "unprotected" {
			unprotected++
		}
		if l.Round > 0 {
			h.debits[l.Round] = append(h.debits[l.Round], privacy.Debit{Cohort: l.Cohort, Cost: l.Cost})
		}
	}
	if n.ledger.Unprotected() != unprotected || n.ledger.Unbounded() != (unprotected > 0) {
		return holding{}, fmt.Errorf("%d rounds without a guarantee are counted, %d are in the ledger", n.ledger.Unprotected(), unprotected)
	}
	stored, message := n.ledger.Outgoing()
	h.round, h.stored, h.message, h.spending = n.ledger.Round(), stored, fmt.Sprintf("%x", message), n.ledger.Spending()
	if !n.files.Config.Protected() {
		return h, nil
	}
	return h, h.checkSpending(n.policy)
}

// checkSpending counts the debits again in an account of its own.
func (h holding) checkSpending(p privacy.Policy) error {
	twin, err := privacy.NewAccount(p)
	if err != nil {
		return err
	}
	for _, round := range slices.Sorted(maps.Keys(h.debits)) {
		m, _ := p.Next(twin.Position())
		price, _ := twin.Price(m)
		for _, d := range h.debits[round] {
			if d.Cost != price {
				return fmt.Errorf("cohort %d paid %v for round %d, which costs %v", d.Cohort, d.Cost, round, price)
			}
			if err := twin.Apply(d); err != nil {
				return err
			}
		}
	}
	for _, s := range h.spending {
		if s.Share != twin.Spent(s.Cohort) || s.Releases != twin.Releases(s.Cohort) {
			return fmt.Errorf("cohort %d has spent %v in %d releases; its debits say %v in %d",
				s.Cohort, s.Share, s.Releases, twin.Spent(s.Cohort), twin.Releases(s.Cohort))
		}
	}
	return nil
}

// past is all that is known of a directory from its children and from opening it.
type past struct {
	held   holding
	drawn  map[uint64]bool
	sent   map[uint64]string // bytes, by round
	burned map[uint64]bool   // paid, and never to be published
}

func newPast() *past {
	return &past{drawn: make(map[uint64]bool), sent: make(map[uint64]string), burned: make(map[uint64]bool)}
}

// empty reports whether the directory never held anything.
func (p *past) empty() bool { return p.held.round == 0 && len(p.drawn) == 0 && len(p.sent) == 0 }

// hear checks what one child said. said is how many lines it had begun when it
// was told of an error, -1 if it was not.
func (p *past) hear(all []saying, said int) error {
	newest := uint64(0)
	for i, s := range all {
		if s.what != "drawn" && s.what != "sent" {
			continue
		}
		if said >= 0 && i >= said {
			return fmt.Errorf("round %d is %s after an error", s.round, s.what)
		}
		if s.what == "drawn" {
			if p.drawn[s.round] {
				return fmt.Errorf("noise is drawn twice for round %d", s.round)
			}
			p.drawn[s.round] = true
			continue
		}
		before, again := p.sent[s.round]
		switch {
		case again && before != s.message:
			return fmt.Errorf("two different releases for round %d", s.round)
		case p.burned[s.round]:
			return fmt.Errorf("the burned round %d is published", s.round)
		case s.round <= newest:
			return fmt.Errorf("round %d is published after round %d", s.round, newest)
		case s.round == p.held.stored && s.message != p.held.message:
			return fmt.Errorf("round %d is published with other bytes than are stored", s.round)
		}
		newest = s.round
		p.sent[s.round] = s.message
	}
	return nil
}

// compare checks what the directory holds now against all that was before.
func (p *past) compare(h holding) error {
	if h.round < p.held.round || h.stored < p.held.stored || h.stored > h.round {
		return fmt.Errorf("round %d and stored round %d after %d and %d", h.round, h.stored, p.held.round, p.held.stored)
	}
	if p.burned[h.stored] {
		return fmt.Errorf("the burned round %d is stored", h.stored)
	}
	for _, before := range p.held.spending {
		i := slices.IndexFunc(h.spending, func(s storage.Spending) bool { return s.Cohort == before.Cohort })
		if i < 0 || h.spending[i].Share < before.Share || h.spending[i].Releases < before.Releases {
			return fmt.Errorf("cohort %d had spent %v, and now less", before.Cohort, before.Share)
		}
	}
	for round, debits := range h.debits {
		slices.SortFunc(debits, func(a, b privacy.Debit) int { return int(a.Cohort) - int(b.Cohort) })
		if len(slices.CompactFunc(slices.Clone(debits), func(a, b privacy.Debit) bool { return a.Cohort == b.Cohort })) != len(debits) {
			return fmt.Errorf("a cohort paid twice for round %d", round)
		}
		if round > h.stored {
			p.burned[round] = true
		}
	}
	for round := range p.drawn {
		if len(h.debits[round]) == 0 {
			return fmt.Errorf("noise was drawn for round %d, which is not paid", round)
		}
	}
	for round, message := range p.sent {
		switch {
		case len(h.debits[round]) == 0:
			return fmt.Errorf("round %d is published and not paid", round)
		case p.burned[round]:
			return fmt.Errorf("round %d is published and not stored", round)
		case round == h.stored && message != h.message:
			return fmt.Errorf("round %d is published with other bytes than are stored", round)
		}
	}
	p.held = h
	return nil
}
