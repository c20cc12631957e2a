package agent_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

type reqs = execution.Requirements

func bare() execution.Capabilities { return at.Bare() }

// TestNegotiateTable is the table of the BYOH specification, row by row, with its listed gaps closed.
func TestNegotiateTable(t *testing.T) {
	t.Parallel()
	const (
		tools    = execution.ReasonToolUseUnsupported
		calls    = execution.ReasonStructuredToolCallsUnsupported
		cont     = execution.ReasonContinuationUnsupported
		approval = execution.ReasonApprovalInterruptUnsupported
		attach   = execution.ReasonAttachmentsUnsupported
		depth    = execution.ReasonTraceDepthReduced
		pressure = execution.ReasonContextPressureExpected
		other    = execution.ReasonOther
		blocking = execution.SeverityBlocking
		warning  = execution.SeverityWarning
	)
	type reason struct {
		Code     execution.ReasonCode
		Severity execution.Severity
	}
	tool := []execution.Tool{{Name: "echo"}}
	image := []execution.Attachment{{Base64: "aGk=", MimeType: "image/png"}}
	capable := at.Capable
	with := func(change func(*execution.Capabilities)) func() execution.Capabilities {
		return func() execution.Capabilities { c := capable(); change(&c); return c }
	}
	tests := []struct {
		name      string
		caps      func() execution.Capabilities
		req       func(*execution.Request)
		supported bool
		degraded  bool
		want      []reason
	}{
		{"plain message", bare, func(*execution.Request) {}, true, false, nil},
		{"tools allowed, none", bare, func(r *execution.Request) { r.Requirements = &reqs{ToolUse: execution.ToolUseAllowed} }, true, false, nil},
		{"tools required", bare, func(r *execution.Request) { r.Requirements = &reqs{ToolUse: execution.ToolUseRequired} }, false, false, []reason{{tools, blocking}}},
		{"tools present", bare, func(r *execution.Request) { r.Tools = tool }, false, false, []reason{{tools, blocking}}},
		{"tools present and required", bare, func(r *execution.Request) {
			r.Tools, r.Requirements = tool, &reqs{ToolUse: execution.ToolUseRequired}
		}, false, false, []reason{{tools, blocking}}},
		{"tools present and forbidden", bare, func(r *execution.Request) {
			r.Tools, r.Requirements = tool, &reqs{ToolUse: execution.ToolUseForbidden}
		}, false, false, []reason{{tools, blocking}}},
		{"the same on a capable backend", capable, func(r *execution.Request) {
			r.Tools, r.Requirements = tool, &reqs{ToolUse: execution.ToolUseForbidden}
		}, false, false, []reason{{tools, blocking}}},
		{"structured calls preferred", bare, func(r *execution.Request) {
			r.Requirements = &reqs{StructuredToolCalls: execution.PreferencePreferred}
		}, true, true, []reason{{calls, warning}}},
		{"structured calls required", bare, func(r *execution.Request) {
			r.Requirements = &reqs{StructuredToolCalls: execution.PreferenceRequired}
		}, false, false, []reason{{calls, blocking}}},
		{"continuation preferred", bare, func(r *execution.Request) {
			r.Requirements = &reqs{ContinuationSupport: execution.SupportPreferred}
		}, true, true, []reason{{cont, warning}}},
		{"continuation required", bare, func(r *execution.Request) {
			r.Requirements = &reqs{ContinuationSupport: execution.SupportRequired}
		}, false, false, []reason{{cont, blocking}}},
		{"approval preferred", bare, func(r *execution.Request) {
			r.Requirements = &reqs{ApprovalInterrupts: execution.SupportPreferred}
		}, true, true, []reason{{approval, warning}}},
		{"approval required", bare, func(r *execution.Request) {
			r.Requirements = &reqs{ApprovalInterrupts: execution.SupportRequired}
		}, false, false, []reason{{approval, blocking}}},
		{"trace standard", bare, func(r *execution.Request) { r.Requirements = &reqs{TraceDepth: execution.TraceStandard} }, true, true, []reason{{depth, warning}}},
		{"trace detailed", bare, func(r *execution.Request) { r.Requirements = &reqs{TraceDepth: execution.TraceDetailed} }, true, true, []reason{{depth, warning}}},
		{"trace minimal", bare, func(r *execution.Request) { r.Requirements = &reqs{TraceDepth: execution.TraceMinimal} }, true, false, nil},
		{"attachments required", bare, func(r *execution.Request) {
			r.Requirements = &reqs{Attachments: execution.AttachmentsRequired}
		}, false, false, []reason{{attach, blocking}}},
		{"attachments present", bare, func(r *execution.Request) { r.Message.Attachments = image }, false, false, []reason{{attach, blocking}}},
		{"attachments allowed, none", bare, func(r *execution.Request) {
			r.Requirements = &reqs{Attachments: execution.AttachmentsAllowed}
		}, true, false, nil},
		{"both at once", bare, func(r *execution.Request) {
			r.Requirements = &reqs{ToolUse: execution.ToolUseRequired, TraceDepth: execution.TraceDetailed}
		}, false, true, []reason{{tools, blocking}, {depth, warning}}},

		// the gaps
		{"attachments forbidden and present", capable, func(r *execution.Request) {
			r.Message.Attachments, r.Requirements = image, &reqs{Attachments: execution.AttachmentsForbidden}
		}, false, false, []reason{{attach, blocking}}},
		{"own tools forbidden", capable, func(r *execution.Request) { r.Requirements = &reqs{ToolUse: execution.ToolUseForbidden} }, false, false, []reason{{tools, blocking}}},
		{"structured calls forbidden", capable, func(r *execution.Request) {
			r.Tools, r.Requirements = tool, &reqs{StructuredToolCalls: execution.PreferenceForbidden}
		}, false, false, []reason{{calls, blocking}}},
		{"opaque resume, preferred", with(func(c *execution.Capabilities) { c.ContinuationSupport = execution.ContinuationsOpaqueResume }),
			func(r *execution.Request) { r.Requirements = &reqs{ContinuationSupport: execution.SupportPreferred} }, true, true, []reason{{cont, warning}}},
		{"opaque resume, required", with(func(c *execution.Capabilities) { c.ContinuationSupport = execution.ContinuationsOpaqueResume }),
			func(r *execution.Request) { r.Requirements = &reqs{ContinuationSupport: execution.SupportRequired} }, false, false, []reason{{cont, blocking}}},
		{"continuation on a backend without", bare, func(r *execution.Request) { r.Continuation = &execution.Continuation{Kind: "deferred"} }, false, false, []reason{{cont, blocking}}},
		{"continuation of another backend", capable, func(r *execution.Request) {
			r.Continuation = &execution.Continuation{Kind: "deferred", State: map[string]any{"agent": "claude"}}
		}, false, false, []reason{{cont, blocking}}},
		{"continuation of its own", capable, func(r *execution.Request) {
			r.Continuation = &execution.Continuation{Kind: "deferred", State: map[string]any{"agent": "fake"}}
		}, true, false, nil},
		{"tool that needs approval", with(func(c *execution.Capabilities) { c.ApprovalInterrupts = execution.ApprovalsNone }),
			func(r *execution.Request) { r.Tools = []execution.Tool{{Name: "rm", RequiresApproval: true}} }, false, false, []reason{{approval, blocking}}},
		{"unknown level", capable, func(r *execution.Request) { r.Requirements = &reqs{ToolUse: "perhaps"} }, false, false, []reason{{other, blocking}}},
		{"unknown major", capable, func(r *execution.Request) { r.SchemaVersion = "2.0" }, false, false, []reason{{other, blocking}}},
		{"a message that will not fit", with(func(c *execution.Capabilities) { c.MaxContextStrategy = execution.ContextSmall }),
			func(r *execution.Request) { r.Message.Text = execution.Prompt(strings.Repeat("word", 13_000)) }, true, true, []reason{{pressure, warning}}},
		{"a message that will", with(func(c *execution.Capabilities) { c.MaxContextStrategy = execution.ContextSmall }),
			func(r *execution.Request) { r.Message.Text = execution.Prompt(strings.Repeat("word", 11_000)) }, true, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request("hello")
			tt.req(&req)
			n := agent.Negotiate(tt.caps(), req, agent.Situation{Agent: "fake", ToolHandler: true})
			var got []reason
			for _, r := range n.Reasons {
				got = append(got, reason{r.Code, r.Severity})
				if r.Message == "" || r.Capability == "" {
					t.Errorf("the reason %+v does not say what it is about", r)
				}
			}
			if n.Supported != tt.supported || n.Degraded != tt.degraded || !cmp.Equal(got, tt.want) {
				t.Errorf("got supported %v degraded %v %v, want %v %v %v", n.Supported, n.Degraded, n.Reasons, tt.supported, tt.degraded, tt.want)
			}
		})
	}
}

