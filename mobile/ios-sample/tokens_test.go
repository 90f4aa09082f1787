package ios_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// token is a word or a sign of Swift; a string is one token, with its quotes.
type token struct {
	text  string
	line  int
	first bool // of its line
}

func (t token) isWord() bool { return wordToken.MatchString(t.text) }

var (
	wordToken = regexp.MustCompile(`^[$#@]?[A-Za-z_]\w*$|^\$\d+$`)
	nextToken = regexp.MustCompile(`^(?:[$#@]?[A-Za-z_]\w*|\$\d+|\d[\w.]*|->|\S)`)
)

// tokens splits a file of Swift. It fails where a string or a comment does not end, or brackets
// do not fit.
func tokens(text string) ([]token, error) {
	var out []token
	var open []token
	for pos, line, first := 0, 1, true; pos < len(text); {
		rest := text[pos:]
		n := 0
		switch {
		case rest[0] == '\n':
			line, first, n = line+1, true, 1
		case rest[0] == ' ':
			n = 1
		case strings.HasPrefix(rest, "//"):
			n = len(rest)
			if end := strings.IndexByte(rest, '\n'); end >= 0 {
				n = end
			}
		case rest[0] == '"':
			if n = stringLength(rest); n == 0 {
				return nil, fmt.Errorf("line %d: a string does not end", line)
			}
			out = append(out, token{rest[:n], line, first})
			line, first = line+strings.Count(rest[:n], "\n"), false
		default:
			t := token{nextToken.FindString(rest), line, first}
			n, first = len(t.text), false
			if n == 0 {
				return nil, fmt.Errorf("line %d: %q is nothing this test knows", line, rest[:1])
			}
			out = append(out, t)
			var err error
			if open, err = balance(open, t); err != nil {
				return nil, err
			}
		}
		pos += n
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("line %d: %q is not closed", open[len(open)-1].line, open[len(open)-1].text)
	}
	return out, nil
}

var closes = map[string]string{")": "(", "]": "[", "}": "{"}

func balance(open []token, t token) ([]token, error) {
	switch want := closes[t.text]; {
	case t.text == "(" || t.text == "[" || t.text == "{":
		return append(open, t), nil
	case want == "":
		return open, nil
	case len(open) == 0 || open[len(open)-1].text != want:
		return nil, fmt.Errorf("line %d: %q closes nothing", t.line, t.text)
	}
	return open[:len(open)-1], nil
}

// stringLength is the length of the string that the text begins with, what is interpolated
// included; 0 if it does not end.
func stringLength(text string) int {
	quote := `"`
	if strings.HasPrefix(text, `"""`) {
		quote = `"""`
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case strings.HasPrefix(text[i:], `\(`):
			n := interpolationLength(text[i+1:])
			if n == 0 {
				return 0
			}
			i += n
		case text[i] == '\\':
			i++
		case text[i] == '\n' && quote == `"`:
			return 0
		}
	}
	return 0
}

// interpolationLength is the length of the bracket that the text begins with; 0 if it does not end.
func interpolationLength(text string) int {
	for i, depth := 0, 0; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			n := stringLength(text[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		}
	}
	return 0
}

// argument is one of a call or a declaration.
type argument struct {
	label string
	value []token
}

// arguments reads the brackets that begin at ts[at].
func arguments(ts []token, at int) (list []argument, end int, err error) {
	if at >= len(ts) || ts[at].text != "(" {
		return nil, at, errors.New("brackets expected")
	}
	depth := 0
	var now argument
	for i := at; ; i++ {
		text := ts[i].text
		if closes[text] != "" {
			depth--
		}
		if depth == 0 && text == ")" || depth == 1 && text == "," {
			if len(now.value) > 0 {
				list = append(list, now)
			}
			if now = (argument{}); text == ")" {
				return list, i + 1, nil
			}
			continue
		}
		switch {
		case depth == 1 && text == ":" && len(now.value) > 0 && now.label == "" && now.value[0].isWord():
			now = argument{label: now.value[0].text}
		case depth > 0:
			now.value = append(now.value, ts[i])
		}
		if text == "(" || text == "[" || text == "{" {
			depth++
		}
	}
}
