//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// geminiPatient gives Gemini its own number of attempts back.
func geminiPatient(l *lab) {
	l.t.Helper()
	file := filepath.Join(l.home, ".gemini", "settings.json")
	b, err := os.ReadFile(file)
	if err != nil {
		l.t.Fatal(err)
	}
	var settings map[string]map[string]any
	if err := json.Unmarshal(b, &settings); err != nil {
		l.t.Fatal(err)
	}
	delete(settings["general"], "maxAttempts")
	if b, err = json.Marshal(settings); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// TestGeminiResumedConversation: what Gemini shows of a loaded session's past is no part of the run, and its own requests at the start
// are not counted.
func TestGeminiResumedConversation(t *testing.T) {
	only(t, "gemini", func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"the first answer"},{"text":"the second answer"},{"text":"the third answer"}]}`)
		first := l.run("remember the word plover")
		first.completed(t)
		l.run("--session", first.result.SessionID, "and the word heron").completed(t)
		req := interactive("which words?")
		req.Run.SessionID = first.result.SessionID
		defect(t, "within the minute in which a session began, loading it over the Agent Client Protocol loses what was said; Drawbar refuses it for that long")
		if res := l.talk(req, drawbar.RunOptions{}).result(); res.Error.ErrorCode() != execution.CodeInvalidStateTransition {
			t.Fatalf("the session was loaded: %s %+v", res.Status, res.Error)
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(61 * time.Second)))
		c := l.talk(req, drawbar.RunOptions{})
		if start := await[execution.SessionStart](c); !start.Resumed || start.SessionID != first.result.SessionID {
			t.Errorf("session_start %+v", start)
		}
		c.run.CloseInput()
		res := c.result()
		if res.Status != execution.StatusCompleted || res.Text != "the third answer" || res.Usage == nil || res.Usage.Input != 100 || res.Usage.Output != 20 {
			t.Errorf("%s %q %+v %+v", res.Status, res.Text, res.Usage, res.Error)
		}
		if sent := l.sent(); !strings.Contains(sent[len(sent)-1], "plover") || !strings.Contains(sent[len(sent)-1], "heron") {
			t.Error("the conversation does not know what was said before")
		}
		unknown := interactive("hello?")
		unknown.Run.SessionID = "00000000-0000-4000-8000-000000000000"
		if res := l.talk(unknown, drawbar.RunOptions{}).result(); res.Error.ErrorCode() != execution.CodeSessionNotFound {
			t.Errorf("a session that is not there: %s %+v", res.Status, res.Error)
		}
	})
}

// TestGeminiGateway: the address of a model API alone makes Gemini choose a login that it refuses.
func TestGeminiGateway(t *testing.T) {
	only(t, "gemini", func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"never said"}]}`)
		file := filepath.Join(l.home, ".gemini", "settings.json")
		if err := os.WriteFile(file, []byte("{ /* no login is chosen */ }"), 0o600); err != nil {
			t.Fatal(err)
		}
		defect(t, "the variable with the address of a model API makes it choose a login that it then refuses (exit 41); Drawbar says which setting helps")
		o := l.run("hi")
		o.want(t, execution.StatusFailed, execution.CodeAuth, execution.ExitAuth)
		if hint, _ := o.result.Error.Metadata["hint"].(string); !strings.Contains(hint, "selectedType") {
			t.Errorf("the hint is %q", hint)
		}
	})
}

