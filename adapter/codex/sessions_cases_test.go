package codex

import (
	"bytes"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/history"
)

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func packed(t *testing.T, text string) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSessionCases(t *testing.T) {
	t.Parallel()
	const dir = ".codex/sessions/2026/11/20/"
	const id, parent = "01a1f9bf-ec0f-7281-b75b-000000000001", "01a1f9bf-ec0f-7281-b75b-000000000002"
	name := func(id string) string { return dir + "rollout-2026-11-20T10-00-00-" + id + ".jsonl" }
	meta := func(id, more string) string {
		return `{"type":"session_meta","payload":{"id":"` + id + `"` + more + `,"cwd":"/w"}}`
	}
	user := func(n, text string) string {
		return `{"type":"response_item","ordinal":` + n + `,"payload":{"type":"message","role":"user","id":"u` + n + `","content":[{"type":"input_text","text":"` + text + `"}]}}`
	}
	says := func(n, text string) string {
		return `{"type":"response_item","ordinal":` + n + `,"payload":{"type":"message","role":"assistant","id":"a` + n + `","content":[{"type":"output_text","text":"` + text + `"}]}}`
	}
	count := func(total, last string) string {
		return `{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":` + total + `},"last_token_usage":{"input_tokens":` + last + `,"output_tokens":1}}}}`
	}
	talk := lines(meta(id, ""), user("1", "one"), says("2", "1"), user("3", "two"), says("4", "2"))
	const wantTalk = "user: one\nassistant: 1\nuser: two\nassistant: 2\n"
	fork := func(below string) string {
		return lines(meta(id, `,"forked_from_id":"`+parent+`","forked_from_ordinal_exclusive":`+below), user("9", "else"))
	}
	parentTalk := lines(meta(parent, ""), user("1", "one"), says("2", "1"), user("3", "two"), says("4", "2"))
	adaptertest.SessionCases(t, New(cliagent.Options{}), []adaptertest.SessionCase{
		{Name: "compressed", ID: id, Files: map[string]string{name(id) + ".zst": packed(t, talk)}, Want: wantTalk},
		{Name: "being compressed", ID: id, Files: map[string]string{name(id) + ".zst": "half", name(id): talk}, Want: wantTalk},
		{Name: "a compressed file that is cut", ID: id, Files: map[string]string{name(id) + ".zst": packed(t, talk)[:20]}, Want: "", Check: func(t *testing.T, s history.Session) {
			if len(s.Problems) == 0 || !strings.Contains(s.Problems[0].Path, ".zst") {
				t.Errorf("problems %v", s.Problems)
			}
		}},
		{Name: "in the archive", ID: id, Files: map[string]string{".codex/archived_sessions/rollout-2026-11-20T10-00-00-" + id + ".jsonl": talk}, Want: wantTalk, Check: func(t *testing.T, s history.Session) {
			if !s.Archived {
				t.Error("it is not said to be in the archive")
			}
		}},
		{Name: "a fork has its parent's beginning", ID: id, Files: map[string]string{name(id): fork("3"), name(parent): parentTalk}, Want: "user: one\nassistant: 1\nuser: else\n", Check: func(t *testing.T, s history.Session) {
			if s.ForkedFrom != parent || *s.TurnCount != 2 {
				t.Errorf("forked from %q, %d turns", s.ForkedFrom, *s.TurnCount)
			}
		}},
		{Name: "a fork of a compressed parent", ID: id, Files: map[string]string{name(id): fork("3"), name(parent) + ".zst": packed(t, parentTalk)}, Want: "user: one\nassistant: 1\nuser: else\n"},
		{Name: "a fork whose parent is gone", ID: id, Files: map[string]string{name(id): fork("3")}, Want: "user: else\n", Check: func(t *testing.T, s history.Session) {
			if len(s.Problems) != 1 || !strings.Contains(s.Problems[0].Message, parent) {
				t.Errorf("problems %v", s.Problems)
			}
		}},
		{Name: "a fork of itself", ID: id, Files: map[string]string{name(id): lines(meta(id, `,"forked_from_id":"`+id+`","forked_from_ordinal_exclusive":5`), user("9", "else"))}, Want: "user: else\n"},
		{Name: "a turn taken back", ID: id, Files: map[string]string{name(id): talk + `{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}` + "\n" + user("5", "three") + "\n"},
			Want: "user: one\nassistant: 1\nuser: two (taken back)\nassistant: 2 (taken back)\nuser: three\n"},
		{Name: "the first release", ID: id, Files: map[string]string{name(id): lines(`{"id":"x","timestamp":"2025-06-01T10:00:00Z","instructions":null}`, `{"record_type":"state"}`,
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"}]}`, `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}`,
			`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}`, `{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c"}`,
			`{"type":"function_call_output","call_id":"c","output":"{\"output\":\"a.txt\"}"}`, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`)},
			Want: "user: one\nassistant:  ~hm [shell {\"command\":[\"ls\"]}]\ntool: shell={\"output\":\"a.txt\"}\nassistant: done\n"},
		{Name: "counts that are repeated", ID: id, Files: map[string]string{name(id): lines(meta(id, ""), user("1", "one"), says("2", "1"), count("10", "10"), count("10", "10"), user("3", "two"), says("4", "2"), count("25", "15"))},
			Want: "user: one\nassistant: 1 10/0/1\nuser: two\nassistant: 2 15/0/1\n"},
		{Name: "a name given by the user", ID: id, Files: map[string]string{name(id): talk + `{"type":"event_msg","payload":{"type":"thread_name_updated","thread_name":"mine"}}` + "\n"}, Want: wantTalk, Check: func(t *testing.T, s history.Session) {
			if s.Title != "mine" {
				t.Errorf("title %q", s.Title)
			}
		}},
		{Name: "another name of a file", ID: "notes", Files: map[string]string{dir + "notes.jsonl": lines(user("1", "one"))}, Want: "user: one\n"},
		{Name: "compaction", ID: id, Files: map[string]string{name(id): talk + `{"type":"compacted","payload":{"message":"in short"}}` + "\n"}, Want: wantTalk + "system: in short\n"},
	})
}
