// Package statement writes a node's privacy statement as one file that a person can read
// and a program can check: a page of words, and below it the same as signed JSON.
//
// The signature covers the text [domain] followed by the statement as JSON in the
// canonical form of RFC 8785, without the signature itself. The JSON contains the hash of
// the words. A peer ID contains the key, so the file alone is enough to check it. The
// check shows who wrote the file and that nobody changed it. It does not show that the
// content is true: a node that lies can sign.
package statement
