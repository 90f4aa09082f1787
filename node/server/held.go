package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
)

// mostHeld bounds the bytes of memory that requests which are JSON take together, from
// their first bytes to the end of their answers.
const mostHeld = 150 << 20

// held shares that memory among those who ask. Nobody gets more of it than is left for
// others, so whoever comes next finds some, however many hold on to theirs.
type held struct {
	mu   sync.Mutex
	all  int
	each map[string]int // by the token's ID
}

// take reserves memory for a request that has reserved some before.
func (h *held) take(token string, before, more int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if before+more > mostHeld/2 {
		return refuse(http.StatusRequestEntityTooLarge, "to read the request takes too much memory", "send it in parts, or records as a file or a stream")
	}
	if h.each[token]+more > mostHeld-h.all-more {
		return refuse(http.StatusTooManyRequests, "other requests take the memory to read this one", "wait a second, or send it in parts")
	}
	h.all += more
	h.each[token] += more
	return nil
}

// give returns what a request has reserved.
func (h *held) give(token string, taken int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all -= taken
	if h.each[token] -= taken; h.each[token] == 0 {
		delete(h.each, token)
	}
}

// receive reads a request, and reserves the memory that it takes. The caller gives that
// back, also after an error.
func (h *held) receive(token string, body io.Reader) (text []byte, taken int, err error) {
	const part = 64 << 10
	var whole bytes.Buffer
	for weight := new(jsonWeight); ; {
		n, err := io.CopyN(&whole, body, part)
		more := weight.of(whole.Bytes()[whole.Len()-int(n):])
		if held := h.take(token, taken, more); held != nil {
			return nil, taken, held
		}
		if taken += more; errors.Is(err, io.EOF) {
			return whole.Bytes(), taken, nil
		} else if err != nil {
			return nil, taken, err
		}
	}
}

// jsonWeight says how much memory it takes to read JSON that comes in parts, to answer it,
// and to name its mistakes: objects take most of it. It was measured as the growth of the
// process.
type jsonWeight struct{ inText, escaped bool }

// of is the weight of a part in bytes.
func (j *jsonWeight) of(part []byte) int {
	weight := 5 * len(part)
	for _, c := range part {
		switch {
		case j.escaped:
			j.escaped = false
		case c == '"':
			j.inText = !j.inText
		case j.inText:
			j.escaped = c == '\\'
		case c == '{':
			weight += 800
		case c == ',':
			weight += 250
		case c == '[':
			weight += 100
		}
	}
	return weight
}
