package claude

import (
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/history"
)

func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func TestSessionCases(t *testing.T) {
	t.Parallel()
	const file = ".claude/projects/-w/s.jsonl"
	user := func(id, parent, text string) string {
		return `{"type":"user","uuid":"` + id + `","parentUuid":` + parent + `,"cwd":"/w","sessionId":"s","message":{"content":"` + text + `"}}`
	}
	says := func(id, parent, text string) string {
		return `{"type":"assistant","uuid":"` + id + `","parentUuid":` + parent + `,"message":{"id":"m` + id + `","model":"opus","content":[{"type":"text","text":"` + text + `"}],"usage":{"input_tokens":1,"output_tokens":2}}}`
	}
	adaptertest.SessionCases(t, New(cliagent.Options{}), []adaptertest.SessionCase{
		{Name: "a branch that was left", ID: "s", Files: map[string]string{file: lines(user("u1", "null", "one"), says("a1", `"u1"`, "1"), user("u2", `"a1"`, "two"), says("a2", `"u2"`, "2"),
			user("u3", `"a1"`, "another two"), says("a3", `"u3"`, "3"))},
			Want: "user: one\nassistant: 1 1/0/2\nuser: two (taken back)\nassistant: 2 1/0/2 (taken back)\nuser: another two\nassistant: 3 1/0/2\n",
			Check: func(t *testing.T, s history.Session) {
				if *s.TurnCount != 2 || *s.MessageCount != 4 || s.Usage.Output != 6 {
					t.Errorf("%d turns, %d messages, %+v: tokens of what was taken back were used", *s.TurnCount, *s.MessageCount, s.Usage)
				}
			}},
		{Name: "a chain that is broken takes nothing back", ID: "s", Files: map[string]string{file: lines(user("u1", "null", "one"), "garbage", says("a2", `"lost"`, "2"), user("u3", `"a2"`, "three"))},
			Want: "user: one\nassistant: 2 1/0/2\nuser: three\n"},
		{Name: "a chain in a ring", ID: "s", Files: map[string]string{file: lines(user("u1", `"u2"`, "one"), user("u2", `"u1"`, "two"))},
			Want: "user: one\nuser: two\n"},
		{Name: "titles: the user's wins, of the agent's the last", ID: "s", Files: map[string]string{file: lines(user("u1", "null", "one"), `{"type":"summary","summary":"old"}`, `{"type":"ai-title","aiTitle":"new"}`)},
			Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
				if s.Title != "new" {
					t.Errorf("title %q", s.Title)
				}
			}},
		{Name: "a title of the user", ID: "s", Files: map[string]string{file: lines(`{"type":"custom-title","customTitle":"mine"}`, user("u1", "null", "one"), `{"type":"ai-title","aiTitle":"new"}`)},
			Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
				if s.Title != "mine" {
					t.Errorf("title %q", s.Title)
				}
			}},
		{Name: "a cost that leaves models out is no price", ID: "s", Files: map[string]string{file: lines(user("u1", "null", "one"), `{"type":"cost-state","totalCostUSD":1,"hasUnknownModelCost":true}`)},
			Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
				if s.Cost == nil || s.Cost.TotalUSD != nil || !s.Cost.Unpriced {
					t.Errorf("cost %+v", s.Cost)
				}
			}},
		{Name: "a fork by a person", ID: "s", Files: map[string]string{file: lines(strings.Replace(user("u1", "null", "one"), `"cwd"`, `"forkedFrom":{"sessionId":"parent"},"cwd"`, 1))},
			Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
				if s.ForkedFrom != "parent" {
					t.Errorf("forked from %q", s.ForkedFrom)
				}
			}},
		{Name: "a sub-agent in the session's own file", ID: "s", Files: map[string]string{file: lines(user("u1", "null", "one"),
			`{"type":"user","uuid":"x1","isSidechain":true,"message":{"content":"help"}}`, strings.Replace(says("x2", `"x1"`, "helped"), `"uuid"`, `"isSidechain":true,"uuid"`, 1), says("a1", `"u1"`, "1"))},
			Want: "user: one\nassistant: 1 1/0/2\nsub-agent sidechain  \n  user: help\n  assistant: helped 1/0/2\n"},
		{Name: "a sub-agent in a file beside the session", ID: "agent-7", Files: map[string]string{".claude/projects/-w/agent-7.jsonl": lines(strings.Replace(user("x1", "null", "help"), `"uuid"`, `"isSidechain":true,"uuid"`, 1))},
			Want: "user: help\n", Check: func(t *testing.T, s history.Session) {
				if s.Parent != "s" {
					t.Errorf("part of %q", s.Parent)
				}
			}},
		{Name: "a message typed while Claude worked", ID: "s", Files: map[string]string{file: lines(user("u1", "null", "one"), `{"type":"attachment","uuid":"q","parentUuid":"u1","attachment":{"type":"queued_command","prompt":"and this","commandMode":"prompt"}}`, says("a1", `"q"`, "1"))},
			Want: "user: one\nuser: and this\nassistant: 1 1/0/2\n"},
		{Name: "an error of the API", ID: "s", Files: map[string]string{file: lines(user("u1", "null", "one"), strings.Replace(says("a1", `"u1"`, "API Error"), `"opus"`, `"<synthetic>"`, 1))},
			Want: "user: one\nassistant: API Error 1/0/2\n", Check: func(t *testing.T, s history.Session) {
				if s.Model != "" {
					t.Errorf("model %q", s.Model)
				}
			}},
	})
}