func TestNegotiateOptions(t *testing.T) {
	t.Parallel()
	budget, half := 1.0, 0.5
	price := &execution.Price{Input: 1, Output: 1}
	type caps = execution.Capabilities
	tests := []struct {
		name       string
		req        func(*execution.Request)
		lacks      func(*caps)
		capability string
		severity   execution.Severity
	}{
		{"effort", func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortLow }, func(c *caps) { c.Agent.Thinking = false }, "thinking", "blocking"},
		{"one effort", func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortLow }, func(c *caps) { c.Agent.ThinkingEfforts = nil }, "thinking", "blocking"},
		{"thinking budget", func(r *execution.Request) { r.Run.ThinkingBudgetTokens = 1024 }, func(c *caps) { c.Agent.ThinkingBudgetTokens = false }, "thinkingBudgetTokens", "blocking"},
		{"stream on", func(r *execution.Request) { r.Run.Stream = execution.StreamOn }, func(c *caps) { c.Agent.TextStreaming = false }, "textStreaming", "blocking"},
		{"json", func(r *execution.Request) {
			r.Run.OutputFormat, r.Run.OutputSchema = execution.FormatJSON, json.RawMessage(`{}`)
		}, func(c *caps) { c.Agent.JSONMode = false }, "jsonMode", "blocking"},
		{"json lines", func(r *execution.Request) { r.Run.OutputFormat = execution.FormatJSONL }, func(*caps) {}, "jsonMode", "blocking"},
		{"json without a schema", func(r *execution.Request) { r.Run.OutputFormat = execution.FormatJSON }, func(*caps) {}, "jsonMode", "blocking"},
		{"schema", func(r *execution.Request) { r.Run.OutputSchema = json.RawMessage(`{}`) }, func(c *caps) { c.Agent.StructuredOutput = false }, "structuredOutput", "blocking"},
		{"mcp", func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "x", Transport: execution.MCPStdio, Command: "x"}}
		}, func(c *caps) { c.Agent.MCP = false }, "mcp", "blocking"},
		{"mcp transport", func(r *execution.Request) {
			r.Run.MCPServers = []execution.MCPServer{{Name: "x", Transport: execution.MCPStdio, Command: "x"}}
		}, func(c *caps) { c.Agent.MCPTransports = nil }, "mcp", "blocking"},
		{"tools", func(r *execution.Request) { r.Tools = []execution.Tool{{Name: "echo"}} }, func(c *caps) { c.Agent.MCP, c.StructuredToolCalls = false, false }, "tools", "blocking"},
		{"fork", func(r *execution.Request) { r.Run.ForkSessionID = "s" }, func(c *caps) { c.Agent.CanFork = false }, "sessionFork", "blocking"},
		{"resume", func(r *execution.Request) { r.Run.SessionID = "s" }, func(c *caps) { c.Agent.CanResume = false }, "sessionResume", "blocking"},
		{"ephemeral", func(r *execution.Request) { r.Run.NoSession = true }, func(c *caps) { c.Agent.CanRunEphemeral = false }, "sessionEphemeral", "blocking"},
		{"approval mode", func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, func(c *caps) { c.Agent.ApprovalModes = nil }, "approvalMode", "blocking"},
		{"conversation", func(r *execution.Request) { r.Run.Interactive = true }, func(c *caps) { c.Agent.InteractiveMode = false }, "interactive", "blocking"},
		{"sandbox", func(r *execution.Request) { r.Run.Sandbox = execution.SandboxReadOnly }, func(c *caps) { c.Agent.SandboxModes = []execution.SandboxMode{execution.SandboxNone} }, "sandbox", "blocking"},
		{"command", func(r *execution.Request) { r.Run.Command = []string{"x"} }, func(*caps) {}, "command", "blocking"},
		{"no command", func(*execution.Request) {}, func(c *caps) { c.Agent.TakesCommand = true }, "command", "blocking"},
		{"replace prompt", func(r *execution.Request) { r.Run.SystemPromptMode = execution.SystemPromptReplace }, func(c *caps) { c.Agent.SystemPromptModes = nil }, "systemPromptMode", "blocking"},
		{"append prompt", func(r *execution.Request) { r.Run.SystemPromptMode = execution.SystemPromptAppend }, func(c *caps) { c.Agent.SystemPromptModes = nil }, "systemPromptMode", "warning"},
		{"max turns", func(r *execution.Request) { r.Run.MaxTurns = 1 }, func(c *caps) { c.TraceDepth = execution.TraceMinimal }, "maxTurns", "blocking"},
		{"budget", func(r *execution.Request) { r.Run.MaxBudgetUSD = &budget }, func(c *caps) { c.Agent.CostReported = false }, "budget", "blocking"},
		{"elsewhere", func(r *execution.Request) { r.Run.Invocation = "ssh:build1" }, func(c *caps) { c.Agent.Elsewhere = false }, "invocation", "blocking"},
		{"skills", func(r *execution.Request) { r.Run.Skills = []string{"x"} }, func(*caps) {}, "skills", "blocking"},
		{"agents doc", func(r *execution.Request) { r.Run.AgentsDoc = "x" }, func(*caps) {}, "agentsMd", "blocking"},
		{"another override", func(r *execution.Request) { r.Run.ThinkingOverride = map[string]any{"sandbox_mode": "x"} },
			func(c *caps) { c.Agent.ThinkingOverrides = []string{"summary"} }, "thinking", "blocking"},
		{"override", func(r *execution.Request) { r.Run.ThinkingOverride = map[string]any{"x": 1} }, func(*caps) {}, "thinking", "blocking"},
		{"profile", func(r *execution.Request) { r.Run.Profile = "x" }, func(*caps) {}, "profile", "blocking"},
		{"sampling", func(r *execution.Request) { r.Run.Temperature = &half }, func(*caps) {}, "sampling", "info"},
		{"output tokens", func(r *execution.Request) { r.Run.MaxTokens = 5 }, func(*caps) {}, "maxOutputTokens", "info"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request("hello")
			tt.req(&req)
			lacking := at.Capable()
			tt.lacks(&lacking)
			s := agent.Situation{Agent: "fake", ToolHandler: true, DefaultModel: "m"}
			n := agent.Negotiate(lacking, req, s)
			if len(n.Reasons) != 1 || n.Reasons[0].Capability != tt.capability || n.Reasons[0].Severity != tt.severity || n.Supported != (tt.severity != "blocking") {
				t.Errorf("lacking: got supported %v, %v, want one %s reason about %s", n.Supported, n.Reasons, tt.severity, tt.capability)
			}
			full := at.Capable()
			full.Agent.ThinkingOverrides = []string{"sandbox_mode", "x"}
			full.Agent.Skills, full.Agent.AgentsMD, full.Agent.Sampling, full.Agent.OutputTokenLimit = true, true, true, true
			switch tt.name {
			case "profile", "json lines", "json without a schema":
				return // refused everywhere
			case "command":
				full.Agent.TakesCommand = true
			}
			if n := agent.Negotiate(full, req, s); !n.Supported || n.Degraded {
				t.Errorf("capable: got supported %v degraded %v %v", n.Supported, n.Degraded, n.Reasons)
			}
		})
	}
	t.Run("budget from the price table", func(t *testing.T) {
		t.Parallel()
		req := request("hello")
		req.Run.MaxBudgetUSD = &budget
		c := at.Capable()
		c.Agent.CostReported = false
		s := agent.Situation{Agent: "fake", DefaultModel: "m", Price: func(string) *execution.Price { return price }}
		if n := agent.Negotiate(c, req, s); !n.Supported {
			t.Errorf("a known price is refused: %v", n.Reasons)
		}
	})
	t.Run("nobody handles tools", func(t *testing.T) {
		t.Parallel()
		req := request("hello")
		req.Tools = []execution.Tool{{Name: "echo"}}
		n := agent.Negotiate(at.Capable(), req, agent.Situation{Agent: "fake"})
		if n.Supported || len(n.Reasons) != 1 || n.Reasons[0].Code != execution.ReasonToolUseUnsupported {
			t.Errorf("got supported %v %v", n.Supported, n.Reasons)
		}
	})
}

