package acpagent_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"

	"github.com/drawbar/drawbar/adapter/kit/acpagent"
	"github.com/drawbar/drawbar/adapter/kit/acpagent/acptest"
)

// validator is a message of the SDK that checks itself.
type validator interface{ Validate() error }

// TestWhatIsSaidIsTheProtocol has the SDK read everything that is said in the recorded conversations.
func TestWhatIsSaidIsTheProtocol(t *testing.T) {
	t.Parallel()
	messages := map[string]func() validator{
		"initialize": func() validator { return &acp.InitializeRequest{} }, "session/new": func() validator { return &acp.NewSessionRequest{} },
		"session/load": func() validator { return &acp.LoadSessionRequest{} }, "session/prompt": func() validator { return &acp.PromptRequest{} },
		"session/cancel": func() validator { return &acp.CancelNotification{} }, "": func() validator { return &acp.RequestPermissionResponse{} },
	}
	seen := map[string]int{}
	for _, file := range transcripts(t) {
		transcript, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		req := newRequest("hi")
		asked(t, &req, transcript)
		_, _, log := acptest.Replay(t, acpagent.Spec{Name: "acp"}, req, transcript)
		for line := range strings.Lines(log) {
			said, ok := strings.CutPrefix(line, "> ")
			if !ok {
				continue
			}
			var m struct {
				JSONRPC string
				Method  string
				Params  json.RawMessage
				Result  json.RawMessage
				Error   json.RawMessage
			}
			if err := json.Unmarshal([]byte(said), &m); err != nil || m.JSONRPC != "2.0" {
				t.Fatalf("%v: %s", err, said)
			}
			if m.Error != nil {
				continue
			}
			make, known := messages[m.Method]
			if !known {
				t.Fatalf("nothing is known of %s", m.Method)
			}
			v := make()
			body := m.Params
			if m.Method == "" {
				body = m.Result
			}
			dec := json.NewDecoder(bytes.NewReader(body))
			dec.DisallowUnknownFields()
			if err := dec.Decode(v); err != nil {
				t.Errorf("%s: the SDK cannot read %s: %v", filepath.Base(file), said, err)
			} else if err := v.Validate(); err != nil {
				t.Errorf("%s: the SDK does not take %s: %v", filepath.Base(file), said, err)
			}
			seen[m.Method]++
		}
	}
	for method := range messages {
		if seen[method] == 0 {
			t.Errorf("%q was never said", method)
		}
	}
}

func transcripts(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/wire/*.jsonl")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d transcripts (%v)", len(files), err)
	}
	return files
}
