package mobile

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, untilTold)
		s.network(NetUnmetered)
		one := s.beginSlice() // not started
		time.Sleep(3 * time.Second)
		s.expect(t, stateRunning, "")
		two := s.beginSlice() // shares the run
		time.Sleep(time.Second)
		if online, waiting, off := s.endSlice(one); online != 3*time.Second || waiting != "" || off {
			t.Errorf("%v %q %v", online, waiting, off)
		}
		s.expect(t, stateRunning, "")
		check(t, s.pause(t.Context(), "in the background"))
		if possible, _ := s.possible(two); possible {
			t.Error("a slice outlives a pause")
		}
		if online, waiting, off := s.endSlice(two); online != time.Second || waiting != "in the background" || !off {
			t.Errorf("%v %q %v", online, waiting, off)
		}
		three := s.beginSlice() // while paused
		time.Sleep(2 * time.Second)
		s.expect(t, stateRunning, "")
		s.network(NetMetered)
		if possible, _ := s.possible(three); possible {
			t.Error("a slice waits for Wi-Fi")
		}
		if online, waiting, _ := s.endSlice(three); online != time.Second || waiting != "waiting for Wi-Fi" {
			t.Errorf("%v %q", online, waiting)
		}
		s.expect(t, statePaused, "in the background")
	})
}
