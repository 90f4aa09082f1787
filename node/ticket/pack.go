package ticket

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
)

// words is text that task files contain, the most frequent at the end. Compression treats
// the task as if it followed this text, so keys, and the built-in task with which people
// begin, take almost no space. It belongs to version 1 of tickets and must never change.
const words = `values = ['Action', 'Adventure', 'Animation', 'Children', 'Comedy', 'Crime', 'Documentary', 'Drama', 'Fantasy', 'Film-Noir', 'Horror', 'IMAX', 'Musical', 'Mystery', 'Romance', 'Sci-Fi', 'Thriller', 'War', 'Western']
edges = [1950.0, 1960.0, 1970.0, 1980.0, 1990.0, 2000.0, 2010.0]
name = 'genres' name = 'year' name = 'movieId' name = 'rating' name = 'movies'
catalogue = 'buckets = edges = [0.0, 1.0]
learner = 'sums'
loss = 'huber' threshold = smoothing = 'hinge' 'multinomial' classes = ['no', 'yes']
usual_norm = center = gamma = 0.1 profile = 2 rule = 'released' rule = 'profile'
fixed = true
[propagation]
[rounds]
[diffusion]
[km]
[polar]
[map]
kind = 'fourier' kind = 'text' kind = 'time' kind = 'vector' kind = 'key' log = true
[sums]
committee = ['12D3KooW', '12D3KooW']
colluding = 1
contributors = 10000
records = 1000
epochs = 52
close_seconds = 604800.0

[[sums.recipes]]
kind = 'votes' kind = 'moments' kind = 'gradient' kind = 'mean'
share = 1.0
kind = 'set'
values = ['
kind = 'range'
name = '
learner = 'personal'
loss = 'logistic'
loss = 'squared'
normalise = false
normalise = true
constant = 0.5
constant = 0.0
mu = 1.0
mu = 2.0
lambda = 1.0
clip = 1.0
confidence_at = 100
radius = 10.0
cohort_size = 100000

[target]
name = 'y'
min = 0.0
max = 10.0

[graph]
rule = 'random'
degree = 10

[local]
eta = 1.0
eta_constant = 0.1
kappa = 1.0

[release]
epsilon = 1.0
delta = 0.000001
releases = 16
max_epsilon = 10.0
max_delta = 0.001
max_releases = 1000
wake_seconds = 60.0
min_wake = 0.05

[[features]]
name = 'x1'
kind = 'number'
min = -1.0
max = 1.0
`

// pack compresses the text of a task.
func pack(text []byte) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriterDict(&out, flate.BestCompression, []byte(words))
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("ticket: a buffer does not take bytes: " + err.Error())
	}
	return out.Bytes()
}

// unpack returns the text of a task. The text has at most [MaxTask] bytes.
func unpack(packed []byte) ([]byte, error) {
	if len(packed) > maxCarried {
		return nil, fmt.Errorf("a task of %d bytes", len(packed))
	}
	from := bytes.NewReader(packed)
	text, err := io.ReadAll(io.LimitReader(flate.NewReaderDict(from, []byte(words)), MaxTask+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) == 0 || len(text) > MaxTask:
		return nil, fmt.Errorf("a task of %d bytes or more", len(text))
	case from.Len() > 0:
		return nil, errors.New("something follows the task")
	}
	return text, nil
}
