package ios_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// stub is the module P2PNode in Swift, with what Swift makes of the header and no bodies, for a
// compiler that runs where there is no framework to import.
func (a *api) stub() string {
	var b strings.Builder
	b.WriteString("import Foundation\n#if !canImport(ObjectiveC)\npublic typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?\n#endif\n")
	for _, name := range sorted(a.constants) {
		fmt.Fprintf(&b, "public var %s: %s { fatalError() }\n", name, a.constants[name])
	}
	for _, name := range sorted(a.funcs) {
		fmt.Fprintf(&b, "public func %s { fatalError() }\n", a.funcs[name].declare(name))
	}
	for _, name := range sorted(a.protocols) {
		fmt.Fprintf(&b, "public protocol %s: NSObjectProtocol {\n", name)
		for _, method := range sorted(a.protocols[name]) {
			fmt.Fprintf(&b, "    func %s\n", a.protocols[name][method].declare(method))
		}
		b.WriteString("}\n")
	}
	for _, name := range sorted(a.classes) {
		fmt.Fprintf(&b, "open class %s: NSObject {\n", name)
		for _, prop := range sorted(a.props[name]) {
			fmt.Fprintf(&b, "    open var %s: %s { get { fatalError() } set { fatalError() } }\n", prop, a.props[name][prop])
		}
		for _, method := range sorted(a.classes[name]) {
			fmt.Fprintf(&b, "    open func %s { fatalError() }\n", a.classes[name][method].declare(method))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// declare is the declaration of a function without its body. The names of parameters are what a
// call does not see.
func (f function) declare(name string) string {
	var params []string
	for i, label := range f.labels {
		if label == "" {
			label = fmt.Sprintf("_ p%d", i)
		}
		params = append(params, label+": "+f.types[i])
	}
	text := name + "(" + strings.Join(params, ", ") + ")"
	if f.throws {
		text += " throws"
	}
	if f.result != "" {
		text += " -> " + f.result
	}
	return text
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
