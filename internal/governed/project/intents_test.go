package project

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbar/drawbar/govern/protocol"
)

// TestDedupKey holds the keys against those that the original program makes of the same signals.
func TestDedupKey(t *testing.T) {
	for _, c := range [][3]string{
		{"manual", `{"description":"Sort <the> sidebar & \"more\" ü","injected":true,"priority":"p0"}`, "manual:e1088b6d0c3f4bbf"},
		{"manual", `{"priority":"p0","injected":true,"description":"Sort <the> sidebar & \"more\" ü"}`, "manual:e1088b6d0c3f4bbf"},
		{"ci_failure", `{"job":"x","nested":{"job":1,"other":2},"list":[{"job":null,"z":1},2.5]}`, "ci_failure:4d64532f5b6fdb05"},
	} {
		if got, err := DedupKey(c[0], json.RawMessage(c[1])); err != nil || got != c[2] {
			t.Errorf("the key of %s is %s, %v, want %s", c[1], got, err, c[2])
		}
	}
	if _, err := DedupKey("manual", json.RawMessage(`[1]`)); err == nil {
		t.Error("a list is no signal")
	}
}

// TestIntakeStaysInside: a link out of the project is neither read nor written through.
func TestIntakeStaysInside(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	e := protocol.IntakeEvent{Source: "manual", Signal: json.RawMessage(`{"a":1}`), Evidence: []protocol.SignalProof{{Type: "text", Value: "x"}}}
	_, i, known, err := Signal(root, e, protocol.At(time.Now()))
	if err != nil || known || len(Intents(root)) != 1 {
		t.Fatalf("%v %v %d", err, known, len(Intents(root)))
	}
	if _, again, known, err := Signal(root, e, protocol.At(time.Now())); err != nil || !known || again.IntentID != i.IntentID {
		t.Errorf("the same signal again: %v, %v, %s", err, known, again.IntentID)
	}
	dir := filepath.Join(root, filepath.FromSlash(protocol.IntakeDir), "intents")
	if err := os.Rename(dir, filepath.Join(out, "intents")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(out, "intents"), dir); err != nil {
		t.Skip(err)
	}
	if len(Intents(root)) != 0 {
		t.Error("intents outside the project are read")
	}
	if err := WriteIntent(root, i); err == nil {
		t.Error("an intent was written outside the project")
	}
	for _, id := range []string{"../../x", "intent_/x", "", "intent_1\x00"} {
		if _, err := Intent(root, id); err == nil {
			t.Errorf("%q is the id of an intent", id)
		}
	}
}
