package hermes

import (
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/settings"
)

// The database has the columns, and the rows the forms, of https://hermes-agent.nousresearch.com/docs/developer-guide/session-storage:
// a session with a tool, one of a sub-agent, and one that was compacted.
func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Databases(t, adaptertest.DatabaseSubject{Adapter: New(cliagent.Options{}), Dir: "testdata/session",
		File: ".hermes/state.db", Variable: "HERMES_HOME", Moved: "state.db",
		Columns: []string{"sessions.source", "sessions.started_at", "sessions.ended_at", "sessions.input_tokens", "sessions.output_tokens",
			"messages.role", "messages.content", "messages.timestamp"}})
}

// The file has what https://hermes-agent.nousresearch.com/docs/user-guide/configuration and .../features/mcp show.
func TestConfig(t *testing.T) {
	t.Parallel()
	adaptertest.Config(t, configSchema(), "testdata/config")
}

// TestPaths: the documents name another folder on Windows, and a variable that wins everywhere.
func TestPaths(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		platform, want string
		vars           map[string]string
	}{
		{"linux", "/home/u/.hermes/state.db", map[string]string{"LOCALAPPDATA": "/local"}},
		{"windows", "/local/hermes/state.db", map[string]string{"LOCALAPPDATA": "/local"}},
		{"windows", "/moved/state.db", map[string]string{"LOCALAPPDATA": "/local", "HERMES_HOME": "/moved"}},
	} {
		h := adapter.Host{Home: "/home/u", Platform: tt.platform, Getenv: func(n string) string { return tt.vars[n] }, FS: fstest.MapFS{}}
		if got := filepath.ToSlash(database.Path(h)); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.platform, tt.vars, got, tt.want)
		}
	}
}

// TestSkills: it has a folder of skills for the user, and none in a project.
func TestSkills(t *testing.T) {
	t.Parallel()
	h := adapter.Host{Home: "/home/u", Getenv: func(string) string { return "" }}
	if f, ok := New(cliagent.Options{}).SkillFolder(h, settings.Global, "/w"); !ok || filepath.ToSlash(f.Dir) != "/home/u/.hermes/skills" {
		t.Error(f, ok)
	}
	if f, ok := New(cliagent.Options{}).SkillFolder(h, settings.Project, "/w"); ok {
		t.Error("in a project:", f)
	}
}

// rows are the lines of a session's rows.
var rows = []string{
	`{"record":"session","id":"s","source":"cli","model":"m","title":"t","started_at":1793525400.25,"last_at":1793525402,"input_tokens":9,"output_tokens":3,"reasoning_tokens":1,"actual_cost_usd":0.5,"cwd":"/w"}`,
	`{"record":"message","id":1,"role":"user","content":"hi","timestamp":1793525401.0}`,
	`{"record":"message","id":2,"role":"assistant","content":null,"reasoning_content":"h","timestamp":1793525401.5,"tool_calls":[{"id":"c","function":{"name":"terminal","arguments":"{}"}}]}`,
	`{"record":"message","id":3,"role":"tool","tool_call_id":"c","content":"no","timestamp":1793525402}`,
}

// FuzzSessions reads any rows.
func FuzzSessions(f *testing.F) {
	for _, r := range rows {
		f.Add([]byte(r))
	}
	store := sessionfile.New(sessionfile.Format{Agent: name, Decode: decode})
	adaptertest.FuzzSessions(f, adaptertest.SessionSubject{Store: store, Home: "testdata/session"}, "x.jsonl", "x")
}

// FuzzUsageLog reads any rows.
func FuzzUsageLog(f *testing.F) {
	for _, r := range rows {
		f.Add([]byte(r))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		usagetest.Robust(t, func() adapter.UsageScanner {
			return usage.Scan("x")
		}, text)
	})
}
