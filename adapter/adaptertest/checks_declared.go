package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// declaredChecks compare an adapter's declarations with its behaviour: a declared capability works, and the option of
// an undeclared one is refused.
func declaredChecks() []Check {
	return append([]Check{
		{Name: "resume", Spec: "declared: a session can be resumed", Run: remembered(false)},
		{Name: "fork", Spec: "declared: a session can be forked", Run: remembered(true)},
		{Name: "ephemeral", Spec: "declared: noSession leaves nothing to resume", Run: ephemeral},
		{Name: "approval-yolo", Spec: "declared: yolo approves without asking", Run: approvalYolo},
		{Name: "approval-deny", Spec: "declared: deny refuses without asking", Run: approvalDeny},
		{Name: "approval-prompt", Spec: "declared: prompt asks", Run: approvalPrompt},
		{Name: "rules-allow", Spec: "declared: a rule for what a tool does approves it without asking", Run: rulesAllow},
		{Name: "nobody-there", Spec: "design: if nobody can approve, a permission is denied with a warning", Run: nobodyThere},
		{Name: "mcp", Spec: "declared: MCP servers of the request are attached", Run: mcp},
		{Name: "thinking", Spec: "declared: thinking and its efforts", Run: thinking},
		{Name: "structured-output", Spec: "declared: output that satisfies a schema", Run: structuredOutput},
		{Name: "attachments", Spec: "declared: attachments", Run: attachments},
		{Name: "stream", Spec: "declared: text streams, and stream off gives whole messages", Run: stream},
		{Name: "max-turns", Spec: "design: a turn limit is enforced or refused, never ignored", Run: maxTurns},
		{Name: "budget", Spec: "design: a budget is enforced or refused, never ignored", Run: budget},
		{Name: "usage-once", Spec: "seam: usage and cost are counted once", Needs: []Scenario{Spend}, Run: usageOnce},
		{Name: "probe", Spec: "declared: installation and login are detected without changing anything", Run: probe},
		{Name: "auth-guide", Spec: "declared: there is a way to log in", Run: authGuide},
		{Name: "plugins", Spec: "declared: plugins, and their formats", Run: plugins},
	}, verbChecks()...)
}

// remembered returns the check that a session can be resumed or, with forked, be forked.
func remembered(forked bool) func(context.Context, Subject) error {
	return func(ctx context.Context, s Subject) error {
		can, lack := s.capabilities().Agent.CanResume, "sessionResume"
		if forked {
			can, lack = s.capabilities().Agent.CanFork, "sessionFork"
		}
		in := func(sc Scenario, id string) *trial {
			t := s.trial(sc)
			if forked {
				t.req.Run.ForkSessionID = id
			} else {
				t.req.Run.SessionID = id
			}
			return t
		}
		if !can {
			return s.refuses(ctx, in(Simple, "some-session"), lack)
		}
		if err := s.need(Simple, Remember); err != nil {
			return err
		}
		first, err := s.session(ctx)
		if err != nil {
			return err
		}
		second, err := in(Remember, first.result.SessionID).run(ctx, s)
		if err != nil {
			return err
		}
		return remembers(s, first, second, forked)
	}
}

// session runs Simple and requires a session.
func (s Subject) session(ctx context.Context) (seen, error) {
	o, err := s.plays(ctx, Simple, execution.StatusCompleted)
	if err != nil {
		return o, err
	}
	if o.result.SessionID == "" {
		return o, errors.New("the backend can resume, but its result names no session")
	}
	return o, nil
}

func remembers(s Subject, first, second seen, forked bool) error {
	if err := second.expect(execution.StatusCompleted); err != nil {
		return err
	}
	if !contains(second.result, s.Memory) {
		return fmt.Errorf("the session does not remember %q: the answer is %q", s.Memory, short(second.result.Text))
	}
	if forked && second.result.SessionID == first.result.SessionID {
		return fmt.Errorf("the fork of session %s has its id", first.result.SessionID)
	}
	if !forked && !has(second, func(b execution.SessionStart) bool { return b.Resumed }) {
		return errors.New("session_start does not report that the session was resumed")
	}
	return nil
}

