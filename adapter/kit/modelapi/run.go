package modelapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// run is one execution: a conversation. Its methods are for the goroutine of the execution.
type run struct {
	spec   *Spec
	req    execution.Request
	yield  func(execution.Event, error) bool
	over   bool // the consumer has stopped
	cancel context.CancelFunc
	box    *inbox
	tools  adapter.ToolHost
	hooks  adapter.HookHost
	client *httpcall.Client
	call   Call
	header http.Header // further ones
	hidden []string    // values in it that are secret

	session  string
	turns    int
	total    execution.Usage
	retries  int
	ids      map[string]bool // of tool calls
	asked    int
	requests []string // ids that the service gave
	model    string   // that answered
	last     *outcome
}

func execute(ctx context.Context, a *Adapter, req execution.Request, in adapter.Inbox, yield func(execution.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{spec: &a.spec, req: req, yield: yield, cancel: cancel, ids: map[string]bool{}, client: httpcall.New(a.opts.Transport),
		box: &inbox{wake: make(chan struct{}, 1), answers: map[execution.QuestionID]execution.Decision{}}}
	r.tools, _ = in.(adapter.ToolHost)
	r.hooks, _ = in.(adapter.HookHost)
	var reader sync.WaitGroup
	reader.Go(func() { r.box.listen(ctx, in) })
	defer func() {
		cancel()
		reader.Wait()
		if a.opts.Transport == nil {
			r.client.Close()
		}
	}()
	first, err := r.prepare(a)
	if err != nil {
		r.emit(execution.Finished{Result: r.refused(err)})
		return
	}
	r.emit(execution.SessionStart{SessionID: r.session, Model: r.call.Model, Cwd: req.Run.Cwd})
	r.turn(ctx, first)
	for !r.over && ctx.Err() == nil {
		say, ok := r.box.next(ctx)
		if !ok {
			break
		}
		r.emit(execution.InputTaken{ID: say.ID})
		r.turn(ctx, Message{Parts: []Part{{Kind: Text, Text: say.Text}}})
	}
	r.emit(execution.Finished{Result: r.result()})
}

// emit yields an event. After the consumer has stopped, everything ends.
func (r *run) emit(b execution.Body) {
	if r.over {
		return
	}
	if !r.yield(execution.Event{Body: b}, nil) {
		r.over = true
		r.cancel()
	}
}

// prepare checks what the request needs before anything is sent, and returns its message.
func (r *run) prepare(a *Adapter) (Message, *execution.Error) {
	getenv := a.environ(r.req.Run)
	base, err := a.base(getenv)
	if err != nil {
		return Message{}, err
	}
	key, _ := first(getenv, r.spec.KeyVars)
	if key == "" && len(r.spec.KeyVars) > 0 && !r.spec.Keyless {
		e := execution.Errorf(execution.CodeAuth, "%s needs a key", r.spec.Title)
		e.Agent = r.spec.Name
		return Message{}, e.WithHint("%s", a.spec.keyHint())
	}
	if !printable(key) {
		e := execution.Errorf(execution.CodeAuth, "the key of %s contains a character that no header can have", r.spec.Title)
		e.Agent = r.spec.Name
		return Message{}, e.WithHint("%s", a.spec.keyHint())
	}
	if r.header, r.hidden, err = r.spec.headers(getenv); err != nil {
		return Message{}, err
	}
	replace, added := cliagent.Instructions(r.req)
	system := strings.Join(append([]string(nil), nonEmpty(replace, added)...), "\n\n")
	r.session = cliagent.NewUUID()
	r.call = Call{Base: base, Key: key, Model: cmp.Or(r.req.Run.Model, r.spec.Default), System: system, Tools: r.req.Tools, Run: r.req.Run}
	parts, failed := cliagent.ConvertAttachments(r.spec.Name, r.req.Message.Attachments, r.attachment)
	if failed != nil {
		var typed *execution.Error
		if !errors.As(failed, &typed) {
			typed = execution.Errorf(execution.CodeValidation, "%w", failed)
		}
		return Message{}, typed
	}
	return Message{Parts: append(parts, Part{Kind: Text, Text: string(r.req.Message.Text)})}, nil
}

func nonEmpty(list ...string) (kept []string) {
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// attachment converts an attachment of the request.
func (r *run) attachment(a execution.Attachment) (Part, error) {
	at, err := cliagent.ReadAttachment(a)
	if err != nil {
		return Part{}, err
	}
	switch at.Kind {
	case cliagent.MediaImage:
		return Part{Kind: Image, Title: at.Title, MediaType: at.MediaType, Data: at.Data}, nil
	case cliagent.MediaPDF:
		return Part{Kind: Document, Title: at.Title, MediaType: at.MediaType, Data: at.Data}, nil
	case cliagent.MediaText:
		return Part{Kind: Text, Text: cliagent.FileBlock(at.Title, string(at.Data))}, nil
	}
	return Part{}, fmt.Errorf("%s accepts no %s", r.spec.Name, at.MediaType)
}

// Base64 returns the data of an image or a document as APIs want it.
func (p *Part) Base64() string { return base64.StdEncoding.EncodeToString(p.Data) }

// outcome is how a turn ended.
type outcome struct {
	reason     execution.TurnEndReason
	text       string
	structured json.RawMessage
	failure    *failure
	stop       string // the service's word
}

// turn is one turn, from the user's message to the model's answer.
func (r *run) turn(ctx context.Context, m Message) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.box.begin(cancel)
	defer r.box.begin(nil)
	r.emit(execution.TurnStart{TurnIndex: r.turns})
	if r.turns == 0 {
		for _, p := range m.Parts {
			if p.Kind == Image {
				r.emit(execution.ImageInputAck{MimeType: p.MediaType})
			}
		}
	}
	r.call.Messages = append(r.call.Messages, m)
	o := r.answer(ctx)
	if ctx.Err() != nil && o.reason != execution.TurnCompleted {
		o = &outcome{reason: execution.TurnInterrupted}
		if !errors.Is(context.Cause(ctx), errInterrupted) {
			o.reason, o.failure = execution.TurnFailed, &failure{Failure: stopped(ctx)}
		}
	}
	end := execution.TurnEnd{TurnIndex: r.turns, Reason: o.reason, Text: o.text, Structured: o.structured}
	if o.failure != nil {
		if ctx.Err() == nil {
			r.emit(o.failure.Event())
		}
		end.Error = o.failure.Result()
	}
	r.emit(end)
	r.turns++
	r.last = o
}

// stopped is the failure of a run whose context ended.
func stopped(ctx context.Context) cliagent.Failure {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return cliagent.Failure{Code: execution.CodeTimeout, Message: "the run's time was over"}
	}
	return cliagent.Failure{Code: execution.CodeAborted, Message: "the run was stopped"}
}