func TestEffectiveCapabilities(t *testing.T) {
	t.Parallel()
	req := request("hello")
	req.Requirements = &reqs{TraceDepth: execution.TraceStandard, StructuredToolCalls: execution.PreferenceForbidden,
		ContinuationSupport: execution.SupportNone, ApprovalInterrupts: execution.SupportNone, Attachments: execution.AttachmentsForbidden}
	caps := at.Capable()
	e := agent.Negotiate(caps, req, agent.Situation{}).EffectiveCapabilities
	if e.TraceDepth != execution.TraceStandard || e.StructuredToolCalls || e.ContinuationSupport != execution.ContinuationsNone ||
		e.ApprovalInterrupts != execution.ApprovalsNone || e.Attachments {
		t.Errorf("got %+v", e)
	}
	e.Notes[0], e.Agent.Verbs[0], e.Agent.Platforms[0] = "x", "x", "x"
	if !reflect.DeepEqual(caps, at.Capable()) {
		t.Error("the answer shares memory with the capabilities it was made of")
	}
	req = request("hello")
	req.Run.NoSession, req.Run.ApprovalMode = true, execution.ApprovalYolo
	e = agent.Negotiate(caps, req, agent.Situation{}).EffectiveCapabilities
	if e.ContinuationSupport != execution.ContinuationsNone || e.ApprovalInterrupts != execution.ApprovalsNone {
		t.Errorf("noSession and yolo: got %+v", e)
	}
	if e := agent.Negotiate(bare(), execution.Request{}, agent.Situation{}).EffectiveCapabilities; e.TraceDepth != execution.TraceMinimal {
		t.Errorf("a backend without traces gives %s", e.TraceDepth)
	}
}

