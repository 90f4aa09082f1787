package ticket

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"unicode"
)

// letters are base32 with the alphabet of bech32 (BIP 173).
var letters = base32.NewEncoding("qpzry9x8gf2tvdw0s3jn54khce6mua7l").WithPadding(base32.NoPadding)

// castagnoli detects every change within 32 neighbouring bits: each wrong character, each
// swap of two neighbours, each run of six wrong characters. It misses one other change in
// 2^32.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers the prefix and the content.
func checksum(prefix string, content []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(prefix), castagnoli), castagnoli, content)
}

// Encode returns the text of a ticket, of at most [MaxText] characters. If the task is
// too long for a ticket, it contains the task's hash instead.
func (t *Ticket) Encode() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	content, err := t.content()
	if err != nil {
		return "", err
	}
	prefix := Prefix
	if t.Secret() {
		prefix = SecretPrefix
	}
	text := prefix + letters.EncodeToString(binary.BigEndian.AppendUint32(content, checksum(prefix, content)))
	if len(text) > MaxText {
		return "", fmt.Errorf("ticket: the ticket would have %d characters, at most %d are read; leave some addresses out", len(text), MaxText)
	}
	return text, nil
}

// normal returns a text in lower case and without the spaces and line ends that a mail
// program has put into it.
func normal(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
}

// Decode reads a ticket. It accepts either case and any white space in it. Its errors are
// [errNoTicket], [errMistyped], [errNewer] and [errInvalid], with details.
func Decode(text string) (*Ticket, error) {
	if len(text) > 2*MaxText {
		return nil, errNoTicket
	}
	text = normal(text)
	prefix, rest, err := cut(text)
	if err != nil {
		return nil, err
	}
	content, err := letters.DecodeString(rest)
	// The bits that are left over at the end must be zero. Otherwise several last
	// characters would mean the same.
	if err != nil || len(content) < crc32.Size || letters.EncodeToString(content) != rest || len(text) > MaxText {
		return nil, errMistyped
	}
	content, sum := content[:len(content)-crc32.Size], content[len(content)-crc32.Size:]
	if binary.BigEndian.Uint32(sum) != checksum(prefix, content) {
		return nil, errMistyped
	}
	t, err := parse(content)
	if err != nil {
		return nil, err
	}
	if t.Secret() != (prefix == SecretPrefix) {
		return nil, fmt.Errorf("%w (it does not say whether it holds a secret)", errInvalid)
	}
	return t, t.check()
}

// cut splits a text into the prefix of a ticket and the rest. Later versions have another
// digit in the prefix.
func cut(text string) (prefix, rest string, err error) {
	for _, prefix := range []string{Prefix, SecretPrefix} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return prefix, rest, nil
		}
		version, ok := strings.CutPrefix(text, strings.TrimSuffix(prefix, "1"))
		if ok && version != "" && version[0] >= '2' && version[0] <= '9' {
			return "", "", errNewer
		}
	}
	return "", "", errNoTicket
}
