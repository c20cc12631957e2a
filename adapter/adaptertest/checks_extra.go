package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// extraChecks are the assertions that the BYOH specification makes outside its list.
func extraChecks() []Check {
	return []Check{
		{Name: "schema-version", Spec: "003: an unknown major version of schemaVersion is rejected", Run: schemaVersion},
		{Name: "correlation", Spec: "003: the correlation ids are passed through", Needs: []Scenario{Simple}, Run: correlation},
		{Name: "contradiction", Spec: "003: a contradictory request is refused, with one reason", Run: contradiction},
		{Name: "degradation-kept", Spec: "003: a degraded execution reports its degradation", Needs: []Scenario{Simple}, Run: degradationKept},
		{Name: "isolation", Spec: "003: concurrent executions are isolated", Needs: []Scenario{Simple}, Run: isolation},
		{Name: "request-unchanged", Spec: "seam: an execution does not change its request", Needs: []Scenario{Simple}, Run: requestUnchanged},
	}
}

func schemaVersion(ctx context.Context, s Subject) error {
	if err := execution.CheckSchemaVersion(s.capabilities().SchemaVersion); err != nil {
		return fmt.Errorf("the capabilities: %w", err)
	}
	before := s.starts()
	t := s.trial(Simple)
	t.req.SchemaVersion = "99.0"
	_, err := agent.New(s.Backend()).Start(ctx, t.req, t.opts)
	if execution.CodeOf(err) != execution.CodeValidation {
		return fmt.Errorf("a request of schema version 99.0 is not rejected: %v", err)
	}
	if n := agent.New(s.Backend()).Negotiate(t.req, t.opts); n.Supported {
		return errors.New("negotiation supports a request of schema version 99.0")
	}
	if n := s.starts() - before; n != 0 {
		return fmt.Errorf("the backend was started %d times for a request of schema version 99.0", n)
	}
	return nil
}

func correlation(ctx context.Context, s Subject) error {
	t := s.trial(Simple)
	t.req.AssistantID, t.req.TurnID, t.req.SessionID = "assistant-7", "turn-7", "session-7"
	t.req.Run.Tags = []string{"a", "b"}
	o, err := t.run(ctx, s)
	if err != nil {
		return err
	}
	got := []string{o.result.AssistantID, o.result.TurnID, o.result.CorrelationID, strings.Join(o.result.Tags, " ")}
	if want := []string{"assistant-7", "turn-7", "session-7", "a b"}; !slices.Equal(got, want) {
		return fmt.Errorf("the result is of %q, want %q", got, want)
	}
	for _, e := range o.events {
		if c := e.Caller; c == nil || c.AssistantID != "assistant-7" || c.TurnID != "turn-7" || c.CorrelationID != "session-7" {
			return fmt.Errorf("the event %s is of %+v", e.Body.Type(), c)
		}
	}
	if o.result.RunID != o.run.ID() {
		return fmt.Errorf("the result is of run %s, want %s", o.result.RunID, o.run.ID())
	}
	raw, err := s.raw(ctx, Simple, nil)
	if err != nil {
		return err
	}
	for _, e := range raw {
		f, ok := e.Body.(execution.Finished)
		if ok && (f.Result.AssistantID != "" && f.Result.AssistantID != "a1" || f.Result.TurnID != "" && f.Result.TurnID != "t1") {
			return fmt.Errorf("the adapter answered turn %s of %s instead of turn t1 of a1", f.Result.TurnID, f.Result.AssistantID)
		}
	}
	return nil
}

