package movielens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadNamesWhatIsWrong(t *testing.T) {
	wrong := t.TempDir()
	if err := os.WriteFile(filepath.Join(wrong, "u.data"), []byte("1\t2\t3\t4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{"", "the data is missing"},
		{filepath.Join(wrong, "nothing"), "no such file"},
		{t.TempDir(), "u.data"},
		{wrong, "is not the published file"},
		{filepath.Join(wrong, "u.data"), "is not the published file"},
	} {
		_, err := read(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "ml-100k.zip") {
			t.Errorf("read(%q): %v, want %q and where to get it", c.path, err, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	list, err := parse("1\t2\t3\t4\r\n943\t1682\t5\t6\n")
	if err != nil || len(list) != 2 || list[1] != (rating{942, 1681, 5}) {
		t.Fatalf("%v, %v", list, err)
	}
	for _, bad := range []string{"1\t2\t3\n", "0\t2\t3\t4\n", "944\t2\t3\t4\n", "1\t1683\t3\t4\n", "1\t2\tx\t4\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestPublishedData(t *testing.T) {
	d := published100K(t)
	if len(d.ratings) != ratings || len(d.movies) != movies {
		t.Fatalf("%d ratings of %d movies", len(d.ratings), len(d.movies))
	}
	if year, _ := d.movies[0]("year"); year != "1995" {
		t.Errorf("Toy Story is of %q", year)
	}
}
