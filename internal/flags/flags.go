// Package flags says what is wrong with a command line, for both programs.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Wrong returns the error of a flag that a set does not have, with those whose names are
// near, or of one whose value cannot be read, in words: what the value must be, and not
// what the parser of Go said. Other errors it returns as they are.
func Wrong(set *pflag.FlagSet, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if names := near(set, unknown.GetSpecifiedName()); len(names) > 0 && unknown.GetSpecifiedShortnames() == "" {
			return fmt.Errorf("%w; did you mean --%s?", err, strings.Join(names, " or --"))
		}
		return err
	}
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag, value := invalid.GetFlag(), invalid.GetValue()
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("--%s: %q is too large a number", flag.Name, value)
	}
	wanted := wanted(flag.Value.Type())
	if wanted == "" {
		return err
	}
	return fmt.Errorf("--%s: %q must be %s", flag.Name, value, wanted)
}

// Empty returns an error if a flag is set to an empty text, as by a variable of a script that has no
// value: nobody means that. The flags named by may are excepted.
func Empty(set *pflag.FlagSet, may ...string) (err error) {
	set.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && !slices.Contains(may, f.Name) && err == nil {
			err = fmt.Errorf("--%s is empty: say what it is to be, or leave it out", f.Name)
		}
	})
	return err
}

// near returns the flags whose names are as near to a name as those of the commands are
// that are suggested in place of another.
func near(set *pflag.FlagSet, name string) []string {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	set.VisitAll(func(f *pflag.Flag) {
		names.AddCommand(&cobra.Command{Use: f.Name, Hidden: f.Hidden, Run: func(*cobra.Command, []string) {}})
	})
	return names.SuggestionsFor(name)
}

// wanted says what a flag's value of a type must be; "" if all that is known is the type.
func wanted(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "int":
		return "a whole number"
	case "uint64":
		return "a whole number from 0 up"
	case "float64":
		return "a number"
	case "ints", "intSlice":
		return "whole numbers, with commas between"
	case "float64Slice":
		return "numbers, with commas between"
	case "duration":
		return "a time, such as 90s or 5m"
	}
	return ""
}
