package testnet

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"p2pnode/privacy"
	"p2pnode/sums"
	"p2pnode/testnet/sim"
)

// SumScaleOptions say how large the computed private sums are. Every number of
// contributors is combined with every dimension.
type SumScaleOptions struct {
	Contributors []int // each from 2 to 2^20
	Dimension    []int // of a contribution, each from 1 to 2^20
	Seed         uint64
	Progress     func(done, all int) // called now and then; may be nil
}

// SumScaleRow is one number of contributors with one dimension. Times are processor
// times, from a sum of 100 contributors with all keys, signatures and messages; 0 if
// the system does not say. Bytes follow from the formats. The errors are those of this
// many vectors, added up in whole numbers with the noise of all members and rounded as
// a result is.
type SumScaleRow struct {
	Contributors int     `json:"contributors"`
	Dimension    int     `json:"dimension"`
	Members      int     `json:"members"`
	Colluding    int     `json:"colluding"`
	Upload       int     `json:"upload_bytes"`        // of a contributor
	Received     int64   `json:"member_bytes"`        // by a member, from all contributors
	Result       int     `json:"result_bytes"`        // what everybody fetches, with
	List         int     `json:"list_bytes"`          // the list of who is in it
	Contributing float64 `json:"contributor_seconds"` // a contributor's arithmetic
	Adding       float64 `json:"member_seconds"`      // a member's, for all contributors
	Noise        float64 `json:"noise"`               // its standard deviation, where a contribution moves by 1 at most
	Error        float64 `json:"error"`               // of a coordinate of the sum, root of the mean square
	Rounding     float64 `json:"rounding_error"`      // of that, without the noise
}

// Validate returns an error that names the option that is invalid.
func (o *SumScaleOptions) Validate() error {
	return withinLimits([]limits{{"nodes", o.Contributors, 2, 1 << 20}, {"dimension", o.Dimension, 1, 1 << 20}})
}

// scaledCommittees are the number of members, and how many of them may collude.
var scaledCommittees = [...][2]int{{4, 1}, {7, 2}}

