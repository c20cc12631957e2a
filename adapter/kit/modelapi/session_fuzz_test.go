package modelapi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbar/drawbar/internal/base/secret"
)

// FuzzContinue: whatever is in a session's file is refused, or is a conversation that can be continued and that reads the same
// once it was.
func FuzzContinue(f *testing.F) {
	const head = `{"type":"session","version":1}` + "\n"
	f.Add(head + `{"type":"messages","messages":[{"parts":[{"kind":"text","text":"a"}]},{"model":true,"parts":[{"kind":"tool_call","id":"1","name":"x","input":"{"}]}]}` + "\n")
	f.Add(head + `{"type":"messages","messages":[{"parts":[]}]}` + "\n" + `{"type":"messages","from":1,"messages":[{"model":true,"parts":[{"kind":"text"}]}]}` + "\n" + `{"type":"turn_`)
	f.Add(head + `{"type":"messages","from":-1}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, past, err := continueSession(path, secret.New(nil))
		if err != nil {
			if after, _ := os.ReadFile(path); string(after) != text {
				t.Errorf("a refused session was changed: %q", after)
			}
			return
		}
		past.Say(false, Part{Kind: Text, Text: "more"})
		from := s.messages
		if from > 0 && from <= len(past) && len(past[from-1].Parts) > s.parts {
			from--
		}
		err = s.append(record{Type: recordMessages, From: from, Messages: past[from:]})
		s.close()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := readSession(path)
		if err != nil {
			t.Fatalf("after it was continued: %v", err)
		}
		a, _ := json.Marshal(past)
		b, _ := json.Marshal(again)
		if string(a) != string(b) {
			t.Errorf("continued %s, read %s", a, b)
		}
	})
}
