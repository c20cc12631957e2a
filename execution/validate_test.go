package execution

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func good() Request {
	return Request{SchemaVersion: SchemaVersion, AssistantID: "a1", TurnID: "t1", Message: Message{ID: "m1", Text: "hello"}}
}

func TestRequestFaults(t *testing.T) {
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	f := func(v float64) *float64 { return &v }
	i := func(v int64) *int64 { return &v }
	for _, tc := range []struct {
		field  string
		break_ func(*Request)
	}{
		{"schemaVersion", func(r *Request) { r.SchemaVersion = "2.0" }},
		{"schemaVersion", func(r *Request) { r.SchemaVersion = "one" }},
		{"assistantId", func(r *Request) { r.AssistantID = " " }},
		{"turnId", func(r *Request) { r.TurnID = "" }},
		{"message.text", func(r *Request) { r.Message.Text = " \n\t" }},
		{"message.attachments[0]", func(r *Request) { r.Message.Attachments = []Attachment{{}} }},
		{"message.attachments[0]", func(r *Request) { r.Message.Attachments = []Attachment{{URL: "http://x", FilePath: "/x"}} }},
		{"message.attachments[0].mimeType", func(r *Request) { r.Message.Attachments = []Attachment{{Base64: "aGk="}} }},
		{"message.attachments[0].filePath", func(r *Request) { r.Message.Attachments = []Attachment{{FilePath: "x.png"}} }},
		{"context.blocks[0].category", func(r *Request) { r.Context = &Context{Blocks: []ContextBlock{{Category: "session"}}} }},
		{"tools[0].name", func(r *Request) { r.Tools = []Tool{{Name: "no spaces"}} }},
		{"tools[1].name", func(r *Request) { r.Tools = []Tool{{Name: "a"}, {Name: "a"}} }},
		{"tools[0].inputSchema", func(r *Request) { r.Tools = []Tool{{Name: "a", InputSchema: json.RawMessage(`[]`)}} }},
		{"requirements.toolUse", func(r *Request) { r.Requirements = &Requirements{ToolUse: "preferred"} }},
		{"requirements.structuredToolCalls", func(r *Request) { r.Requirements = &Requirements{StructuredToolCalls: "allowed"} }},
		{"requirements.continuationSupport", func(r *Request) { r.Requirements = &Requirements{ContinuationSupport: "forbidden"} }},
		{"requirements.approvalInterrupts", func(r *Request) { r.Requirements = &Requirements{ApprovalInterrupts: "native"} }},
		{"requirements.traceDepth", func(r *Request) { r.Requirements = &Requirements{TraceDepth: "deep"} }},
		{"requirements.attachments", func(r *Request) { r.Requirements = &Requirements{Attachments: "none"} }},
		{"requirements.maxElapsedMs", func(r *Request) { r.Requirements = &Requirements{MaxElapsedMs: -1} }},
		{"run.forkSessionId", func(r *Request) { r.Run.SessionID, r.Run.ForkSessionID = "a", "b" }},
		{"run.noSession", func(r *Request) { r.Run.SessionID, r.Run.NoSession = "a", true }},
		{"run.noSession", func(r *Request) { r.Run.ForkSessionID, r.Run.NoSession = "a", true }},
		{"run.sessionId", func(r *Request) { r.Run.SessionID = "--dangerous" }},
		{"run.model", func(r *Request) { r.Run.Model = "-x" }},
		{"run.nonInteractive", func(r *Request) { r.Run.Interactive, r.Run.NonInteractive = true, true }},
		{"run.systemPromptMode", func(r *Request) { r.Run.SystemPromptMode = "merge" }},
		{"run.thinkingEffort", func(r *Request) { r.Run.ThinkingEffort = "extreme" }},
		{"run.thinkingBudgetTokens", func(r *Request) { r.Run.ThinkingBudgetTokens = 1023 }},
		{"run.temperature", func(r *Request) { r.Run.Temperature = f(2.1) }},
		{"run.topP", func(r *Request) { r.Run.TopP = f(-0.1) }},
		{"run.topK", func(r *Request) { r.Run.TopK = -1 }},
		{"run.maxTokens", func(r *Request) { r.Run.MaxTokens = -1 }},
		{"run.maxOutputTokens", func(r *Request) { r.Run.MaxOutputTokens = -1 }},
		{"run.maxTurns", func(r *Request) { r.Run.MaxTurns = -1 }},
		{"run.maxBudgetUsd", func(r *Request) { r.Run.MaxBudgetUSD = f(-1) }},
		{"run.stream", func(r *Request) { r.Run.Stream = "sometimes" }},
		{"run.outputFormat", func(r *Request) { r.Run.OutputFormat = "xml" }},
		{"run.outputSchema", func(r *Request) { r.Run.OutputSchema = json.RawMessage(`"text"`) }},
		{"run.command[0]", func(r *Request) { r.Run.Command = []string{" ", "x"} }},
		{"run.command[1]", func(r *Request) { r.Run.Command = []string{"x", "a\x00"} }},
		{"run.cwd", func(r *Request) { r.Run.Cwd = "relative/dir" }},
		{"run.env", func(r *Request) { r.Run.Env = map[string]string{"A=B": "c"} }},
		{"run.env.A", func(r *Request) { r.Run.Env = map[string]string{"A": "\x00"} }},
		{"run.environment", func(r *Request) { r.Run.Environment = "empty" }},
		{"run.timeout", func(r *Request) { r.Run.TimeoutMs = -1 }},
		{"run.inactivityTimeout", func(r *Request) { r.Run.InactivityTimeoutMs = -1 }},
		{"run.gracePeriodMs", func(r *Request) { r.Run.GracePeriodMs = i(-1) }},
		{"run.approvalMode", func(r *Request) { r.Run.ApprovalMode = "ask" }},
		{"run.sandbox", func(r *Request) { r.Run.Sandbox = "glass" }},
		{"run.invocation", func(r *Request) { r.Run.Invocation = "docker" }},
		{"run.runId", func(r *Request) { r.Run.RunID = "x/../../victim" }},
		{"run.runId", func(r *Request) { r.Run.RunID = "81JD0000000000000000000000" }},
		{"run.runId", func(r *Request) { r.Run.RunID = "01jd0000000000000000000000" }},
		{"run.mcpServers[0].name", func(r *Request) { r.Run.MCPServers = []MCPServer{{Name: "a b", Transport: MCPStdio, Command: "x"}} }},
		{"run.mcpServers[0].transport", func(r *Request) { r.Run.MCPServers = []MCPServer{{Name: "a", Command: "x"}} }},
		{"run.mcpServers[0].command", func(r *Request) { r.Run.MCPServers = []MCPServer{{Name: "a", Transport: MCPStdio}} }},
		{"run.mcpServers[0].url", func(r *Request) { r.Run.MCPServers = []MCPServer{{Name: "a", Transport: MCPSSE, URL: "ftp://x"}} }},
		{"run.mcpServers[0].url", func(r *Request) {
			r.Run.MCPServers = []MCPServer{{Name: "a", Transport: MCPStdio, Command: "x", URL: "http://x"}}
		}},
		{"run.mcpServers[0].command", func(r *Request) {
			r.Run.MCPServers = []MCPServer{{Name: "a", Transport: MCPSSE, URL: "http://x", Command: "y"}}
		}},
		{"run.mcpServers[1].name", func(r *Request) {
			r.Run.MCPServers = []MCPServer{{Name: "a", Transport: MCPStdio, Command: "x"}, {Name: "a", Transport: MCPStdio, Command: "x"}}
		}},
		{"run.retryPolicy.maxAttempts", func(r *Request) { r.Run.RetryPolicy = &RetryPolicy{} }},
		{"run.retryPolicy.baseDelayMs", func(r *Request) { r.Run.RetryPolicy = &RetryPolicy{MaxAttempts: 1, BaseDelayMs: -1} }},
		{"run.retryPolicy.maxDelayMs", func(r *Request) { r.Run.RetryPolicy = &RetryPolicy{MaxAttempts: 1, BaseDelayMs: 2, MaxDelayMs: 1} }},
		{"run.retryPolicy.jitterFactor", func(r *Request) { r.Run.RetryPolicy = &RetryPolicy{MaxAttempts: 1, JitterFactor: 1.1} }},
		{"run.retryPolicy.retryOn", func(r *Request) { r.Run.RetryPolicy = &RetryPolicy{MaxAttempts: 1, RetryOn: []ErrorCode{"NOSUCH"}} }},
	} {
		r := good()
		tc.break_(&r)
		err := r.Validate()
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeValidation {
			t.Errorf("%s: got %v, want VALIDATION_ERROR", tc.field, err)
			continue
		}
		if !slices.ContainsFunc(e.Fields, func(f FieldError) bool { return f.Field == tc.field }) {
			t.Errorf("%s is not among the faults: %v", tc.field, err)
		}
	}
	r := Request{Run: RunOptions{TopK: -1}}
	var e *Error
	if errors.As(r.Validate(), &e); e == nil || len(e.Fields) != 4 {
		t.Errorf("several faults at once: %v", e)
	}
}

