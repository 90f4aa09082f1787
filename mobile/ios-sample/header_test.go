package ios_test

import (
	"fmt"
	"regexp"
	"strings"
)

// api is a header of gobind's as Swift sees it. Swift's rules are in Apple's "About Imported Cocoa
// Error Parameters", "Designating Nullability in Objective-C APIs" and "Importing Objective-C
// into Swift".
type api struct {
	funcs     map[string]function            // global
	constants map[string]string              // name to type
	classes   map[string]map[string]function // methods by name
	props     map[string]map[string]string   // of classes: name to type
	protocols map[string]map[string]function // by the name Swift gives them
}

// function is a function or method in Swift's terms.
type function struct {
	labels []string // of its parameters; "" for one without
	types  []string
	result string // "" for none
	throws bool
}

var (
	comments  = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)
	classLine = regexp.MustCompile(`^@interface (\w+) : NS\w+`)
	protoLine = regexp.MustCompile(`^@protocol (\w+) <NSObject>$`)
	propLine  = regexp.MustCompile(`^@property \(nonatomic\) (.+?)(\w+);$`)
	refLine   = regexp.MustCompile(`^(@property\(strong, readonly\) _Nonnull id _ref;|- \(nonnull instancetype\)initWithRef:\(_Nonnull id\)ref;)$`)
	initLine  = regexp.MustCompile(`^- \(nullable instancetype\)init`)
	methLine  = regexp.MustCompile(`^- \(([^)]+)\)(.+);$`)
	piece     = regexp.MustCompile(`(\w*):\(([^)]+)\)\w+`)
	constLine = regexp.MustCompile(`^FOUNDATION_EXPORT (?:const (\w+ )|(NSString\* _Nonnull) const )(\w+);$`)
	funcLine  = regexp.MustCompile(`^FOUNDATION_EXPORT (.+?)(\w+)\((.*)\);$`)
	param     = regexp.MustCompile(`^(.+?)(\w+)$`)
)

