package judges

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbar/drawbar"
	_ "github.com/drawbar/drawbar/adapter/all"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/modelserver"
)

// serve starts a model server with a script and returns it and its address.
func serve(t *testing.T, script string) (*modelserver.Server, string) {
	t.Helper()
	parsed, err := modelserver.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server := modelserver.New(parsed, modelserver.Options{})
	running, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, running.URL()
}

// TestRequestsOfRuns: what the model APIs and the built-in agent send in a conversation with thinking, calls of tools, some of which
// fail, and a session that goes on, are requests to the vendors' SDKs.
func TestRequestsOfRuns(t *testing.T) {
	for provider, env := range map[string]map[string]string{
		"anthropic": {"ANTHROPIC_BASE_URL": "%s", "ANTHROPIC_API_KEY": "dummy"},
		"openai":    {"OPENAI_BASE_URL": "%s/v1", "OPENAI_API_KEY": "dummy"},
		"google":    {"GOOGLE_GEMINI_BASE_URL": "%s", "GEMINI_API_KEY": "dummy"},
		"ollama":    {"OLLAMA_HOST": "%s"},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			server, url := serve(t, `{"onExhausted":"last","turns":[
				{"thinking":"I look first","text":"Let me see.","tools":[{"name":"list","input":{}},{"name":"read","input":{"path":"a.txt"}}]},
				{"tools":[{"name":"write","input":{"path":"b.txt","content":"b"}},{"name":"read","input":{"path":"missing.txt"}}]},
				{"tools":[{"name":"shell","input":{"command":"exit 3"}},{"name":"read","input":{"path":"dot.png"}}]},
				{"thinking":"done","text":"It is done."},
				{"text":"Still done."}]}`)
			req := execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "judges", TurnID: "t1", Message: execution.Message{Text: execution.Prompt("look around")}}
			req.Run = execution.RunOptions{Agent: "harness", Model: provider + "/model-1", Cwd: t.TempDir(), ApprovalMode: execution.ApprovalYolo,
				ThinkingEffort: execution.EffortLow, Env: map[string]string{"HOME": t.TempDir(), "XDG_STATE_HOME": t.TempDir(), "DRAWBAR_STATE_DIR": ""}}
			for name, value := range env {
				if strings.Contains(value, "%s") {
					value = fmt.Sprintf(value, url)
				}
				req.Run.Env[name] = value
			}
			dot := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
			for name, content := range map[string]string{"a.txt": "a", "dot.png": dot} {
				if err := os.WriteFile(filepath.Join(req.Run.Cwd, name), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			client, err := drawbar.New(drawbar.Options{StateDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			run := func() execution.Result {
				t.Helper()
				r, err := client.Run(t.Context(), req, drawbar.RunOptions{})
				if err != nil {
					t.Fatal(err)
				}
				res, err := r.Result(t.Context())
				if err != nil || res.Status != execution.StatusCompleted {
					t.Fatalf("%v: %s %+v", err, res.Status, res.Error)
				}
				return res
			}
			req.Run.SessionID = run().SessionID
			req.TurnID = "t2"
			run()
			sent := server.Requests()
			if len(sent) < 5 {
				t.Fatalf("%d requests", len(sent))
			}
			for _, r := range sent {
				judge(t, provider, r.Body)
			}
		})
	}
}
