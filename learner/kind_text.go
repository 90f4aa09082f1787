package learner

import (
	"fmt"
	"math"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// textKind describes texts. A text is Buckets coordinates. Each run of Words[0] to
// Words[1] words, and each run of Letters[0] to Letters[1] characters of a word with a
// space before and after, is hashed into one of them. The hash also decides whether the
// run adds 1 there or subtracts 1, so that runs which share a bucket disturb each other
// less (Weinberger et al. 2009). The counts are divided by their l2 norm. They stay 0
// if the text has no run or all its runs cancel. Programs in other languages can do the
// same: docs/tasks.md describes the steps.
func textKind() featureKind {
	return featureKind{
		name:   "text",
		width:  (*Feature).buckets,
		inputs: constantly(0),
		square: constantly(1.),
		names: func(f *Feature) []string {
			names := make([]string, f.buckets())
			for i := range names {
				names[i] = fmt.Sprintf("%s[%d]", f.Name, i)
			}
			return names
		},
		cell: (*Feature).encodeText,
		vector: func(f *Feature, _, _ []float64) ([]float64, Note, error) {
			return nil, Taken, fmt.Errorf("column %q is a text, which numbers cannot say; give the row by its columns, as JSON", f.Name)
		},
		coded: func(f *Feature) CodedTable {
			words, letters := f.runs()
			return CodedTable{"words": [2]int{max(1, words[0]), words[1]}, "letters": [2]int{max(1, letters[0]), letters[1]}, "seed": f.Seed}
		},
		made: constantly([]string{
			"The quick brown fox", "the QUICK  brown\tfox!", "Größe ǅ Straße ΟΔΟΣ İstanbul ﬁn ４２", "C++ costs 5€ … 😀👍🏽", "don't e-mail", "漢字かな交じり文 हिन्दी עברית", "a a a a b", "?!", "é = é",
		}),
		check: (*checker).text,
	}
}

// The constants of a text whose task leaves them out.
const textBuckets = 1024

var (
	textWords   = [2]int{1, 1}
	textLetters = [2]int{3, 4}
)

const (
	maxWords   = 4
	maxLetters = 8
)

func (c *checker) text(key string, f *Feature) {
	c.check(f.Buckets == 0 || f.Buckets >= 2 && f.Buckets <= MaxDimension, key+".buckets", "must say into how many coordinates a text is hashed, 2 to %d; %d if left out", MaxDimension, textBuckets)
	c.runs(key+".words", f.Words, maxWords)
	c.runs(key+".letters", f.Letters, maxLetters)
}

// runs checks the shortest and the longest run of words or letters.
func (c *checker) runs(key string, lengths []int, most int) {
	c.check(lengths == nil || len(lengths) == 2 && 1 <= lengths[0] && lengths[0] <= lengths[1] && lengths[1] <= most, key,
		"must be the lengths of the shortest and the longest runs to count, as [1, 2], each 1 to %d", most)
}

func (f *Feature) buckets() int {
	if f.Buckets == 0 {
		return textBuckets
	}
	return f.Buckets
}

// runs returns the lengths of the runs of words and letters to count; 0 and 0 mean
// none. They are those that the task names. If it names neither, both have their usual
// lengths.
func (f *Feature) runs() (words, letters [2]int) {
	if f.Words == nil && f.Letters == nil {
		return textWords, textLetters
	}
	copy(words[:], f.Words)
	copy(letters[:], f.Letters)
	return words, letters
}

// encodeText appends the coordinates of a text.
func (f *Feature) encodeText(x []float64, text string) ([]float64, Note, error) {
	at := len(x)
	x = unknown(x, f.buckets())
	if Blank(text) {
		return x, Empty, nil
	}
	counts := x[at:]
	f.eachRun(textOf(text), func(hash uint32) {
		const sign = 1 << 31
		if bucket := hash &^ sign % uint32(len(counts)); hash&sign == 0 {
			counts[bucket]++
		} else {
			counts[bucket]--
		}
	})
	var square float64 // exact, because the counts are
	for _, n := range counts {
		square += n * n
	}
	if square == 0 {
		return x, Unknown, nil
	}
	for i := range counts {
		counts[i] /= math.Sqrt(square)
	}
	return x, Taken, nil
}

// textOf splits a text into words, each a run of letters, marks and digits or one
// symbol, in the compatible composed form of Unicode (NFKC) and in small letters.
func textOf(text string) (words [][]rune) {
	var word []rune
	end := func() {
		if word != nil {
			words, word = append(words, word), nil
		}
	}
	for _, r := range norm.NFKC.String(text) {
		switch {
		case unicode.In(r, unicode.L, unicode.M, unicode.N):
			word = append(word, lower(r)...)
		case unicode.Is(unicode.S, r):
			end()
			words = append(words, []rune{r})
		default:
			end()
		}
	}
	end()
	return words
}

// lower returns a character in small letters as Unicode defines it, regardless of the
// characters around it. One character alone becomes two.
func lower(r rune) []rune {
	if r == 'İ' {
		return []rune{'i', '\u0307'}
	}
	return []rune{unicode.ToLower(r)}
}

// eachRun calls take with the hash of every run that is counted.
func (f *Feature) eachRun(text [][]rune, take func(hash uint32)) {
	words, letters := f.runs()
	seed := hashStart
	for shift := 0; shift < 32; shift += 8 {
		seed = seed.byte(byte(f.Seed >> shift))
	}
	for i := range text {
		run := seed.byte('w')
		for n := 1; n <= words[1] && i+n <= len(text); n++ {
			if n > 1 {
				run = run.rune(' ')
			}
			for _, r := range text[i+n-1] {
				run = run.rune(r)
			}
			if n >= words[0] {
				take(run.mixed())
			}
		}
	}
	for _, word := range text {
		spaced := append(append([]rune{' '}, word...), ' ')
		for i := range spaced {
			run := seed.byte('l')
			for n := 1; n <= letters[1] && i+n <= len(spaced); n++ {
				if run = run.rune(spaced[i+n-1]); n >= letters[0] {
					take(run.mixed())
				}
			}
		}
	}
}

// textHash is FNV-1a of 32 bits, which takes a few lines in any language, even where
// numbers do not have 64 bits. The last bits of FNV-1a depend only on the last bits of
// its input, so they are mixed at the end as in MurmurHash3. It is public and keeps
// nothing secret.
type textHash uint32

const hashStart textHash = 2166136261

func (h textHash) byte(b byte) textHash { return (h ^ textHash(b)) * 16777619 }

func (h textHash) rune(r rune) textHash {
	for _, b := range []byte(string(r)) {
		h = h.byte(b)
	}
	return h
}

func (h textHash) mixed() uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return uint32(h ^ h>>16)
}
