package page

import (
	"fmt"
	"image/color"
)

// Colour is one of the colours that people with any colour vision can tell apart (Okabe
// and Ito 2008). They are darker on white and lighter on black than the originals, so
// that lines and points have a contrast of at least 3:1.
type Colour int

// The colours. Auto is the next one that no earlier series of the chart has taken.
const (
	Auto Colour = iota
	Blue
	Orange
	Green
	Red
	Purple
	Sky
	Grey
	Ink // the colour of the text
)

// role is a colour of the page, on a light and on a dark background.
type role struct {
	name        string // name of the CSS variable
	light, dark uint32 // 0xrrggbb
}

// roles are all colours: first those of [Colour], by value, then those of the page.
func roles() []role {
	return []role{
		{"paper", 0xffffff, 0x14181d},
		{"blue", 0x0072b2, 0x56a9e8},
		{"orange", 0xb26b00, 0xe69f00},
		{"green", 0x00805c, 0x2fbf8f},
		{"red", 0xd55e00, 0xff8a4c},
		{"purple", 0xaa4f86, 0xdf93bd},
		{"sky", 0x2b88b8, 0x8fd0f5},
		{"grey", 0x6b6f75, 0x9aa1a9},
		{"ink", 0x1b1f24, 0xe8eaed},
		{"quiet", 0x565d66, 0xa7afb8}, // less important text
		{"rule", 0xd5dae0, 0x39414a},  // separating lines
		{"link", 0x0a58ca, 0x7fb4ff},
		{"bad", 0xb3261e, 0xff9a8f},
		{"shade", 0xaeb6c0, 0x59636f}, // the edge of an area that can be scrolled
	}
}

// Positions in roles of the colours that are not a [Colour].
const (
	paperRole = 0
	quietRole = 9
	ruleRole  = 10
)

// light is the colour for drawing; in a page a CSS variable replaces it.
func light(position int) color.RGBA {
	v := roles()[position].light
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

func hex(v uint32) string { return fmt.Sprintf("#%06X", v) }
