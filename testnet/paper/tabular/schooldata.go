package tabular

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"p2pnode/learner"
	"p2pnode/testnet"
)

// Constants of the School data. All ranges are public: marks from 1 to 70, percentages,
// and columns that say yes or no.
const (
	schoolFile   = "school.csv"
	schoolColumn = "school"
	scoreColumn  = "score"
	leastScore   = 1
	mostScore    = 70
	// schoolAnswers is how many of the columns of yes and no are yes: one each for the
	// year, the gender, the band, the origin, the school's gender and its denomination.
	schoolAnswers = 6
)

// schoolExpects is what --data must name.
const schoolExpects = "the examination records of the Inner London Education Authority, 1985 to 1987 (Goldstein 1991; \"School\" in the literature on " +
	"multi-task learning, with its MATLAB file school_b.mat), as " + schoolFile + " or a directory that holds it: a header \"row,school,score,x1,...,x28\" and " +
	"15362 lines; school is 1 to 139, score 1 to 70, x4 and x5 are percentages, the others 0 or 1, x28 always 1"

// schoolData is the file as records.
type schoolData struct {
	coding *coding
	owners *owners
	hash   string
}

func readSchool(path string) (*schoolData, error) {
	if s, err := os.Stat(path); err == nil && s.IsDir() {
		path = filepath.Join(path, schoolFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--data: %w; it must name %s", err, schoolExpects)
	}
	defer f.Close()
	hash := sha256.New()
	sheet, err := testnet.ReadSheet(io.TeeReader(f, hash), path, nil)
	if err != nil {
		return nil, fmt.Errorf("%w; --data must name %s", err, schoolExpects)
	}
	c, err := schoolCoding(sheet)
	if err != nil {
		return nil, fmt.Errorf("%w; --data must name %s", err, schoolExpects)
	}
	at, err := sheet.Column(schoolColumn)
	if err != nil {
		return nil, err
	}
	o, err := c.people(at, nil)
	if err != nil {
		return nil, err
	}
	return &schoolData{coding: c, owners: o, hash: hex.EncodeToString(hash.Sum(nil))}, nil
}

// schoolCoding is the coding by the public ranges. A file with other columns, or with a
// value outside the ranges, is not School.
func schoolCoding(s *testnet.Sheet) (*coding, error) {
	at, err := s.Column(scoreColumn)
	if err != nil {
		return nil, err
	}
	c := &coding{
		sheet:  s,
		target: target{name: scoreColumn, at: at, min: leastScore, max: mostScore, center: (leastScore + mostScore) / 2.},
		// x4 and x5 are numbers, see [learner.Task.UsualNorm]
		usualNorm: math.Sqrt(schoolAnswers + 2./3),
	}
	for k := 1; k <= 27; k++ { // x28 is 1 for everybody
		name := fmt.Sprintf("x%d", k)
		f := learner.Feature{Name: name, Kind: "number", Max: 1}
		if k == 4 || k == 5 {
			f.Max = 100
		}
		if at, err = s.Column(name); err != nil {
			return nil, err
		}
		c.columns = append(c.columns, column{f, at})
	}
	return c, c.inside()
}

// inside checks that every cell is a number in its column's range.
func (c *coding) inside() error {
	bad := testnet.BadLines{File: c.sheet.File}
	columns := append(slices.Clone(c.columns), column{learner.Feature{Name: c.target.name, Min: c.target.min, Max: c.target.max}, c.target.at})
	for k, row := range c.sheet.Rows {
		for _, f := range columns {
			if v, ok := number(c.sheet, row[f.at]); !ok || v < f.Min || v > f.Max {
				bad.Add(c.sheet.Lines[k], fmt.Errorf("column %q: %q is no number from %g to %g", f.Name, row[f.at], f.Min, f.Max))
			}
		}
	}
	if bad.Count > 0 {
		return &bad
	}
	return nil
}