func ephemeral(ctx context.Context, s Subject) error {
	t := s.trial(Simple)
	t.req.Run.NoSession = true
	caps := s.capabilities().Agent
	if out, err := s.lacks(ctx, t, !caps.CanRunEphemeral, "sessionEphemeral", Simple); out {
		return err
	}
	o, err := t.ends(ctx, s, execution.StatusCompleted)
	if err != nil {
		return err
	}
	if !caps.CanResume || o.result.SessionID == "" {
		return nil
	}
	if err := s.need(Remember); err != nil {
		return err
	}
	again := s.trial(Remember)
	again.req.Run.SessionID = o.result.SessionID
	second, err := again.run(ctx, s)
	if err != nil {
		return err
	}
	if second.result.Status == execution.StatusCompleted {
		return fmt.Errorf("session %s was ephemeral and can be resumed", o.result.SessionID)
	}
	return nil
}

func mcp(ctx context.Context, s Subject) error {
	caps := s.capabilities().Agent
	server := func(tr execution.MCPTransport) execution.MCPServer {
		if tr == execution.MCPStdio {
			return execution.MCPServer{Name: "x", Transport: tr, Command: "x"}
		}
		return execution.MCPServer{Name: "x", Transport: tr, URL: "http://127.0.0.1:1/"}
	}
	if caps.MCP && len(caps.MCPTransports) == 0 {
		return errors.New("MCP is declared without a transport")
	}
	for _, tr := range []execution.MCPTransport{execution.MCPStdio, execution.MCPSSE, execution.MCPStreamableHTTP} {
		if caps.MCP && slices.Contains(caps.MCPTransports, tr) {
			continue
		}
		t := s.trial(Simple)
		t.req.Run.MCPServers = []execution.MCPServer{server(tr)}
		if err := s.refuses(ctx, t, "mcp"); err != nil {
			return err
		}
	}
	if !caps.MCP {
		return nil
	}
	if err := s.need(Connect); err != nil {
		return err
	}
	o, err := s.plays(ctx, Connect, execution.StatusCompleted)
	if err != nil {
		return err
	}
	if !has[execution.MCPToolCallStart](o, nil) {
		return errors.New("no tool of the MCP server was called")
	}
	return nil
}

func thinking(ctx context.Context, s Subject) error {
	caps := s.capabilities().Agent
	if caps.Thinking == (len(caps.ThinkingEfforts) == 0) {
		return fmt.Errorf("thinking is declared as %v, with the efforts %v", caps.Thinking, caps.ThinkingEfforts)
	}
	for _, effort := range []execution.ThinkingEffort{execution.EffortLow, execution.EffortMedium, execution.EffortHigh, execution.EffortMax} {
		if slices.Contains(caps.ThinkingEfforts, effort) {
			continue
		}
		t := s.trial(Simple)
		t.req.Run.ThinkingEffort = effort
		if err := s.refuses(ctx, t, "thinking"); err != nil {
			return err
		}
	}
	if !caps.ThinkingBudgetTokens {
		t := s.trial(Simple)
		t.req.Run.ThinkingBudgetTokens = 2048
		if err := s.refuses(ctx, t, "thinkingBudgetTokens"); err != nil {
			return err
		}
	}
	if !caps.Thinking {
		return nil
	}
	if err := s.need(Think); err != nil {
		return err
	}
	for _, effort := range caps.ThinkingEfforts {
		t := s.trial(Think)
		t.req.Run.ThinkingEffort = effort
		o, err := t.run(ctx, s)
		if err != nil {
			return err
		}
		if err := o.expect(execution.StatusCompleted); err != nil {
			return fmt.Errorf("effort %s: %w", effort, err)
		}
		if caps.ThinkingStreaming && !has[execution.ThinkingDelta](o, nil) {
			return errors.New("streaming of thinking is declared and there is none")
		}
	}
	return nil
}

// answerSchema is the schema of the scenario Structure.
const answerSchema = `{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`

func structuredOutput(ctx context.Context, s Subject) error {
	caps := s.capabilities().Agent
	t := s.trial(Structure)
	t.req.Run.OutputSchema = json.RawMessage(answerSchema)
	if out, err := s.lacks(ctx, t, !caps.StructuredOutput, "structuredOutput", Structure); out {
		return err
	}
	o, err := t.ends(ctx, s, execution.StatusCompleted)
	if err != nil {
		return err
	}
	var answer map[string]any
	if err := json.Unmarshal(o.result.Output.Structured, &answer); err != nil {
		return fmt.Errorf("the structured output %q is not a JSON object: %w", short(string(o.result.Output.Structured)), err)
	}
	if _, ok := answer["answer"].(string); !ok || len(answer) != 1 {
		return fmt.Errorf("the structured output %v does not satisfy %s", answer, answerSchema)
	}
	return nil
}