func TestEnumZeroValuesAreInvalid(t *testing.T) {
	for name, values := range EnumValues() {
		if len(values) == 0 || slices.Contains(values, "") {
			t.Errorf("%s: values %q", name, values)
		}
	}
	if (Reason{}).Validate() == nil || (Result{}).Validate() == nil {
		t.Error("a zero reason or result is valid")
	}
	full := filled[Capabilities]()
	full.SchemaVersion = SchemaVersion
	if err := full.Validate(); err != nil {
		t.Error(err)
	}
}

func TestErrorTable(t *testing.T) {
	seen := map[ErrorCode]bool{}
	for _, row := range ErrorRows() {
		if seen[row.Code] {
			t.Errorf("%s has two rows", row.Code)
		}
		seen[row.Code] = true
		for _, err := range []error{oneOf("failure", row.Failure, failureCodes), oneOf("class", row.Class, errorClasses), oneOf("category", row.Category, errorCategories)} {
			if err != nil {
				t.Errorf("%s: %v", row.Code, err)
			}
		}
		if row.Exit < 1 || row.Exit > ExitDenied && row.Exit != ExitInterruptedKey {
			t.Errorf("%s exits with %d", row.Code, row.Exit)
		}
		e := NewResultError(row.Code, "m")
		if e.ErrorCode() != row.Code || e.Code != row.Failure || e.Retryable != row.Retryable {
			t.Errorf("%s: result error %+v", row.Code, e)
		}
	}
	if ErrorCode("NOSUCH").Row().Code != CodeInternal || ErrorCode("NOSUCH").Valid() {
		t.Error("an unknown code is not INTERNAL")
	}
	wrapped := Errorf(CodeAuth, "log in: %w", ErrSchemaVersion)
	if CodeOf(wrapped) != CodeAuth || !errors.Is(wrapped, ErrSchemaVersion) || CodeOf(errors.New("x")) != CodeInternal || CodeOf(nil) != "" {
		t.Error("codes of errors")
	}
	if got := wrapped.WithHint("type %s", "x").Error(); !strings.HasSuffix(got, "; type x") {
		t.Errorf("hint: %s", got)
	}
}

