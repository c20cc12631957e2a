package gemini

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/history"
)

func TestUsageLines(t *testing.T) {
	const head = `{"sessionId":"S","projectHash":"x","kind":"main"}` + "\n"
	message := func(id, tokens string) string {
		return `{"id":"` + id + `","timestamp":"2026-11-01T10:00:00.000Z","type":"gemini","content":"c","tokens":` + tokens + `,"model":"m"}`
	}
	const tokens = `{"input":100,"output":20,"cached":40,"thoughts":5,"tool":7,"total":132}`
	const want = "S m in=67 read=40 out=25 think=5"
	for _, tc := range []struct {
		name, rel, text string
		want            []string
		keys            int
	}{
		{"message", "p/chats/session-1.jsonl", head + message("a", tokens) + "\n", []string{want}, 1},
		{"written again", "p/chats/session-1.jsonl", head + message("a", tokens) + "\n" + message("a", tokens) + "\n", []string{want, want}, 1},
		{"history without tokens", "p/chats/session-1.jsonl", head + `{"$set":{"messages":[{"id":"a","type":"gemini","content":"c"}]}}` + "\n", nil, 0},
		{"history with tokens", "p/chats/session-1.jsonl", head + message("a", tokens) + "\n" + `{"$set":{"messages":[` + message("a", tokens) + `]}}` + "\n", []string{want, want}, 1},
		{"null tokens", "p/chats/session-1.jsonl", head + message("a", "null") + "\n", nil, 0},
		{"in a text", "p/chats/session-1.jsonl", head + `{"id":"u","type":"user","content":[{"text":"` + strings.ReplaceAll(message("a", tokens), `"`, `\"`) + `"}]}` + "\n", nil, 0},
		{"sub-agent", "p/chats/PARENT/child.jsonl", head + message("a", tokens) + "\n", []string{strings.Replace(want, "S", "PARENT", 1) + " sub"}, 1},
		{"one value, earlier versions", "p/chats/session-1.json", "{\n \"sessionId\": \"S\",\n \"messages\": [\n" + message("a", tokens) + ",\n" + message("b", tokens) + "\n]}\n", []string{want, want}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, "p"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "p", ".project_root"), []byte("/w\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			h := usagetest.Host(t, root, nil)
			var got []string
			keys := map[history.UsageKey]bool{}
			for _, r := range usagetest.Scan(Adapter{}.NewUsageScanner(t.Context(), h, history.UsageFile{Root: h.Home, Rel: tc.rel}), []byte(tc.text), 10) {
				s := fmt.Sprintf("%s %s in=%d read=%d out=%d think=%d", r.Session, r.Model, r.Input, r.CacheRead, r.Output, r.Thinking)
				if r.SubAgent {
					s += " sub"
				}
				if r.Project != "/w" {
					t.Errorf("project %q", r.Project)
				}
				got = append(got, s)
				keys[r.Key] = true
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if len(keys) != tc.keys {
				t.Errorf("%d keys, want %d", len(keys), tc.keys)
			}
		})
	}
}

func TestUsageStores(t *testing.T) {
	for _, tc := range []struct{ home, want string }{{"", "/h/.gemini/tmp"}, {"/c", "/c/.gemini/tmp"}} {
		s := Adapter{}.UsageStores(adapter.Host{Home: "/h", Getenv: func(string) string { return tc.home }})[0]
		if s.Root != tc.want || !s.Match("p/chats/session-x.jsonl") || !s.Match("p/chats/session-x.json") || s.Match("p/logs.json") || s.Enter("p/logs") || !s.Enter("p") || !s.Enter("p/chats/q") {
			t.Errorf("%+v", s)
		}
	}
}
