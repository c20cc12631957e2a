package gemini

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
	const id = "12345678-0000-4000-8000-000000000000"
	const file = ".gemini/tmp/w/chats/session-2026-11-20T10-00-12345678.jsonl"
	head := `{"sessionId":"` + id + `","projectHash":"h","startTime":"2026-11-20T10:00:00Z"}`
	user := func(id, text string) string {
		return `{"id":"` + id + `","type":"user","content":[{"text":"` + text + `"}]}`
	}
	says := func(id, text string) string {
		return `{"id":"` + id + `","type":"gemini","content":"` + text + `","model":"pro","tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0}}`
	}
	talk := []string{head, user("1", "one"), says("2", "1"), user("3", "two"), says("4", "2")}
	adaptertest.SessionCases(t, New(cliagent.Options{}), []adaptertest.SessionCase{
		{Name: "rewound", ID: id, Files: map[string]string{file: sessionLines(append(talk, `{"$rewindTo":"3"}`, user("5", "else"))...)},
			Want: "user: one\nassistant: 1 6/4/3\nuser: two (taken back)\nassistant: 2 6/4/3 (taken back)\nuser: else\n"},
		{Name: "rewound to what is not there", ID: id, Files: map[string]string{file: sessionLines(append(talk, `{"$rewindTo":"9"}`)...)},
			Want: "user: one (taken back)\nassistant: 1 6/4/3 (taken back)\nuser: two (taken back)\nassistant: 2 6/4/3 (taken back)\n"},
		{Name: "a list without a message takes it out", ID: id, Files: map[string]string{file: sessionLines(append(talk, `{"$set":{"messages":[`+user("1", "one")+`,{"id":"2","type":"gemini","content":[{"text":"as the model gets it"}]}]}}`)...)},
			Want: "user: one\nassistant: 1 6/4/3\nuser: two (taken back)\nassistant: 2 6/4/3 (taken back)\n"},
		{Name: "a summary is the title", ID: id, Files: map[string]string{file: sessionLines(append(talk, `{"$set":{"summary":"a title"}}`)...), ".gemini/projects.json": `{"projects":{"/work/w":"w"}}`},
			Want: "user: one\nassistant: 1 6/4/3\nuser: two\nassistant: 2 6/4/3\n", Check: func(t *testing.T, s history.Session) {
				if s.Title != "a title" || s.Cwd != "/work/w" {
					t.Errorf("title %q, directory %q", s.Title, s.Cwd)
				}
			}},
		{Name: "the directory from the project's own file", ID: id, Files: map[string]string{file: sessionLines(head, user("1", "one")), ".gemini/tmp/w/.project_root": "/work/x\n"},
			Want: "user: one\n", Check: func(t *testing.T, s history.Session) {
				if s.Cwd != "/work/x" {
					t.Errorf("directory %q", s.Cwd)
				}
			}},
		{Name: "one document, of an older release", ID: id, Files: map[string]string{strings.TrimSuffix(file, "l"): `{"sessionId":"` + id + `","startTime":"2026-01-01T10:00:00Z","lastUpdated":"2026-01-01T11:00:00Z","messages":[` + user("1", "one") + "," + says("2", "1") + `]}`},
			Want: "user: one\nassistant: 1 6/4/3\n"},
		{Name: "a sub-agent", ID: id, Files: map[string]string{file: sessionLines(talk[:2]...), ".gemini/tmp/w/chats/" + id + "/helper.jsonl": sessionLines(`{"sessionId":"helper","kind":"subagent"}`, user("1", "help"), says("2", "helped"))},
			Want: "user: one\nsub-agent helper  \n  user: help\n  assistant: helped 6/4/3\n"},
		{Name: "a sub-agent without its session", ID: "helper", Files: map[string]string{".gemini/tmp/w/chats/" + id + "/helper.jsonl": sessionLines(user("1", "help"))},
			Want: "user: help\n", Check: func(t *testing.T, s history.Session) {
				if s.Parent != id {
					t.Errorf("part of %q", s.Parent)
				}
			}},
		{Name: "the file that a resume begins and leaves", ID: id, Files: map[string]string{file: sessionLines(talk...),
			strings.Replace(file, "T10-00", "T10-09", 1): sessionLines(head, `{"$set":{"messages":[`+user("9", "the context")+`]}}`, `{"$set":{"sessionId":"`+id+`"}}`)},
			Want: "user: one\nassistant: 1 6/4/3\nuser: two\nassistant: 2 6/4/3\n"},
		{Name: "notes of the program", ID: id, Files: map[string]string{file: sessionLines(head, user("1", "one"), `{"id":"2","type":"error","content":"no quota"}`)}, Want: "user: one\nsystem: no quota\n"},
	})
}
