package testnet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"p2pnode/learner"
)

// The columns in which the task gets a MovieLens rating.
const (
	movieColumn  = "movieId"
	genresColumn = "genres" // names with "|" between, empty for none
	yearColumn   = "year"   // year of release, empty if unknown
	ratingColumn = "rating"
)

// movie is the public metadata of a movie, as cells of a row.
type movie struct{ id, genres, year string }

func (m movie) row(rating string) func(column string) (string, bool) {
	return func(column string) (string, bool) {
		switch column {
		case movieColumn:
			return m.id, true
		case genresColumn:
			return m.genres, true
		case yearColumn:
			return m.year, true
		case ratingColumn:
			return rating, true
		}
		return "", false
	}
}

func movieHas(column string) bool {
	_, ok := movie{}.row("")(column)
	return ok
}

// titleYear finds the last year in "Cosmos (1980-1981) (TV) ".
var titleYear = regexp.MustCompile(`.*\(([0-9]{4})[^()]*\)`)

func yearOf(title string) string {
	if m := titleYear.FindStringSubmatch(title); m != nil {
		return m[1]
	}
	return "" // a few titles have none
}

// ReadMovieLens reads ratings.csv and movies.csv, or the same files compressed as
// .csv.gz, in the layout of the MovieLens sets since 2013 (ml-latest-small). Reports
// call the set name.
func ReadMovieLens(files fs.FS, name string, t *learner.Task) (*Dataset, error) {
	movies := movieList{at: make(map[string]movie)}
	bad := BadLines{File: "movies.csv"}
	var content bytes.Buffer
	err := eachOf(files, "movies.csv", &content, []string{movieColumn, "title", genresColumn}, &bad, func(line int, c []string) {
		genres := c[2]
		if genres == "(no genres listed)" {
			genres = ""
		}
		movies.add(line, movie{id: c[0], genres: genres, year: yearOf(c[1])})
	})
	if err != nil {
		return nil, err
	}
	if bad.Count > 0 {
		return nil, &bad
	}
	t, catalogue, err := movies.catalogue(t, content.Bytes())
	if err != nil {
		return nil, err
	}
	people := newReader(name, "ratings.csv", t)
	people.set.Catalogue, people.set.CatalogueFile = catalogue, content.Bytes()
	if err := people.needs(movieHas, nil); err != nil {
		return nil, err
	}
	err = eachOf(files, "ratings.csv", io.Discard, []string{"userId", movieColumn, ratingColumn}, &people.bad, func(line int, c []string) {
		m, ok := movies.at[c[1]]
		if !ok {
			people.bad.Add(line, fmt.Errorf("movie %q is not in movies.csv", c[1]))
			return
		}
		people.add(line, c[0], m.row(c[2]))
	})
	if err != nil {
		return nil, err
	}
	return people.done()
}

// movieList holds the movies of a file.
type movieList struct {
	at    map[string]movie // by number, as the file writes it
	lines []learner.Row    // in order
}

func (l *movieList) add(line int, m movie) {
	l.at[m.id] = m
	l.lines = append(l.lines, learner.Row{Line: line, Cell: m.listed})
}

// listed returns a cell, for columns that the file has.
func (m movie) listed(column string) (string, bool) {
	switch column {
	case movieColumn:
		return m.id, true
	case genresColumn:
		return m.genres, true
	}
	return "", false
}

// catalogue returns the catalogue of the movies of a file, and the task with it. If the
// task has no key with a catalogue, it returns the task unchanged and no catalogue.
func (l *movieList) catalogue(t *learner.Task, file []byte) (*learner.Task, *learner.Catalogue, error) {
	at := slices.IndexFunc(t.Features, func(f learner.Feature) bool { return f.Catalogue != "" })
	if at < 0 {
		return t, t.Hashed(), nil
	}
	own := *t
	own.Features = slices.Clone(t.Features)
	own.Features[at].Catalogue = fmt.Sprintf("%x", sha256.Sum256(file))
	c, err := own.NewCatalogue(slices.Values(l.lines))
	return &own, c, err
}

// file returns the list as a table.
func (l *movieList) file() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	columns := []string{movieColumn, genresColumn}
	err := w.Write(columns)
	for _, line := range l.lines {
		var cells []string
		for _, c := range columns {
			cell, _ := line.Cell(c)
			cells = append(cells, cell)
		}
		err = errors.Join(err, w.Write(cells))
	}
	w.Flush()
	return b.Bytes(), errors.Join(err, w.Error())
}

// eachOf opens a table, plain or compressed, and calls take with the wanted columns of
// each row. It copies the table to w.
func eachOf(files fs.FS, file string, w io.Writer, want []string, bad *BadLines, take func(line int, cells []string)) error {
	r, err := openPlainOrGzip(files, file)
	if err != nil {
		return err
	}
	defer r.Close()
	rows, err := openTable(io.TeeReader(r, w), file)
	if err != nil {
		return err
	}
	column := make([]int, len(want))
	for i, c := range want {
		var ok bool
		if column[i], ok = rows.Column(c); !ok {
			return fmt.Errorf("testnet: %s has no column %q", file, c)
		}
	}
	row := make([]string, len(want))
	return eachRow(rows, bad, func(line int, cells []string) {
		for i, c := range column {
			row[i] = cells[c]
		}
		take(line, row)
	})
}

