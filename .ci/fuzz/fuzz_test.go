package main

import (
	"testing"
	"time"
)

// What is left goes to the quickest quarter, to the last execution, and nothing if nothing is.
func TestRest(t *testing.T) {
	var targets []*target
	for i := range 8 {
		targets = append(targets, &target{made: 100, took: time.Duration(i+1) * time.Second})
	}
	share := rest(targets, 801+1000)
	if share[targets[0]]+share[targets[1]] != 1001 || len(share) != 2 || share[targets[0]] < 500 {
		t.Errorf("shares %v", share)
	}
	for _, n := range rest(targets, 700) {
		if n != 0 {
			t.Errorf("%d more executions than there are", n)
		}
	}
}
