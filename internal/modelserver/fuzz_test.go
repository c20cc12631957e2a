package modelserver

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"turns":[{"text":"a b c","thinking":"t","chunks":2,"cut":1,"usage":{"input":1,"thinking":0}}]}`,
		`{"turns":[{"tools":[{"name":"n","input":{"a":[1,{"b":"<"}]},"namespace":"x"},{"name":"c","custom":true,"input":"s"}]}]}`,
		`{"turns":[{"status":429,"error":{"type":"t","message":"m"},"retryAfter":1,"headers":{"a":"b"}}],"onExhausted":"last"}`,
		`{"scripts":{"a":{"turns":[{"chunks":["x","ü"],"hang":"mid-text","match":{"model":"*"}}]}},"side":{"contains":["x"]}}`,
		`{"turns":[{"garbage":"\u0000","repeat":3,"stopReason":"length"}],"defaults":{"model":"m"}}`,
		"{", `{"turns":[{"text":"\ud800"}]}`, `[[[[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			var faults *ScriptError
			if !errors.As(err, &faults) || len(faults.Faults) == 0 || s != nil {
				t.Fatalf("Parse = %v, %v", s, err)
			}
			return
		}
		all := []*conversation{s.main}
		for _, id := range s.IDs() {
			all = append(all, s.named[id])
		}
		for _, c := range all {
			if c == nil {
				continue
			}
			for i := range c.turns {
				checkTurn(t, &c.turns[i])
			}
		}
	})
}

// checkTurn encodes a turn for every wire and looks at what is true of all of them.
func checkTurn(t *testing.T, turn *turn) {
	t.Helper()
	if strings.Join(turn.pieces, "") != turn.text {
		t.Fatalf("pieces %q do not make up %q", turn.pieces, turn.text)
	}
	for _, wire := range []Wire{WireAnthropic, WireResponses, WireChat, WireGemini} {
		e := encoderOf(wire)
		p := &reply{turn: turn, model: "m", ids: newID, now: time.Unix(0, 0)}
		r := &request{wire: wire, withUsage: true, encrypted: true}
		if b := marshal(e.whole(r, p)); !json.Valid(b) {
			t.Fatalf("%s: %s", wire, b)
		}
		frames := e.frames(r, p)
		for _, f := range frames {
			if b := marshal(f.data); string(b) != "[DONE]" && !json.Valid(b) || strings.ContainsAny(string(b), "\r\n") {
				t.Fatalf("%s: %q", wire, b)
			}
		}
		if at := turn.stop.index(frames); at >= len(frames) || (at < 0) != (turn.stop.kind == 0) {
			t.Fatalf("%s: stops at %d of %d", wire, at, len(frames))
		}
		if b := marshal(e.failure(turn.status, turn.errorType, turn.errorMessage, turn.retryAfter)); !json.Valid(b) {
			t.Fatalf("%s: %s", wire, b)
		}
	}
}
