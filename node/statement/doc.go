// Package statement writes a node's privacy statement as one file that a person can read
// and a program can check: a page of words, and below it the same as signed JSON.
//
// What is signed is the text [domain] and then the statement as JSON in the canonical form
// of RFC 8785, without the signature. The hash of the words is in it. A peer ID holds the
// key, so a file is checked with nothing but itself. That shows who wrote it and that
// nobody changed it. It does not show that it is true: a node that lies can sign.
package statement
