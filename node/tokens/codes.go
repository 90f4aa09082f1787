package tokens

import (
	"crypto/subtle"
	"encoding/base64"
	"slices"
	"sync"
	"time"

	"p2pnode/node/api"
)

// codeLife is how long a code can be exchanged. mostCodes is how many codes are kept.
const (
	codeLife  = 5 * time.Minute
	mostCodes = 16
)

// Codes are given out to be exchanged for a session, once and soon.
type Codes struct {
	mu   sync.Mutex
	list []code
}

type code struct {
	hash  string
	until time.Time
}

// Issue makes a code. If there are too many, it forgets the oldest.
func (c *Codes) Issue(now time.Time) api.Code {
	made := api.Code{Code: base64.RawURLEncoding.EncodeToString(random(24)), Expires: now.Add(codeLife).UTC().Truncate(time.Second)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, code{hash(made.Code), made.Expires})
	c.list = c.list[max(0, len(c.list)-mostCodes):]
	return made
}

// Take reports whether a code is valid. A code is valid only once.
func (c *Codes) Take(secret string, now time.Time) bool {
	wanted := []byte(hash(secret))
	c.mu.Lock()
	defer c.mu.Unlock()
	valid := false
	c.list = slices.DeleteFunc(c.list, func(k code) bool {
		same := subtle.ConstantTimeCompare(wanted, []byte(k.hash)) == 1
		valid = valid || same && now.Before(k.until)
		return same || !now.Before(k.until)
	})
	return valid
}
