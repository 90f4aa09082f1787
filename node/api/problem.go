package api

import (
	"errors"
	"regexp"
	"strings"

	"p2pnode/storage"
)

// Problem is an error as it crosses the interface (RFC 9457).
type Problem struct {
	Type   string        `json:"type"`             // always about:blank: Kind tells problems apart
	Title  string        `json:"title"`            // of Status
	Status int           `json:"status"`           // of HTTP
	Detail string        `json:"detail"`           // what is wrong
	Hint   string        `json:"hint,omitempty"`   // what to do
	Kind   string        `json:"kind,omitempty"`   // where programs branch; see [kinds]
	Report *ImportReport `json:"report,omitempty"` // of an import with bad lines
}

// Kind is an error that callers branch on, and what it is called in a [Problem].
type Kind struct {
	Name string
	Is   error
}

// kinds lists them. An error has the first kind that matches.
func kinds() []Kind {
	return []Kind{
		{"imported", ErrImported},
		{"changed", ErrChanged},
		{"no record", storage.ErrNoRecord},
		{"full", ErrFull},
		{"bad lines", ErrBadLines},
		{"some bad", ErrSomeBad},
		{"no peer", ErrNoPeer},
		{"no token", ErrNoToken},
		{"not joined", ErrNotJoined},
		{"no sums", ErrNoSums},
		{"scope", ErrScope},
		{"request", ErrRequest},
	}
}

// Explain says what is wrong, without a status.
func Explain(err error) *Problem {
	p := &Problem{Type: "about:blank", Detail: Plain(err.Error())}
	if advised, ok := errors.AsType[*Advised](err); ok {
		if before, ends := strings.CutSuffix(p.Detail, "; "+Plain(advised.Advice)); ends {
			p.Detail, p.Hint = before, Plain(advised.Advice)
		}
	}
	for _, k := range kinds() {
		if errors.Is(err, k.Is) {
			p.Kind = k.Name
			break
		}
	}
	return p
}

// Err is the error that the problem tells of, at the other end.
func (p *Problem) Err() error {
	t := told{text: p.Detail}
	for _, k := range kinds() {
		if k.Name == p.Kind {
			t.is = k.Is
		}
	}
	if p.Hint != "" {
		return Advise(t, p.Hint)
	}
	return t
}

// told is an error that a daemon answered.
type told struct {
	text string
	is   error // nil: none of [kinds]
}

// Error implements [error].
func (t told) Error() string { return t.text }

// Unwrap is for [errors.Is] and its kin.
func (t told) Unwrap() error { return t.is }

// packageNames matches the names of this module's packages where errors put them: at
// the beginning of a text, of a line or of a parenthesis, or after another error's text.
var packageNames = regexp.MustCompile(`(^|\n|: |\()(?:(?:accountant|api|client|config|csv|datadir|discovery|gossip|graph|learner|local|members|node|peering|population|privacy|reach|schemes|server|storage|summing|sums|tabular|ticket|tokens): )+`)

// Plain returns the text of an error without the names of packages that it came through.
func Plain(text string) string { return packageNames.ReplaceAllString(text, "$1") }
