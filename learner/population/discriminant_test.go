package population

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// normalClasses adds records of classes whose features are normal around these means, with one
// covariance, to a sum: twice as many of each class as of the one before. It returns how many.
func normalClasses(d Discriminant, sum []float64, means [][]float64, each int, random *rand.Rand) (records int) {
	for k, mean := range means {
		for range each << k {
			common := 0.05 * random.NormFloat64()
			x := make([]float64, 0, len(mean)+1)
			for _, m := range mean {
				x = append(x, m+common+0.1*random.NormFloat64())
			}
			d.Add(sum, append(x, d.Constant), k)
			records++
		}
	}
	return records
}

// Of normal classes the log odds are a line, which the analysis finds. Its coefficients are known: of
// two classes with covariance S the slopes are S^-1 (m1 - m0), and the constant makes up for the
// middle and the sizes. Over 50 seeds the largest error of a coefficient was .67, so 1.5 is some seven
// standard deviations; the seed is fixed.
func TestDiscriminantFindsTheLogOdds(t *testing.T) {
	d := Discriminant{Scale: 1, Length: 10, Classes: 3, Constant: 0.5, Ridge: 3, Least: 1}
	means := [][]float64{{0.3, -0.2}, {0.4, 0}, {0.1, -0.1}}
	sum := make([]float64, d.Dimension(3))
	records := normalClasses(d, sum, means, 30_000/7, rand.New(rand.NewPCG(3, 1)))
	theta, err := d.Learn(3, sum, 0, records)
	if err != nil {
		t.Fatal(err)
	}
	const a, b = 0.01 + 0.0025, 0.0025 // the covariance, and its inverse below
	slopes := func(v []float64) []float64 {
		det := a*a - b*b
		return []float64{(a*v[0] - b*v[1]) / det, (a*v[1] - b*v[0]) / det}
	}
	for k := 1; k < 3; k++ {
		apart := floats.SubTo(make([]float64, 2), means[k], means[0])
		want := slopes(apart)
		middle := []float64{(means[k][0] + means[0][0]) / 2, (means[k][1] + means[0][1]) / 2}
		want = append(want, (float64(k)*math.Ln2-floats.Dot(want, middle))/d.Constant)
		got := floats.SubTo(make([]float64, 3), theta[3*k:][:3], theta[:3])
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1.5 {
				t.Errorf("class %d against 0: %v, want %v", k, got, want)
				break
			}
		}
	}
	if total := theta[0] + theta[3] + theta[6]; math.Abs(total) > 1e-9 {
		t.Errorf("the classes' weights add up to %v", total)
	}
}

// However much noise there is in the sum, and however many classes nobody has, the weights say little:
// a record of usual features gets scores within a few of each other.
func TestDiscriminantBearsNoise(t *testing.T) {
	for _, classes := range []int{2, 4, 64} {
		d := Discriminant{Scale: 0.5, Length: 1, Classes: classes, Constant: 0.5, Ridge: 3, Least: 1}
		random := rand.New(rand.NewPCG(4, 1))
		for _, sd := range []float64{10, 1e3, 1e6} {
			var apart float64
			for range 50 {
				sum := make([]float64, d.Dimension(4))
				records := normalClasses(d, sum, [][]float64{{0.3, -0.2, 0}, {0.4, 0, 0.1}}, 100, random)
				for i := range sum {
					sum[i] += sd * random.NormFloat64()
				}
				theta, err := d.Learn(4, sum, sd, records)
				if err != nil {
					t.Fatal(err)
				}
				var scores []float64
				for k := range classes {
					scores = append(scores, floats.Dot(theta[4*k:][:4], []float64{0.3, -0.1, 0.05, d.Constant}))
				}
				apart = max(apart, floats.Max(scores)-floats.Min(scores))
			}
			if !(apart < 20) { // 12.1 at most, of 450 draws; the seeds are fixed
				t.Errorf("%d classes, noise of %v: the scores of a record are %v apart", classes, sd, apart)
			}
		}
	}
}

// Slots that are empty do not count: half as many records again that were deleted change nothing.
func TestDiscriminantOfDeletedRecords(t *testing.T) {
	d := Discriminant{Scale: 1, Length: 10, Classes: 2, Constant: 0.5, Ridge: 3, Least: 1}
	sum := make([]float64, d.Dimension(3))
	records := normalClasses(d, sum, [][]float64{{0.3, -0.2}, {0.4, 0}}, 500, rand.New(rand.NewPCG(5, 1)))
	all, err := d.Learn(3, sum, 0, records)
	if err != nil {
		t.Fatal(err)
	}
	deleted, err := d.Learn(3, sum, 0, records+records/2)
	if err != nil || !floats.EqualApprox(all, deleted, 1e-9) {
		t.Errorf("%v with deleted records, %v without, %v", deleted, all, err)
	}
}
