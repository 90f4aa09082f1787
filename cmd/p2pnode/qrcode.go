package main

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// quiet is the width of the light border that readers of QR codes need.
const quiet = 4

// qrCode draws a ticket as a QR code for a terminal, two rows of modules in each line.
// It sets the colours, because not every reader accepts a code with light and dark
// exchanged. In upper case a ticket fits the smaller, alphanumeric codes.
func qrCode(ticket string) (string, error) {
	code, err := qr.Encode(strings.ToUpper(ticket), qr.L)
	if err != nil {
		return "", fmt.Errorf("draw the QR code: %w; say --qr=false", err)
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString("\x1b[30;107m") // black on white
		for x := -quiet; x < code.Size+quiet; x++ {
			b.WriteString(halves[dark(code, x, y)][dark(code, x, y+1)])
		}
		b.WriteString("\x1b[0m\n")
	}
	if width := code.Size + 2*quiet; width > lineWidth {
		fmt.Fprintf(&b, "(the QR code is %d characters wide)\n", width)
	}
	return b.String(), nil
}

// halves are the characters whose upper and lower halves are light or dark.
var halves = map[bool]map[bool]string{
	false: {false: " ", true: "▄"},
	true:  {false: "▀", true: "█"},
}

// dark reports whether a module is dark; those of the border are not.
func dark(code *qr.Code, x, y int) bool {
	return x >= 0 && y >= 0 && x < code.Size && y < code.Size && code.Black(x, y)
}
