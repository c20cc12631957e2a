package modelapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
)

// Agent is what an agent over a model API adds to the conversation. The zero value adds nothing: then the caller's tools are the
// model's only ones. One value belongs to one run.
type Agent struct {
	Name      string // of the agent; empty: that of the API
	Prefix    string // precedes the model's name in events and results
	System    string // instructions, unless those of the request replace them
	Documents string // what the agent read: follows the instructions in any case
	Tools     []Tool // besides the caller's
	InOrder   bool   // tools run one after the other, in the order of the calls
	Limits    Limits
	Window    int64            // tokens of the model's context; 0 if unknown
	Opening   []execution.Body // events that follow the start of the session
	Table     *toolcall.Table  // kinds of the tools; nil: none has events of its own
	Past      *Past            // a conversation to continue; nil for a new one

	// Open completes the agent of a request that the API accepts, before anything is sent. Optional.
	Open func(ctx context.Context, a *Agent) *execution.Error
	// Close releases what Open opened; it is called in any case. Optional.
	Close func()
}

// Limits end a turn. A limit of zero or less is none. The request's own limit of model calls applies besides, to all turns of a run.
type Limits struct {
	ModelCalls int
	ToolCalls  int
	Elapsed    time.Duration
	Invalid    int // consecutive answers that cannot be used; without a limit some of them end the turn at once
	Same       int // consecutive calls with the same input and the same result
}

// Tool is a tool of an agent.
type Tool struct {
	execution.Tool        // as the model sees it
	Server, Short  string // of an MCP server's tool: the server, and the tool's name on it
	// Check reads the input of a call and returns what to do. It changes nothing; its error is for the model.
	Check func(input json.RawMessage) (Job, error)
}

// Job is a checked call of a tool.
type Job struct {
	Ask    string // action that needs permission; empty: needs none
	Detail string // for the person who is asked
	Risk   execution.RiskLevel
	Use    execution.ToolUse // what it does, for rules
	// Do runs the tool. It is called on a goroutine of its own and returns soon after ctx ends.
	Do func(ctx context.Context, l *Live) Answer
}

// Answer is how a call ended.
type Answer struct {
	Text   string           // what the model reads
	Output json.RawMessage  // for events; nil: Text
	Error  string           // why the tool failed; the model reads it in place of Text
	Images []Part           // what the model sees besides, see NewImage
	Files  []execution.Body // file events
	Exit   *toolcall.Exit   // of a command that ran
	open   bool             // the call has no answer yet: it waits for a person
}

// Failed is the answer of a tool that failed.
func Failed(err error) Answer { return Answer{Error: err.Error()} }

// Live connects a running call with its run. It is safe for concurrent use.
type Live struct {
	r    *run
	work *work
	call *toolcall.Call
}

// Stdout emits what the call's command wrote.
func (l *Live) Stdout(text string) {
	l.work.post(func() { l.call.Stdout(text, l.r.sink); l.r.flush() })
}

// Stderr is Stdout for standard error.
func (l *Live) Stderr(text string) {
	l.work.post(func() { l.call.Stderr(text, l.r.sink); l.r.flush() })
}

// Ask asks the person a question and returns the answer, which is that of the call.
func (l *Live) Ask(ctx context.Context, question string) Answer {
	var id execution.QuestionID
	l.work.post(func() {
		id = l.r.question()
		l.r.emit(execution.InputRequired{ID: id, Question: question, Source: execution.InputFromAgent})
	})
	d, answered := l.r.box.Answer(ctx, id)
	if !answered {
		l.work.post(func() { l.r.unanswered(&waiting{execution.ContinuationClarification, id, l.call.ID, question}) })
		return Answer{Error: "interrupted", open: true}
	}
	if !d.Approve {
		return Answer{Error: "not answered: " + d.Reason}
	}
	return Answer{Text: d.Text}
}

// Sub runs a sub-agent to its end; its answer is that of the call. Its events name the call as their parent.
func (l *Live) Sub(ctx context.Context, a Agent, prompt string) Answer {
	defer l.r.box.Watch()() // it is watched itself
	var child *run
	l.work.post(func() { child = l.r.sub(l.call.ID, a, l.work) })
	return child.carryOut(ctx, prompt)
}
