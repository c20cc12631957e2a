package agent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// hookedBackend asks the hook before its one tool and says what became of it as the agent of the test does.
type hookedBackend struct {
	id      string // of the call, as the hook gets it
	mention bool   // the agent itself tells that the call failed
	support execution.HookSupport
	fixed   bool // the tool takes no other input
	ran     *[]string
	prompts *[]string
}

func (b hookedBackend) Capabilities() execution.Capabilities {
	c := execution.Capabilities{SchemaVersion: execution.SchemaVersion, ToolUse: execution.ToolsNativeIterative, ContinuationSupport: execution.ContinuationsNone,
		ApprovalInterrupts: execution.ApprovalsNone, TraceDepth: execution.TraceDetailed, MaxContextStrategy: execution.ContextLarge}
	c.Agent.ApprovalModes = []execution.ApprovalMode{execution.ApprovalYolo}
	c.Agent.RuntimeHooks.PreToolUse, c.Agent.RuntimeHooks.ModifyToolInput = b.support, !b.fixed
	return c
}

func (b hookedBackend) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		*b.prompts = append(*b.prompts, string(req.Message.Text))
		say := func(body execution.Body) bool { return yield(execution.Event{Body: body}, nil) }
		input := json.RawMessage(`{"b":2, "a":1}`)
		ok := say(execution.SessionStart{SessionID: "s"}) && say(execution.TurnStart{})
		if b.mention {
			ok = ok && say(execution.ToolCallStart{ToolCallID: "shown", ToolName: "Bash"}) && say(execution.ToolCallReady{ToolCallID: "shown", ToolName: "Bash", Input: input})
		}
		if !ok {
			return
		}
		res := execution.HookResult{Decision: execution.HookAllow}
		if host, is := in.(adapter.HookHost); is {
			res = host.DecideTool(ctx, execution.HookCall{HookType: "Pre", ToolCallID: b.id, Data: execution.HookData{ToolName: "Bash", ToolInput: json.RawMessage(`{"a":1,"b":2}`)}})
		}
		switch {
		case res.Decision != execution.HookDeny:
			*b.ran = append(*b.ran, string(res.ModifiedInput))
			if !b.mention {
				ok = say(execution.ToolCallStart{ToolCallID: "shown", ToolName: "Bash"}) && say(execution.ToolCallReady{ToolCallID: "shown", ToolName: "Bash", Input: input})
			}
			ok = ok && say(execution.ToolResultEvent{ToolCallID: "shown", ToolName: "Bash", Output: json.RawMessage(`"done"`)})
		case b.mention:
			ok = say(execution.ToolError{ToolCallID: "shown", ToolName: "Bash", Error: "blocked"})
		}
		if ok && say(execution.MessageStart{}) && say(execution.MessageStop{Text: "end"}) && say(execution.TurnEnd{}) {
			say(execution.Finished{Result: execution.Result{Status: execution.StatusCompleted}})
		}
	}
}

func runHooked(t *testing.T, b hookedBackend, h Hooks) (execution.Result, []execution.Event) {
	t.Helper()
	if b.ran == nil {
		b.ran = &[]string{}
	}
	if b.prompts == nil {
		b.prompts = &[]string{}
	}
	if b.support == "" {
		b.support = execution.HookBlocking
	}
	run, err := New(Backend{Name: "hooked", Adapter: b}).Start(t.Context(), execution.Request{AssistantID: "a", TurnID: "t",
		Message: execution.Message{ID: "m", Text: "hi", ReceivedAt: time.Now()}}, Options{Hooks: h})
	if err != nil {
		t.Fatal(err)
	}
	var events []execution.Event
	for e := range run.Events(t.Context(), 0) {
		events = append(events, e)
	}
	res, err := run.Result(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res, events
}

func pre(res execution.HookResult, err error) func(context.Context, execution.HookCall) (execution.HookResult, error) {
	return func(context.Context, execution.HookCall) (execution.HookResult, error) { return res, err }
}

// Whatever is no permission is a denial, and the tool has not run.
func TestPreToolUseFailsClosed(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	for _, tt := range []struct {
		name  string
		hook  func(context.Context, execution.HookCall) (execution.HookResult, error)
		why   string
		allow bool
	}{
		{"allow", pre(execution.HookResult{Decision: execution.HookAllow}, nil), "", true},
		{"modify", pre(execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`{"a":9}`)}, nil), "", true},
		{"deny", pre(execution.HookResult{Decision: execution.HookDeny, Message: "not today"}, nil), "not today", false},
		{"no decision", pre(execution.HookResult{}, nil), "decision", false},
		{"an unknown decision", pre(execution.HookResult{Decision: "perhaps"}, nil), "decision", false},
		{"modify without an object", pre(execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`[]`)}, nil), "not a valid input", false},
		{"error", pre(execution.HookResult{Decision: execution.HookAllow}, errors.New("broken")), "broken", false},
		{"panic", func(context.Context, execution.HookCall) (execution.HookResult, error) { panic("boo") }, "boo", false},
		{"timeout", func(context.Context, execution.HookCall) (execution.HookResult, error) {
			<-hang
			return execution.HookResult{Decision: execution.HookAllow}, nil
		}, "no answer within", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := hookedBackend{id: "shown", mention: false, ran: &[]string{}}
			_, events := runHooked(t, b, Hooks{PreToolUse: tt.hook, Timeout: 50 * time.Millisecond})
			if ran := len(*b.ran) == 1; ran != tt.allow {
				t.Fatalf("the tool ran: %v", ran)
			}
			var failed []execution.Event
			for _, e := range events {
				if _, ok := e.Body.(execution.ToolError); ok {
					failed = append(failed, e)
				}
			}
			if tt.allow {
				if len(failed) != 0 {
					t.Errorf("failures %v", failed)
				}
				return
			}
			if len(failed) != 1 || failed[0].Origin != "hook" || !strings.Contains(failed[0].Body.(execution.ToolError).Error, tt.why) {
				t.Errorf("failures %+v, want one of a hook with %q", failed, tt.why)
			}
		})
	}
}

