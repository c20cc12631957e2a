package openclaw

import (
	"testing"
	"testing/fstest"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/cliagent/clitest"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/history"
)

// The dump is what OpenClaw wrote in runs against a scripted model: with tools, and a key that the model refused. The result of a
// tool is compressed, as OpenClaw does with long ones. The tables have no constraints, so that bad rows can be written.
func TestSessions(t *testing.T) {
	t.Parallel()
	const file = "agents/main/agent/openclaw-agent.sqlite"
	adaptertest.Databases(t, adaptertest.DatabaseSubject{Adapter: New(cliagent.Options{}), Dir: "testdata/session", File: ".openclaw/" + file,
		Variable: "OPENCLAW_STATE_DIR", Moved: file, Columns: []string{"session_nodes.updated_at", "session_nodes.label", "session_windows.created_at", "transcript_events.event_json"}})
}

// rows are the lines of a session's rows.
var rows = sessionfile.New(sessionfile.Format{Agent: name, Decode: decode})

var seeds = []string{
	`{"record":"session","label":"t","parent":"p","archived_at":1}`,
	`{"record":"event","event":{"type":"session","id":"s","cwd":"/w","timestamp":"2026-11-25T22:50:29.835Z"}}`,
	`{"record":"event","event":{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-25T22:50:29.833Z","message":{"role":"user","content":"[Working directory: ~/p]\n\nhi"}}}`,
	`{"record":"event","event":{"type":"message","id":"b","parentId":"a","timestamp":"2026-11-25T22:50:38.438Z","message":{"role":"assistant","content":[{"type":"text","text":"yes"}],"model":"m","usage":{"input":5,"output":2,"cacheRead":1,"cost":{"total":0.5}},"stopReason":"stop"}}}`,
}

func FuzzSessions(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	adaptertest.FuzzSessions(f, adaptertest.SessionSubject{Store: rows, Home: "testdata/session"}, "x.jsonl", "x")
}

func FuzzUsageLog(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		usagetest.Robust(t, func() adapter.UsageScanner {
			return usage.Scan("x")
		}, text)
	})
}

// TestRows: the directory before a prompt is that of the session, and not part of the prompt.
func TestRows(t *testing.T) {
	t.Parallel()
	text := ""
	for _, s := range seeds {
		text += s + "\n"
	}
	h := adapter.Host{FS: fstest.MapFS{"x": {Data: []byte(text)}}, Home: "/", Platform: "linux", Getenv: func(string) string { return "" }}
	s, err := rows.ReadSession(t.Context(), h, history.File{Agent: name, ID: "s", Path: "/x"})
	if err != nil || len(s.Problems) > 0 || len(s.UnknownRecords) > 0 {
		t.Fatal(err, s.Problems, s.UnknownRecords)
	}
	if got, want := adaptertest.Transcript(s), "user: hi\nassistant: yes 5/1/2\n"; got != want || s.Cwd != "~/p" || s.Title != "t" || s.Parent != "p" || !s.Archived {
		t.Errorf("got\n%swant\n%s%+v", got, want, s.Summary)
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	clitest.TestShapes(t, map[string]clitest.Shape{"reportShape": &reportShape})
}
