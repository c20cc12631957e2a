package copilot

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
	const file = ".copilot/session-state/s/events.jsonl"
	event := func(id, parent, kind, data string) string {
		return `{"type":"` + kind + `","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-11-20T10:00:00Z","data":{` + data + `}}`
	}
	talk := []string{event("1", "null", "session.start", `"selectedModel":"gpt","context":{"cwd":"/w"}`), event("2", `"1"`, "user.message", `"content":"one"`),
		event("3", `"2"`, "session.usage_record", `"usage":{"inputTokens":10,"cacheReadTokens":4,"outputTokens":2,"apiCallId":"c"}`),
		event("4", `"3"`, "assistant.message", `"messageId":"m","content":"1","apiCallId":"c"`), event("5", `"4"`, "user.message", `"content":"two"`)}
	const said = "user: one\nassistant: 1 6/4/2\nuser: two\n"
	adaptertest.SessionCases(t, New(cliagent.Options{}), []adaptertest.SessionCase{
		{Name: "a file of an older release", ID: "s", Files: map[string]string{".copilot/session-state/s.jsonl": sessionLines(talk...)}, Want: said},
		{Name: "rewound", ID: "s", Files: map[string]string{file: sessionLines(append(talk, event("6", `"4"`, "session.snapshot_rewind", `"upToEventId":"5"`), event("7", `"6"`, "user.message", `"content":"else"`))...)},
			Want: "user: one\nassistant: 1 6/4/2\nuser: two (taken back)\nuser: else\n"},
		{Name: "a name given by the user", ID: "s", Files: map[string]string{file: sessionLines(append(talk, event("6", `"5"`, "session.title_changed", `"title":"its"`))...), ".copilot/session-state/s/workspace.yaml": "name: mine\nuser_named: true\n"},
			Want: said, Check: func(t *testing.T, s history.Session) {
				if s.Title != "mine" || s.Cwd != "/w" || s.Model != "gpt" {
					t.Errorf("%+v", s.Summary)
				}
			}},
		{Name: "nothing said yet", ID: "s", Files: map[string]string{".copilot/session-state/s/workspace.yaml": "name: soon\ncwd: /w\n"}, Want: "", Check: func(t *testing.T, s history.Session) {
			if s.Title != "soon" || s.Cwd != "/w" || len(s.Problems) > 0 {
				t.Errorf("%+v", s.Summary)
			}
		}},
		{Name: "a workspace that is no YAML", ID: "s", Files: map[string]string{file: sessionLines(talk...), ".copilot/session-state/s/workspace.yaml": "{{{:\n\t- x"}, Want: said, Check: func(t *testing.T, s history.Session) {
			if len(s.Problems) != 1 || !strings.HasSuffix(s.Problems[0].Path, "workspace.yaml") {
				t.Errorf("problems %v", s.Problems)
			}
		}},
		{Name: "a compaction and an error", ID: "s", Files: map[string]string{file: sessionLines(append(talk, event("6", `"5"`, "session.compaction_complete", `"success":true,"summaryContent":"in short"`), event("7", `"6"`, "session.error", `"message":"no quota"`))...)},
			Want: said + "system: in short\nsystem: no quota\n"},
		{Name: "the format of the first releases", ID: "session_1", Files: map[string]string{".copilot/history-session-state/session_1.json": "{}"}, Want: "", Check: func(t *testing.T, s history.Session) {
			if len(s.Problems) == 0 || !strings.Contains(s.Problems[0].Message, "is not read") {
				t.Errorf("problems %v", s.Problems)
			}
		}},
		{Name: "a failed tool", ID: "s", Files: map[string]string{file: sessionLines(event("1", "null", "assistant.message", `"messageId":"m","toolRequests":[{"toolCallId":"t","name":"bash","arguments":{}}]`), event("2", `"1"`, "tool.execution_complete", `"toolCallId":"t","success":false,"error":{"message":"denied"}`))},
			Want: "assistant:  [bash {}]\ntool: bash=denied failed\n"},
	})
}