// answer calls the model, and the tools that it wants, until it has answered.
func (r *run) answer(ctx context.Context) *outcome {
	for step := 0; ; step++ {
		r.emit(execution.StepStart{TurnIndex: r.turns, StepIndex: step, StepType: "model"})
		reply, f := r.callModel(ctx)
		if f != nil {
			r.emit(execution.StepEnd{TurnIndex: r.turns, StepIndex: step})
			return &outcome{reason: execution.TurnFailed, failure: f}
		}
		if len(reply.parts) > 0 {
			r.call.Messages = append(r.call.Messages, Message{Model: true, Parts: reply.parts})
		}
		calls := reply.toolCalls()
		if len(calls) > 0 {
			r.call.Messages = append(r.call.Messages, Message{Parts: r.useTools(ctx, calls)})
		}
		r.emit(execution.StepEnd{TurnIndex: r.turns, StepIndex: step})
		if len(calls) == 0 {
			return r.judge(reply)
		}
		if ctx.Err() != nil {
			return &outcome{reason: execution.TurnInterrupted}
		}
	}
}

// judge derives the outcome from the last answer.
func (r *run) judge(reply *Reply) *outcome {
	o := &outcome{reason: execution.TurnCompleted, text: reply.text(), stop: reply.Reason}
	fail := func(code execution.ErrorCode, format string, args ...any) *outcome {
		o.reason, o.failure = execution.TurnFailed, &failure{Failure: cliagent.Failure{Code: code, Message: fmt.Sprintf(format, args...)}}
		return o
	}
	switch reply.Stop {
	case StopLength:
		o.reason = execution.TurnLimitReached
		return o
	case StopContext:
		return fail(execution.CodeContextExceeded, "the context window of %s is full (%s)", r.call.Model, reply.Reason)
	case StopRefused:
		return fail(execution.CodeInvalidRequest, "%s refused to answer (%s)", r.call.Model, reply.Reason)
	}
	if len(r.req.Run.OutputSchema) > 0 {
		text := strings.TrimSpace(o.text)
		if !json.Valid([]byte(text)) {
			return fail(execution.CodeInvalidOutput, "%s answered without the JSON that the schema asks for", r.call.Model)
		}
		o.structured = json.RawMessage(text)
	}
	return o
}

// callID returns an id for a tool call that no other call of this run has.
func (r *run) callID(id string) string {
	unique := cmp.Or(id, "call")
	for n := 2; id == "" && n == 2 && r.ids[unique] || r.ids[unique]; n++ {
		unique = cmp.Or(id, "call") + "-" + strconv.Itoa(n)
	}
	r.ids[unique] = true
	return unique
}

// result is the run's result.
func (r *run) result() execution.Result {
	res := execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: r.spec.Name, Model: cmp.Or(r.model, r.call.Model), SessionID: r.session,
		TurnCount: r.turns, Retries: r.retries, Metadata: map[string]any{}, ExitReason: execution.ExitCompleted}
	if !r.total.IsZero() {
		u := r.total
		res.Usage = &u
	}
	if len(r.requests) > 0 {
		res.Metadata["requestIds"] = r.requests
	}
	o := r.last
	if o.stop != "" {
		res.Metadata["stopReason"] = o.stop
	}
	if o.text != "" || o.structured != nil {
		res.Output = &execution.Output{Text: o.text, Structured: o.structured}
	}
	switch o.reason {
	case execution.TurnCompleted:
		res.Status = execution.StatusCompleted
	case execution.TurnLimitReached:
		res.Status = execution.StatusDeferred
	case execution.TurnInterrupted:
		res.Status, res.ExitReason = execution.StatusFailed, execution.ExitInterrupted
		res.Error = execution.NewResultError(execution.CodeInterrupted, "the turn was interrupted")
	default:
		res.Status, res.Error = execution.StatusFailed, o.failure.Result()
		switch o.failure.Code {
		case execution.CodeTimeout:
			res.ExitReason = execution.ExitByTimeout
		case execution.CodeAborted:
			res.ExitReason = execution.ExitReasonAbort
		}
	}
	return res
}

// refused is the result of a run that called no model.
func (r *run) refused(err *execution.Error) execution.Result {
	f := cliagent.Failure{Code: err.Code, Message: err.Message, Hint: err.Hint}
	r.emit(f.Event())
	res := execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: r.spec.Name, Status: execution.StatusFailed, Error: f.Result(),
		ExitReason: execution.ExitCompleted}
	if len(err.Fields) > 0 {
		res.Error.Metadata["fields"] = err.Fields
	}
	return res
}