func attachments(ctx context.Context, s Subject) error {
	t := s.trial(Attach)
	if len(t.req.Message.Attachments) == 0 {
		t.req.Message.Attachments = PlayRequest(Attach).Message.Attachments
	}
	caps := s.capabilities()
	if !caps.Attachments {
		return s.refuses(ctx, t, "attachments")
	}
	if !caps.Agent.ImageInput && !caps.Agent.FileAttachments {
		return errors.New("attachments are declared, but neither images nor files")
	}
	if err := s.need(Attach); err != nil {
		return err
	}
	o, err := t.run(ctx, s)
	return errors.Join(err, o.expect(execution.StatusCompleted))
}

func stream(ctx context.Context, s Subject) error {
	caps := s.capabilities().Agent
	t := s.trial(Long)
	t.req.Run.Stream = execution.StreamOn
	if !caps.TextStreaming {
		if err := s.refuses(ctx, t, "textStreaming"); err != nil {
			return err
		}
	}
	if err := s.need(Long); err != nil {
		return err
	}
	if !caps.TextStreaming {
		t.req.Run.Stream = execution.StreamAuto
	}
	o, err := t.ends(ctx, s, execution.StatusCompleted)
	if err != nil {
		return err
	}
	fallbacks := count(o, func(b execution.StreamFallback) bool { return b.Capability == "text" })
	switch most := longestMessage(o); {
	case caps.TextStreaming && most < 2:
		return errors.New("streaming is declared, but every message comes as a whole")
	case caps.TextStreaming && fallbacks > 0, !caps.TextStreaming && fallbacks != 1:
		return fmt.Errorf("streaming of text is declared as %v and there are %d fallback events", caps.TextStreaming, fallbacks)
	}
	t.req.Run.Stream = execution.StreamOff
	if o, err = t.run(ctx, s); err != nil {
		return err
	}
	if most := longestMessage(o); most > 1 || has[execution.ToolInputDelta](o, nil) {
		return fmt.Errorf("with streaming off a message comes in %d pieces", most)
	}
	return o.expect(execution.StatusCompleted)
}

// longestMessage returns the largest number of pieces of one message of the agent.
func longestMessage(o seen) (most int) {
	n := 0
	for _, e := range o.events {
		switch e.Body.(type) {
		case execution.TextDelta:
			if e.Parent == "" {
				n++
				most = max(most, n)
			}
		case execution.MessageStart, execution.MessageStop, execution.TurnEnd:
			if e.Parent == "" {
				n = 0
			}
		}
	}
	return most
}

func maxTurns(ctx context.Context, s Subject) error {
	t := s.trial(Steps)
	t.req.Run.MaxTurns = 1
	if n := agent.New(s.Backend()).Negotiate(t.req, t.opts); !n.Supported {
		return s.refuses(ctx, t, "maxTurns")
	}
	if err := s.need(Steps); err != nil {
		return err
	}
	o, err := t.ends(ctx, s, execution.StatusDeferred)
	if err != nil {
		return err
	}
	if o.result.ExitReason != execution.ExitTurnLimit {
		return fmt.Errorf("the run ended %s, want turn_limit", o.result.ExitReason)
	}
	if steps := count[execution.StepStart](o, nil); steps > 2 {
		return fmt.Errorf("%d model calls started under a limit of 1", steps)
	}
	return nil
}

func budget(ctx context.Context, s Subject) error {
	t := s.trial(Spend)
	cent := 0.000001
	t.req.Run.MaxBudgetUSD = &cent
	if n := agent.New(s.Backend()).Negotiate(t.req, t.opts); !n.Supported {
		return s.refuses(ctx, t, "budget")
	}
	if err := s.need(Spend); err != nil {
		return err
	}
	o, err := t.run(ctx, s)
	if err != nil {
		return err
	}
	return o.expect(execution.StatusFailed, execution.FailureBudgetExceeded)
}

