package accountant

import "testing"

// tenGroups is 200 steps in 10 distinct groups that cannot be merged.
func tenGroups() []Group {
	var groups []Group
	for i := range 10 {
		a := 0.02 * float64(i+1)
		switch i % 5 {
		case 0:
			groups = append(groups, Group{Laplace(a), 20})
		case 1:
			groups = append(groups, Group{Gaussian(a), 20})
		case 2:
			groups = append(groups, Group{TruncatedLaplace(a, 20), 20})
		case 3:
			groups = append(groups, Group{TruncatedGaussian(a, 8), 20})
		case 4:
			step, _ := Subsampled(Gaussian(10*a), 0.1, WithoutReplacement)
			groups = append(groups, Group{step, 20})
		}
	}
	return groups
}

func BenchmarkComposeTenGroups(b *testing.B) {
	groups := tenGroups()
	b.ReportAllocs()
	for b.Loop() {
		loss, err := Compose(1e-6, groups...)
		if err != nil {
			b.Fatal(err)
		}
		loss.Epsilon(1e-6)
	}
}

func BenchmarkLargestLaplaceStep(b *testing.B) {
	for b.Loop() {
		if _, err := LargestLaplaceStep(1, 1e-6, 100); err != nil {
			b.Fatal(err)
		}
	}
}
