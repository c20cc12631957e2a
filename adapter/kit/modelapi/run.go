package modelapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/adapter/kit/toolcall"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/httpcall"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// run is one execution: a conversation. Its methods are for the goroutine of the execution; those of a sub-agent's run for the
// goroutine of its call.
type run struct {
	spec    *Spec
	agent   Agent
	name    string // of the agent
	req     execution.Request
	yield   func(execution.Event, error) bool
	over    bool // the consumer has stopped
	cancel  context.CancelFunc
	box     *service.Inbox
	tools   adapter.ToolHost
	hooks   adapter.HookHost
	client  *httpcall.Client
	call    Call
	opened  service.Opened
	environ []string // inherited

	offered []Tool // the caller's and the agent's
	sink    *cliagent.Sink
	calls   toolcall.Calls
	parent  string // the call that started this sub-agent; empty for the agent itself
	finish  func() // of a sub-agent: reports to its run

	session   string
	log       *session // the file of the conversation; nil if it is not kept
	unkept    error    // why not
	turns     int
	total     *execution.Usage // shared with sub-agents, as the next two
	ids       map[string]bool  // of tool calls
	asked     *int
	retries   int
	models    int   // calls of the model, of all turns
	tally     tally // of the turn
	used      int64 // tokens of the last call
	shortened bool  // the conversation was shortened because it did not fit, and the next call has not succeeded yet
	waits     *waiting
	subs      map[string]Conversation // of sub-agents that wait, by the calls that started them
	requests  []string                // ids that the service gave
	model     string                  // that answered
	last      *outcome
}

// Execute implements adapter.Adapter.
func (a *Adapter) Execute(ctx context.Context, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return a.Run(ctx, Agent{}, req, in)
}

// Run executes a request as an agent that uses the API. See adapter.Adapter.
func (a *Adapter) Run(ctx context.Context, agent Agent, req execution.Request, in adapter.Inbox) iter.Seq2[execution.Event, error] {
	return func(yield func(execution.Event, error) bool) {
		if in == nil {
			yield(execution.Event{}, errors.New("execute a request: the inbox is nil"))
			return
		}
		execute(ctx, a, agent, req, in, yield)
	}
}

