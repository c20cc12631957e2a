package modelapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/drawbar/drawbar/execution"
)

// useTools calls the caller's tools and returns the results in the order of the calls. Questions come first, one by one; the calls
// then run beside each other. Every call has a result, also when ctx ends.
func (r *run) useTools(ctx context.Context, calls []Part) []Part {
	type ended struct {
		i      int
		result execution.ToolResult
		err    error
		took   time.Duration
	}
	results := make([]Part, len(calls))
	done := make(chan ended, len(calls))
	var running sync.WaitGroup
	for i, c := range calls {
		results[i] = Part{Kind: Result, ID: c.ID, Name: c.Name}
		input, refusal := r.permit(ctx, c)
		if refusal != "" {
			results[i].Text, results[i].Failed = refusal, true
			r.emit(execution.ToolError{ToolCallID: c.ID, ToolName: c.Name, Error: refusal})
			continue
		}
		running.Go(func() {
			start := time.Now()
			res, err := r.tools.CallTool(ctx, execution.ToolCall{ID: c.ID, Name: c.Name, Input: input})
			done <- ended{i, res, err, time.Since(start)}
		})
	}
	go func() { running.Wait(); close(done) }()
	for e := range done {
		p := &results[e.i]
		text := e.result.Error
		if e.err != nil {
			text = e.err.Error()
		}
		if text != "" {
			p.Text, p.Failed = text, true
			r.emit(execution.ToolError{ToolCallID: p.ID, ToolName: p.Name, Error: text})
			continue
		}
		p.Text = plain(e.result.Output)
		r.emit(execution.ToolResultEvent{ToolCallID: p.ID, ToolName: p.Name, Output: orNull(e.result.Output), DurationMs: e.took.Milliseconds()})
	}
	return results
}

// permit returns the input that a tool may be called with, or why it may not be called.
func (r *run) permit(ctx context.Context, c Part) (input json.RawMessage, refusal string) {
	i := slices.IndexFunc(r.req.Tools, func(t execution.Tool) bool { return t.Name == c.Name })
	switch {
	case i < 0 || r.tools == nil:
		return nil, "there is no tool " + c.Name
	case !json.Valid(c.Input):
		return nil, "the input is not JSON"
	}
	input = c.Input
	if r.hooks != nil {
		switch res := r.hooks.DecideTool(ctx, execution.HookCall{ToolCallID: c.ID, Data: execution.HookData{ToolName: c.Name, ToolInput: input}}); res.Decision {
		case execution.HookAllow:
		case execution.HookModify:
			input = res.ModifiedInput
		default:
			return nil, "denied: " + res.Message
		}
	}
	if !r.req.Tools[i].RequiresApproval {
		return input, ""
	}
	r.asked++
	id := execution.QuestionID("question-" + strconv.Itoa(r.asked))
	r.emit(execution.ApprovalRequired{ID: id, Action: "use " + c.Name, Detail: fmt.Sprintf("%s wants to use %s", r.spec.Name, c.Name), ToolName: c.Name,
		ToolCallID: c.ID, Input: input, Risk: execution.RiskMedium})
	d, answered := r.box.answer(ctx, id)
	switch {
	case !answered:
		r.emit(execution.QuestionWithdrawn{ID: id, Reason: "the turn is over"})
		return nil, "interrupted"
	case !d.Approve:
		return nil, "denied: " + d.Reason
	case len(d.Input) > 0:
		input = d.Input
	}
	return input, ""
}

// plain returns a tool's output as the model reads it: a string without quotes, anything else as JSON.
func plain(output json.RawMessage) string {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return text
	}
	return string(orNull(output))
}

func orNull(b json.RawMessage) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("null")
	}
	return b
}
