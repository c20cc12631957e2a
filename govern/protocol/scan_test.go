package protocol

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzFields holds the scanner to what encoding/json finds in the same object.
func FuzzFields(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : 1 , "b":[1,{"c":"}\""}] } `, `{"a\"b":"\\","\u00e9":null,"x":-1.5e3,"t":true}`, `[1]`, `{"a"`, `{"a":1,}`,
		`{"a":{"b":{"c":[[],{}]}},"d":"\\\\"}`, `{"":""}`, "{\"\xff\":1}", `{"a":1}{"b":2}`, `null`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]string{}
		err := eachField(data, func(k, v []byte) error { got[string(k)] = string(v); return nil })
		if !json.Valid(data) || Kind(data) != "object" {
			return // it must only not panic
		}
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for k, v := range all {
			want[k] = string(v)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%q: %s", data, d)
		}
	})
}

func BenchmarkReadHistoryEntry(b *testing.B) {
	line := []byte(`{"turn_id":"turn_1","run_id":"run_1","role":"dev","phase":"implementation","runtime_id":"sh","status":"completed","summary":"one line","decisions":[{"id":"DEC-001","category":"scope","statement":"s","rationale":"r"}],"objections":[],"files_changed":["work.txt"],"artifacts_created":[],"verification":{"status":"pass","commands":["true"],"evidence_summary":"ok","machine_evidence":[{"command":"true","exit_code":0}]},"artifact":{"type":"workspace"},"observed_artifact":{"derived_by":"orchestrator","baseline_ref":"git:1","accepted_ref":"git:1","files_changed":["work.txt"],"file_markers":{"work.txt":"sha256:1"},"diff_summary":"1 file changed"},"proposed_next_role":"dev","phase_transition_request":null,"run_completion_request":false,"assigned_sequence":1,"accepted_sequence":2,"concurrent_with":[],"cost":{"usd":0},"started_at":"2026-11-20T20:26:53.908Z","accepted_at":"2026-11-20T20:26:53.908Z","duration_ms":12,"checkpoint_sha":"x","later":"kept"}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		var h HistoryEntry
		if err := json.Unmarshal(line, &h); err != nil {
			b.Fatal(err)
		}
	}
}