// TestNegotiateModel: what a model is known not to do is refused; what nobody states, and another model, is not.
func TestNegotiateModel(t *testing.T) {
	t.Parallel()
	none := execution.Abilities{ToolCalling: new(false), Thinking: new(false), ImageInput: new(false)}
	s := agent.Situation{Agent: "fake", ToolHandler: true, DefaultModel: "blind", Models: []execution.Model{{ID: "blind", Abilities: none}, {ID: "unstated"},
		{ID: "able", Abilities: execution.Abilities{ToolCalling: new(true), Thinking: new(true), ImageInput: new(true)}}}}
	for capability, set := range map[string]func(*execution.Request){
		"tools":    func(r *execution.Request) { r.Tools = []execution.Tool{{Name: "echo"}} },
		"thinking": func(r *execution.Request) { r.Run.ThinkingEffort = execution.EffortLow },
		"imageInput": func(r *execution.Request) {
			r.Message.Attachments = []execution.Attachment{{Name: "a.png", URL: "https://example.test/a.png"}}
		},
	} {
		for _, model := range []string{"blind", "unstated", "able", "other", ""} {
			req := request("hi")
			req.Run.Model = model
			set(&req)
			n := agent.Negotiate(at.Capable(), req, s)
			if n.Supported != (model != "blind") || !n.Supported && (len(n.Reasons) != 1 || n.Reasons[0].Capability != capability || !strings.Contains(n.Reasons[0].Message, "model blind")) {
				t.Errorf("%s with model %q: %+v", capability, model, n.Reasons)
			}
		}
	}
	text := request("hi")
	text.Run.Model, text.Message.Attachments = "blind", []execution.Attachment{{Name: "a.txt", URL: "https://example.test/a.txt"}}
	if n := agent.Negotiate(at.Capable(), text, s); !n.Supported {
		t.Errorf("a text for a model without images: %+v", n.Reasons)
	}
}

