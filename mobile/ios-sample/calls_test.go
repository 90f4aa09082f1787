package ios_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// check compares the calls of a file of Swift with the header, and returns everything that is
// wrong. It has no types but those that are written down, so the file must write down those of
// all objects of the bindings.
func (a *api) check(ts []token) error {
	c := &checker{api: a, ts: ts, receivers: map[string]string{}}
	for i := 2; i < len(ts); i++ {
		if _, ok := a.classes[ts[i].text]; ok && ts[i-1].text == ":" && ts[i-2].isWord() {
			c.receivers[ts[i-2].text] = ts[i].text
		}
	}
	for i, t := range ts {
		switch class, ok := c.receivers[t.text]; {
		case strings.HasPrefix(t.text, `"`) && strings.Contains(t.text, `\(`):
			c.fail(i, "an interpolated string, which is not looked into: put it together otherwise")
		case strings.HasPrefix(t.text, "P2PMobile"):
			c.global(i)
		case ok && i+2 < len(ts) && (ts[i+1].text == "." || ts[i+1].text == "?" || ts[i+1].text == "!"):
			c.member(i, class)
		}
	}
	return errors.Join(c.wrong...)
}

type checker struct {
	api       *api
	ts        []token
	receivers map[string]string // the class by the name of a variable, parameter or property
	wrong     []error
}

func (c *checker) fail(at int, format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf("line %d: %s", c.ts[at].line, fmt.Sprintf(format, args...)))
}

// global checks a name of the bindings.
func (c *checker) global(i int) {
	name := c.ts[i].text
	_, class := c.api.classes[name]
	protocol, isProtocol := c.api.protocols[name]
	typ, isConstant := c.api.constants[name]
	f, isFunction := c.api.funcs[name]
	switch {
	case isProtocol:
		c.implements(i, protocol)
	case isFunction:
		c.call(i, i+1, f)
		if made := strings.TrimSuffix(f.result, "?"); c.api.classes[made] != nil && (i < 3 || c.ts[i-2].text != made) {
			c.fail(i, "write down the type of what %s makes", name)
		}
	case isConstant:
		if typ != "String" && (i < 2 || c.ts[i-1].text != "(" || c.ts[i-2].text != "Int") {
			c.fail(i, "%s is %s, and what the bindings take is Int: Int(%s)", name, typ, name)
		}
	case class && c.api.protocols[name+"Protocol"] != nil:
		c.fail(i, "%s is gobind's own class; what an app implements is %sProtocol", name, name)
	case class && c.ts[i+1].text == "(":
		c.fail(i, "make a %s with the function that says why it fails", name)
	case !class:
		c.fail(i, "the header has no %s", name)
	}
}

// member checks what follows a receiver.
func (c *checker) member(i int, class string) {
	at := i + 2
	if c.ts[i+1].text != "." {
		at++
	}
	name := c.ts[at].text
	if _, ok := c.api.props[class][name]; ok {
		return
	}
	f, ok := c.api.classes[class][name]
	if !ok {
		c.fail(at, "%s has no %s", class, name)
		return
	}
	if c.call(at, at+1, f); f.throws != c.tries(i) {
		c.fail(at, "%s: throws is %v, a \"try\" before it %v", name, f.throws, !f.throws)
	}
}

// tries reports whether there is a "try" before a token, in the same statement.
func (c *checker) tries(i int) bool {
	for ; i >= 0; i-- {
		switch t := c.ts[i]; {
		case t.text == "try":
			return true
		case t.first || slices.Contains([]string{"{", "}", ";", "in"}, t.text):
			return false
		}
	}
	return false
}

// call checks the arguments of a call.
func (c *checker) call(name, at int, f function) {
	args, _, err := arguments(c.ts, at)
	if err != nil {
		c.fail(name, "%s: %v", c.ts[name].text, err)
		return
	}
	var labels []string
	for _, a := range args {
		labels = append(labels, a.label)
	}
	if !slices.Equal(labels, f.labels) {
		c.fail(name, "the arguments of %s are labelled %q, Swift wants %q", c.ts[name].text, labels, f.labels)
		return
	}
	for i, a := range args {
		first := a.value[0].text
		switch {
		case f.types[i] == "NSErrorPointer" && first == "nil":
			c.fail(name, "%s: the error is thrown away", c.ts[name].text)
		case strings.HasPrefix(f.types[i], "UnsafeMutablePointer") && first != "&":
			c.fail(name, "%s: argument %d is a place for a result: &variable", c.ts[name].text, i+1)
		}
	}
}

// implements checks that the file has the methods of a protocol that it names.
func (c *checker) implements(at int, protocol map[string]function) {
	have := map[string]string{}
	for i, t := range c.ts {
		if t.text != "func" {
			continue
		}
		name := c.ts[i+1].text
		if f, ok := protocol[name]; ok {
			have[name] = c.declaration(i+2, f)
		}
	}
	for _, name := range sorted(protocol) {
		if want := protocol[name].declare(name); have[name] != want {
			c.fail(at, "the protocol wants func %s, the file has %q", want, have[name])
		}
	}
}

// declaration reads a declaration as [function.declare] writes one.
func (c *checker) declaration(at int, like function) string {
	name := c.ts[at-1].text
	f := function{}
	params, end, err := arguments(c.ts, at)
	if err != nil {
		return name + ": " + err.Error()
	}
	for i, p := range params {
		label, typ := p.label, ""
		if label == "_" {
			label = ""
		}
		for _, t := range p.value {
			typ += t.text
		}
		if label == "" && i < len(like.labels) && like.labels[i] != "" {
			label = "_"
		}
		f.labels, f.types = append(f.labels, label), append(f.types, typ)
	}
	f.throws = c.ts[end].text == "throws"
	return f.declare(name)
}