func contradiction(ctx context.Context, s Subject) error {
	t := s.trial(Simple)
	t.req.Tools = []execution.Tool{echo()}
	t.req.Requirements = &execution.Requirements{ToolUse: execution.ToolUseForbidden}
	t.opts.Tools = func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
		return execution.ToolResult{Error: "forbidden"}, nil
	}
	n := agent.New(s.Backend()).Negotiate(t.req, t.opts)
	seen := 0
	for _, r := range n.Reasons {
		if r.Code == execution.ReasonToolUseUnsupported && r.Capability == "tools" {
			seen++
		}
	}
	if seen != 1 {
		return fmt.Errorf("tools that are both given and forbidden have %d reasons, want 1: %v", seen, n.Reasons)
	}
	return s.refuses(ctx, t, "tools")
}

func degradationKept(ctx context.Context, s Subject) error {
	t := s.trial(Simple)
	caps := s.capabilities()
	half := 0.5
	switch {
	case caps.TraceDepth != execution.TraceDetailed:
		t.req.Requirements = &execution.Requirements{TraceDepth: execution.TraceDetailed}
	case !caps.Agent.Sampling:
		t.req.Run.Temperature = &half
	case !caps.Agent.OutputTokenLimit:
		t.req.Run.MaxOutputTokens = 100
	default:
		return Skip("the backend supports everything that a request could prefer")
	}
	o, err := t.ends(ctx, s, execution.StatusCompleted)
	if err != nil {
		return err
	}
	if len(o.result.Degradation) == 0 || !o.result.Trace.Summary.Degraded {
		return fmt.Errorf("the run was degraded, but its result lists %v and its trace %v", o.result.Degradation, o.result.Trace.Summary.Degraded)
	}
	return nil
}

func isolation(ctx context.Context, s Subject) error {
	const parallel = 4
	runs := make([]seen, parallel)
	faults := make([]error, parallel)
	b := s.Backend()
	s.Backend = func() agent.Backend { return b } // one value serves concurrent executions
	var all sync.WaitGroup
	for i := range parallel {
		all.Go(func() {
			t := s.trial(Simple)
			t.req.TurnID = fmt.Sprintf("turn-%d", i)
			faults[i] = guarded(func() (err error) { runs[i], err = t.run(ctx, s); return err })
		})
	}
	all.Wait()
	if err := errors.Join(faults...); err != nil {
		return err
	}
	done := 0
	for _, o := range runs {
		if o.result.Status == execution.StatusCompleted {
			done++
		}
	}
	sessions := map[string]bool{}
	for i, o := range runs {
		if o.result.Status == execution.StatusUnsupported && done > 0 {
			return Skip("the agent refuses a second run at the same time")
		}
		if err := o.expect(execution.StatusCompleted); err != nil {
			return err
		}
		if want := fmt.Sprintf("turn-%d", i); o.result.TurnID != want {
			return fmt.Errorf("turn %s got the result of %s", want, o.result.TurnID)
		}
		if s.Answer != "" && strings.Count(o.result.Text, s.Answer) != strings.Count(runs[0].result.Text, s.Answer) {
			return fmt.Errorf("one of %d concurrent runs answered %q, another %q", parallel, short(o.result.Text), short(runs[0].result.Text))
		}
		if id := o.result.SessionID; id != "" && sessions[id] {
			return fmt.Errorf("two concurrent runs have the session %s", id)
		}
		sessions[o.result.SessionID] = true
	}
	return nil
}

func requestUnchanged(ctx context.Context, s Subject) error {
	req := s.request(Simple)
	req.Metadata = map[string]any{"nested": map[string]any{"key": "value"}}
	req.Context = &execution.Context{Blocks: []execution.ContextBlock{{ID: "b", Label: "l", Text: "t", Metadata: map[string]any{"key": "value"}}}}
	before, err := json.Marshal(req)
	if err != nil {
		return err
	}
	kept := req.Clone()
	o, err := (&trial{req: req, opts: s.Options}).run(ctx, s)
	if err != nil {
		return err
	}
	if err := o.expect(execution.StatusCompleted); err != nil {
		return err
	}
	after, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if string(before) != string(after) || !reflect.DeepEqual(kept, req) {
		return errors.New("the execution changed its request")
	}
	return nil
}
