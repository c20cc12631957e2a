package cliagent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/settings"
)

// hookInbox is an inbox whose caller has a hook.
type hookInbox struct {
	*inbox
	decide func(execution.HookCall) execution.HookResult
	mu     sync.Mutex
	calls  []execution.HookCall
}

func (h *hookInbox) DecideTool(_ context.Context, call execution.HookCall) execution.HookResult {
	h.mu.Lock()
	h.calls = append(h.calls, call)
	h.mu.Unlock()
	return h.decide(call)
}

func hooking(d execution.HookDecision) *hookInbox {
	return &hookInbox{inbox: closedInbox(), decide: func(execution.HookCall) execution.HookResult {
		return execution.HookResult{Decision: d, Message: "because of the test"}
	}}
}

// hookLines are where a fake finds the commands of its hooks.
const (
	preVar   = "CLIAGENT_PRE"
	startVar = "CLIAGENT_START"
)

// playHooked calls its hooks and tells what they said.
func playHooked() int {
	call := func(line string) (string, int) {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Stdin = strings.NewReader(os.Getenv("CLIAGENT_PAYLOAD"))
		out, _ := cmd.CombinedOutput()
		return strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", " "), cmd.ProcessState.ExitCode()
	}
	if line := os.Getenv(startVar); line != "" {
		call(line)
	}
	say("session s1", "turn 0", "tool t1")
	time.Sleep(50 * time.Millisecond)
	if line := os.Getenv(preVar); line != "" {
		out, code := call(line)
		say(fmt.Sprintf("text %d %s", code, out))
		if code != 2 {
			say("toolend t1")
		}
	}
	say("end 0", "result completed")
	return 0
}

// playAsker asks for permission before each tool.
func playAsker() int {
	say("session s1", "turn 0", "ask "+os.Getenv("CLIAGENT_QUESTION"))
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	say("text got "+in.Text(), "end 0", "result completed")
	return 0
}

// hookedSpec starts a fake that calls hooks: start and pre say which.
func hookedSpec(t *testing.T, payload string, start, pre bool) Spec {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("SKIPPED: there is no shell")
	}
	s := fakeSpec(t, "hooked")
	spawn := s.Spawn
	s.Spawn = func(l *Launch) (Invocation, error) {
		inv, err := spawn(l)
		if l.Hook != nil {
			if l.Hook.Timeout < time.Hour {
				t.Errorf("the agent waits for a hook only %v", l.Hook.Timeout)
			}
			inv.Env["CLIAGENT_PAYLOAD"] = payload
			if start {
				inv.Env[startVar] = l.Hook.Start
			}
			if pre {
				inv.Env[preVar] = l.Hook.PreTool
			}
		}
		return inv, err
	}
	s.ToolHook = &ToolHook{
		Read: func(event string, payload []byte) (execution.HookCall, error) {
			var in struct {
				SessionID string          `json:"session_id"`
				Name      string          `json:"tool_name"`
				Input     json.RawMessage `json:"tool_input"`
				ID        string          `json:"tool_use_id"`
			}
			if err := json.Unmarshal(payload, &in); err != nil {
				return execution.HookCall{}, fmt.Errorf("read what fake says to %s: %v", event, err)
			}
			if in.Name == "" {
				return execution.HookCall{}, errors.New("it names no tool")
			}
			return execution.HookCall{Agent: "fake", HookType: event, SessionID: in.SessionID, ToolCallID: in.ID, Raw: payload,
				Data: execution.HookData{ToolName: in.Name, ToolInput: in.Input}}, nil
		},
		Answer: func(_ string, res execution.HookResult) settings.HookAnswer {
			if res.Decision == execution.HookDeny {
				return settings.HookAnswer{Stderr: res.Message, ExitCode: 2}
			}
			return settings.HookAnswer{Stdout: string(res.Decision)}
		},
	}
	return s
}

