package learner

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"p2pnode/privacy"
)

func TestReplayGivesTheSameBits(t *testing.T) {
	r := &Recorder{Agent: testAgent(t, nil)}
	noise := privacy.NewSeededNoise(3)
	steps := rand.New(rand.NewPCG(8, 8))
	seq := Seq(1)
	for k := range 200 {
		now := time.Duration(k) * 300 * time.Millisecond
		switch steps.IntN(5) {
		case 0:
			n := steps.IntN(3)
			if err := r.Records(testRecords(privacy.Cohort(seq/20), seq, n), []Seq{seq / 2}); err != nil {
				t.Fatal(err)
			}
			seq += Seq(n)
		case 1:
			_, _ = r.Receive(now, Message{From: "b", Kind: KindModel, Round: uint64(k + 20 - steps.IntN(20)), NoiseStd: 0.1, Real: normals(steps, 2)})
		case 2:
			r.Neighbours(now, []Edge{{Peer: "b", Weight: steps.Float64(), Live: true}, {Peer: "c", Weight: 1}})
		default:
			if out := r.Tick(now); out.Ask != nil {
				r.Released(now, noise.Answer(out.Ask.Mechanism, out.Ask.Sums))
			}
		}
	}
	want := r.State()
	if want.Round < 10 {
		t.Fatalf("only %d releases: the trace shows nothing", want.Round)
	}
	if got := Replay(testAgent(t, nil), r.Trace); !reflect.DeepEqual(got, want) {
		t.Errorf("replayed %+v, recorded %+v", got, want)
	}
}
