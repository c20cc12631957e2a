package adaptertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// mutations break, for each check of the suite, the rule that it stands for.
var mutations = map[string][]func(t *testing.T, b *broken){
	"capabilities-valid": {
		func(_ *testing.T, b *broken) {
			shared := at.Capable()
			b.Declared = func() execution.Capabilities { return shared }
		},
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.TraceDepth = "deep" })
		},
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.ThinkingEfforts = []execution.ThinkingEffort{"huge"} })
		},
	},
	"required-missing-blocks": {
		func(_ *testing.T, b *broken) { b.negotiate = blocking },
		func(_ *testing.T, b *broken) {
			var n atomic.Int64
			b.Declared = declare(func(c *execution.Capabilities) { c.StructuredToolCalls = n.Add(1)%2 == 0 })
		},
	},
	"preferred-missing-degrades": {
		func(_ *testing.T, b *broken) { b.negotiate = blocking },
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.TraceDepth = execution.TraceStandard })
			b.edit(result(func(r *execution.Result) {
				r.Degradation = []execution.Reason{{Code: execution.ReasonOther, Severity: execution.SeverityInfo, Message: "all is well"}}
				r.Status, r.Error = execution.StatusFailed, nil
			}))
		},
	},
	"negotiate-pure": {
		func(_ *testing.T, b *broken) {
			b.negotiate = func(req execution.Request) []execution.Reason {
				for range b.Fake.Execute(context.Background(), req, closed{}) {
				}
				return nil
			}
		},
		func(_ *testing.T, b *broken) {
			var n atomic.Int64
			b.negotiate = func(execution.Request) []execution.Reason {
				return []execution.Reason{{Code: execution.ReasonOther, Severity: execution.SeverityInfo, Message: strings.Repeat("x", int(n.Add(1)))}}
			}
		},
		func(_ *testing.T, b *broken) {
			var mu sync.Mutex
			b.negotiate = func(req execution.Request) []execution.Reason {
				mu.Lock()
				defer mu.Unlock()
				if len(req.Message.Attachments) > 0 {
					panic("no attachments please")
				}
				return nil
			}
		},
	},
	"simple-completes": {
		func(_ *testing.T, b *broken) { b.Script = func(*at.Call) execution.Result { return at.Completed() } },
		func(_ *testing.T, b *broken) { b.Script = instead(at.Simple, at.Fail) },
		func(_ *testing.T, b *broken) {
			b.Script = instead(at.Simple, at.Hang)
			b.s.Limit = 100 * time.Millisecond
		},
		func(_ *testing.T, b *broken) {
			b.edit(result(func(r *execution.Result) { r.Output = &execution.Output{Text: "bye"} }))
		},
	},
	"tool-roundtrip": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Tool, at.Simple) },
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				c.Emit(execution.SessionStart{SessionID: "s"})
				for range 2 {
					_, _ = c.Tool("echo", `{}`)
				}
				c.Say("hi")
				return at.Completed()
			}
		},
		func(_ *testing.T, b *broken) { b.edit(drop[execution.ToolResultEvent]) },
	},
	"clarification": {func(_ *testing.T, b *broken) { b.Script = instead(at.Clarify, at.Simple) }},
	"approval": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Approval, at.Simple) },
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				if q, ok := body.(execution.ApprovalRequired); ok {
					q.ID = ""
					body = q
				}
				return []execution.Body{body}
			})
		},
	},
	"failure-reported":  {func(_ *testing.T, b *broken) { b.Script = instead(at.Fail, at.Simple) }},
	"failure-malformed": {func(_ *testing.T, b *broken) { b.Script = instead(at.Malformed, at.Simple) }},
	"failure-missing":   {func(_ *testing.T, b *broken) { b.Script = instead(at.Missing, at.Simple) }},
	"failure-crash": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Crash, at.Simple) },
		func(_ *testing.T, b *broken) {
			b.edit(result(func(r *execution.Result) {
				if r.Error != nil {
					r.Error.Stderr = ""
				}
			}))
		},
		func(_ *testing.T, b *broken) { b.edit(result(func(r *execution.Result) { r.ExitCode = nil })) },
	},
	"unsupported-refused": {func(_ *testing.T, b *broken) { b.startsByItself() }},
	"trace-always": {
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				switch body.(type) {
				case execution.MessageStart, execution.TextDelta, execution.MessageStop, execution.StepStart:
					return nil
				}
				return []execution.Body{body}
			})
		},
	},
	"identity": {
		func(_ *testing.T, b *broken) {
			inner, n := b.s.Backend, 0
			b.s.Backend = func() agent.Backend {
				backend := inner()
				n++
				backend.Name += strings.Repeat("'", n)
				return backend
			}
		},
		func(_ *testing.T, b *broken) { b.s.Others = append(b.s.Others, "fake") },
		func(_ *testing.T, b *broken) {
			b.edit(result(func(r *execution.Result) { r.BackendID = "claude" }))
		},
	},
	"timeout": {
		func(_ *testing.T, b *broken) { b.Script = deaf; b.s.Grace = 100 * time.Millisecond },
		func(_ *testing.T, b *broken) { b.Script = instead(at.Hang, at.Fail) },
	},
	"timeout-stubborn": {func(_ *testing.T, b *broken) { b.Script = deaf; b.s.Grace = 100 * time.Millisecond }},
	"imports": {
		func(t *testing.T, b *broken) {
			b.s.Source = module(t, map[string]string{
				"adapter.go":   "package x\nimport _ \"example.org/x/kit\"\n",
				"kit/kit.go":   "package kit\nimport _ \"example.org/x/memory\"\n",
				"memory/m.go":  "package memory\n",
				"x_test.go":    "package x\n",
				"kit/k.go.txt": "",
			})
		},
		func(t *testing.T, b *broken) {
			b.s.Source = module(t, map[string]string{"adapter.go": "package x\nimport _ \"github.com/drawbar/drawbar/internal/governed/ledger\"\n"})
		},
		func(t *testing.T, b *broken) {
			b.s.Source = module(t, map[string]string{"adapter.go": "package x\nimport _ \"github.com/drawbar/drawbar\"\n"})
		},
	},
	"schema-version": {
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.SchemaVersion = "9.0" })
		},
		func(_ *testing.T, b *broken) { b.startsByItself() },
	},
	"correlation": {
		func(_ *testing.T, b *broken) {
			b.edit(result(func(r *execution.Result) { r.TurnID = "another turn" }))
		},
	},
	"contradiction":    {func(_ *testing.T, b *broken) { b.negotiate = panicking }},
	"degradation-kept": {func(_ *testing.T, b *broken) { b.negotiate = panicking }},
	"isolation": {
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				if s, ok := body.(execution.SessionStart); ok {
					s.SessionID = "the one"
					body = s
				}
				if f, ok := body.(execution.Finished); ok {
					f.Result.SessionID = "the one"
					body = f
				}
				return []execution.Body{body}
			})
		},
		func(_ *testing.T, b *broken) {
			var mu sync.Mutex
			said := ""
			b.Script = func(c *at.Call) execution.Result {
				mu.Lock()
				said += "hi"
				text := said
				mu.Unlock()
				c.Say(text)
				return at.Completed()
			}
		},
	},
	"request-unchanged": {
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				if nested, ok := c.Request.Metadata["nested"].(map[string]any); ok {
					nested["key"] = "scribbled"
				}
				return at.Play(c)
			}
		},
	},
	"cancel":          {func(_ *testing.T, b *broken) { b.Script = deaf; b.s.Grace = 50 * time.Millisecond }},
	"cancel-stubborn": {func(_ *testing.T, b *broken) { b.Script = deaf; b.s.Grace = 50 * time.Millisecond }},
	"abort":           {func(_ *testing.T, b *broken) { b.Script = deaf; b.s.Grace = 50 * time.Millisecond }},
	"survivors": {
		func(_ *testing.T, b *broken) {
			b.s.Survivors = func() error {
				if b.Starts() > 0 {
					return errors.New("a process")
				}
				return nil
			}
		},
	},
	"consumer-stops": {
		func(_ *testing.T, b *broken) {
			b.execute = func(adapter.Adapter, context.Context, execution.Request, adapter.Inbox) iter.Seq2[execution.Event, error] {
				return func(yield func(execution.Event, error) bool) {
					for range 10 {
						yield(execution.Event{Body: execution.SessionStart{}}, nil)
					}
				}
			}
		},
		func(_ *testing.T, b *broken) {
			b.s.Grace = 50 * time.Millisecond
			b.Script = func(c *at.Call) execution.Result {
				defer time.Sleep(300 * time.Millisecond)
				return at.Play(c)
			}
		},
	},
	"event-order": {
		func(_ *testing.T, b *broken) { b.edit(drop[execution.ToolCallReady]); b.Script = noStart },
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				if _, ok := body.(execution.ThinkingStop); ok {
					return []execution.Body{execution.TextDelta{Delta: "x", Accumulated: "x"}, body}
				}
				return []execution.Body{body}
			})
		},
	},
	"finished-once": {
		func(_ *testing.T, b *broken) { b.edit(drop[execution.Finished]) },
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				if _, ok := body.(execution.Finished); ok {
					return []execution.Body{body, body}
				}
				return []execution.Body{body}
			})
		},
		func(_ *testing.T, b *broken) { b.edit(drop[execution.TurnEnd]) },
		func(_ *testing.T, b *broken) {
			b.edit(result(func(r *execution.Result) { r.Error = nil }))
		},
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				c.EmitError(errors.New("boo"))
				return at.Completed()
			}
		},
	},
	"adapter-events": {
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				c.EmitEvent(execution.Event{})
				return at.Play(c)
			}
		},
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				c.EmitEvent(execution.Event{Seq: 7, Body: execution.Debug{}})
				return at.Play(c)
			}
		},
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				c.Emit(execution.Aborted{})
				return at.Play(c)
			}
		},
	},
	"resume": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Remember, at.Long) },
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				if s, ok := body.(execution.SessionStart); ok {
					s.Resumed = false
					body = s
				}
				return []execution.Body{body}
			})
		},
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.CanResume = false })
			b.startsByItself()
		},
	},
	"fork": {
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				if id := c.Request.Run.ForkSessionID; id != "" {
					c.Request.Run.SessionID, c.Request.Run.ForkSessionID = id, ""
				}
				return at.Play(c)
			}
		},
		func(_ *testing.T, b *broken) { b.Script = instead(at.Remember, at.Long) },
	},
	"ephemeral": {
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				c.Request.Run.NoSession = false
				return at.Play(c)
			}
		},
	},
	"approval-yolo": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Approval, at.Simple) },
		func(_ *testing.T, b *broken) { b.Script = instead(at.Approval, at.Fail) },
	},
	"rules-allow": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Approval, at.Simple) },
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				if q, ok := body.(execution.ApprovalRequired); ok {
					q.Use, q.ToolName = execution.ToolUse{}, ""
					return []execution.Body{q}
				}
				return []execution.Body{body}
			})
		},
	},
	"approval-deny": {func(_ *testing.T, b *broken) { b.Script = grabby }, func(_ *testing.T, b *broken) {
		b.Declared = declare(func(c *execution.Capabilities) { c.Agent.DenialEndsTurn = true })
	}},
	"nobody-there":    {func(_ *testing.T, b *broken) { b.Script = grabby }},
	"approval-prompt": {func(_ *testing.T, b *broken) { b.Script = grabby }, func(_ *testing.T, b *broken) { b.Script = instead(at.Approval, at.Simple) }},
	"mcp": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Connect, at.Simple) },
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.MCPTransports = nil })
		},
	},
	"thinking": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Think, at.Simple) },
		func(_ *testing.T, b *broken) { b.Script = instead(at.Think, at.Fail) },
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.ThinkingEfforts = []execution.ThinkingEffort{} })
		},
	},
	"structured-output": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Structure, at.Simple) },
		func(_ *testing.T, b *broken) {
			b.edit(result(func(r *execution.Result) {
				r.Output = &execution.Output{Structured: json.RawMessage(`{"answer":1}`)}
			}))
		},
	},
	"attachments": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Attach, at.Fail) },
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.ImageInput, c.Agent.FileAttachments = false, false })
		},
	},
	"stream": {
		func(_ *testing.T, b *broken) {
			b.Script = func(c *at.Call) execution.Result {
				c.Emit(execution.SessionStart{SessionID: "s"}, execution.TurnStart{})
				c.Say("all at once")
				c.Emit(execution.TurnEnd{})
				return at.Completed()
			}
		},
	},
	"max-turns": {
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				switch body.(type) {
				case execution.StepStart, execution.StepEnd:
					return nil
				}
				return []execution.Body{body}
			})
		},
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.MaxTurns = true })
			b.Script = func(c *at.Call) execution.Result {
				c.Request.Run.MaxTurns = 0
				return at.Play(c)
			}
		},
	},
	"budget": {
		func(_ *testing.T, b *broken) { b.edit(drop[execution.CostEvent]) },
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.Budget = true })
			b.Script = func(c *at.Call) execution.Result {
				c.Request.Run.MaxBudgetUSD = nil
				return at.Play(c)
			}
		},
	},
	"usage-once": {
		func(_ *testing.T, b *broken) {
			b.edit(result(func(r *execution.Result) { r.Usage = &execution.Usage{Input: 800, Output: 80, Total: 880} }))
		},
		func(_ *testing.T, b *broken) { b.edit(drop[execution.TokenUsage]) },
		func(_ *testing.T, b *broken) { b.edit(drop[execution.CostEvent]) },
	},
	"probe": {
		func(_ *testing.T, b *broken) {
			b.probe = func() (adapter.Installation, error) { return adapter.Installation{}, errors.New("not there") }
		},
		func(_ *testing.T, b *broken) { b.auth = "perhaps" },
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.AuthMethods[0].Type = "api_key" })
		},
	},
	"auth-guide": {func(_ *testing.T, b *broken) { b.guide = &adapter.AuthGuidance{Provider: "x"} }},
	"plugins": {
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.Plugins, c.Agent.PluginFormats = true, []string{"extension"} })
		},
	},
	"interactive": {
		func(_ *testing.T, b *broken) { b.Script = instead(at.Talk, at.Fail) },
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.InteractiveMode = false })
			b.startsByItself()
		},
	},
	"verb-send":     {refusesMessages},
	"verb-queue":    {refusesMessages},
	"verb-continue": {refusesMessages},
	"verb-steer": {
		func(_ *testing.T, b *broken) { b.edit(drop[execution.InputTaken]) },
		func(_ *testing.T, b *broken) { b.Script = instead(at.Steps, at.Simple) },
	},
	"verb-interrupt": {
		func(_ *testing.T, b *broken) {
			b.edit(func(body execution.Body) []execution.Body {
				if e, ok := body.(execution.TurnEnd); ok {
					e.Reason = execution.TurnCompleted
					body = e
				}
				return []execution.Body{body}
			})
		},
		refusesMessages,
	},
	"verb-pause": {
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) {
				c.Agent.Verbs = slices.DeleteFunc(c.Agent.Verbs, func(v execution.Verb) bool { return v == execution.VerbResume })
			})
		},
		func(_ *testing.T, b *broken) {
			b.execute = func(inner adapter.Adapter, ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
				return inner.Execute(ctx, req, restless{in})
			}
		},
	},
	"skills": {
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.Skills = true }) // and ignored
		},
		func(_ *testing.T, b *broken) { b.startsByItself() },
	},
	"rules-deny": {
		func(_ *testing.T, b *broken) { b.through(func(in adapter.Inbox) adapter.Inbox { return unasked{in} }) },
		func(_ *testing.T, b *broken) { b.through(func(in adapter.Inbox) adapter.Inbox { return wordless{in} }) },
	},
	"tool-hook": {
		func(_ *testing.T, b *broken) { b.through(func(in adapter.Inbox) adapter.Inbox { return unasked{in} }) },
		func(_ *testing.T, b *broken) { b.through(func(in adapter.Inbox) adapter.Inbox { return heedless{in} }) },
		func(_ *testing.T, b *broken) { b.edit(drop[execution.ToolResultEvent]) },
		func(_ *testing.T, b *broken) { // the tool has run, and its result is called an error
			b.edit(func(body execution.Body) []execution.Body {
				if e, ok := body.(execution.ToolError); ok {
					return []execution.Body{execution.ToolResultEvent{ToolCallID: e.ToolCallID, ToolName: e.ToolName, Output: json.RawMessage(`"nothing"`)}, body}
				}
				return []execution.Body{body}
			})
		},
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.RuntimeHooks.PreToolUse = execution.HookUnsupported })
			b.startsByItself()
		},
	},
	"verbs-refused": {
		func(_ *testing.T, b *broken) {
			b.Declared = declare(func(c *execution.Capabilities) { c.Agent.Verbs = []execution.Verb{} })
		},
	},
}

// TestMutations shows that every check fails when its rule is broken.
func TestMutations(t *testing.T) {
	t.Parallel()
	for _, c := range at.Suite() {
		if c.Name == "size" {
			continue // a warning only, see TestSizeWarns
		}
		breaks := mutations[c.Name]
		if len(breaks) == 0 {
			t.Errorf("no mutation breaks the check %s", c.Name)
		}
		for i, mutate := range breaks {
			t.Run(c.Name+"/"+string(rune('a'+i)), func(t *testing.T) {
				t.Parallel()
				b := newBroken()
				mutate(t, b)
				o := at.RunOne(t.Context(), b.s, c)
				if o.Verdict != at.Failing {
					t.Errorf("the check passes a broken adapter: %s %s", o.Verdict, o.Message)
				}
				t.Log(strings.SplitN(o.Message, "\n", 2)[0])
			})
		}
	}
	names := map[string]bool{}
	for _, c := range at.Suite() {
		if names[c.Name] || c.Spec == "" {
			t.Errorf("the check %q is named twice, or for no rule", c.Name)
		}
		names[c.Name] = true
	}
	for name := range mutations {
		if !names[name] {
			t.Errorf("the mutation %q breaks no check", name)
		}
	}
}