func TestToolHook(t *testing.T) {
	const payload = `{"session_id":"s1","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1"}`
	for _, tt := range []struct {
		name, payload string
		decision      execution.HookDecision
		start, pre    bool
		status        execution.Status
		text          string
		asked         int
	}{
		{"allow", payload, execution.HookAllow, true, true, execution.StatusCompleted, "0 allow|", 1},
		{"modify", payload, execution.HookModify, true, true, execution.StatusCompleted, "0 modify|", 1},
		{"deny", payload, execution.HookDeny, true, true, execution.StatusCompleted, "2 because of the test|", 1},
		{"a payload that cannot be read", "{", execution.HookAllow, true, true, execution.StatusCompleted, "cannot be read", 0},
		{"a payload that names no tool", "{}", execution.HookAllow, true, true, execution.StatusCompleted, "it names no tool", 0},
		{"nothing was asked before a tool", payload, execution.HookAllow, false, false, "unsupported", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := hooking(tt.decision)
			o := execute(t, t.Context(), New(hookedSpec(t, tt.payload, tt.start, tt.pre), Options{}), request(), in, nil)
			if o.result.Status != tt.status || !strings.Contains(o.text(), tt.text) || len(in.calls) != tt.asked {
				t.Fatalf("%s %+v, %q, asked %+v", o.result.Status, o.result.Error, o.text(), in.calls)
			}
			if tt.asked == 1 {
				c := in.calls[0]
				if c.Data.ToolName != "Bash" || c.ToolCallID != "t1" || c.SessionID != "s1" || string(c.Data.ToolInput) != `{"command":"ls"}` || string(c.Raw) != tt.payload {
					t.Errorf("call %+v", c)
				}
			}
			if tt.status == "unsupported" && (o.result.Error.ErrorCode() != execution.CodeCapability || o.has("tool_result") || o.result.Error.Metadata["hint"] == nil) {
				t.Errorf("%+v %v", o.result.Error, o.types())
			}
		})
	}
}

// An agent that cannot be made to ask is not started for a caller who wants to be asked.
func TestHookThatCannotBe(t *testing.T) {
	s := fakeSpec(t, "simple")
	s.Spawn = func(*Launch) (Invocation, error) { t.Error("Spawn was called"); return Invocation{}, nil }
	o := execute(t, t.Context(), New(s, Options{}), request(), hooking(execution.HookAllow), nil)
	if o.result.Status != "unsupported" || o.result.Error.ErrorCode() != execution.CodeCapability {
		t.Errorf("%s %+v", o.result.Status, o.result.Error)
	}
}

// Where permission questions are the hooks, the hook is asked before anybody sees one.
func TestQuestionIsTheHook(t *testing.T) {
	for _, tt := range []struct {
		name, question string
		decide         func(execution.HookCall) execution.HookResult
		seen           bool // by whoever answers questions
		text           string
	}{
		{"deny", "q1", nil, false, "got answer q1 false|"},
		{"allow what is harmless", "low", func(execution.HookCall) execution.HookResult {
			return execution.HookResult{Decision: execution.HookAllow}
		}, false, "got answer low true|"},
		{"allow what must be asked", "q1", func(execution.HookCall) execution.HookResult {
			return execution.HookResult{Decision: execution.HookAllow}
		}, true, "got answer q1 true|"},
		{"modify is a denial", "low", func(execution.HookCall) execution.HookResult {
			return execution.HookResult{Decision: execution.HookModify}
		}, false, "got answer low false|"},
		{"no decision is a denial", "low", func(execution.HookCall) execution.HookResult { return execution.HookResult{} }, false, "got answer low false|"},
		{"a panic is a denial", "low", func(execution.HookCall) execution.HookResult { panic("boo") }, false, "got answer low false|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := twoWay(fakeSpec(t, "asker"))
			spawn := s.Spawn
			s.Spawn = func(l *Launch) (Invocation, error) {
				inv, err := spawn(l)
				inv.Env["CLIAGENT_QUESTION"] = tt.question
				if !l.Request.Run.Interactive {
					t.Error("the run is not two-way")
				}
				return inv, err
			}
			s.ToolHook = &ToolHook{Approvals: true}
			in := hooking(execution.HookDeny)
			in.inbox = newInbox()
			if tt.decide != nil {
				in.decide = tt.decide
			}
			o := execute(t, t.Context(), New(s, Options{}), request(), in, func(e execution.Event) {
				switch b := e.Body.(type) {
				case execution.ApprovalRequired:
					in.commands <- execution.Answer{ID: b.ID, Decision: execution.Decision{Approve: true}}
				case execution.TurnEnd:
					close(in.commands)
				}
			})
			if o.text() != tt.text || o.has("approval_request") != tt.seen || len(in.calls) != 1 {
				t.Errorf("%q, %v, asked %d: %+v", o.text(), o.types(), len(in.calls), o.result.Error)
			}
		})
	}
}