func usageOnce(ctx context.Context, s Subject) error {
	o, err := s.play(ctx, Spend) // CheckOrder compares the result's usage and cost with the stream's
	if err != nil {
		return err
	}
	if err := o.expect(execution.StatusCompleted); err != nil {
		return err
	}
	if o.result.Usage == nil || o.result.Usage.IsZero() {
		if s.capabilities().Agent.TokensUnstated {
			return Skip("the agent states no tokens; where its session files have them, they are read from there")
		}
		return errors.New("tokens were used, but none are counted")
	}
	if s.capabilities().Agent.TokensUnstated {
		return errors.New("it is declared that no tokens are stated, but some are")
	}
	if s.capabilities().Agent.CostReported && (o.result.Cost == nil || o.result.Cost.TotalUSD == nil) {
		return errors.New("the backend states its cost, but the result has none")
	}
	raw, err := s.raw(ctx, Spend, nil)
	if err != nil {
		return err
	}
	var stream execution.Usage
	for _, e := range raw {
		switch b := e.Body.(type) {
		case execution.TokenUsage:
			stream.Input, stream.Output = stream.Input+b.InputTokens, stream.Output+b.OutputTokens
		case execution.Finished:
			if u := b.Result.Usage; u != nil && !stream.IsZero() && (u.Input != stream.Input || u.Output != stream.Output) {
				return fmt.Errorf("the adapter's events count %d and %d tokens, its result %d and %d", stream.Input, stream.Output, u.Input, u.Output)
			}
		}
	}
	return nil
}

// nowhere is a host without installations and logins.
func nowhere() adapter.Host {
	return adapter.Host{
		FS: emptyFS{}, Getenv: func(string) string { return "" }, Home: "/nowhere", Platform: "linux",
		LookPath: func(name string) (string, error) { return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist) },
		Spawn: func(context.Context, adapter.SpawnRequest) (adapter.SpawnOutcome, error) {
			return adapter.SpawnOutcome{Code: -1}, fs.ErrNotExist
		},
	}
}

type emptyFS struct{}

func (emptyFS) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// logsIn reports whether the backend declares a way to log in.
func (s Subject) logsIn() bool {
	return slices.ContainsFunc(s.capabilities().Agent.AuthMethods, func(m execution.AuthMethod) bool { return m.Type != "none" })
}

func probe(ctx context.Context, s Subject) error {
	p, ok := adapter.As[adapter.Prober](s.Backend().Adapter)
	if !ok {
		if s.logsIn() {
			return errors.New("ways to log in are declared, but the adapter cannot detect a login (adapter.Prober)")
		}
		return Skip("the adapter detects neither installation nor login")
	}
	begun := time.Now()
	found, err := p.Probe(ctx, nowhere())
	if err != nil {
		return fmt.Errorf("a missing agent is not an error: %w", err)
	}
	if !found.Installed && found.Version != "" {
		return fmt.Errorf("a missing agent has version %q", found.Version)
	}
	auth := p.DetectAuth(ctx, nowhere())
	known := []adapter.AuthStatus{adapter.Authenticated, adapter.Unauthenticated, adapter.AuthExpired, adapter.AuthUnknown}
	if !slices.Contains(known, auth.Status) {
		return fmt.Errorf("the login is %q, want one of %q", auth.Status, known)
	}
	if s.logsIn() && auth.Status == adapter.Authenticated {
		return errors.New("a login is reported on a host without any")
	}
	if took := time.Since(begun); took > 15*time.Second {
		return fmt.Errorf("detecting a missing agent took %v", took)
	}
	return nil
}

// plugins compares both declarations of plugins; nothing is listed or installed.
func plugins(_ context.Context, s Subject) error {
	_, manages := adapter.As[adapter.PluginManager](s.Backend().Adapter)
	a := s.capabilities().Agent
	switch {
	case a.Plugins && !manages:
		return errors.New("plugins are declared, but the adapter cannot manage any (adapter.PluginManager)")
	case manages && !a.Plugins:
		return errors.New("the adapter manages plugins (adapter.PluginManager), but none are declared")
	case a.Plugins && len(a.PluginFormats) == 0:
		return errors.New("plugins are declared without a format")
	case !a.Plugins:
		return Skip("plugins are not declared")
	}
	return nil
}

func authGuide(_ context.Context, s Subject) error {
	g, ok := adapter.As[adapter.AuthGuide](s.Backend().Adapter)
	if !ok {
		if s.logsIn() {
			return errors.New("ways to log in are declared, but the adapter has no guidance (adapter.AuthGuide)")
		}
		return Skip("the backend needs no login")
	}
	how := g.AuthGuidance()
	if how.Provider == "" || len(how.Steps) == 0 {
		return fmt.Errorf("the guidance has the provider %q and %d steps", how.Provider, len(how.Steps))
	}
	for i, step := range how.Steps {
		if step.Description == "" {
			return fmt.Errorf("step %d of the guidance has no description", i+1)
		}
	}
	for _, v := range how.EnvVars {
		if v.Name == "" || v.Description == "" {
			return fmt.Errorf("variable %q of the guidance is not described", v.Name)
		}
	}
	return nil
}
