package modelapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// work is the calls of one answer of the model, while they run. What they want the run's goroutine to do is posted.
type work struct {
	do      chan func()
	running int // used by the run's goroutine only
	all     sync.WaitGroup
}

// post lets the run's goroutine do something, and waits until it is done.
func (w *work) post(fn func()) {
	done := make(chan struct{})
	w.do <- func() { defer close(done); fn() }
	<-done
}

// drain does what is posted until no call is running.
func (w *work) drain() {
	for w.running > 0 {
		(<-w.do)()
	}
}

// useTools calls tools and returns the results in the order of the calls. Questions come first, one by one; the calls then run beside
// each other, or in order if the agent wants that. Every call has a result, also when ctx ends. stop is asked between two calls in
// order and returns why the rest is not called.
func (r *run) useTools(ctx context.Context, calls []Part, stop func(done []Part) string) []Part {
	w := &work{do: make(chan func())}
	results := make([]Part, len(calls))
	for i, c := range calls {
		p := &results[i]
		*p = Part{Kind: Result, ID: c.ID, Name: c.Name}
		if why := stop(results[:i]); why != "" || ctx.Err() != nil {
			r.ended(p, Answer{Error: "not called: " + cmp.Or(why, "the turn is over"), open: ctx.Err() != nil})
			continue
		}
		job, refusal := r.permit(ctx, c)
		if refusal != nil {
			r.ended(p, *refusal)
			continue
		}
		call := r.calls.Expect(c.ID, r.parent)
		call.At = time.Now()
		r.calls.Run(call, r.sink)
		r.flush()
		w.running++
		w.all.Go(func() {
			a := perform(ctx, job, &Live{r, w, call})
			w.post(func() { w.running--; r.ended(p, a) })
		})
		if r.agent.InOrder {
			w.drain()
		}
	}
	w.drain()
	w.all.Wait()
	return results
}

// perform runs a job; its panic is its failure.
func perform(ctx context.Context, job Job, l *Live) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = Answer{Error: fmt.Sprintf("the tool failed: %v", p)}
		}
	}()
	defer l.r.box.Hold()() // a running tool is not silence
	return job.Do(ctx, l)
}

// ended reports the end of a call and fills in its result.
func (r *run) ended(p *Part, a Answer) {
	p.Text, p.open, p.images = a.Text, a.open, a.Images
	if a.Error != "" {
		p.Text, p.Failed = a.Error, true
	}
	output := a.Output
	if output == nil && a.Error == "" {
		output, _ = json.Marshal(a.Text) // a string always encodes
	}
	call := r.calls.Expect(p.ID, r.parent)
	call.Name = p.Name
	r.calls.End(call, toolcall.End{Output: output, Failed: a.Error != "", Error: a.Error, Command: a.Exit, Summary: a.Text, At: time.Now()}, r.sink)
	for _, f := range a.Files {
		call.File(f, r.sink)
	}
	r.flush()
}

// begin shows the start of a call.
func (r *run) begin(id, name string) {
	if t := r.tool(name); t != nil && t.Server != "" {
		r.calls.Add(id, name, r.parent).Of(t.Server, t.Short)
	}
	r.calls.Start(id, name, r.parent, r.sink)
	r.flush()
}

// tool returns a tool by name, nil if there is none.
func (r *run) tool(name string) *Tool {
	if i := slices.IndexFunc(r.offered, func(t Tool) bool { return t.Name == name }); i >= 0 {
		return &r.offered[i]
	}
	return nil
}

// callers returns the tools of the caller.
func (r *run) callers() []Tool {
	if r.tools == nil {
		return nil
	}
	tools := make([]Tool, len(r.req.Tools))
	for i, t := range r.req.Tools {
		ask := ""
		if t.RequiresApproval {
			ask = "use " + t.Name
		}
		tools[i] = Tool{Tool: t, Check: func(input json.RawMessage) (Job, error) {
			return Job{Ask: ask, Detail: fmt.Sprintf("%s wants to use %s", r.name, t.Name), Do: func(ctx context.Context, l *Live) Answer {
				res, err := r.tools.CallTool(ctx, execution.ToolCall{ID: l.call.ID, Name: t.Name, Input: input})
				switch {
				case err != nil:
					return Failed(err)
				case res.Error != "":
					return Answer{Error: res.Error}
				}
				return Answer{Text: plain(res.Output), Output: orNull(res.Output)}
			}}, nil
		}}
	}
	return tools
}

