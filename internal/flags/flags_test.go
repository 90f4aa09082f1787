package flags

import (
	"errors"
	"testing"

	"github.com/spf13/pflag"
)

// A value that cannot be read is answered in words, whatever the flag holds.
func TestWrong(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"--yes=perhaps", `--yes: "perhaps" must be true or false`},
		{"--count=1.5", `--count: "1.5" must be a whole number`},
		{"--seed=-1", `--seed: "-1" must be a whole number from 0 up`},
		{"--share=much", `--share: "much" must be a number`},
		{"--share=1e999", `--share: "1e999" is too large a number`},
		{"--sizes=1,x", `--sizes: "1,x" must be whole numbers, with commas between`},
		{"--place=1,x", `--place: "1,x" must be numbers, with commas between`},
		{"--every=5", `--every: "5" must be a time, such as 90s or 5m`},
		{"--none", "unknown flag: --none"},
		{"--sead=1", "unknown flag: --sead; did you mean --seed?"},
		{"--siezs=1", "unknown flag: --siezs; did you mean --sizes?"},
		{"-x", "unknown shorthand flag: 'x' in -x"},
	} {
		t.Run(c.arg, func(t *testing.T) {
			f := pflag.NewFlagSet("", pflag.ContinueOnError)
			f.Bool("yes", false, "")
			f.IntP("count", "n", 0, "")
			f.Uint64("seed", 0, "")
			f.Float64("share", 0, "")
			f.IntSlice("sizes", nil, "")
			f.Float64Slice("place", nil, "")
			f.Duration("every", 0, "")
			if got := Wrong(f, f.Parse([]string{c.arg})); got == nil || got.Error() != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
		})
	}
	if other := errors.New("another"); Wrong(nil, other) != other {
		t.Error("an error of another kind was changed")
	}
}

// A text that a script left empty is not taken for a flag that was not given.
func TestEmpty(t *testing.T) {
	for arg, want := range map[string]string{
		"--id=": "--id is empty: say what it is to be, or leave it out", "--id=a": "", "--api=": "", "--count=1": "", "": "",
	} {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.String("id", "", "")
		set.String("api", "", "")
		set.Int("count", 0, "")
		var args []string
		if arg != "" {
			args = []string{arg}
		}
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		if err := Empty(set, "api"); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%q: %v, want %q", arg, err, want)
		}
	}
}