// TestGeminiFilesOfTheUser: a run writes no settings of the user, and the settings of a directory that nobody trusts stay unread.
func TestGeminiFilesOfTheUser(t *testing.T) {
	only(t, "gemini", func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"text":"hi","repeat":true}]}`)
		file := filepath.Join(l.home, ".gemini", "settings.json")
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		marker := filepath.Join(l.root, "started")
		project, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"x": map[string]any{"command": "/bin/touch", "args": []string{marker}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(l.work, ".gemini"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(l.work, ".gemini", "settings.json"), project, 0o600); err != nil {
			t.Fatal(err)
		}
		l.run("--approve", "yolo", "hi").completed(t)
		req := interactive("hi")
		req.Run.ApprovalMode = execution.ApprovalYolo
		c := l.talk(req, drawbar.RunOptions{})
		c.run.CloseInput()
		if res := c.result(); res.Status != execution.StatusCompleted || res.Text != "hi" {
			t.Errorf("%s %q %+v", res.Status, res.Text, res.Error)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Error("a server of the project's settings was started")
		}
		if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the user's settings are now\n%s (%v)", after, err)
		}
	})
}

// TestGeminiSystemPromptOfConversation: a prompt that replaces Gemini's own does so in a conversation too, and is said once.
func TestGeminiSystemPromptOfConversation(t *testing.T) {
	only(t, "gemini", func(t *testing.T, k kit) {
		sizes := map[execution.SystemPromptMode]int{}
		for _, mode := range []execution.SystemPromptMode{execution.SystemPromptAppend, execution.SystemPromptReplace} {
			l := newLab(t, k, `{"turns":[{"text":"hi"}]}`)
			req := interactive("hi")
			req.Instructions.SystemPrompt, req.Run.SystemPromptMode = "ALWAYS-SAY-QUAIL", mode
			c := l.talk(req, drawbar.RunOptions{})
			c.run.CloseInput()
			if res := c.result(); res.Status != execution.StatusCompleted {
				t.Fatalf("%s: %s %+v", mode, res.Status, res.Error)
			}
			body := l.sent()[0]
			if strings.Count(body, "ALWAYS-SAY-QUAIL") != 1 {
				t.Errorf("%s: the system prompt is in the request %d times", mode, strings.Count(body, "ALWAYS-SAY-QUAIL"))
			}
			sizes[mode] = len(body)
		}
		if sizes[execution.SystemPromptReplace] >= sizes[execution.SystemPromptAppend] {
			t.Errorf("sizes %v: Gemini's own prompt is still there", sizes)
		}
	})
}

// TestGeminiCallerToolsUnasked: the caller chose its tools, so nobody is asked about them; a tool that says so is asked about.
func TestGeminiCallerToolsUnasked(t *testing.T) {
	only(t, "gemini", func(t *testing.T, k kit) {
		for _, asks := range []bool{false, true} {
			l := newLab(t, k, fmt.Sprintf(`{"turns":[{"tools":[%s]},{"text":"done"}]}`, k.mcp("drawbar", "weather", `{"place":"Oslo"}`)))
			req := ask("what is the weather?")
			req.Tools = []execution.Tool{{Name: "weather", RequiresApproval: asks}}
			called, asked := 0, 0
			c := l.talk(req, drawbar.RunOptions{Options: agent.Options{
				Tools: func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
					called++
					return execution.ToolResult{Output: json.RawMessage(`"rain"`)}, nil
				},
				OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
					asked++
					return execution.Decision{Approve: true}
				}}})
			if res := c.result(); res.Status != execution.StatusCompleted || called != 1 || (asked == 1) != asks {
				t.Errorf("asks %v: %s %+v, called %d times, asked %d times", asks, res.Status, res.Error, called, asked)
			}
		}
	})
}

// TestGeminiFailuresOfConversation: the status of the model API is Gemini's code for an error, and retries, whose notes Gemini holds
// back until it ends, are counted.
func TestGeminiFailuresOfConversation(t *testing.T) {
	only(t, "gemini", func(t *testing.T, k kit) {
		l := newLab(t, k, `{"turns":[{"status":500,"error":{"type":"api_error","message":"broken"}},{"text":"now it works"}]}`)
		c := l.talk(interactive("hi"), drawbar.RunOptions{})
		c.run.CloseInput()
		if res := c.result(); res.Status != execution.StatusCompleted || res.Retries != 1 || res.Text != "now it works" {
			t.Errorf("%s %q, %d retries, %+v", res.Status, res.Text, res.Retries, res.Error)
		}
		for status, code := range map[int]execution.ErrorCode{401: execution.CodeAuth, 400: execution.CodeInvalidRequest, 429: execution.CodeRateLimited} {
			l := newLab(t, k, fmt.Sprintf(`{"turns":[{"status":%d,"error":{"type":"x","message":"no"},"repeat":true}]}`, status))
			c := l.talk(interactive("hi"), drawbar.RunOptions{})
			c.run.CloseInput()
			if res := c.result(); res.Error.ErrorCode() != code {
				t.Errorf("%d: %s %+v", status, res.Status, res.Error)
			}
		}
	})
}