// MeasureSums computes private sums, until ctx ends, for a committee of four of whom
// one may collude, and for one of seven and two.
func MeasureSums(ctx context.Context, o SumScaleOptions) (rows []SumScaleRow, err error) {
	all := 0
	for _, n := range o.Contributors {
		all += n * len(o.Dimension) * len(scaledCommittees)
	}
	done := 0
	step := func() error {
		if o.Progress != nil && done%1000 == 0 {
			o.Progress(done, all)
		}
		done++
		return ctx.Err()
	}
	for _, c := range scaledCommittees {
		for _, d := range o.Dimension {
			terms := sums.Terms{
				Recipe: "scale", Committee: sums.Committee{Colluding: c[1]}, Distance: 1, Std: privateStd,
				Dimension: d, Contributors: 1 << 20, Records: 100,
			}
			measured, err := measureSum(terms, c[0], o.Seed)
			if err != nil {
				return rows, err
			}
			for _, n := range o.Contributors {
				row, err := measured.scaled(n, o.Seed, step)
				if err != nil {
					return rows, err
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// privateStd is the noise at (1, 1e-6) if replacing a record moves a vector by 1.
const privateStd = 1 / .2367

// sampled is the number of contributors in the sums that are timed.
const sampled = 100

// measuredSum holds the times of a sum, per contributor.
type measuredSum struct {
	sum                  *sums.Sum
	contributing, adding float64 // seconds of a contributor, and of a member for one
	once                 float64 // seconds of a member, however many contribute
}

// measureSum times two sums, to separate what a member does once from what it does for
// each contributor.
func measureSum(terms sums.Terms, members int, seed uint64) (m measuredSum, err error) {
	run := func(contributors int) (*sim.SumReport, error) {
		return sim.PrivateSum{
			Terms: terms, Members: members, Contributors: contributors,
			Vector:  func(i int, s *sums.Sum) ([]int64, int) { return make([]int64, s.Dimension), 1 },
			Collect: time.Minute, Latency: 100 * time.Millisecond, Until: time.Hour, Seed: seed,
			Clock: ProcessorTime,
		}.Run()
	}
	few, err := run(1)
	if err != nil {
		return m, err
	}
	many, err := run(sampled)
	if err != nil {
		return m, err
	}
	m.sum = many.Sum
	m.contributing = many.Contributing.Seconds() / sampled
	m.adding = max(0, (many.Adding-few.Adding).Seconds()/float64(members)/(sampled-1))
	m.once = few.Adding.Seconds() / float64(members)
	return m, nil
}

// listEntry is the size of a contributor's entry in a list: identity, digest and number
// of records.
const listEntry = 32 + 32 + 4

// scaled returns the row for this many contributors.
func (m *measuredSum) scaled(n int, seed uint64, step func() error) (row SumScaleRow, err error) {
	s := m.sum
	upload := s.UploadSize()
	row = SumScaleRow{
		Contributors: n, Dimension: s.Dimension, Members: len(s.Committee.Members), Colluding: s.Committee.Colluding,
		Upload: upload, Received: int64(n) * int64(upload), Result: 4 * s.Dimension, List: listEntry * n,
		Contributing: m.contributing, Adding: m.once + float64(n)*m.adding, Noise: s.Noise(),
	}
	row.Error, row.Rounding, err = m.errors(n, seed, step)
	return row, err
}

// errors adds up vectors of numbers up to a half, which no record can move by more than
// 1, and compares the opened sum with the true one.
func (m *measuredSum) errors(n int, seed uint64, step func() error) (withNoise, rounding float64, err error) {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	s := m.sum
	unit := s.Mechanism.Unit()
	exact, total := make([]float64, s.Dimension), make([]int64, s.Dimension)
	v := make([]float64, s.Dimension)
	for range n {
		for j := range v {
			v[j] = float64(int32(random.Uint32())) * 0x1p-32 / math.Sqrt(float64(len(v)))
			exact[j] += v[j]
		}
		for j, x := range s.Mechanism.Units(v, s.Limit) {
			total[j] += x
		}
		if err := step(); err != nil {
			return 0, 0, err
		}
	}
	rounding = rms(exact, total, unit)
	noise := privacy.NewSeededNoise(seed)
	for range s.Committee.Members {
		for j, x := range noise.Part(s.Mechanism, s.Committee.Honest()) {
			total[j] += x
		}
	}
	return rms(exact, total, unit), rounding, nil
}

// rms is the distance of the numbers of units, rounded as a result is, from the exact
// ones.
func rms(exact []float64, total []int64, unit float64) float64 {
	square := 0.0
	for j, x := range exact {
		off := float64(float32(float64(total[j])*unit)) - x
		square += off * off / float64(len(exact))
	}
	return math.Sqrt(square)
}

// WriteSumScaleTable writes what [MeasureSums] found, for people.
func WriteSumScaleTable(w io.Writer, rows []SumScaleRow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "contributors\tnumbers\tcommittee\tupload\tmember receives\tresult\tlist\tcontributor\tmember\tnoise\terror\tof it rounding\tmean of all off by\t")
	for _, r := range rows {
		fmt.Fprintf(table, "%d\t%d\t%d against %d\t%d B\t%.3f GB\t%d B\t%.2f MB\t%.2f ms\t%.1f s\t%.3f\t%.3f\t%.1g\t%.1g\t\n", r.Contributors, r.Dimension, r.Members, r.Colluding,
			r.Upload, float64(r.Received)/1e9, r.Result, float64(r.List)/1e6, 1e3*r.Contributing, r.Adding, r.Noise, r.Error, r.Rounding, r.Error/float64(r.Contributors))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nnumbers: of a contribution. contributor, member: processor time of arithmetic and signatures, from a sum of %d contributors with all keys and\n"+
		"messages. noise, error: of a number of the sum, standard deviation and root of the mean square, at (1, 1e-6), where a record moves a contribution by 1\n"+
		"at most. of it rounding: to the grid of the noise, and of the result to 32 bits.\n", sampled)
	return err
}

// WriteSumScaleJSON writes the rows as one object; complete is false after an
// interruption.
func WriteSumScaleJSON(w io.Writer, rows []SumScaleRow, complete bool) error {
	return WriteJSON(w, struct {
		Complete bool          `json:"complete"`
		Rows     []SumScaleRow `json:"rows"`
	}{complete, rows})
}
