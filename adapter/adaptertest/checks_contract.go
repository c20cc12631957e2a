package adaptertest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
)

// contractChecks are the fifteen assertions of the BYOH specification.
func contractChecks() []Check {
	return []Check{
		{Name: "capabilities-valid", Spec: "003-1: capabilities are valid, complete and a fresh copy each time", Run: capabilitiesValid},
		{Name: "required-missing-blocks", Spec: "003-2: supported is false if something required is missing, and nothing starts", Run: requiredBlocks},
		{Name: "preferred-missing-degrades", Spec: "003-3: degraded is true with reasons if something preferred is missing", Needs: []Scenario{Simple}, Run: preferredDegrades},
		{Name: "negotiate-pure", Spec: "003-4: negotiation has no side effects", Run: negotiatePure},
		{Name: "simple-completes", Spec: "003-5: a simple message completes with text", Needs: []Scenario{Simple}, Run: simpleCompletes},
		{Name: "tool-roundtrip", Spec: "003-6: a request with a tool completes with a trace of its call", Run: toolRoundtrip},
		{Name: "clarification", Spec: "003-7: a question of the model is needs_clarification with a continuation", Needs: []Scenario{Clarify}, Run: clarification},
		{Name: "approval", Spec: "003-8: a required approval is awaiting_approval with its request", Run: approval},
		{Name: "failure-reported", Spec: "003-9: a failing backend is failed with a structured error", Needs: []Scenario{Fail}, Run: failing(Fail)},
		{Name: "failure-crash", Spec: "003-9: a crash is failed and keeps the output on standard error", Needs: []Scenario{Crash}, Run: failing(Crash)},
		{Name: "failure-malformed", Spec: "003-9: malformed output is failed, never completed", Needs: []Scenario{Malformed}, Run: failing(Malformed)},
		{Name: "failure-missing", Spec: "003-9: a backend that cannot be started is failed", Needs: []Scenario{Missing}, Run: failing(Missing)},
		{Name: "unsupported-refused", Spec: "003-10: an unsupported operation is unsupported; success is not faked", Run: unsupportedRefused},
		{Name: "trace-always", Spec: "003-11: every status has a trace with start, end, steps and tool calls", Run: traceAlways},
		{Name: "identity", Spec: "003-12: the backend's id is stable across instances and its own", Needs: []Scenario{Simple}, Run: identity},
		{Name: "timeout", Spec: "003-13: maxElapsedMs is enforced and reported as timeout", Needs: []Scenario{Hang}, Run: timeout(Hang)},
		{Name: "timeout-stubborn", Spec: "003-13: a backend that ignores a stop request is stopped all the same", Needs: []Scenario{Stubborn}, Run: timeout(Stubborn)},
		{Name: "imports", Spec: "003-14: the adapter calls no policy, session, continuation or memory code", Run: imports},
		{Name: "size", Spec: "003-15: the adapter has at most 200 lines (guideline)", Run: size},
	}
}

func (s Subject) capabilities() execution.Capabilities {
	return adapter.CapabilitiesOf(s.Backend().Adapter)
}

func capabilitiesValid(_ context.Context, s Subject) error {
	a := s.Backend().Adapter
	first := adapter.CapabilitiesOf(a)
	if err := first.Validate(); err != nil {
		return err
	}
	want, err := json.Marshal(first)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(want, &fields); err != nil {
		return err
	}
	if undefined := nulls("", fields); len(undefined) > 0 {
		return fmt.Errorf("undefined fields: %s (state an empty list explicitly)", strings.Join(undefined, ", "))
	}
	scribble(reflect.ValueOf(&first).Elem())
	second := adapter.CapabilitiesOf(a)
	got, err := json.Marshal(second)
	if err != nil {
		return err
	}
	if string(got) != string(want) {
		return errors.New("changing a copy of the capabilities changes other copies")
	}
	return nil
}

// nulls returns the paths of null in a decoded JSON value.
func nulls(path string, v any) (found []string) {
	switch v := v.(type) {
	case nil:
		return []string{path}
	case map[string]any:
		for k, item := range v {
			found = append(found, nulls(strings.TrimPrefix(path+"."+k, "."), item)...)
		}
	case []any:
		for _, item := range v {
			found = append(found, nulls(path+"[]", item)...)
		}
	}
	slices.Sort(found)
	return found
}

// scribble overwrites the elements of every slice within v.
func scribble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			scribble(field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			v.Index(i).SetZero()
		}
	}
}

func simpleCompletes(ctx context.Context, s Subject) error {
	o, err := s.plays(ctx, Simple, execution.StatusCompleted)
	if err != nil {
		return err
	}
	switch out := o.result.Output; {
	case o.result.Error != nil:
		return fmt.Errorf("completed with an error: %v", o.result.Error)
	case out == nil || strings.TrimSpace(out.Text) == "":
		return errors.New("completed without text")
	case !strings.Contains(out.Text, s.Answer):
		return fmt.Errorf("the answer is %q, want %q in it", short(out.Text), s.Answer)
	case !strings.Contains(o.result.Text, s.Answer):
		return fmt.Errorf("the text deltas are %q, want %q in them", short(o.result.Text), s.Answer)
	}
	return nil
}

