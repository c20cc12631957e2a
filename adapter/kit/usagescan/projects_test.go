package usagescan

import "testing"

func TestProjects(t *testing.T) {
	s := Projects("/r", "chats", ".jsonl", ".json")
	for rel, want := range map[string]bool{"p/chats/a.jsonl": true, "p/chats/a.json": true, "p/chats/s/a.jsonl": true,
		"p/chats/a.txt": false, "p/logs/a.jsonl": false, "chats/a.jsonl": false, "p/q/chats/a.jsonl": false} {
		if s.Match(rel) != want {
			t.Errorf("%s matches: %v", rel, !want)
		}
	}
	for rel, want := range map[string]bool{"p": true, "p/chats": true, "p/chats/s": true, "p/logs": false, "p/q/chats": false} {
		if s.Enter(rel) != want {
			t.Errorf("%s is entered: %v", rel, !want)
		}
	}
	if s.Root != "/r" {
		t.Error(s.Root)
	}
}

func TestTypeOf(t *testing.T) {
	kinds := [][]byte{[]byte(`"a"`), []byte(`"b"`)}
	for head, want := range map[string][2]bool{`{"type":"b","x":1}`: {true, true}, `{"type":"c","x":1}`: {false, true}, `{"x":1}`: {false, false},
		`{"message":{"type":"a"},"type":"a"}`: {false, false}} {
		if is, known := TypeOf([]byte(head), "message", kinds); is != want[0] || known != want[1] {
			t.Errorf("%s: %v, %v", head, is, known)
		}
	}
}