// An agent whose questions are the hooks and which uses a tool without one is stopped.
func TestUnaskedQuestion(t *testing.T) {
	s := twoWay(fakeSpec(t, "tools"))
	s.ToolHook = &ToolHook{Approvals: true}
	o := execute(t, t.Context(), New(s, Options{}), request(), hooking(execution.HookAllow), nil)
	if o.result.Status != "unsupported" || o.result.Error.ErrorCode() != execution.CodeCapability {
		t.Errorf("%s %+v", o.result.Status, o.result.Error)
	}
}

func TestSettingsWithHooks(t *testing.T) {
	group := map[string]any{"command": "mine"}
	for _, tt := range []struct{ name, before, after, fault string }{
		{"no file", "", `{"hooks":{"Pre":[{"command":"mine"}]}}`, ""},
		{"others stay", `{"theme":"dark","hooks":{"Pre":[{"command":"theirs"}],"Post":[1]}} // said so`, `{"hooks":{"Post":[1],"Pre":[{"command":"theirs"},{"command":"mine"}]},"theme":"dark"}`, ""},
		{"empty hooks", `{"hooks":null}`, `{"hooks":{"Pre":[{"command":"mine"}]}}`, ""},
		{"no JSON", `{"hooks":`, "", "is not a JSON object"},
		{"no object", `null`, "", "not a JSON object"},
		{"a list", `[]`, "", "not a JSON object"},
		{"hooks of another kind", `{"hooks":[]}`, "", "not an object"},
		{"an event of another kind", `{"hooks":{"Pre":{}}}`, "", "not a list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "settings.json")
			if tt.before != "" {
				if err := os.WriteFile(path, []byte(tt.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := (&Launch{}).SettingsWithHooks(path, map[string]any{"Pre": group})
			if tt.fault != "" {
				if execution.CodeOf(err) != execution.CodeConfig || !strings.Contains(err.Error(), tt.fault) || !strings.Contains(err.Error(), path) {
					t.Errorf("%s %v", got, err)
				}
				return
			}
			if err != nil || string(got) != tt.after {
				t.Errorf("%v\ngot  %s\nwant %s", err, got, tt.after)
			}
		})
	}
}

func FuzzSettingsWithHooks(f *testing.F) {
	for _, s := range []string{`{}`, `{"hooks":{"Pre":[1]}} // x`, `null`, `[`, "\xff", `{"hooks":{"Pre":null}}`} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "settings.json")
	f.Fuzz(func(t *testing.T, before []byte) {
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := (&Launch{}).SettingsWithHooks(path, map[string]any{"Pre": "mine"})
		if err != nil {
			return
		}
		var v struct {
			Hooks map[string][]any `json:"hooks"`
		}
		if err := json.Unmarshal(got, &v); err != nil || !slices.Contains(v.Hooks["Pre"], any("mine")) {
			t.Errorf("%v: %s", err, got)
		}
	})
}

func TestVariable(t *testing.T) {
	l := &Launch{Request: execution.Request{Run: execution.RunOptions{Env: map[string]string{"A": "of the run"}}}, environ: func() []string { return []string{"A=1", "B=1", "B=2"} }}
	got := []string{l.Variable("A"), l.Variable("B"), l.Variable("C"), (&Launch{}).Variable("A")}
	if diff := cmp.Diff([]string{"of the run", "2", "", ""}, got); diff != "" {
		t.Error(diff)
	}
}
