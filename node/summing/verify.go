package summing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"p2pnode/sums"
)

// Verified is a result file that passed all checks.
type Verified struct {
	Sum    *sums.Sum
	Recipe int // index of the recipe in the plan
	Result *sums.Published
	List   *sums.List // names the contributions that are in the result; nil: the list is not beside the file
	Voters []int      // the members that certified the list, ascending
}

// Verify checks a file with a published result, as nodes keep it, against the plan alone:
// that more members of the committee than may collude signed it for a sum of this task.
// If the certified list is beside the file, Verify also checks that the result belongs to
// this list and that a quorum certified the list.
func (p *Plan) Verify(path string) (*Verified, error) {
	result, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("summing: read the result: %w", err)
	}
	v, err := p.find(filepath.Base(path), result)
	if err != nil {
		return nil, fmt.Errorf("summing: %s: %w", path, err)
	}
	beside := strings.TrimSuffix(path, resultSuffix) + listSuffix
	decision, err := os.ReadFile(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return nil, fmt.Errorf("summing: read the list: %w", err)
	}
	if v.List, v.Voters, err = v.Sum.ReadDecision(v.Result, decision); err != nil {
		return nil, fmt.Errorf("summing: %s: %w", beside, err)
	}
	return v, nil
}

// find returns the sum to which this result belongs. A file that is named after a sum
// must hold the result of that sum.
func (p *Plan) find(name string, result []byte) (*Verified, error) {
	for i := range p.recipes {
		for s := range p.sums(i) {
			r, err := s.ReadPublished(result)
			if err == nil {
				return &Verified{Sum: s, Recipe: i, Result: r}, nil
			}
			if name == ResultFile(s.ID) {
				return nil, err
			}
		}
	}
	return nil, errors.New("it is no result of a private sum of this task, or it is damaged")
}

// Named returns the sum whose name begins with the name of a member's directory, and its
// recipe; nil if the plan has none.
func (p *Plan) Named(directory string) (s *sums.Sum, recipe int) {
	for i := range p.recipes {
		for s := range p.sums(i) {
			if filepath.Base(directoryOf("", s.ID)) == directory {
				return s, i
			}
		}
	}
	return nil, 0
}
