package csvfile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// An error about a header says what the file calls the columns, and what to do.
func TestLacking(t *testing.T) {
	wanted := []string{"time", "outside", "power"}
	for header, want := range map[string]string{
		"outside,power":                 `the header has no column "time"; task "x" wants the columns time,outside,power, in any order: name them so in the first line`,
		"tiem,outside,powr":             `the header has no column "time" (but "tiem"), "power" (but "powr"); task "x" wants the columns time,outside,power, in any order: rename those of the file in its first line`,
		"Time,Outside [C],Power":        `the header has no column "time" (but "Time"), "outside" (but "Outside [C]"), "power" (but "Power");`,
		"a,b,c":                         `the header has no column "time", "outside", "power"; task "x" wants the columns`,
		"time|outside|power":            `the header has "|" between its names; separate them, and the cells below, by commas, semicolons or tabs`,
		"time outside power":            `the header has " " between its names;`,
		"2024-01-07 01:21,8.8,4.31":     "the first line seems to have values already; write a line above it that names the columns: time,outside,power",
		"secret,-3":                     "the first line seems to have values already;",
		"secret,word":                   `the header has no column "time", "outside", "power"; task`,
		"time,3,secret":                 `the header has no column "outside", "power"; task`,
		"time of day,outside2,power,20": `the header has no column "time" (but "time of day"), "outside" (but "outside2"); task`,
	} {
		names := strings.Split(header, ",")
		missing := slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(names, name) })
		err := Lacking(names, missing, `task "x"`, wanted)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "8.8") {
			t.Errorf("%s: got %v, want %s", header, err, want)
		}
	}
}

// Who copies the names that an error lists has a header that names the same columns.
func TestNamesAsAHeader(t *testing.T) {
	wanted := []string{"temp, °C", `"like" it`, "a", "größe"}
	const line = `"temp, °C","""like"" it",a,größe`
	if got := Header(wanted); got != line {
		t.Errorf("header %s, want %s", got, line)
	}
	if err := Lacking([]string{"a"}, wanted[:2], "the task", wanted); err == nil || !strings.Contains(err.Error(), "wants the columns "+line+", in any order") {
		t.Errorf("got %v", err)
	}
	if got := Enumerate(wanted, ", "); got != `"temp, °C", """like"" it", a, größe` {
		t.Errorf("enumerated as %s", got)
	}
}

// A table of many columns does not make a long error.
func TestLackingMany(t *testing.T) {
	var wanted []string
	for i := range 561 {
		wanted = append(wanted, fmt.Sprintf("feature%d", i))
	}
	err := Lacking([]string{"Feature0", "id"}, wanted, "the task", wanted)
	if err == nil || len(err.Error()) > 600 || !strings.Contains(err.Error(), `"feature0" (but "Feature0")`) || !strings.Contains(err.Error(), "and 556 more") || !strings.Contains(err.Error(), "and 541 more") {
		t.Errorf("got %v", err)
	}
}

func TestNear(t *testing.T) {
	for _, c := range []struct{ name, names, near string }{
		{"power", "pwoer,powder,port", "pwoer"},
		{"power", "powers,Power", "Power"},
		{"year", "yaer", "yaer"}, {"year", "yr", ""}, {"year", "sex", ""},
		{"a", "b", ""}, {"id", "if", ""}, {"day", "dya", "dya"},
		{"movieId", "movie_id,movie", "movie_id"},
		{"outside", "temp_outside", "temp_outside"},
		{"größe", "GRÖSSE,Größe", "Größe"},
		{"", "a", ""}, {"a", "", ""}, {"--", "++", ""},
		{strings.Repeat("x", 200), strings.Repeat("x", 100) + "y", strings.Repeat("x", 100) + "y"}, // beginnings are compared
	} {
		if near := Near(c.name, strings.Split(c.names, ",")); near != c.near {
			t.Errorf("%q of %s: %q, want %q", c.name, c.names, near, c.near)
		}
	}
	if Meant("b", nil) != "" || Meant("powr", []string{"power"}) != `; do you mean "power"?` {
		t.Error("what was meant")
	}
	if !Same("Movie ID", "movieId") || Same("movieId", "movie") {
		t.Error("what is the same")
	}
}
