package modelapi

import (
	"context"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
)

// sub returns the run of a sub-agent that a call started. Its conversation is its own; questions, usage and ids are shared.
func (r *run) sub(call string, a Agent, w *work) *run {
	c := &run{spec: r.spec, agent: a, name: r.name, req: r.req, cancel: r.cancel, box: r.box, tools: r.tools, hooks: r.hooks, client: r.client,
		call: r.call, opened: r.opened, parent: call, total: r.total, ids: r.ids, asked: r.asked}
	c.call.Run.OutputSchema = nil // the form of the agent's answer
	c.call.Messages, c.call.System = nil, strings.Join(service.NonEmpty(a.System, a.Documents), "\n\n")
	if past := r.agent.Past; past != nil && past.Subs[call] != nil { // it goes on where it waited
		c.call.Messages = past.Subs[call]
		c.agent.Past = &Past{Call: past.Call, Decision: past.Decision}
		delete(past.Subs, call)
	}
	c.equip()
	c.yield = func(e execution.Event, _ error) (more bool) {
		w.post(func() { r.send(e); more = !r.over })
		return more
	}
	c.finish = func() {
		w.post(func() {
			r.retries += c.retries
			r.requests = append(r.requests, c.requests...)
			if c.waits != nil {
				r.waits, r.subs[call] = c.waits, c.call.Messages
			}
		})
	}
	return c
}

// carryOut runs a sub-agent to its end.
func (r *run) carryOut(ctx context.Context, prompt string) Answer {
	defer r.finish()
	if limit := r.agent.Limits.Elapsed; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, errElapsed)
		defer stop()
	}
	var task Message
	if r.call.Messages == nil {
		task.Parts = []Part{{Kind: Text, Text: prompt}}
	}
	o := r.resume(ctx, task)
	if o == nil {
		o = r.answer(ctx)
	}
	if ctx.Err() != nil && o.Reason != execution.TurnCompleted {
		o = r.stopped(ctx)
	}
	switch {
	case o.Reason == execution.TurnCompleted && strings.TrimSpace(o.Text) != "":
		return Answer{Text: o.Text}
	case o.Reason == execution.TurnCompleted:
		return Answer{Error: "the sub-agent ended without an answer"}
	case o.Reason == execution.TurnLimitReached:
		return Answer{Error: "the sub-agent reached its limit (" + o.word + ")" + r.lastWords()}
	case o.Failure != nil:
		return Answer{Error: "the sub-agent failed: " + o.Failure.Message, open: r.waits != nil}
	}
	return Answer{Error: "the sub-agent was interrupted", open: r.waits != nil}
}

// lastWords returns the last text of the model, for whoever goes on with the work.
func (r *run) lastWords() string {
	for i := len(r.call.Messages) - 1; i >= 0; i-- {
		for _, p := range r.call.Messages[i].Parts {
			if r.call.Messages[i].Model && p.Kind == Text && p.Text != "" {
				return ". Its last words: " + p.Text
			}
		}
	}
	return ""
}
