package audit

import (
	"bytes"
	"fmt"
	"slices"

	"p2pnode/sums"
)

// In openTwiceAsOne and openTwiceAsTwo the leader proposes one list to some members and
// another one, without one device, to the others, and votes for both. Two openings
// would show that device's vector.
func openTwiceAsOne(seed uint64) (Attempt, error) {
	a := Attempt{Attack: "1 member, who leads, has two lists voted on"}
	s, _, err := openTwice(seed, 0)
	if a.Holds = len(s.opened) == 1; err != nil {
		return a, err
	}
	a.Found = fmt.Sprintf("%d list was opened", len(s.opened))
	return a, nil
}

func openTwiceAsTwo(seed uint64) (Attempt, error) {
	a := Attempt{Attack: "2 members have two lists voted on"}
	s, lists, err := openTwice(seed, 0, 1)
	if len(s.opened) < 2 {
		a.Found = "one list was opened: the attack is no good"
		return a, err
	}
	rest, upload, err := s.difference(lists)
	if err != nil {
		return a, err
	}
	a.Holds = s.reads(rest, upload)
	a.Found = "two were opened, and their difference shows 1 member a device's vector, as is said of more"
	return a, nil
}

// openTwice returns the lists that were proposed; the second one lacks the first
// device. Its error does not report members that end up with two different results.
func openTwice(seed uint64, colluders ...int) (*scene, [2]*sums.List, error) {
	s := newScene(seed, 1, 5, colluders...)
	var lists [2]*sums.List
	// The honest members that see each list.
	shown := [2][]int{{1}, {2, 3}}
	if len(colluders) > 1 {
		shown = [2][]int{{2}, {3}}
	}
	s.lie = func(by int, m *sums.Message, l sums.Letter) ([]sums.Letter, error) {
		if by == 0 && m.Kind == sums.KindList && m.Number == 0 && lists[0] == nil {
			whole, err := s.sum.ReadList(m.Payload, sums.Digest(m.Payload))
			if err != nil {
				return nil, err
			}
			lists = [2]*sums.List{whole, {Opening: whole.Opening, Entries: whole.Entries[1:]}}
		}
		if !slices.Contains([]sums.Kind{sums.KindList, sums.KindPropose, sums.KindPrepare, sums.KindCommit}, m.Kind) || lists[0] == nil {
			return []sums.Letter{l}, nil
		}
		var letters []sums.Letter
		for i, list := range lists {
			for _, by := range colluders {
				made, err := s.voteFor(by, list, shown[i])
				if err != nil {
					return nil, err
				}
				letters = append(letters, made...)
			}
		}
		return letters, nil
	}
	_, err := s.run()
	if len(s.opened) > 1 {
		err = s.err
	}
	return s, lists, err
}

// voteFor returns all messages that a colluding member can send for a list in the first
// view.
func (s *scene) voteFor(by int, list *sums.List, to []int) (letters []sums.Letter, err error) {
	digest := list.Digest()
	for _, kind := range []sums.Kind{sums.KindList, sums.KindPropose, sums.KindPrepare, sums.KindCommit} {
		payload := digest[:]
		if kind == sums.KindList {
			payload = list.Bytes()
		}
		if kind == sums.KindPropose && by != 0 {
			continue // this member does not lead
		}
		message, err := s.say(by, kind, 0, payload)
		if err != nil {
			return nil, err
		}
		for _, member := range to {
			letters = append(letters, sums.Letter{To: member, Message: message})
		}
	}
	return letters, nil
}

// difference is what member 0 alone can read of the device that is in only one list.
// Member 0 lacks one class's stream of that device, and the sums of the two lists
// differ by that stream.
func (s *scene) difference(lists [2]*sums.List) (rest []uint64, upload []byte, err error) {
	device := lists[0].Entries[0].From
	for _, u := range s.uploads {
		if bytes.Equal(u[fromAt:][:digestSize], device[:]) {
			upload = u
		}
	}
	alone := attacker{sum: s.sum, keys: map[int]sums.Secrets{0: s.keys[0]}}
	if rest, err = alone.view(upload); err != nil {
		return nil, nil, err
	}
	for k, class := range s.sum.Committee.Classes() {
		if lacked(class, 0) {
			add(rest, wordsOf(s.opened[lists[0].Digest()][k]), 1)
			add(rest, wordsOf(s.opened[lists[1].Digest()][k]), -1)
		}
	}
	return rest, upload, nil
}