// echo is the tool of the scenario Tool.
func echo() execution.Tool {
	return execution.Tool{Name: "echo", Description: "returns its input",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)}
}

func toolRoundtrip(ctx context.Context, s Subject) error {
	t := s.trial(Tool)
	if len(t.req.Tools) == 0 {
		t.req.Tools = []execution.Tool{echo()}
	}
	var mu sync.Mutex
	calls := 0
	t.opts.Tools = func(_ context.Context, call execution.ToolCall) (execution.ToolResult, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if call.Name != "echo" || !json.Valid(call.Input) {
			return execution.ToolResult{Error: fmt.Sprintf("no such call: %s %s", call.Name, call.Input)}, nil
		}
		return execution.ToolResult{Output: call.Input}, nil
	}
	caps := s.capabilities()
	if out, err := s.lacks(ctx, t, caps.ToolUse == execution.ToolsNone || !caps.Agent.MCP && !caps.StructuredToolCalls ||
		caps.Agent.MCP && len(caps.Agent.MCPTransports) > 0 && !slices.Contains(caps.Agent.MCPTransports, execution.MCPStreamableHTTP), "tools", Tool); out {
		return err
	}
	o, err := t.ends(ctx, s, execution.StatusCompleted)
	if err != nil {
		return err
	}
	if calls != 1 {
		return fmt.Errorf("the tool was called %d times, want 1", calls)
	}
	if n := o.result.Trace.Summary.ToolCallCount; n != 1 {
		return fmt.Errorf("the trace counts %d tool calls, want 1", n)
	}
	for _, kind := range []execution.TraceEventType{execution.TraceToolRequested, execution.TraceToolCompleted} {
		has := slices.ContainsFunc(o.result.Trace.Events, func(e execution.TraceEvent) bool { return e.Type == kind })
		if caps.TraceDepth != execution.TraceMinimal && !has {
			return fmt.Errorf("the trace has no %s", kind)
		}
	}
	for _, e := range o.result.Trace.Events {
		if why, is := e.Data["error"]; is && e.Type == execution.TraceToolCompleted {
			return fmt.Errorf("the tool answered, but its call ends with the error %q", why)
		}
	}
	return nil
}

func clarification(ctx context.Context, s Subject) error {
	t := s.trial(Clarify)
	t.req.Run.Interactive, t.opts.OnInput = false, nil
	o, err := t.ends(ctx, s, execution.StatusNeedsClarification)
	if err != nil {
		return err
	}
	return continues(o, execution.ContinuationClarification, o.result.Output != nil && o.result.Output.Text != "", "text")
}

// continues checks the continuation of a result and what belongs to it.
func continues(o seen, kind string, also bool, what string) error {
	switch c := o.result.Continuation; {
	case !also:
		return fmt.Errorf("%s has no %s", o.result.Status, what)
	case c == nil:
		return fmt.Errorf("%s has no continuation", o.result.Status)
	case c.Kind != kind || len(c.State) == 0:
		return fmt.Errorf("%s has the continuation %q with state %v, want %q with some", o.result.Status, c.Kind, c.State, kind)
	}
	return nil
}

func approval(ctx context.Context, s Subject) error {
	t := s.trial(Approval)
	t.req.Run.Interactive, t.opts.OnApproval = false, nil
	q := execution.Requirements{}
	if t.req.Requirements != nil {
		q = *t.req.Requirements
	}
	q.ApprovalInterrupts = execution.SupportRequired
	t.req.Requirements = &q
	if out, err := s.lacks(ctx, t, s.capabilities().ApprovalInterrupts == execution.ApprovalsNone, "approvalInterrupts", Approval); out {
		return err
	}
	o, err := t.ends(ctx, s, execution.StatusAwaitingApproval)
	if err != nil {
		return err
	}
	r := o.result.ApprovalRequest
	return continues(o, execution.ContinuationApproval, r != nil && r.ApprovalKey != "", "approval key")
}

func failing(sc Scenario) func(context.Context, Subject) error {
	return func(ctx context.Context, s Subject) error {
		o, err := s.play(ctx, sc)
		if err != nil {
			return err
		}
		codes := []execution.FailureCode{execution.FailureBackendExecution}
		if sc != Missing {
			codes = append(codes, execution.FailureInvalidBackendOutput)
		}
		if err := o.expect(execution.StatusFailed, codes...); err != nil {
			return err
		}
		e := o.result.Error
		if strings.TrimSpace(e.Message) == "" {
			return errors.New("the error has no message")
		}
		if !e.ErrorCode().Valid() {
			return fmt.Errorf("the error states the unknown code %q", e.ErrorCode())
		}
		if sc == Crash {
			switch {
			case e.Stderr == "":
				return errors.New("the backend's output on standard error is lost")
			case o.result.ExitCode == nil || *o.result.ExitCode == 0:
				return errors.New("the result does not state the exit code")
			}
		}
		return nil
	}
}

