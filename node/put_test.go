package node

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"p2pnode/node/api"
)

// outcomes are the words of an acknowledgement.
func outcomes(a api.Acknowledgement) (words []string) {
	for _, l := range a.Lines {
		words = append(words, fmt.Sprint(l.Line, " ", l.Outcome))
	}
	return words
}

// Lines of a pipe are acknowledged one by one, with and without a daemon, as CSV and as
// JSON; a bad one spoils no other, and a key of the owner's is one record.
func TestPutAcknowledgesEachLine(t *testing.T) {
	for _, through := range []string{"the directory", "the daemon"} {
		t.Run(through, func(t *testing.T) {
			n := testNode(t, lineTask(), nil, nil)
			var owner api.Owner = n
			if through == "the daemon" {
				owner = served(t, n)
			}
			for i, c := range []struct {
				lines   api.Lines
				want    []string
				retired int
			}{
				{api.Lines{Header: "a,b,y"}, nil, 0},
				{api.Lines{Header: "a,b,y", From: 2, Lines: []string{"1,0,2", "", "1,0", "\"1,0,2", "0,1,x", "0,1,3"}}, []string{"2 new", "4 bad", "5 bad", "6 bad", "7 new"}, 0},
				{api.Lines{From: 1, Lines: []string{`{"a":1,"b":0,"y":2}`, `{"a":1`, `{"a":1,"y":2}`}}, []string{"1 new", "2 bad", "3 bad"}, 0},
				{api.Lines{Header: "a,b,y,k", From: 2, ID: "k", Lines: []string{"1,0,2,one", "0,1,2,two", "1,0,2, one ", "1,0,1,", "1,0,1,na"}}, []string{"2 new", "3 new", "4 same", "5 bad", "6 bad"}, 0},
				{api.Lines{From: 1, ID: "k", Lines: []string{`{"k":"one","a":1,"b":0,"y":2.5}`, `{"k":"two","a":0,"b":1,"y":2.0}`, `{"k":3,"a":0,"b":1,"y":2}`}}, []string{"1 replaced", "2 same", "3 new"}, 1},
			} {
				a, err := owner.Put(t.Context(), c.lines)
				if err != nil || !slices.Equal(outcomes(a), c.want) || a.Retired != c.retired {
					t.Errorf("%d: %+v, %v; want %q", i, a, err, c.want)
				}
			}
			for _, bad := range []api.Lines{{Header: "a,b"}, {Header: "a,b,y", ID: "k"}, {Header: "a,a,b,y"}} {
				if _, err := owner.Put(t.Context(), bad); err == nil {
					t.Errorf("%+v was taken", bad)
				}
			}
			var ids []string
			for _, r := range listed(t, owner, true) {
				ids = append(ids, fmt.Sprint(r.ID, r.Deleted))
			}
			if want := []string{"false", "false", "false", "true", "twofalse", "onefalse", "3false"}; !slices.Equal(ids, want) {
				t.Errorf("IDs %q, want %q", ids, want)
			}
			checkOwn(t, n)
		})
	}
}

// A pipe that is there as a whole is known again as a file is.
func TestPutRemembersAWholePipe(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	file := api.Digest{7}
	whole := api.Lines{Header: "a,b,y", From: 2, Lines: []string{"1,0,2"}, File: &file, Whole: true}
	if _, err := n.Put(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Put(t.Context(), whole); !errors.Is(err, api.ErrImported) {
		t.Errorf("once more: %v", err)
	}
	whole.Again = true
	if _, err := n.Put(t.Context(), whole); err != nil {
		t.Errorf("again, as was said: %v", err)
	}
	if s := status(t, n); s.Records != 2 {
		t.Errorf("%d records, want 2", s.Records)
	}
}

// A file with IDs that is imported again, mended or longer, changes what it must and
// nothing else, through the daemon as without it.
func TestImportKnown(t *testing.T) {
	for _, through := range []string{"the directory", "the daemon"} {
		t.Run(through, func(t *testing.T) {
			n := testNode(t, lineTask(), nil, nil)
			var owner api.Owner = n
			if through == "the daemon" {
				owner = served(t, n)
			}
			for i, c := range []struct {
				text string
				o    api.ImportOptions
				want api.ImportReport // without lines and cells
				err  error
			}{
				{"a,b,y,k\n1,0,2,u\n0,1,x,v\n1,1,1,w\n", api.ImportOptions{}, api.ImportReport{Records: 2, Bad: 1}, api.ErrSomeBad},
				{"a,b,y,k\n1,0,2,u\n0,1,3,v\n1,1,1,w\n", api.ImportOptions{}, api.ImportReport{Records: 1, Same: 2}, nil},
				{"a,b,y,k\n1,0,2,u\n0,1,3,v\n1,1,1,w\n", api.ImportOptions{}, api.ImportReport{}, api.ErrImported},
				{"a,b,y,k\n1,0,2,u\n0,1,3,v\n1,1,1,w\n", api.ImportOptions{Again: true}, api.ImportReport{Same: 3}, nil},
				{"a,b,y,k\n1,0,1,u\n0,1,x,v\n", api.ImportOptions{SkipBad: true}, api.ImportReport{Records: 1, Replaced: 1, Bad: 1}, nil},
				{"{\"a\":1,\"b\":0,\"y\":0,\"k\":\"u\"}\n", api.ImportOptions{}, api.ImportReport{Records: 1, Replaced: 1}, nil},
				{"a,b,y\n1,0,1\n", api.ImportOptions{}, api.ImportReport{}, api.ErrRequest},
				{"a,b,y,k\n1,1,2,u\n\"1,1,2,v\n1,1,2,w\n", api.ImportOptions{}, api.ImportReport{Records: 1, Replaced: 1, Bad: 1}, api.ErrSomeBad},
			} {
				c.o.ID = "k"
				got, err := owner.Import(t.Context(), strings.NewReader(c.text), c.o)
				got.Lines, got.Cells = nil, nil
				if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == nil) || through == "the directory" && !errors.Is(err, c.err) {
					t.Errorf("%d: %+v, %v; want %+v, %v", i, got, err, c.want, c.err)
				}
			}
			checkOwn(t, n)
			if s := status(t, n); s.Records != 3 {
				t.Errorf("%d records, want 3", s.Records)
			}
		})
	}
}

// Why the last lines of a file with IDs were not stored is told, also where bad lines were left out.
func TestImportKnownThatIsCutShort(t *testing.T) {
	n := testNode(t, lineTask(), nil, nil)
	for _, file := range []string{"a,b,y,k\n1,1,2,u\n", "a,b,y,k\n1,1,2,u\n1,x,2,v\n", "a,b,y,k\n1,1,2,u\n\"1,1,2,v\n"} {
		ctx, cancel := context.WithCancel(t.Context())
		o := api.ImportOptions{ID: "k", Room: func() error { cancel(); return nil }} // when the line is taken
		r, err := n.Import(ctx, strings.NewReader(file), o)
		if !errors.Is(err, context.Canceled) || errors.Is(err, api.ErrSomeBad) || r.Records != 0 {
			t.Errorf("%q: %d records, %v", file, r.Records, err)
		}
	}
	if s := status(t, n); s.Records != 0 {
		t.Errorf("%d records are stored", s.Records)
	}
}
