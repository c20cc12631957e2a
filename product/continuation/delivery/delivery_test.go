package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/product/continuation"
)

func answered(surfaces ...string) continuation.Record {
	return continuation.Record{ID: "cont_1", AssistantID: "a", SessionID: "s", Origin: continuation.Origin{TurnID: "t"}, Delivery: continuation.Delivery{Surfaces: surfaces, Text: "the answer"}}
}

// TestWays: each way gets the same note, and the same key at each attempt.
func TestWays(t *testing.T) {
	t.Parallel()
	var got []string
	status := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.Header.Get("Idempotency-Key")+" "+r.Header.Get("Content-Type")+" "+string(b))
		w.WriteHeader(status)
	}))
	defer server.Close()
	dir := filepath.Join(t.TempDir(), "answers")
	var spawned []adapter.SpawnRequest
	code := 0
	w := Ways{Spawn: func(_ context.Context, r adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
		spawned = append(spawned, r)
		return adapter.SpawnOutcome{Code: code, Stderr: "out of paper"}, nil
	}}
	const note = `{"key":"k","continuationId":"cont_1","assistantId":"a","turnId":"t","sessionId":"s","text":"the answer"}`
	r := answered("webhook:"+server.URL+"/hook?token=secret", `command:["./print","a b"]`, "command:./print -x", "file:"+dir)
	for range 2 {
		if err := w.Deliver(t.Context(), "k", r); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0] != "POST k application/json "+note || got[1] != got[0] {
		t.Errorf("the server got %q", got)
	}
	if len(spawned) != 4 || string(spawned[0].Stdin) != note || spawned[0].Command != "./print" || spawned[0].Args[0] != "a b" || spawned[1].Args[0] != "-x" || spawned[0].Env["DRAWBAR_DELIVERY_KEY"] != "k" {
		t.Errorf("ran %+v", spawned)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if text, err := os.ReadFile(filepath.Join(dir, "k.json")); err != nil || string(text) != note+"\n" || len(files) != 1 {
		t.Errorf("%s %v %v", text, files, err)
	}
	status, code = http.StatusInternalServerError, 3
	if err := w.Deliver(t.Context(), "k", answered(r.Delivery.Surfaces[0])); err == nil || err.Error() != "deliver by webhook: the server answered 500" {
		t.Errorf("%v", err)
	}
	if err := w.Deliver(t.Context(), "k", answered("command:./print")); err == nil || err.Error() != "deliver by command: ./print exits with code 3: out of paper" {
		t.Errorf("%v", err)
	}
	if err := w.Deliver(t.Context(), "k", answered("file:"+filepath.Join(dir, "k.json"))); err == nil {
		t.Error("a folder in a file")
	}
	w.Spawn = func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
		return adapter.SpawnOutcome{}, errors.New("no such program")
	}
	if err := w.Deliver(t.Context(), "k", answered("command:./print")); err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("%v", err)
	}
	var n Note
	if err := json.Unmarshal([]byte(note), &n); err != nil || n.Text != "the answer" {
		t.Errorf("%+v %v", n, err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for surface, ok := range map[string]bool{
		"webhook:https://example.org/x": true, "webhook:ftp://example.org": false, "webhook:example.org": false, "webhook:": false, "mail:ann": false, "": false, "file": false,
		"file:answers": true, "command: ": false, "command:[": false, `command:[""]`: false, "command:tell ann": true,
	} {
		if err := Check(surface); (err == nil) != ok {
			t.Errorf("%q: %v", surface, err)
		}
	}
}
