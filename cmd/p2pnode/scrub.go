package main

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// scrubber removes from a text what says who and where somebody is, and who their peers
// are. The same thing becomes the same word everywhere, so that a reader can follow the
// text.
type scrubber struct {
	exact []string // private texts, each followed by its replacement
	keep  string   // a long word that stays: the hash of the task
	names map[string]string
	count map[string]int
}

func newScrubber(keep string) *scrubber {
	return &scrubber{keep: keep, names: make(map[string]string), count: make(map[string]int)}
}

// hide replaces every occurrence of a text by a word. It does not look for short texts,
// because they are too common.
func (s *scrubber) hide(text, word string) {
	if len(text) > 2 {
		s.exact = append(s.exact, text, word)
	}
}

var (
	hiddenName   = regexp.MustCompile(`/(dns|dns4|dns6|dnsaddr|ip6zone|unix)/[^/\s"',\]]+`)
	hiddenTicket = regexp.MustCompile(`\bp2p(secret)?1[a-z0-9]{8,}`)
	hiddenPeer   = regexp.MustCompile(`\b(12D3KooW|16Uiu2HA|Qm)[1-9A-HJ-NP-Za-km-z]{38,46}\b`)
	hiddenLong   = regexp.MustCompile(`[0-9A-Za-z+/_=-]{32,}`)
	hiddenHost   = regexp.MustCompile(`[0-9A-Fa-f:.]*[:.][0-9A-Fa-f:.]+(%\w+)?`)
	hiddenMail   = regexp.MustCompile(`[\w.+-]+@[\w.-]+`)
)

// scrub returns a text without the private parts.
func (s *scrubber) scrub(text string) string {
	text = strings.NewReplacer(s.exact...).Replace(text)
	text = hiddenTicket.ReplaceAllString(text, "TICKET")
	text = hiddenName.ReplaceAllStringFunc(text, func(found string) string {
		kind, name, _ := strings.Cut(found[1:], "/")
		return "/" + kind + "/" + s.word("name", name)
	})
	text = hiddenPeer.ReplaceAllStringFunc(text, func(found string) string { return s.word("peer", found) })
	text = hiddenMail.ReplaceAllString(text, "MAIL")
	text = hiddenHost.ReplaceAllStringFunc(text, s.address)
	return hiddenLong.ReplaceAllStringFunc(text, func(found string) string {
		if found == s.keep || strings.Count(found, "/") > 2 || strings.Trim(found, "-=_") == "" { // a multiaddress with several parts, or a line
			return found
		}
		return s.word("long", found)
	})
}

// address replaces an IP address by its kind and a number.
func (s *scrubber) address(found string) string {
	text, port := found, ""
	if ap, err := netip.ParseAddrPort(found); err == nil {
		text, port = ap.Addr().String(), fmt.Sprintf(":%d", ap.Port())
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return found
	}
	kind := "public"
	switch {
	case a.IsUnspecified(), a.IsLoopback():
		return found // every machine has these addresses
	case a.IsPrivate(), a.IsLinkLocalUnicast():
		kind = "local"
	}
	if a.Is4() {
		return s.word(kind+"4", text) + port
	}
	return s.word(kind+"6", text) + port
}

// word returns the replacement of a text, the same everywhere.
func (s *scrubber) word(kind, of string) string {
	if w, known := s.names[kind+of]; known {
		return w
	}
	s.count[kind]++
	w := fmt.Sprintf("%s-%d", strings.ToUpper(kind), s.count[kind])
	s.names[kind+of] = w
	return w
}