func TestRetryPolicyJSON(t *testing.T) {
	for in, want := range map[string]int{`{}`: 3, `{"maxAttempts":5}`: 5, `{"maxRetries":2}`: 3, `{"max_retries":0}`: 1, `{"maxAttempts":3,"maxRetries":2}`: 3} {
		var p RetryPolicy
		if err := json.Unmarshal([]byte(in), &p); err != nil || p.MaxAttempts != want || p.BaseDelayMs != 1000 {
			t.Errorf("%s: %+v, %v", in, p, err)
		}
	}
	var p RetryPolicy
	if json.Unmarshal([]byte(`{"maxAttempts":3,"maxRetries":3}`), &p) == nil {
		t.Error("a contradiction was accepted")
	}
	d := DefaultRetryPolicy()
	for attempt, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 6: 30 * time.Second, 500: 30 * time.Second} {
		if got := d.Delay(attempt, 0); got != want {
			t.Errorf("delay after attempt %d: %v, want %v", attempt, got, want)
		}
	}
	if got := d.Delay(1, 0.999999); got < 1099*time.Millisecond || got > 1100*time.Millisecond {
		t.Errorf("jitter: %v", got)
	}
}

func TestPromptAndStreamJSON(t *testing.T) {
	var m Message
	if err := json.Unmarshal([]byte(`{"text":["a","b"]}`), &m); err != nil || m.Text != "a\nb" {
		t.Errorf("%q, %v", m.Text, err)
	}
	for in, want := range map[string]StreamMode{"true": StreamOn, "false": StreamOff, `"auto"`: StreamAuto} {
		var s StreamMode
		if err := json.Unmarshal([]byte(in), &s); err != nil || s != want {
			t.Errorf("%s: %q, %v", in, s, err)
		}
	}
}

