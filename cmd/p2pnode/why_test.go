package main

import (
	"strings"
	"testing"
	"time"

	"p2pnode/node/api"
)

func TestWhyText(t *testing.T) {
	now := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	until := now.Add(150 * time.Second)
	list := []api.Standing{
		{Peer: "first", State: api.RefusedHere, Why: "it sent 5 messages that no honest node sends", Since: now.Add(-time.Minute), Until: &until},
		{Peer: "second", State: api.RefusedHere, Why: "it signed two different models for round 7", Since: now},
		{Peer: "third", State: api.Limited, Why: "it opened 9 streams more than are answered", Since: now, Until: &until},
		{Peer: "fourth", State: api.Distrusted, Why: "it sent 1 message that no honest node sends", Since: now, Until: &until},
		{Peer: "fifth", State: api.RefusesUs, Why: "this node is not on the peer's membership list", Since: now},
	}
	text := strings.Join(strings.Fields(whyText(list, nil, now)), " ")
	for _, want := range []string{
		"first REFUSED, nothing of it is taken: it sent 5 messages that no honest node sends. Since 2030-01-31 11:59:00, for 2m30s still unless there is more.",
		"second REFUSED, nothing of it is taken: it signed two different models for round 7. Since 2030-01-31 12:00:00, as long as that lasts.",
		"third LIMITED", "fourth DISTRUSTED", "fifth IT REFUSES YOU: this node is not",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
	for _, args := range [][]string{nil, {"somebody"}} {
		if text := whyText(nil, args, now); !strings.HasPrefix(text, "No") || len(args) == 1 && !strings.Contains(text, "somebody") {
			t.Errorf("of nobody: %s", text)
		}
	}
}

func TestPeersWhy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cli(t, nil, "init", "--dir", dir)
	list := []api.Standing{{}}
	if cli(t, &list, "peers", "--why", "--dir", dir); len(list) != 0 {
		t.Errorf("peers --why: %+v", list)
	}
}
