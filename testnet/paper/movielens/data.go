package movielens

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"p2pnode/testnet"
)

// The size of MovieLens-100K. Users and movies are numbered from 0 here.
const (
	users   = 943
	movies  = 1682
	ratings = 100_000
)

// rating is one line of u.data.
type rating struct {
	user, movie int
	stars       float64
}

// cells is the public metadata of a movie, as [learner.Task.EncodeFeatures] takes it.
type cells = func(column string) (string, bool)

// dataset is MovieLens-100K.
type dataset struct {
	ratings []rating // in the order of u.data, which the splits refer to
	movies  []cells
	hash    string // of u.item; the hash of u.data is known
}

const whereToGet = "the unpacked directory of https://files.grouplens.org/datasets/movielens/ml-100k.zip (GroupLens)"

// read reads the directory with u.data and u.item, or the path of u.data itself.
func read(path string) (*dataset, error) {
	if path == "" {
		return nil, fmt.Errorf("the data is missing: give --data %s", whereToGet)
	}
	dir := path
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("--data must be %s: %w", whereToGet, err)
	} else if !info.IsDir() {
		dir = filepath.Dir(path)
	}
	files := os.DirFS(dir)
	text, err := fs.ReadFile(files, "u.data")
	if err != nil {
		return nil, fmt.Errorf("--data must be %s: %w", whereToGet, err)
	}
	if sum := hash(text); sum != testnet.Published100K {
		return nil, fmt.Errorf("%s is not the published file: its SHA-256 is %s, not %s; give --data %s",
			filepath.Join(dir, "u.data"), sum, testnet.Published100K, whereToGet)
	}
	d := new(dataset)
	if d.ratings, err = parse(string(text)); err != nil {
		return nil, err
	}
	items, err := fs.ReadFile(files, "u.item")
	if err != nil {
		return nil, fmt.Errorf("u.item must lie beside u.data; both are in %s: %w", whereToGet, err)
	}
	d.hash = hash(items)
	d.movies, err = readMetadata(files)
	return d, err
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// parse reads lines of user, movie, stars and time with tabs between.
func parse(text string) ([]rating, error) {
	list := make([]rating, 0, ratings)
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 4 {
			return nil, fmt.Errorf("u.data, line %d: not four numbers", len(list)+1)
		}
		user, err1 := strconv.Atoi(fields[0])
		movie, err2 := strconv.Atoi(fields[1])
		stars, err3 := strconv.ParseFloat(fields[2], 64)
		if err1 != nil || err2 != nil || err3 != nil || user < 1 || user > users || movie < 1 || movie > movies {
			return nil, fmt.Errorf("u.data, line %d: %q is no rating", len(list)+1, line)
		}
		list = append(list, rating{user - 1, movie - 1, stars})
	}
	return list, nil
}

func readMetadata(files fs.FS) ([]cells, error) {
	byNumber, err := testnet.Movies100K(files, "u.item")
	if err != nil {
		return nil, err
	}
	list := make([]cells, movies)
	for i := range list {
		var known bool
		if list[i], known = byNumber[strconv.Itoa(i+1)]; !known {
			return nil, fmt.Errorf("u.item has no movie %d: use the one that comes with u.data", i+1)
		}
	}
	return list, nil
}
