package datadir

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"
	"testing"

	"p2pnode/internal/require"
)

// Whatever is in the file of a configuration, and in a setting over it, what is found wrong
// is in it; and what is sound is written and read back the same.
func FuzzConfig(f *testing.F) {
	text, err := encodeTOML(DefaultConfig(lineTask()))
	require.NoError(f, err)
	f.Add(text, "wake_seconds=1.5")
	f.Add([]byte("epsilon = 2.0\nlisten = ['/ip4/0.0.0.0/tcp/1']\nprofile = [0.5]"), "listen=/ip4/127.0.0.1/tcp/0,/dns/x/tcp/1")
	f.Add([]byte("colour = 1\n[epsilon]\na = [[1], {b = 2}]"), "=")
	f.Fuzz(func(t *testing.T, text []byte, setting string) {
		var over []Setting
		if s, err := ParseSetting(setting, "the shell"); err == nil {
			over = append(over, s)
		}
		l := readConfig(text, lineTask(), over)
		lines := strings.Count(string(text), "\n") + 1
		for _, found := range l.wrong {
			if found.Line < 0 || found.Line > lines || found.Text == "" {
				t.Fatalf("%+v in %d lines", found, lines)
			}
		}
		if len(l.wrong) > 0 {
			return
		}
		again, err := encodeTOML(l.config)
		require.NoError(t, err)
		if back := readConfig(again, lineTask(), nil); len(back.wrong) > 0 || !same(&back.config, &l.config) {
			t.Fatalf("%+v is sound, and read back %+v, %v", l.config, back.config, back.wrong)
		}
	})
}

// same reports whether two configurations say the same: an empty list is none.
func same(a, b *Config) bool {
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		empty := x.Field(i).Kind() == reflect.Slice && x.Field(i).Len() == 0 && y.Field(i).Len() == 0
		if !empty && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return false
		}
	}
	return true
}

// Whatever says which private network a node has joined, its authorities can sign.
func FuzzJoined(f *testing.F) {
	f.Add([]byte("network = 'home'\nauthorities = ['12D3KooWQoPFZHjbYqWacLniFGVHMrEyBUtujLqU223AH4jyuhJi']"))
	f.Add([]byte("network = 'home'\nauthorities = ['QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N']"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var j joined
		if decodeTOML(text, &j) != nil {
			return
		}
		trusted, err := j.trusted()
		if err != nil {
			return
		}
		for _, id := range trusted {
			if _, err := id.ExtractPublicKey(); err != nil || len(trusted) != len(j.Authorities) {
				t.Fatalf("%q: %v, %v", text, trusted, err)
			}
		}
	})
}

// Whatever file a task names as its catalogue, it is refused or it lists keys.
func FuzzCatalogue(f *testing.F) {
	task := itemsTask(f, "")
	f.Add([]byte("place,a,b\nhall,0.5,0\nroof,-1,1\n"))
	f.Add([]byte("place\nNordpark\nMarket\n"))
	f.Add([]byte("size;place\n1;\"a;\n\"\n2;a"))
	f.Add([]byte("place\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		sum := sha256.Sum256(content)
		task.Features[len(task.Features)-1].Catalogue = hex.EncodeToString(sum[:])
		if c, err := ReadCatalogue(task, content); err == nil && (c.Keys() < 1 || c.Keys() > len(content)) {
			t.Fatalf("%q lists %d keys", content, c.Keys())
		}
	})
}
