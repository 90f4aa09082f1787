package gossip

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"p2pnode/gossip/internal/wire"
)

func TestEdgeMessagesSurviveTheWire(t *testing.T) {
	w := witness(t, testSigner(t), 3, 1)
	request := EdgeRequest{Kind: EdgeAsk, Profile: []float64{1, -2}, Latest: []byte("l"), Witness: &w}
	reply := EdgeReply{Accepted: true, Reason: "because", Profile: []float64{5}, Latest: []byte("m"), Witness: &w}
	data, err := proto.Marshal(encodeRequest(request))
	if err != nil {
		t.Fatal(err)
	}
	gotRequest, err := testSigner(t).decodeRequest(data)
	if err != nil || gotRequest.Kind != request.Kind ||
		!slices.Equal(gotRequest.Profile, request.Profile) || !bytes.Equal(gotRequest.Latest, request.Latest) || !sameWitness(*gotRequest.Witness, w) {
		t.Errorf("%+v became %+v (%v)", request, gotRequest, err)
	}
	if data, err = proto.Marshal(encodeReply(reply)); err != nil {
		t.Fatal(err)
	}
	gotReply, err := testSigner(t).decodeReply(data)
	if err != nil || !gotReply.Accepted || gotReply.Reason != reply.Reason ||
		!slices.Equal(gotReply.Profile, reply.Profile) || !bytes.Equal(gotReply.Latest, reply.Latest) || !sameWitness(*gotReply.Witness, w) {
		t.Errorf("%+v became %+v (%v)", reply, gotReply, err)
	}
}

func TestMalformedEdgeMessagesAreRefused(t *testing.T) {
	for name, change := range map[string]func(*wire.EdgeRequest){
		"version":          func(w *wire.EdgeRequest) { w.Version = Version + 1 },
		"kind 0":           func(w *wire.EdgeRequest) { w.Kind = 0 },
		"kind 3":           func(w *wire.EdgeRequest) { w.Kind = 3 },
		"kind 257":         func(w *wire.EdgeRequest) { w.Kind = 257 },
		"NaN profile":      func(w *wire.EdgeRequest) { w.Profile = []float64{math.NaN()} },
		"infinite profile": func(w *wire.EdgeRequest) { w.Profile = []float64{math.Inf(-1)} },
		"long profile":     func(w *wire.EdgeRequest) { w.Profile = make([]float64, maxProfile+1) },
		"long latest":      func(w *wire.EdgeRequest) { w.Latest = make([]byte, maxMessageSize+1) },
		"forged witness": func(w *wire.EdgeRequest) {
			w.Witness = &wire.Witness{Round: 1, Hash: make([]byte, 32), Proof: make([]byte, 64)}
		},
		"empty witness": func(w *wire.EdgeRequest) { w.Witness = &wire.Witness{} },
	} {
		w := encodeRequest(EdgeRequest{Kind: EdgeAsk})
		change(w)
		data, err := proto.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := testSigner(t).decodeRequest(data); !errors.Is(err, errMalformed) {
			t.Errorf("request with a bad %s: %v", name, err)
		}
	}
	long := encodeReply(EdgeReply{Reason: strings.Repeat("x", 1000)})
	if len(long.Reason) != maxReason {
		t.Errorf("a reason of 1000 bytes is sent as %d", len(long.Reason))
	}
	long.Reason += "x"
	data, err := proto.Marshal(long)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testSigner(t).decodeReply(data); !errors.Is(err, errMalformed) {
		t.Errorf("reply with a long reason: %v", err)
	}
}

func FuzzDecodeEdge(f *testing.F) {
	s := testSigner(f)
	w := witness(f, s, 7, 1, 0, 0)
	request, _ := proto.Marshal(encodeRequest(EdgeRequest{Kind: EdgeAsk, Profile: []float64{1}, Latest: []byte("x"), Witness: &w}))
	reply, _ := proto.Marshal(encodeReply(EdgeReply{Accepted: true, Reason: "x", Profile: []float64{1}, Latest: []byte("x"), Witness: &w}))
	f.Add(request)
	f.Add(reply)
	genuine := func(got *Witness) bool { return got == nil || sameWitness(*got, w) }
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := s.decodeRequest(data); err == nil && (r.Kind < EdgeHello || r.Kind > EdgeAsk || len(r.Profile) > maxProfile || !genuine(r.Witness)) {
			t.Fatalf("accepted %+v", r)
		}
		if r, err := s.decodeReply(data); err == nil && (len(r.Reason) > maxReason || len(r.Profile) > maxProfile || !genuine(r.Witness)) {
			t.Fatalf("accepted %+v", r)
		}
	})
}