// permit returns the job of a call, or the answer to a call that may not run.
func (r *run) permit(ctx context.Context, c Part) (Job, *Answer) {
	refuse := func(format string, args ...any) (Job, *Answer) {
		return Job{}, &Answer{Error: fmt.Sprintf(format, args...)}
	}
	t := r.tool(c.Name)
	switch {
	case t == nil:
		return refuse("there is no tool %s", c.Name)
	case !json.Valid(c.Input):
		return refuse("the input is not JSON")
	}
	input := c.Input
	job, err := t.Check(input)
	if err != nil {
		return refuse("%v", err)
	}
	if r.hooks != nil {
		switch res := r.hooks.DecideTool(ctx, execution.HookCall{ToolCallID: c.ID, Use: job.Use, Data: execution.HookData{ToolName: c.Name, ToolInput: input}}); res.Decision {
		case execution.HookAllow:
		case execution.HookModify:
			input = res.ModifiedInput
			if job, err = t.Check(input); err != nil {
				return refuse("the input that the hook gave: %v", err)
			}
		default:
			return refuse("%s", denied(res.Message))
		}
	}
	if job.Ask == "" {
		return job, nil
	}
	d, answer := r.ask(ctx, c, job, input)
	switch {
	case answer != nil:
		return Job{}, answer
	case !d.Approve:
		return refuse("%s", denied(d.Reason))
	case len(d.Input) > 0:
		if job, err = t.Check(d.Input); err != nil {
			return refuse("the input that the answer gave: %v", err)
		}
	}
	return job, nil
}

// denied words a denial for the model. Most reasons say by whom.
func denied(reason string) string {
	if strings.HasPrefix(reason, "denied ") {
		return reason
	}
	return "denied: " + reason
}

// ask asks for permission, unless a continuation brought the answer.
func (r *run) ask(ctx context.Context, c Part, job Job, input json.RawMessage) (execution.Decision, *Answer) {
	if past := r.agent.Past; past != nil && past.Decision != nil && past.Call == c.ID {
		d := *past.Decision
		past.Decision = nil // it holds once
		return d, nil
	}
	risk := job.Risk
	if risk == "" {
		risk = execution.RiskMedium
	}
	id := r.question()
	q := execution.ApprovalRequired{ID: id, Action: job.Ask, Detail: job.Detail, ToolName: c.Name, ToolCallID: c.ID, Input: input, Risk: risk, Use: job.Use, Editable: true}
	r.emit(q)
	d, answered := r.box.Answer(ctx, id)
	if !answered {
		r.unanswered(&waiting{execution.ContinuationApproval, id, c.ID, job.Ask})
		return d, &Answer{Error: "interrupted", open: true}
	}
	return d, nil
}

// unanswered withdraws a question whose turn is over.
func (r *run) unanswered(w *waiting) {
	r.emit(execution.QuestionWithdrawn{ID: w.id, Reason: "the turn is over"})
	r.waits = w
}

// question returns the id of a new question. Sub-agents share the numbers of their run.
func (r *run) question() execution.QuestionID {
	*r.asked++
	return execution.QuestionID("question-" + strconv.Itoa(*r.asked))
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

// called shows that a call's input is complete.
func (r *run) called(p Part) {
	input, err := jsonscan.Parse(asJSON(p.Input))
	if err != nil {
		input, _ = jsonscan.Parse([]byte("null")) // nested too deeply
	}
	r.calls.Called(r.calls.Expect(p.ID, r.parent), input, r.sink)
	r.flush()
}