func execute(ctx context.Context, a *Adapter, agent Agent, req execution.Request, in adapter.Inbox, yield func(execution.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{spec: &a.spec, agent: agent, name: cmp.Or(agent.Name, a.spec.Name), req: req, yield: yield, cancel: cancel, ids: map[string]bool{},
		client: httpcall.New(a.opts.Transport), box: service.NewInbox(time.Duration(req.Run.InactivityTimeoutMs) * time.Millisecond), total: &execution.Usage{}, asked: new(int)}
	r.tools, _ = in.(adapter.ToolHost)
	r.hooks, _ = in.(adapter.HookHost)
	var reader sync.WaitGroup
	reader.Go(func() { r.box.Listen(ctx, in) })
	defer func() {
		cancel()
		reader.Wait()
		if a.opts.Transport == nil {
			r.client.Close()
		}
		if r.log != nil {
			r.log.close()
		}
		if r.agent.Close != nil {
			r.agent.Close()
		}
	}()
	first, err := r.prepare(ctx, a)
	if err != nil {
		r.emit(execution.Finished{Result: r.refused(err)})
		return
	}
	r.emit(execution.SessionStart{SessionID: r.session, Model: r.agent.Prefix + r.call.Model, Cwd: req.Run.Cwd, Resumed: r.session == req.Run.SessionID,
		ForkedFrom: req.Run.ForkSessionID})
	if r.unkept != nil {
		r.notKept(r.unkept)
	}
	for _, b := range r.agent.Opening {
		r.emit(b)
	}
	r.turn(ctx, first)
	for !r.over && ctx.Err() == nil {
		say, ok := r.box.Next(ctx)
		if !ok {
			break
		}
		r.emit(execution.InputTaken{ID: say.ID})
		r.turn(ctx, Message{Parts: []Part{{Kind: Text, Text: say.Text}}})
	}
	r.emit(execution.Finished{Result: r.result()})
}

// emit yields an event. After the consumer has stopped, everything ends.
func (r *run) emit(b execution.Body) { r.send(execution.Event{Parent: r.parent, Body: b}) }

func (r *run) send(e execution.Event) {
	if r.over {
		return
	}
	defer r.box.Hold()() // the consumer's time is not the agent's silence
	if !r.yield(e, nil) {
		r.over = true
		r.cancel()
	}
}

// flush yields the events of tool calls.
func (r *run) flush() {
	for _, e := range r.sink.Take() {
		r.send(e)
	}
}

// prepare checks what the request needs before anything is sent, and returns its message.
func (r *run) prepare(ctx context.Context, a *Adapter) (Message, *execution.Error) {
	var err *execution.Error
	r.environ = a.opts.Environ()
	getenv := service.Environment(r.req.Run, r.environ)
	if r.opened, err = a.spec.Open(getenv); err != nil {
		return Message{}, err
	}
	parts, failed := cliagent.ConvertAttachments(r.name, r.req.Message.Attachments, r.attachment)
	if failed != nil {
		var typed *execution.Error
		if !errors.As(failed, &typed) {
			typed = execution.Errorf(execution.CodeValidation, "%w", failed)
		}
		return Message{}, typed
	}
	if r.agent.Open != nil {
		if err := r.agent.Open(ctx, &r.agent); err != nil {
			return Message{}, err
		}
	}
	replace, added := cliagent.Instructions(r.req)
	system := strings.Join(service.NonEmpty(cmp.Or(replace, r.agent.System), r.agent.Documents, added), "\n\n")
	r.call = Call{Base: r.opened.Base, Key: r.opened.Key, Model: cmp.Or(r.req.Run.Model, r.spec.Default), System: system, Run: r.req.Run}
	if err := r.keep(getenv); err != nil {
		return Message{}, err
	}
	if r.agent.Past != nil {
		r.call.Messages = r.agent.Past.Messages
		r.save("")
	}
	r.know(r.call.Messages)
	if r.agent.Past != nil {
		for _, said := range r.agent.Past.Subs {
			r.know(said)
		}
	}
	r.equip()
	return Message{Parts: append(parts, Part{Kind: Text, Text: string(r.req.Message.Text)})}, nil
}

// know remembers the ids of a conversation's tool calls.
func (r *run) know(c Conversation) {
	for _, m := range c {
		for _, p := range m.Parts {
			r.ids[p.ID] = true
		}
	}
}

// equip offers the tools of the caller and of the agent to the model; the caller's takes precedence over one of the same name.
func (r *run) equip() {
	r.offered = r.callers()
	for _, t := range r.agent.Tools {
		if r.tool(t.Name) == nil {
			r.offered = append(r.offered, t)
		}
	}
	r.call.Tools = make([]execution.Tool, len(r.offered))
	for i, t := range r.offered {
		r.call.Tools[i] = t.Tool
	}
	table := r.agent.Table
	if table == nil {
		table = &toolcall.Table{}
	}
	r.sink, r.calls = cliagent.NewSink(false), toolcall.NewCalls(table, jsonscan.NewInterner(16))
	r.calls.Cwd = r.req.Run.Cwd
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
	return Part{}, fmt.Errorf("%s accepts no %s", r.name, at.MediaType)
}

// Base64 returns the data of an image or a document as APIs want it.
func (p *Part) Base64() string { return base64.StdEncoding.EncodeToString(p.Data) }

// callID returns an id for a tool call that no other call of this run has.
func (r *run) callID(id string) string {
	unique := cmp.Or(id, "call")
	for n := 2; id == "" && n == 2 && r.ids[unique] || r.ids[unique]; n++ {
		unique = cmp.Or(id, "call") + "-" + strconv.Itoa(n)
	}
	r.ids[unique] = true
	return unique
}
