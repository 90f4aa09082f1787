package page

import (
	"fmt"
	"image/color"
)

// Colour is one of those that people with any colour vision can tell apart (Okabe
// and Ito 2008), darker on white and lighter on black than theirs, so that lines
// and points have a contrast of 3:1 at least.
type Colour int

// The colours. Auto is the next one that no series of the chart before has taken.
const (
	Auto Colour = iota
	Blue
	Orange
	Green
	Red
	Purple
	Sky
	Grey
	Ink // of the text
)

// role is a colour of the page, on a light and on a dark background.
type role struct {
	name        string // of the CSS variable
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
		{"quiet", 0x565d66, 0xa7afb8}, // text of less weight
		{"rule", 0xd5dae0, 0x39414a},  // lines between things
		{"link", 0x0a58ca, 0x7fb4ff},
		{"bad", 0xb3261e, 0xff9a8f},
		{"shade", 0xaeb6c0, 0x59636f}, // at the end of what can be scrolled
	}
}

// Positions in roles beside those of [Colour].
const (
	paperRole = 0
	quietRole = 9
	ruleRole  = 10
)

// light is the colour as it is drawn first; in a page it becomes a CSS variable.
func light(position int) color.RGBA {
	v := roles()[position].light
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

func hex(v uint32) string { return fmt.Sprintf("#%06X", v) }