func openPlainOrGzip(files fs.FS, file string) (io.ReadCloser, error) {
	plain, err := files.Open(file)
	if err == nil {
		return plain, nil
	}
	packed, gzErr := files.Open(file + ".gz")
	if gzErr != nil {
		return nil, fmt.Errorf("testnet: open %s: %w", file, err)
	}
	r, err := gzip.NewReader(packed)
	if err != nil {
		packed.Close()
		return nil, fmt.Errorf("testnet: open %s.gz: %w", file, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{r, packed}, nil
}

// genres100K are the nineteen flags at the end of a line of u.item, in order,
// under the names the newer sets use.
var genres100K = [...]string{
	"", // "unknown"
	"Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy",
	"Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western",
}

// Published100K is the SHA-256 of MovieLens-100K's u.data as GroupLens published it, in
// hexadecimal.
const Published100K = "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"

// Read100K reads ratings in the layout of MovieLens-100K: the named file (u.data)
// and u.item beside it, for the genres and years.
func Read100K(files fs.FS, ratings string, t *learner.Task) (*Dataset, error) {
	movies, err := readItems(files, path.Join(path.Dir(ratings), "u.item"))
	if err != nil {
		return nil, err
	}
	content, err := movies.file()
	if err != nil {
		return nil, err
	}
	t, catalogue, err := movies.catalogue(t, content)
	if err != nil {
		return nil, err
	}
	f, err := files.Open(ratings)
	if err != nil {
		return nil, fmt.Errorf("testnet: open ratings: %w", err)
	}
	defer f.Close()
	people := newReader("", ratings, t)
	people.set.Catalogue, people.set.CatalogueFile = catalogue, content
	if err := people.needs(movieHas, nil); err != nil {
		return nil, err
	}
	sum := sha256.New()
	err = eachSplit(io.TeeReader(f, sum), ratings, "\t", func(line int, c []string) {
		if len(c) != 4 {
			people.bad.Add(line, errors.New("not four fields with tabs between: user, movie, rating, time"))
			return
		}
		m, ok := movies.at[c[1]]
		if !ok {
			people.bad.Add(line, fmt.Errorf("movie %q is not in u.item", c[1]))
			return
		}
		people.add(line, c[0], m.row(c[2]))
	})
	if err != nil {
		return nil, err
	}
	people.set.Name = "ratings in the layout of MovieLens-100K (not the published file)"
	if hex.EncodeToString(sum.Sum(nil)) == Published100K {
		people.set.Name = "MovieLens-100K (GroupLens, https://grouplens.org/datasets/movielens/100k/)"
	}
	return people.done()
}

// Movies100K reads a file in the layout of u.item. It returns, by the number of each
// movie as the file writes it, the movie's public metadata as cells for
// [learner.Task.EncodeFeatures].
func Movies100K(files fs.FS, file string) (map[string]func(column string) (string, bool), error) {
	movies, err := readItems(files, file)
	rows := make(map[string]func(column string) (string, bool), len(movies.at))
	for number, m := range movies.at {
		rows[number] = m.row("")
	}
	return rows, err
}

func readItems(files fs.FS, file string) (movieList, error) {
	f, err := files.Open(file)
	if err != nil {
		return movieList{}, fmt.Errorf("testnet: u.item must lie beside u.data, for the genres and years of the movies "+
			"(both are in https://files.grouplens.org/datasets/movielens/ml-100k.zip): %w", err)
	}
	defer f.Close()
	movies := movieList{at: make(map[string]movie)}
	bad := BadLines{File: file}
	err = eachSplit(f, file, "|", func(line int, c []string) {
		const flags = 5 // position of the first flag
		if len(c) != flags+len(genres100K) {
			bad.Add(line, fmt.Errorf("not %d fields with | between", flags+len(genres100K)))
			return
		}
		var genres []string
		for i, flag := range c[flags:] {
			if flag == "1" && genres100K[i] != "" {
				genres = append(genres, genres100K[i])
			}
		}
		movies.add(line, movie{id: c[0], genres: strings.Join(genres, "|"), year: yearOf(c[1])})
	})
	if err == nil && bad.Count > 0 {
		err = &bad
	}
	return movies, err
}

// eachSplit calls take with the fields of each line that is not blank.
func eachSplit(r io.Reader, file, separator string, take func(line int, fields []string)) error {
	lines := bufio.NewScanner(r)
	for line := 1; lines.Scan(); line++ {
		if text := strings.TrimRight(lines.Text(), "\r"); text != "" {
			take(line, strings.Split(text, separator))
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("testnet: read %s: %w", file, err)
	}
	return nil
}