func TestSplitSession(t *testing.T) {
	for in, want := range map[string][]string{"claude:a:b": {"claude", "a:b"}, "claude": nil, ":x": nil, "claude:": nil} {
		a, n, ok := SplitSession(in)
		if ok != (want != nil) || ok && (a != want[0] || n != want[1]) {
			t.Errorf("%q: %q %q %v", in, a, n, ok)
		}
		if ok && UnifiedSession(a, n) != in {
			t.Errorf("%q does not join again", in)
		}
	}
}

func TestPrice(t *testing.T) {
	read := 0.5
	p := Price{Input: 5, Output: 15, CacheRead: &read}
	if got := p.Of(Usage{Input: 1e6, Output: 1e6, Thinking: 5e5, Cached: 1e6}); got == nil || *got != 20.5 {
		t.Errorf("got %v", got)
	}
	if got := p.Of(Usage{CacheWrite: 1}); got != nil {
		t.Errorf("tokens without a price cost %v", *got)
	}
	u := Usage{Input: 3, Output: 4, Thinking: 1, Cached: 2, CacheWrite: 1, Total: 10}
	if CostOf(u, nil, CostFromTable).Usage() != u || !CostOf(u, nil, "").Unpriced || u.Add(u).Sub(u) != u {
		t.Error("usage arithmetic")
	}
}

// TestPriceOfLongPrompts: a call with a long prompt costs more; of a sum of calls it is unknown when it is as large as a long prompt.
func TestPriceOfLongPrompts(t *testing.T) {
	t.Parallel()
	p := Price{Input: 1, Output: 10, CacheRead: new(0.5), Long: &LongPrice{Above: 1000, Input: 2, Output: 20, CacheRead: new(1.0)}}
	short, long := Usage{Input: 500, Output: 100, Cached: 500}, Usage{Input: 600, Output: 100, Cached: 500}
	cents := func(usd *float64) float64 {
		if usd == nil {
			return -1
		}
		return math.Round(*usd * 1e6)
	}
	for name, c := range map[string]struct {
		got  *float64
		want float64
	}{
		"a short one":                {p.Of(short), 1750},
		"a long one":                 {p.Of(long), 3700},
		"both, known one by one":     {p.OfCalls(short.Add(long), []Usage{short, long}), 5450},
		"both, one of them known":    {p.OfCalls(short.Add(long), []Usage{long}), 5450},
		"a sum":                      {p.OfCalls(short.Add(short), nil), -1},
		"a sum below the limit":      {p.OfCalls(short, nil), 1750},
		"a kind without a price":     {p.OfCalls(Usage{CacheWrite: 1}, []Usage{{CacheWrite: 1}}), -1},
		"a sum without a long price": {Price{Input: 1}.OfCalls(Usage{Input: 5000}, nil), 5000},
	} {
		if cents(c.got) != c.want {
			t.Errorf("%s: %v, want %v", name, cents(c.got), c.want)
		}
	}
	bad := Price{Input: -1, Long: &LongPrice{Output: -1}}
	if got := bad.Faults(); !slices.Equal(got, []string{"input", "long.above", "long.output"}) || p.Faults() != nil {
		t.Errorf("faults %v, %v", got, p.Faults())
	}
}

func TestRequestClone(t *testing.T) {
	r := filled[Request]()
	c := r.Clone()
	if !reflect.DeepEqual(r, c) {
		t.Fatal("a clone differs")
	}
	c.Message.Attachments[0].Name, c.Tools[0].Name, c.Context.Blocks[0].Text, c.Requirements.ToolUse = "1", "2", "3", "4"
	c.Run.Env["key"], c.Run.Tags[0], c.Run.MCPServers[0].Name, c.Run.RetryPolicy.RetryOn[0], c.Metadata["key"] = "5", "6", "7", "8", 9
	if r2 := filled[Request](); !reflect.DeepEqual(r, r2) {
		t.Error("changing a clone changed the original")
	}
}
