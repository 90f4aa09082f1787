package learner

import "fmt"

// moviesCatalogue is the SHA-256 of movies.csv of MovieLens ml-latest-small.
const moviesCatalogue = "5a5f32dd9bb3797b8e728a1b98958789d2b13f294a69fdfbc5727f8a9611aa07"

// Movies is the built-in task "movies": each person learns to predict her own
// ratings from public metadata, the genres and the decade of a movie. The
// numbers were chosen on other random splits than those of any report.
func Movies() *Task {
	return &Task{
		Name:    "movies",
		Learner: "personal",
		Loss:    "squared",
		Features: []Feature{
			{Name: "genres", Kind: "set", Values: []string{
				"Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary",
				"Drama", "Fantasy", "Film-Noir", "Horror", "IMAX", "Musical", "Mystery", "Romance",
				"Sci-Fi", "Thriller", "War", "Western",
			}},
			{Name: "year", Kind: "range", Edges: []float64{1950, 1960, 1970, 1980, 1990, 2000, 2010}},
			{Name: "movieId", Kind: "key", Catalogue: moviesCatalogue},
		},
		Normalise:    true,
		Constant:     0.3,
		Target:       Target{Name: "rating", Min: 0.5, Max: 5, Center: 3.5},
		Mu:           1.5,
		Lambda:       0.1,
		Clip:         1,
		ConfidenceAt: 1000,
		Radius:       5,
		CohortSize:   100000,
		Graph:        Graph{Rule: "random", Degree: 10},
		Local:        Local{Eta: 4, EtaConstant: 0.1, Kappa: 3},
		Release: Release{
			Epsilon: 1, Delta: 1e-6, Releases: 16,
			MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 1000,
			WakeSeconds: 60, MinWake: 0.05,
		},
	}
}

// Linear is the built-in task "linear": the synthetic classification problem of
// Bellet et al. 2018, section 5.1, with 20 features in [-1, 1] scaled to unit
// norm. The similarity of two people is known, as in the paper: each declares
// the direction of her target model as her public profile.
func Linear() *Task {
	features := make([]Feature, 20)
	for i := range features {
		features[i] = Feature{Name: fmt.Sprintf("x%d", i+1), Kind: "number", Min: -1, Max: 1}
	}
	return &Task{
		Name:         "linear",
		Learner:      "personal",
		Loss:         "logistic",
		Features:     features,
		Normalise:    true,
		Target:       Target{Name: "y"},
		Mu:           2,
		Lambda:       1,
		Clip:         0.35,
		ConfidenceAt: 100,
		Radius:       10,
		CohortSize:   100000,
		Graph:        Graph{Rule: "profile", Degree: 20, Gamma: 0.1, Profile: 2},
		Local:        Local{Eta: 0.25, Kappa: 8},
		Release: Release{
			Epsilon: 1, Delta: 1e-6, Releases: 16,
			MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 1000,
			WakeSeconds: 60, MinWake: 0.05,
		},
	}
}

// Clusters is the built-in task "clusters": people in hidden groups, whose models
// are alike within a group and apart between groups. Nobody declares anything; the
// nodes find their like by what they release. The numbers were chosen on other
// seeds than those of any report.
func Clusters() *Task {
	features := make([]Feature, 10)
	for i := range features {
		features[i] = Feature{Name: fmt.Sprintf("x%d", i+1), Kind: "number", Min: -1, Max: 1}
	}
	return &Task{
		Name:         "clusters",
		Learner:      "personal",
		Loss:         "logistic",
		Features:     features,
		Normalise:    true,
		Target:       Target{Name: "y"},
		Mu:           5,
		Lambda:       1,
		Clip:         0.2,
		ConfidenceAt: 100,
		Radius:       10,
		CohortSize:   100000,
		Graph:        Graph{Rule: "released", Degree: 10, Gamma: 0.2},
		Local:        Local{Eta: 0.1, Kappa: 8},
		Release: Release{
			Epsilon: 1, Delta: 1e-6, Releases: 16,
			MaxEpsilon: 10, MaxDelta: 1e-3, MaxReleases: 1000,
			WakeSeconds: 60, MinWake: 0.05,
		},
	}
}
