package testnet

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"p2pnode/learner"
)

func TestYearOf(t *testing.T) {
	for title, want := range map[string]string{
		"Toy Story (1995)":                          "1995",
		"Babylon 5":                                 "",
		"Death Note: Desu nôto (2006–2007)":         "2006",
		"2001: A Space Odyssey (1968) ":             "1968",
		"Land Before Time III (1995) (V)":           "1995",
		"Shawshank (Redemption) (The) (1994)":       "1994",
		"(500) Days of Summer (2009)":               "2009",
		"Fahrenheit (1984) revisited, again (2001)": "2001",
		"": "",
	} {
		if got := yearOf(title); got != want {
			t.Errorf("%q is of %s, want %s", title, got, want)
		}
	}
}

func TestReadMovieLensSmall(t *testing.T) {
	d, err := ReadMovieLens(os.DirFS("../cmd/testnet/ml-latest-small"), "small", learner.Movies())
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	for _, p := range d.People {
		records += len(p.Records)
	}
	if len(d.People) != 610 || records != 100836 || d.LeftOut != 0 {
		t.Fatalf("%d people, %d records, %d left out; the README says 610 and 100836", len(d.People), records, d.LeftOut)
	}
	// The first line of ratings.csv: person 1 gives Toy Story (1995) four stars.
	if want := []string{"Adventure|Animation|Children|Comedy|Fantasy", "1995", "1", "4.0"}; !slices.Equal(d.People[0].rows[0], want) {
		t.Errorf("first row %v, want %v", d.People[0].rows[0], want)
	}
}

func TestRead100K(t *testing.T) {
	shared := os.Getenv("P2PNODE_SHARED")
	if shared == "" {
		t.Skip("P2PNODE_SHARED names no directory with data/ml-100k")
	}
	d, err := Read100K(os.DirFS(filepath.Join(shared, "data", "ml-100k")), "u.data", learner.Movies())
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	for _, p := range d.People {
		records += len(p.Records)
	}
	if len(d.People) != 943 || records != 100_000 || !strings.HasPrefix(d.Name, "MovieLens-100K") {
		t.Fatalf("%q: %d people, %d records, want 943 and 100000 of the published file", d.Name, len(d.People), records)
	}
}

// item is a line of u.item with the given flags on, counted from "unknown".
func item(id, title string, on ...int) string {
	flags := slices.Repeat([]string{"0"}, len(genres100K))
	for _, i := range on {
		flags[i] = "1"
	}
	return id + "|" + title + "|01-Jan-1995||http://x|" + strings.Join(flags, "|") + "\n"
}

func TestRead100KSmall(t *testing.T) {
	files := fstest.MapFS{
		"a/u.item": {Data: []byte(item("1", "Toy Story (1995)", 3, 4, 5) + item("267", "unknown", 0))},
		"a/u.data": {Data: []byte(strings.Repeat("9\t1\t5\t881250949\r\n9\t267\t1\t1\n7\t1\t2\t1\n7\t1\t2\t1\n", 3))},
	}
	d, err := Read100K(files, "a/u.data", learner.Movies())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Animation|Children|Comedy", "1995", "1", "5"}; !slices.Equal(d.People[0].rows[0], want) {
		t.Errorf("row %v, want %v", d.People[0].rows[0], want)
	}
	if want := []string{"", "", "267", "1"}; !slices.Equal(d.People[0].rows[1], want) {
		t.Errorf("row %v, want %v", d.People[0].rows[1], want)
	}
	if !strings.Contains(d.Name, "not the published file") {
		t.Errorf("made-up ratings are called %q", d.Name)
	}
}

func packed(t *testing.T, text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMovieLensErrors(t *testing.T) {
	const movies = "movieId,title,genres\n1,Toy Story (1995),Comedy\n"
	const ratings = "userId,movieId,rating,timestamp\n"
	noYear := learner.Movies()
	noYear.Features = append(noYear.Features, learner.Feature{Name: "length", Kind: "number"})
	small := func(task *learner.Task) func(fs.FS) (*Dataset, error) {
		return func(f fs.FS) (*Dataset, error) { return ReadMovieLens(f, "x", task) }
	}
	hundred := func(f fs.FS) (*Dataset, error) { return Read100K(f, "u.data", learner.Movies()) }
	for name, c := range map[string]struct {
		read  func(fs.FS) (*Dataset, error)
		files map[string]string
		want  string
	}{
		"no movies":       {small(learner.Movies()), map[string]string{"ratings.csv": ratings}, "movies.csv"},
		"no ratings":      {small(learner.Movies()), map[string]string{"movies.csv": movies}, "ratings.csv"},
		"movie unknown":   {small(learner.Movies()), map[string]string{"movies.csv": movies, "ratings.csv": ratings + "1,2,3,4\n"}, `line 2: movie "2"`},
		"no such column":  {small(learner.Movies()), map[string]string{"movies.csv": "movieId,title\n", "ratings.csv": ratings}, `no column "genres"`},
		"ragged movies":   {small(learner.Movies()), map[string]string{"movies.csv": movies + "2\n", "ratings.csv": ratings}, "line 3"},
		"not gzip":        {small(learner.Movies()), map[string]string{"movies.csv.gz": movies}, "movies.csv.gz"},
		"another task":    {small(noYear), map[string]string{"movies.csv": movies, "ratings.csv": ratings}, `no column "length"`},
		"no u.item":       {hundred, map[string]string{"u.data": "1\t1\t5\t1\n"}, "u.item must lie beside"},
		"no u.data":       {hundred, map[string]string{"u.item": item("1", "A")}, "u.data"},
		"short u.item":    {hundred, map[string]string{"u.data": "", "u.item": "1|A\n"}, "line 1: not 24 fields"},
		"short u.data":    {hundred, map[string]string{"u.data": "1\t1\t5\n", "u.item": item("1", "A")}, "line 1: not four fields"},
		"100K, no movie":  {hundred, map[string]string{"u.data": "\n1\t2\t5\t1\n", "u.item": item("1", "A")}, `line 2: movie "2"`},
		"100K, no rating": {hundred, map[string]string{"u.data": "1\t1\tx\t1\n", "u.item": item("1", "A")}, `line 1: column "rating"`},
	} {
		files := fstest.MapFS{}
		for file, text := range c.files {
			files[file] = &fstest.MapFile{Data: []byte(text)}
		}
		_, err := c.read(files)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

func TestReadMovieLensPackedOrPlain(t *testing.T) {
	movies := "movieId,title,genres\n1,Toy Story (1995),Comedy\n2,Paterson,(no genres listed)\n"
	ratings := "userId,movieId,rating,timestamp\n" + strings.Repeat("1,1,5,0\n1,2,4,0\n2,1,3,0\n2,2,1,0\n", 3)
	plain := fstest.MapFS{"movies.csv": {Data: []byte(movies)}, "ratings.csv": {Data: []byte(ratings)}}
	small := fstest.MapFS{"movies.csv.gz": {Data: packed(t, movies)}, "ratings.csv.gz": {Data: packed(t, ratings)}}
	a, err := ReadMovieLens(plain, "x", learner.Movies())
	if err != nil {
		t.Fatal(err)
	}
	b, err := ReadMovieLens(small, "x", learner.Movies())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.People[1].rows[3], b.People[1].rows[3]) || len(a.People) != len(b.People) {
		t.Error("the compressed files read differently")
	}
	if want := []string{"", "", "2", "4"}; !slices.Equal(a.People[0].rows[1], want) {
		t.Errorf("row %v, want %v", a.People[0].rows[1], want)
	}
}