// foreign returns a request that no backend supports: it continues another backend's work.
func (s Subject) foreign() *trial {
	t := s.trial(Simple)
	t.req.Continuation = &execution.Continuation{Kind: execution.ContinuationDeferred, State: map[string]any{"agent": "some-other-backend"}}
	return t
}

func unsupportedRefused(ctx context.Context, s Subject) error {
	if err := s.refuses(ctx, s.foreign(), "continuation"); err != nil {
		return err
	}
	if s.capabilities().Attachments {
		return nil
	}
	t := s.trial(Simple)
	t.req.Message.Attachments = PlayRequest(Attach).Message.Attachments
	return s.refuses(ctx, t, "attachments")
}

func traceAlways(ctx context.Context, s Subject) error {
	check := func(what string, o seen) error {
		if o.result.Trace == nil {
			return fmt.Errorf("%s: no trace", what)
		}
		sum := o.result.Trace.Summary
		switch {
		case sum.StartedAt.IsZero() || sum.CompletedAt.Before(sum.StartedAt):
			return fmt.Errorf("%s: the trace runs from %v to %v", what, sum.StartedAt, sum.CompletedAt)
		case sum.StepCount != nil && *sum.StepCount < 0 || sum.ToolCallCount < 0:
			return fmt.Errorf("%s: the trace counts %d steps and %d tool calls", what, *cmp.Or(sum.StepCount, new(int)), sum.ToolCallCount)
		case o.result.Status == execution.StatusCompleted && sum.StepCount != nil && *sum.StepCount == 0:
			return fmt.Errorf("%s: the trace shows no model call", what)
		}
		for _, e := range o.result.Trace.Events {
			if e.At.Before(sum.StartedAt) || e.At.After(sum.CompletedAt) {
				return fmt.Errorf("%s: %s lies outside the trace", what, e.Type)
			}
		}
		return nil
	}
	for _, sc := range []Scenario{Simple, Fail, Clarify} {
		if _, cannot := s.Cannot[sc]; cannot {
			continue
		}
		o, err := s.play(ctx, sc)
		if err := errors.Join(err, check(string(sc), o)); err != nil {
			return err
		}
	}
	o, err := s.foreign().run(ctx, s)
	return errors.Join(err, check("unsupported", o))
}

func identity(ctx context.Context, s Subject) error {
	a, b := s.Backend(), s.Backend()
	switch {
	case a.Name == "" || a.Name != b.Name:
		return fmt.Errorf("two instances are called %q and %q", a.Name, b.Name)
	case !reflect.DeepEqual(a.Adapter.Capabilities(), b.Adapter.Capabilities()):
		return errors.New("two instances declare different capabilities")
	case slices.Contains(s.Others, a.Name):
		return fmt.Errorf("another backend is also called %q", a.Name)
	}
	o, err := s.play(ctx, Simple)
	if err != nil {
		return err
	}
	if o.result.BackendID != a.Name {
		return fmt.Errorf("the result is of %q, want %q", o.result.BackendID, a.Name)
	}
	raw, err := s.raw(ctx, Simple, nil)
	if err != nil {
		return err
	}
	for _, e := range raw {
		if f, ok := e.Body.(execution.Finished); ok && f.Result.BackendID != "" && f.Result.BackendID != a.Name {
			return fmt.Errorf("the adapter's name is %q, want %q", f.Result.BackendID, a.Name)
		}
	}
	return nil
}

func timeout(sc Scenario) func(context.Context, Subject) error {
	return func(ctx context.Context, s Subject) error {
		t := s.trial(sc)
		q := execution.Requirements{}
		if t.req.Requirements != nil {
			q = *t.req.Requirements
		}
		const limit = 50 * time.Millisecond
		q.MaxElapsedMs = limit.Milliseconds()
		t.req.Requirements = &q
		o, err := t.ends(ctx, s, execution.StatusFailed, execution.FailureTimeout)
		if err != nil {
			return err
		}
		switch most := limit + s.grace(t.req); {
		case o.elapsed > most:
			return fmt.Errorf("it took %v to time out, want at most %v", o.elapsed, most)
		case o.elapsed < limit:
			return fmt.Errorf("it timed out after %v, before the limit of %v", o.elapsed, limit)
		case !has[execution.Timeout](o, nil):
			return errors.New("no timeout event")
		}
		return nil
	}
}

func imports(_ context.Context, s Subject) error {
	if s.Source == "" {
		return Skip("the subject has no source")
	}
	return CheckImports(s.Source)
}

// sizeGuideline is the number of lines above which an adapter may do more than translate.
const sizeGuideline = 200

func size(_ context.Context, s Subject) error {
	if s.Source == "" {
		return Skip("the subject has no source")
	}
	n, err := SourceLines(s.Source)
	if err != nil {
		return err
	}
	if n > sizeGuideline {
		return Warn("%d lines, the guideline is %d: check that no orchestration leaks into the adapter", n, sizeGuideline)
	}
	return nil
}

var _ adapter.Inbox = (*commands)(nil)