func TestNegotiateIsPure(t *testing.T) {
	t.Parallel()
	f := &at.Fake{}
	a := agent.New(agent.Backend{Name: "fake", Adapter: f})
	req := request("hello")
	req.Tools = []execution.Tool{{Name: "echo"}}
	req.Metadata = map[string]any{"a": 1}
	req.Requirements = &reqs{TraceDepth: execution.TraceDetailed, ToolUse: execution.ToolUseRequired}
	before := req.Clone()
	answers := make([]execution.Negotiation, 100)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = a.Negotiate(req, agent.Options{}) })
	}
	all.Wait()
	for i, n := range answers {
		if !reflect.DeepEqual(n, answers[0]) {
			t.Fatalf("answer %d differs: %v", i, n)
		}
	}
	if !reflect.DeepEqual(before, req) {
		t.Error("the request was changed")
	}
	if f.Starts() != 0 {
		t.Error("the backend was started")
	}
}

func TestUnsupportedNeverRuns(t *testing.T) {
	t.Parallel()
	f := &at.Fake{Declared: at.Bare}
	req := request("hello")
	req.Requirements = &reqs{ToolUse: execution.ToolUseRequired, TraceDepth: execution.TraceDetailed}
	res, _ := run(t, agent.Backend{Name: "fake", Adapter: f}, req, agent.Options{})
	want(t, res, execution.StatusUnsupported, execution.FailureUnsupportedCapability)
	if f.Starts() != 0 {
		t.Error("the backend was started")
	}
	if len(res.Degradation) != 2 || res.Trace.Summary.StartedAt.IsZero() || res.Attempts != 0 {
		t.Errorf("got %d reasons, trace %+v, %d attempts", len(res.Degradation), res.Trace.Summary, res.Attempts)
	}
	if res.Error.ErrorCode() != execution.CodeCapability || res.Error.Metadata["capability"] != "toolUse" {
		t.Errorf("got error %+v", res.Error)
	}
}

