package server

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// weighed is what becomes of a request: its status if it is refused, else 200.
func weighed(h *held, token, text string) (status, taken int) {
	_, taken, err := h.receive(token, strings.NewReader(text))
	if p, refused := errors.AsType[problem](err); refused {
		return p.Status, taken
	}
	return 200, taken
}

// What a request holds is weighed, not how long it is, and is the same in parts and at once.
func TestWeight(t *testing.T) {
	many := func(what string) string { return `{"rows": [` + strings.Repeat(what+",", 1<<17) + what + "]}" }
	for what, want := range map[string]int{
		"{}": 413, "1": 200, `{"":1}`: 413, "[[[[": 413, `"{[,"`: 200, `"\\\"{{{{"`: 200, `"\\",{"":0}`: 413,
	} {
		h := &held{each: make(map[string]int)}
		status, taken := weighed(h, "a", many(what))
		if h.give("a", taken); status != want || h.all != 0 || len(h.each) != 0 {
			t.Errorf("%s: %d, want %d; %d bytes are held after it, %v", what, status, want, h.all, h.each)
		}
	}
}

// Whatever some hold on to, others find memory for a request.
func TestMemoryIsLeft(t *testing.T) {
	h := &held{each: make(map[string]int)}
	for token := range 8 {
		status, text := 200, strings.Repeat("[", 100)
		for status == 200 {
			status, _ = weighed(h, fmt.Sprint(token), text)
		}
		if status != 429 {
			t.Errorf("a small request is refused with %d", status)
		}
	}
	if status, _ := weighed(h, "owner", strings.Repeat("[", 2000)); status != 200 || h.all > mostHeld {
		t.Errorf("the owner's request is answered with %d while others hold %d bytes", status, h.all)
	}
}

// What arrived before a request broke off is given back.
func TestBrokenRequest(t *testing.T) {
	h := &held{each: make(map[string]int)}
	_, taken, err := h.receive("a", io.MultiReader(strings.NewReader("[1, 2"), broken{}))
	if h.give("a", taken); !errors.Is(err, io.ErrUnexpectedEOF) || taken == 0 || h.all != 0 {
		t.Errorf("%v, %d bytes were taken and %d are left", err, taken, h.all)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
