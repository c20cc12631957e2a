package pi

import (
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
)

func sessionSubject() adaptertest.SessionSubject {
	return adaptertest.SessionSubject{Store: New(cliagent.Options{}), Home: "testdata/session", Variable: "PI_CODING_AGENT_DIR", Below: ".pi/agent"}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Sessions(t, sessionSubject())
}

func FuzzSessions(f *testing.F) {
	adaptertest.FuzzSessions(f, sessionSubject(), ".pi/agent/sessions/--w--/t_x.jsonl", "x")
}

// TestSessionCases are entries that the recorded sessions lack, in the form of docs/session-format.md.
func TestSessionCases(t *testing.T) {
	t.Parallel()
	const file = ".pi/agent/sessions/--w--/2026-11-23T17-31-57-298Z_s.jsonl"
	const head = `{"type":"session","version":3,"id":"s","timestamp":"2026-11-23T17:31:57.298Z","cwd":"/w"}` + "\n"
	entry := func(id, parent, kind, more string) string {
		return `{"type":"` + kind + `","id":"` + id + `","parentId":` + parent + `,"timestamp":"2026-11-23T17:31:58Z"` + more + "}\n"
	}
	said := func(role, text string) string {
		return `,"message":{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"}],"stopReason":"stop"}`
	}
	adaptertest.SessionCases(t, New(cliagent.Options{}), []adaptertest.SessionCase{
		{Name: "back to an earlier entry", ID: "s", Files: map[string]string{file: head + entry("1", "null", "message", said("user", "one")) + entry("2", `"1"`, "message", said("assistant", "1")) +
			entry("3", `"2"`, "message", said("user", "two")) + entry("4", `"2"`, "branch_summary", `,"fromId":"3","summary":"x"`) + entry("5", `"4"`, "message", said("user", "else"))},
			Want: "user: one\nassistant: 1\nuser: two (taken back)\nsystem: another branch of the conversation was summarized\nuser: else\n"},
		{Name: "a name and a compaction", ID: "s", Files: map[string]string{file: head + entry("1", "null", "message", said("user", "one")) +
			entry("2", `"1"`, "session_info", `,"name":"mine"`) + entry("3", `"2"`, "compaction", `,"summary":"s","usage":{"input":5,"output":1}`)},
			Want: "user: one\nsystem: the context was compacted 5/0/1\n"},
		{Name: "a folder that the user chose", ID: "s", Files: map[string]string{".pi/agent/sessions/t_s.jsonl": head + entry("1", "null", "message", `,"message":{"role":"user","content":"one"}`)},
			Want: "user: one\n"},
		{Name: "a command of the user", ID: "s", Files: map[string]string{file: head + entry("1", "null", "message", `,"message":{"role":"bashExecution","command":"ls","output":"a.txt"}`)},
			Want: "system: $ ls\na.txt\n"},
	})
}

// The files are real ones, with Pi's own prompt cut.
func TestUsageGolden(t *testing.T) {
	usagetest.Golden(t, Adapter{}, "testdata/usage", "testdata/usage.golden", *clitest.Update)
}

func FuzzUsageLog(f *testing.F) { usagetest.Fuzz(f, Adapter{}, "testdata/usage") }