// parseHeader reads a header. A line it does not know is an error, so that nothing is passed over.
func parseHeader(text string) (*api, error) {
	a := &api{
		funcs: map[string]function{}, constants: map[string]string{}, classes: map[string]map[string]function{},
		props: map[string]map[string]string{}, protocols: map[string]map[string]function{},
	}
	var class string
	var methods map[string]function
	for line := range strings.Lines(comments.ReplaceAllString(text, "")) {
		line = strings.TrimSpace(line)
		var err error
		switch m := []string(nil); {
		case line == "" || line == "}" || line == "@end" || refLine.MatchString(line) || initLine.MatchString(line):
		case line[0] == '#' || strings.HasPrefix(line, "@import ") || strings.HasPrefix(line, "@class "):
		case strings.HasPrefix(line, "@protocol ") && strings.HasSuffix(line, ";"):
		case match(protoLine, line, &m):
			// A protocol with the name of a class is imported with a suffix; gobind makes a class for each.
			methods = map[string]function{}
			a.protocols[m[1]+"Protocol"] = methods
		case match(classLine, line, &m):
			class, methods = m[1], map[string]function{}
			a.classes[class], a.props[class] = methods, map[string]string{}
		case match(propLine, line, &m):
			a.props[class][m[2]], err = swiftType(m[1])
		case match(methLine, line, &m):
			err = addMethod(methods, m[1], m[2])
		case match(constLine, line, &m):
			a.constants[m[3]], err = swiftType(m[1] + m[2])
		case match(funcLine, line, &m):
			a.funcs[m[2]], err = importFunction(m[1], m[3])
		default:
			err = fmt.Errorf("a line of an unknown kind")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	return a, nil
}

func match(re *regexp.Regexp, line string, m *[]string) bool {
	*m = re.FindStringSubmatch(line)
	return *m != nil
}

func addMethod(methods map[string]function, result, selector string) error {
	name, _, _ := strings.Cut(selector, ":")
	f := function{}
	for i, p := range piece.FindAllStringSubmatch(selector, -1) {
		typ, err := swiftType(p[2])
		if err != nil {
			return err
		}
		label := p[1]
		if i == 0 {
			label = "" // it is the method's name
		}
		f.labels, f.types = append(f.labels, label), append(f.types, typ)
	}
	var err error
	if f.result, err = swiftType(result); err != nil {
		return err
	}
	methods[name] = f.throwing()
	return shortened(name, f)
}

// throwing applies Swift's rule for a last parameter NSError**: where the result tells of a
// failure, being NO or nil, the method throws, and has no such result or parameter any more.
func (f function) throwing() function {
	last := len(f.types) - 1
	if last < 0 || f.types[last] != "NSErrorPointer" {
		return f
	}
	switch {
	case f.result == "Bool":
		f.result = ""
	case strings.HasSuffix(f.result, "?"):
		f.result = strings.TrimSuffix(f.result, "?")
	default:
		return f
	}
	f.labels, f.types, f.throws = f.labels[:last], f.types[:last], true
	return f
}

// importFunction reads a function of C, whose parameters have no labels and which never throws.
func importFunction(result, params string) (f function, err error) {
	if f.result, err = swiftType(result); err != nil || params == "void" {
		return f, err
	}
	for p := range strings.SplitSeq(params, ", ") {
		m := param.FindStringSubmatch(p)
		typ, err := swiftType(m[1])
		if err != nil {
			return f, err
		}
		f.labels, f.types = append(f.labels, ""), append(f.types, typ)
	}
	return f, nil
}

var object = regexp.MustCompile(`^(P2P\w+)\* _Nullable$`)
var protocol = regexp.MustCompile(`^id<(\w+)> _Nullable$`)

func swiftType(objc string) (string, error) {
	objc = strings.TrimSpace(objc)
	known := map[string]string{
		"BOOL": "Bool", "long": "Int", "int64_t": "Int64", "int32_t": "Int32", "double": "Double", "float": "Float", "void": "",
		"NSString* _Nonnull": "String", "NSString* _Nullable": "String?", "NSData* _Nullable": "Data?",
		"double* _Nullable": "UnsafeMutablePointer<Double>?", "long* _Nullable": "UnsafeMutablePointer<Int>?",
		"BOOL* _Nullable": "UnsafeMutablePointer<ObjCBool>?", "NSError* _Nullable* _Nullable": "NSErrorPointer",
	}
	if t, ok := known[objc]; ok {
		return t, nil
	}
	if m := protocol.FindStringSubmatch(objc); m != nil {
		return m[1] + "Protocol?", nil
	}
	if m := object.FindStringSubmatch(objc); m != nil {
		return m[1] + "?", nil
	}
	return "", fmt.Errorf("type %q, of which this test does not know what Swift makes", objc)
}

var (
	words        = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	prepositions = regexp.MustCompile(`^(?i:with|for|from|to|into|in|of|at|by|on|using|after|before|as|via|without|within)$`)
	typeName     = regexp.MustCompile(`\w+`)
)

// shortened refuses names that Swift would shorten (SE-0005: Better Translation of Objective-C
// APIs), which this test does not copy: a name that ends in the type of its first parameter, or is
// split before a preposition. A preposition at the beginning stays.
func shortened(name string, f function) error {
	if len(f.types) == 0 {
		return nil
	}
	if typ := typeName.FindString(strings.TrimPrefix(f.types[0], "P2PMobile")); strings.HasSuffix(strings.ToLower(name), strings.ToLower(typ)) {
		return fmt.Errorf("Swift cuts %q off the name: choose another", typ)
	}
	for _, w := range words.FindAllString(name, -1)[1:] {
		if prepositions.MatchString(w) {
			return fmt.Errorf("Swift splits the name at %q: choose another", w)
		}
	}
	return nil
}