// negotiator adds reasons of its own.
type negotiator struct {
	*at.Fake
	reasons func() []execution.Reason
}

func (n negotiator) Negotiate(execution.Request) []execution.Reason { return n.reasons() }

func TestNegotiator(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		reasons   func() []execution.Reason
		supported bool
		degraded  bool
	}{
		{"none", func() []execution.Reason { return nil }, true, false},
		{"info", func() []execution.Reason {
			return []execution.Reason{{Code: execution.ReasonOther, Severity: execution.SeverityInfo, Message: "50% off"}}
		}, true, true},
		{"blocking", func() []execution.Reason {
			return []execution.Reason{{Code: execution.ReasonOther, Severity: execution.SeverityBlocking, Message: "no"}}
		}, false, false},
		{"unknown severity", func() []execution.Reason {
			return []execution.Reason{{Code: execution.ReasonOther, Severity: "fatal", Message: "?"}}
		}, false, false},
		{"panic", func() []execution.Reason { panic("no") }, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := agent.Backend{Name: "fake", Adapter: negotiator{&at.Fake{Script: answer}, tt.reasons}}
			n := agent.New(b).Negotiate(request("x"), agent.Options{})
			if n.Supported != tt.supported || n.Degraded != tt.degraded {
				t.Errorf("got supported %v degraded %v %v", n.Supported, n.Degraded, n.Reasons)
			}
			for _, r := range n.Reasons {
				if err := r.Validate(); err != nil || strings.Contains(r.Message, "%!") {
					t.Errorf("reason %+v: %v", r, err)
				}
			}
			res, _ := run(t, b, request("x"), agent.Options{})
			if got := res.Status == execution.StatusCompleted; got != tt.supported {
				t.Errorf("the run is %s", res.Status)
			}
			if tt.degraded && len(res.Degradation) != 1 {
				t.Errorf("the result lists %v", res.Degradation)
			}
		})
	}
}

// TestElsewhere: what is on this machine does not go with an agent that runs elsewhere, and its process cannot be paused there.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*execution.Request, *agent.Situation){
		"": func(r *execution.Request, _ *agent.Situation) {
			r.Run.Skills = []string{"x"}
			r.Message.Attachments = []execution.Attachment{{FilePath: "/x.png", MimeType: "image/png"}}
		},
		"tools of the caller": func(r *execution.Request, s *agent.Situation) {
			r.Tools, s.ToolHandler = []execution.Tool{{Name: "x"}}, true
		},
		"hooks that can deny a tool call": func(_ *execution.Request, s *agent.Situation) { s.ToolHook = true },
	} {
		c := at.Capable()
		c.Agent.Skills = true
		req, s := request("hi"), agent.Situation{Agent: "fake"}
		req.SchemaVersion, req.Run.Invocation = execution.SchemaVersion, "ssh:build1:/srv"
		change(&req, &s)
		n := agent.Negotiate(c, req, s)
		if n.Supported != (what == "") || what != "" && (len(n.Reasons) != 1 || n.Reasons[0].Capability != "invocation "+what) {
			t.Errorf("%q: %+v", what, n.Reasons)
		}
		if n.EffectiveCapabilities.Agent.Has(execution.VerbPause) || !c.Agent.Has(execution.VerbPause) {
			t.Errorf("%q: verbs %v", what, n.EffectiveCapabilities.Agent.Verbs)
		}
	}
}