// Where the tool takes no other input, a hook that wants one has denied.
func TestModifyWhereItCannot(t *testing.T) {
	b := hookedBackend{id: "shown", fixed: true, ran: &[]string{}}
	_, events := runHooked(t, b, Hooks{PreToolUse: pre(execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`{"a":9}`)}, nil)})
	denied := slices.ContainsFunc(events, func(e execution.Event) bool { return e.Body.Type() == "tool_error" && e.Origin == "hook" })
	if len(*b.ran) != 0 || !denied {
		t.Errorf("ran %v, denied %v", *b.ran, denied)
	}
}

// A denied call is told once, by the agent where it does, and it is known whose doing it was.
func TestDeniedToolIsToldOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    hookedBackend
		id   string
		want string
	}{
		{"the agent tells it, by id", hookedBackend{id: "shown", mention: true}, "shown", "ready asked denied error message"},
		{"the agent tells it, the hook knows no id", hookedBackend{mention: true}, "shown", "ready asked denied error message"},
		// The call may still come, because the hook is asked while earlier events are on their way.
		{"the agent is silent", hookedBackend{id: "mine"}, "mine", "message ready asked denied error"},
		{"the agent is silent, and there is no id", hookedBackend{}, "-denied-1", "ready asked denied error message"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, events := runHooked(t, tt.b, Hooks{PreToolUse: pre(execution.HookResult{Decision: execution.HookDeny, Message: "no"}, nil)})
			var types []string
			for _, e := range events {
				switch body := e.Body.(type) {
				case execution.ToolCallReady:
					types = append(types, "ready")
				case execution.ApprovalRequired:
					types = append(types, "asked")
				case execution.ApprovalDenied:
					types = append(types, "denied")
					if e.Origin != "hook" || body.Reason != "no" || !strings.HasSuffix(string(body.ID), tt.id) {
						t.Errorf("origin %q, %+v", e.Origin, body)
					}
				case execution.ToolError:
					types = append(types, "error")
					if e.Origin != "hook" || !strings.HasSuffix(body.ToolCallID, tt.id) {
						t.Errorf("origin %q, id %q", e.Origin, body.ToolCallID)
					}
				case execution.MessageStart:
					types = append(types, "message")
				}
			}
			if got := strings.Join(types, " "); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestHookNeedsABackendThatCanBlock(t *testing.T) {
	for _, support := range []execution.HookSupport{execution.HookUnsupported, execution.HookNonblocking} {
		b := hookedBackend{support: support, prompts: &[]string{}}
		res, _ := runHooked(t, b, Hooks{PreToolUse: pre(execution.HookResult{Decision: execution.HookAllow}, nil)})
		if res.Status != execution.StatusUnsupported || len(*b.prompts) != 0 {
			t.Errorf("%s: %s, %d executions", support, res.Status, len(*b.prompts))
		}
	}
}

func TestUserPromptSubmit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		res    execution.HookResult
		err    error
		prompt string // empty: refused
	}{
		{"allow", execution.HookResult{Decision: execution.HookAllow}, nil, "hi"},
		{"modify", execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`{"prompt":"hello"}`)}, nil, "hello"},
		{"modify without a prompt", execution.HookResult{Decision: execution.HookModify, ModifiedInput: json.RawMessage(`{"text":"hello"}`)}, nil, ""},
		{"deny", execution.HookResult{Decision: execution.HookDeny, Message: "no secrets"}, nil, ""},
		{"error", execution.HookResult{Decision: execution.HookAllow}, errors.New("broken"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := hookedBackend{prompts: &[]string{}}
			res, _ := runHooked(t, b, Hooks{UserPromptSubmit: pre(tt.res, tt.err)})
			if tt.prompt == "" {
				if res.Status != execution.StatusFailed || res.Error.ErrorCode() != execution.CodeHookDenied || len(*b.prompts) != 0 {
					t.Errorf("%s %+v, prompts %v", res.Status, res.Error, *b.prompts)
				}
				return
			}
			if res.Status != execution.StatusCompleted || !slices.Equal(*b.prompts, []string{tt.prompt}) {
				t.Errorf("%s, prompts %v", res.Status, *b.prompts)
			}
		})
	}
}

// What has happened is told in order, also the end of the session, and before the run is over.
func TestToldHooks(t *testing.T) {
	var mu sync.Mutex
	var told []string
	tell := func(_ context.Context, c execution.HookCall) {
		time.Sleep(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		told = append(told, string(c.Event)+" "+c.Data.ToolName+string(c.Data.ToolInput)+string(c.Data.ToolOutput))
	}
	_, events := runHooked(t, hookedBackend{}, Hooks{PostToolUse: tell, SessionStart: func(context.Context, execution.HookCall) { panic("told") }, SessionEnd: tell, Stop: tell})
	mu.Lock()
	defer mu.Unlock()
	want := []string{`postToolUse Bash{"b":2, "a":1}"done"`, "stop ", "sessionEnd "}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	_ = events
}
