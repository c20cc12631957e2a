package qwen

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/history"
)

func sessionLines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func TestSessionCases(t *testing.T) {
	t.Parallel()
	const file = ".qwen/projects/-w/chats/s.jsonl"
	record := func(id, parent, kind, more string) string {
		return `{"uuid":"` + id + `","parentUuid":` + parent + `,"type":"` + kind + `","cwd":"/w"` + more + `}`
	}
	said := func(text string) string { return `,"message":{"parts":[{"text":"` + text + `"}]}` }
	adaptertest.SessionCases(t, New(cliagent.Options{}), []adaptertest.SessionCase{
		{Name: "rewound", ID: "s", Files: map[string]string{file: sessionLines(record("1", "null", "user", said("one")), record("2", `"1"`, "assistant", said("1")), record("3", `"2"`, "user", said("two")),
			record("4", `"2"`, "system", `,"subtype":"rewind"`), record("5", `"4"`, "user", said("else")))},
			Want: "user: one\nassistant: 1\nuser: two (taken back)\nuser: else\n"},
		{Name: "a title of the user", ID: "s", Files: map[string]string{file: sessionLines(record("1", "null", "user", said("one")), record("2", `"1"`, "system", `,"subtype":"custom_title","systemPayload":{"customTitle":"mine","titleSource":"manual"}`))},
			Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
				if s.Title != "mine" {
					t.Errorf("title %q", s.Title)
				}
			}},
		{Name: "the context compressed", ID: "s", Files: map[string]string{file: sessionLines(record("1", "null", "user", said("one")), record("2", `"1"`, "system", `,"subtype":"chat_compression","systemPayload":{"info":{"originalTokenCount":9,"newTokenCount":1}}`))},
			Want: "user: one\nsystem: the context was compressed\n"},
		{Name: "in the archive", ID: "s", Files: map[string]string{".qwen/projects/-w/chats/archive/s.jsonl": sessionLines(record("1", "null", "user", said("one")))}, Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
			if !s.Archived {
				t.Error("it is not said to be in the archive")
			}
		}},
		{Name: "a note of the program", ID: "s", Files: map[string]string{file: sessionLines(record("1", "null", "user", `,"provenance":"system","subtype":"notification"`+said("a task ended")))}, Want: "system: a task ended\n"},
		{Name: "several results in one record", ID: "s", Files: map[string]string{file: sessionLines(record("1", "null", "assistant", `,"message":{"parts":[{"functionCall":{"id":"a","name":"ls","args":{}}},{"functionCall":{"id":"b","name":"rm","args":{}}}]}`),
			record("2", `"1"`, "tool_result", `,"message":{"parts":[{"functionResponse":{"id":"a","response":{"output":"x"}}},{"functionResponse":{"id":"b","response":{"error":"no"}}}]}`))},
			Want: "assistant:  [ls {}] [rm {}]\ntool: ls=x\ntool: rm=no failed\n"},
		{Name: "part of another session", ID: "s", Files: map[string]string{file: sessionLines(record("1", "null", "user", said("one")), record("2", `"1"`, "system", `,"subtype":"parent_session","systemPayload":{"parentSessionId":"p"}`))},
			Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
				if s.Parent != "p" {
					t.Errorf("part of %q", s.Parent)
				}
			}},
	})
}
