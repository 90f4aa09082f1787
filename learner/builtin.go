package learner

import "fmt"

// moviesCatalogue is the SHA-256 of movies.csv of MovieLens ml-latest-small.
const moviesCatalogue = "5a5f32dd9bb3797b8e728a1b98958789d2b13f294a69fdfbc5727f8a9611aa07"

// builtin returns a task of learner "personal" with the usual value of every key.
func builtin(name string, features []Feature, target Target) *Task {
	t := Task{Name: name, Learner: "personal", Features: features, Target: target}
	return t.Complete(Keys{"learner": true, "target.center": true}, Expected{})
}

// NumberFeatures returns n features x1, x2, ..., numbers in [-1, 1].
func NumberFeatures(n int) []Feature {
	features := make([]Feature, n)
	for i := range features {
		features[i] = Feature{Name: fmt.Sprintf("x%d", i+1), Kind: "number", Min: -1, Max: 1}
	}
	return features
}

// Movies is the built-in task "movies": each person learns to predict her own
// ratings from public metadata, the genres and the decade of a movie. The
// numbers were chosen on other random splits than those of any report.
func Movies() *Task {
	t := builtin("movies", []Feature{
		{Name: "genres", Kind: "set", Values: []string{
			"Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary",
			"Drama", "Fantasy", "Film-Noir", "Horror", "IMAX", "Musical", "Mystery", "Romance",
			"Sci-Fi", "Thriller", "War", "Western",
		}},
		{Name: "year", Kind: "range", Edges: []float64{1950, 1960, 1970, 1980, 1990, 2000, 2010}},
		{Name: "movieId", Kind: "key", Catalogue: moviesCatalogue},
	}, Target{Name: "rating", Min: 0.5, Max: 5, Center: 3.5}) // a usual rating; the middle of the range is rarer
	t.Normalise, t.Constant = true, 0.3
	t.Mu, t.Lambda, t.Clip, t.Radius = 1.5, 0.1, 1, 5
	t.ConfidenceAt = 1000 // people with hundreds of ratings say more than those with tens
	t.Graph.Degree = 10
	t.Local = Local{Eta: 4, EtaConstant: 0.1, Kappa: 3}
	return t
}

// Linear is the built-in task "linear": the synthetic classification problem of Bellet
// et al. 2018, section 5.1, with 20 features in [-1, 1] scaled to unit norm. The
// similarity of two people is known, as in the paper: all declare the direction of
// their target model as their public profile.
func Linear() *Task {
	t := builtin("linear", NumberFeatures(20), Target{Name: "y"})
	t.Normalise, t.Constant = true, 0 // the paper's models go through the origin
	t.Mu, t.Lambda, t.Clip, t.Radius = 2, 1, 0.35, 10
	t.Graph = Graph{Rule: "profile", Degree: 20, Gamma: 0.1, Profile: 2}
	t.Local = Local{Eta: 0.25, Kappa: 8}
	return t
}

// Clusters is the built-in task "clusters": people in hidden groups, whose models are
// alike within a group and different between groups. Nobody declares anything; the
// nodes find similar nodes by what they release. The numbers were chosen on other seeds
// than those of any report.
func Clusters() *Task {
	t := builtin("clusters", NumberFeatures(10), Target{Name: "y"})
	t.Normalise, t.Constant = true, 0
	t.Mu, t.Lambda, t.Clip, t.Radius = 5, 1, 0.2, 10
	t.Graph = Graph{Rule: "released", Degree: 10, Gamma: 0.2}
	t.Local = Local{Eta: 0.1, Kappa: 8}
	return t
}
