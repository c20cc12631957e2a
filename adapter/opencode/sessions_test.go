package opencode

import (
	"testing"
	"testing/fstest"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/sessionfile"
	"github.com/drawbar/drawbar/adapter/kit/usagescan/usagetest"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
)

// The dump is what OpenCode wrote in runs against a scripted model: with tools, a sub-agent, and forks of a session.
func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Databases(t, adaptertest.DatabaseSubject{Adapter: New(cliagent.Options{}), Dir: "testdata/session",
		File: ".local/share/opencode/opencode.db", Variable: "XDG_DATA_HOME", Moved: "opencode/opencode.db",
		Columns: []string{"session.directory", "session.title", "session.time_created", "session.time_updated", "message.time_created", "message.time_updated", "message.data", "part.data"}})
}

// rows are the lines of a session's rows.
var rows = sessionfile.New(sessionfile.Format{Agent: name, Decode: decode})

// FuzzSessions reads any rows.
func FuzzSessions(f *testing.F) {
	f.Add([]byte(`{"record":"session","id":"s","directory":"/w","title":"t","cost":0.5,"model":"{\"id\":\"m\"}","revert":"{\"messageID\":\"m2\"}","time_created":1795468609324,"time_updated":1795468610449,"parent_id":"p"}`))
	f.Add([]byte(`{"record":"message","id":"m1","message":"m1","data":{"role":"user","time":{"created":1795468609366}}}`))
	f.Add([]byte(`{"record":"part","id":"p1","message":"m1","data":{"type":"text","text":"hi"}}`))
	f.Add([]byte(`{"record":"message","id":"m2","message":"m2","data":{"role":"assistant","modelID":"m","error":{"data":{"message":"no"}},"time":{"created":1795468609367}}}`))
	f.Add([]byte(`{"record":"part","id":"p2","message":"m2","data":{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"x","time":{"start":1,"end":2}}}}`))
	f.Add([]byte(`{"record":"part","id":"p3","message":"m2","data":{"type":"step-finish","tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"cost":1}}`))
	f.Add([]byte(`{"record":"part","id":"p4","message":"m1","data":{"type":"compaction"}}`))
	adaptertest.FuzzSessions(f, adaptertest.SessionSubject{Store: rows, Home: "testdata/session"}, "x.jsonl", "x")
}

// FuzzUsageLog reads any rows.
func FuzzUsageLog(f *testing.F) {
	f.Add([]byte(`{"record":"session","id":"s","directory":"/w","title":"t","cost":0.5,"model":"{\"id\":\"m\"}","revert":"{\"messageID\":\"m2\"}","time_created":1795468609324,"time_updated":1795468610449,"parent_id":"p"}`))
	f.Add([]byte(`{"record":"message","id":"m1","message":"m1","data":{"role":"user","time":{"created":1795468609366}}}`))
	f.Add([]byte(`{"record":"part","id":"p1","message":"m1","data":{"type":"text","text":"hi"}}`))
	f.Add([]byte(`{"record":"message","id":"m2","message":"m2","data":{"role":"assistant","modelID":"m","error":{"data":{"message":"no"}},"time":{"created":1795468609367}}}`))
	f.Add([]byte(`{"record":"part","id":"p2","message":"m2","data":{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"x","time":{"start":1,"end":2}}}}`))
	f.Add([]byte(`{"record":"part","id":"p3","message":"m2","data":{"type":"step-finish","tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"cost":1}}`))
	f.Add([]byte(`{"record":"part","id":"p4","message":"m1","data":{"type":"compaction"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		usagetest.Robust(t, func() adapter.UsageScanner {
			return usage.Scan("x")
		}, text)
	})
}

// TestRows are rows that the recorded sessions lack.
func TestRows(t *testing.T) {
	t.Parallel()
	text := ""
	for _, line := range []string{
		`{"record":"session","id":"s","directory":"/w","title":"t","cost":0.5,"model":"{\"id\":\"m\"}","revert":"{\"messageID\":\"m2\"}","time_created":1795468609324,"time_updated":1795468610449,"parent_id":"p"}`,
		`{"record":"message","id":"m1","message":"m1","data":{"role":"user","time":{"created":1795468609366}}}`,
		`{"record":"part","id":"p1","message":"m1","data":{"type":"text","text":"hi"}}`,
		`{"record":"message","id":"m2","message":"m2","data":{"role":"assistant","modelID":"m","error":{"data":{"message":"no"}},"time":{"created":1795468609367}}}`,
		`{"record":"part","id":"p2","message":"m2","data":{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"x","time":{"start":1,"end":2}}}}`,
		`{"record":"part","id":"p3","message":"m2","data":{"type":"step-finish","tokens":{"input":1,"output":2,"reasoning":3,"cache":{"read":4,"write":5}},"cost":1}}`,
		`{"record":"part","id":"p4","message":"m1","data":{"type":"compaction"}}`,
	} {
		text += line + "\n"
	}
	h := adapter.Host{FS: fstest.MapFS{"x": {Data: []byte(text)}}, Home: "/", Platform: "linux", Getenv: func(string) string { return "" }}
	s, err := rows.ReadSession(t.Context(), h, history.File{Agent: name, ID: "s", Path: "/x"})
	if err != nil || len(s.Problems) > 0 || len(s.UnknownRecords) > 0 {
		t.Fatal(err, s.Problems, s.UnknownRecords)
	}
	if got, want := adaptertest.Transcript(s), "system: the context was compacted\nassistant: no [bash {}] 1/4/5 (taken back)\ntool: bash=x (taken back)\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	_, err = New(cliagent.Options{}).FollowSession(h, history.File{Agent: name, ID: "s", Path: "/x"})
	if execution.CodeOf(err) != execution.CodeCapability {
		t.Errorf("follow: %v", err)
	}
}

// TestLogin: a key, the settings, or nothing that is known.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		vars  map[string]string
		files map[string]string
		want  adapter.AuthState
	}{
		{nil, nil, adapter.AuthState{Status: adapter.AuthUnknown, Details: "no login is stored; opencode has models that need none; " + loginGuidance}},
		{map[string]string{"OPENAI_API_KEY": "k"}, nil, adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Details: "OPENAI_API_KEY is set"}},
		{nil, map[string]string{"home/u/.local/share/opencode/auth.json": `{"anthropic":{"type":"api","key":"secret"}}`},
			adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Identity: "anthropic", Details: "logged in to anthropic"}},
		{map[string]string{"XDG_DATA_HOME": "/d"}, map[string]string{"d/opencode/auth.json": `{"b":{"type":"oauth"},"a":{"type":"api"}}`},
			adapter.AuthState{Status: adapter.Authenticated, Method: "oauth", Identity: "a, b", Details: "logged in to a, b"}},
		{nil, map[string]string{"home/u/.local/share/opencode/auth.json": `[]`},
			adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Details: "/home/u/.local/share/opencode/auth.json cannot be read: it is not JSON of the expected shape"}},
		{map[string]string{"OPENCODE_CONFIG_CONTENT": `{"provider":{"mine":{}}}`}, nil,
			adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Details: "the settings describe providers, whose keys are not checked: mine"}},
	} {
		fs := fstest.MapFS{}
		for path, text := range tt.files {
			fs[path] = &fstest.MapFile{Data: []byte(text)}
		}
		h := adapter.Host{Home: "/home/u", Platform: "linux", Getenv: func(n string) string { return tt.vars[n] }, FS: fs}.Complete()
		if got := (Adapter{}).DetectAuth(t.Context(), h); got != tt.want {
			t.Errorf("%v %v: %+v", tt.vars, tt.files, got)
		}
	}
}
