package goose

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

// The dump is what goose wrote in runs against a scripted model: with tools, a sub-agent, and sessions that were resumed.
func TestSessions(t *testing.T) {
	t.Parallel()
	adaptertest.Databases(t, adaptertest.DatabaseSubject{Adapter: New(cliagent.Options{}), Dir: "testdata/session",
		File: ".local/share/goose/sessions/sessions.db", Variable: "XDG_DATA_HOME", Moved: "goose/sessions/sessions.db",
		Columns: []string{"sessions.working_dir", "sessions.created_at", "sessions.updated_at", "messages.role", "messages.content_json", "messages.created_timestamp"}})
}

// rows are the lines of a session's rows.
var rows = sessionfile.New(sessionfile.Format{Agent: name, Decode: decode})

// FuzzSessions reads any rows.
func FuzzSessions(f *testing.F) {
	f.Add([]byte(`{"record":"session","id":"s","name":"t","working_dir":"/w","created_at":"2026-11-23T21:17:03Z","updated_at":"2026-11-23T21:17:03Z","accumulated_input_tokens":9,"accumulated_output_tokens":3,"model_config_json":"{\"model_name\":\"m\"}"}`))
	f.Add([]byte(`{"record":"message","id":1,"message_id":"a","role":"user","created_timestamp":1795468623,"content_json":[{"type":"text","text":"hi"}],"metadata_json":{"userVisible":true}}`))
	f.Add([]byte(`{"record":"message","id":2,"role":"assistant","created_timestamp":1795468623,"content_json":[{"type":"thinking","thinking":"h"},{"type":"toolRequest","id":"c","toolCall":{"value":{"name":"shell","arguments":{}}}}],"metadata_json":{"usage":{"inputTokens":5,"outputTokens":2,"cacheReadTokens":1}}}`))
	f.Add([]byte(`{"record":"message","id":3,"role":"user","created_timestamp":1795468623,"content_json":[{"type":"toolResponse","id":"c","toolResult":{"status":"error","error":"no"}}]}`))
	f.Add([]byte(`{"record":"call","id":1,"created_timestamp":1795468623,"model":"m","input_tokens":5,"output_tokens":2,"cost":0.5}`))
	f.Add([]byte(`{"record":"end"}`))
	adaptertest.FuzzSessions(f, adaptertest.SessionSubject{Store: rows, Home: "testdata/session"}, "x.jsonl", "x")
}

// FuzzUsageLog reads any rows.
func FuzzUsageLog(f *testing.F) {
	f.Add([]byte(`{"record":"session","id":"s","name":"t","working_dir":"/w","created_at":"2026-11-23T21:17:03Z","updated_at":"2026-11-23T21:17:03Z","accumulated_input_tokens":9,"accumulated_output_tokens":3,"model_config_json":"{\"model_name\":\"m\"}"}`))
	f.Add([]byte(`{"record":"message","id":1,"message_id":"a","role":"user","created_timestamp":1795468623,"content_json":[{"type":"text","text":"hi"}],"metadata_json":{"userVisible":true}}`))
	f.Add([]byte(`{"record":"message","id":2,"role":"assistant","created_timestamp":1795468623,"content_json":[{"type":"thinking","thinking":"h"},{"type":"toolRequest","id":"c","toolCall":{"value":{"name":"shell","arguments":{}}}}],"metadata_json":{"usage":{"inputTokens":5,"outputTokens":2,"cacheReadTokens":1}}}`))
	f.Add([]byte(`{"record":"message","id":3,"role":"user","created_timestamp":1795468623,"content_json":[{"type":"toolResponse","id":"c","toolResult":{"status":"error","error":"no"}}]}`))
	f.Add([]byte(`{"record":"call","id":1,"created_timestamp":1795468623,"model":"m","input_tokens":5,"output_tokens":2,"cost":0.5}`))
	f.Add([]byte(`{"record":"end"}`))
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
		`{"record":"session","id":"s","name":"t","working_dir":"/w","created_at":"2026-11-23T21:17:03Z","updated_at":"2026-11-23T21:17:03Z","accumulated_input_tokens":9,"accumulated_output_tokens":3,"model_config_json":"{\"model_name\":\"m\"}"}`,
		`{"record":"message","id":1,"message_id":"a","role":"user","created_timestamp":1795468623,"content_json":[{"type":"text","text":"hi"}],"metadata_json":{"userVisible":true}}`,
		`{"record":"message","id":2,"role":"assistant","created_timestamp":1795468623,"content_json":[{"type":"thinking","thinking":"h"},{"type":"toolRequest","id":"c","toolCall":{"value":{"name":"shell","arguments":{}}}}],"metadata_json":{"usage":{"inputTokens":5,"outputTokens":2,"cacheReadTokens":1}}}`,
		`{"record":"message","id":3,"role":"user","created_timestamp":1795468623,"content_json":[{"type":"toolResponse","id":"c","toolResult":{"status":"error","error":"no"}}]}`,
		`{"record":"call","id":1,"created_timestamp":1795468623,"model":"m","input_tokens":5,"output_tokens":2,"cost":0.5}`,
		`{"record":"end"}`,
	} {
		text += line + "\n"
	}
	h := adapter.Host{FS: fstest.MapFS{"x": {Data: []byte(text)}}, Home: "/", Platform: "linux", Getenv: func(string) string { return "" }}
	s, err := rows.ReadSession(t.Context(), h, history.File{Agent: name, ID: "s", Path: "/x"})
	if err != nil || len(s.Problems) > 0 || len(s.UnknownRecords) > 0 {
		t.Fatal(err, s.Problems, s.UnknownRecords)
	}
	if got, want := adaptertest.Transcript(s), "user: hi\nassistant:  ~h [shell {}] 4/1/2\ntool: shell=no failed\n"; got != want {
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
		vars map[string]string
		file string
		want adapter.AuthState
	}{
		{nil, "", adapter.AuthState{Status: adapter.Unauthenticated, Details: "no provider is configured; " + loginGuidance}},
		{nil, "GOOSE_PROVIDER: openai", adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Identity: "openai",
			Details: "the provider is openai; goose keeps its key in the keyring or in secrets.yaml, which are not read"}},
		{map[string]string{"OPENAI_API_KEY": "k"}, "GOOSE_PROVIDER: openai", adapter.AuthState{Status: adapter.Authenticated, Method: "api_key", Identity: "openai", Details: "OPENAI_API_KEY is set"}},
		{map[string]string{"OPENAI_API_KEY": "k", "GOOSE_PROVIDER": "ollama"}, "GOOSE_PROVIDER: openai", adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Identity: "ollama",
			Details: "the provider is ollama; goose keeps its key in the keyring or in secrets.yaml, which are not read"}},
		{nil, "- x: [", adapter.AuthState{Status: adapter.AuthUnknown, Method: "config_file", Details: "/home/u/.config/goose/config.yaml cannot be read: it is not YAML of the expected shape"}},
	} {
		fs := fstest.MapFS{}
		if tt.file != "" {
			fs["home/u/.config/goose/config.yaml"] = &fstest.MapFile{Data: []byte(tt.file)}
		}
		h := adapter.Host{Home: "/home/u", Platform: "linux", Getenv: func(n string) string { return tt.vars[n] }, FS: fs}.Complete()
		if got := (Adapter{}).DetectAuth(t.Context(), h); got != tt.want {
			t.Errorf("%v %q: %+v", tt.vars, tt.file, got)
		}
	}
}
