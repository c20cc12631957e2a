package a2a

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/adapter/kit/service"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/pause"
)

// How a task is asked for when no stream reports it, and how long its cancellation may take.
const (
	firstPoll  = 200 * time.Millisecond
	mostPoll   = 5 * time.Second
	pollErrors = 5 // in a row
	cancelWait = 3 * time.Second
)

// run is one execution. Its methods are for the goroutine of the execution.
type run struct {
	c      *client
	agent  *a2aclient.Client
	card   *a2a.AgentCard
	req    execution.Request
	yield  func(execution.Event, error) bool
	over   bool // the consumer has stopped
	cancel context.CancelFunc
	box    *service.Inbox

	session string // the context
	waiting a2a.TaskID
	begun   bool // the session's start was reported
	turns   int
	asked   int
	retries int
	task    *task
	last    *cliagent.Outcome
}

func execute(ctx context.Context, a *Adapter, req execution.Request, in adapter.Inbox, yield func(execution.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	r := &run{req: req, yield: yield, cancel: cancel, box: service.NewInbox(time.Duration(req.Run.InactivityTimeoutMs) * time.Millisecond)}
	var reader sync.WaitGroup
	reader.Go(func() { r.box.Listen(ctx, in) })
	defer func() {
		cancel()
		reader.Wait()
		if r.c != nil {
			r.c.close()
		}
	}()
	first, f := r.prepare(ctx, a)
	if f != nil {
		if ctx.Err() != nil {
			_, f = service.Ended(ctx, a.access.Title)
		}
		r.emit(f.Event())
		r.last = &cliagent.Outcome{Reason: execution.TurnFailed, Failure: f}
		r.emit(execution.Finished{Result: r.result(a.access.Name)})
		return
	}
	r.turn(ctx, first)
	for r.begun && !r.over && ctx.Err() == nil {
		say, ok := r.box.Next(ctx)
		if !ok {
			break
		}
		r.emit(execution.InputTaken{ID: say.ID})
		r.turn(ctx, []*a2a.Part{a2a.NewTextPart(say.Text)})
	}
	r.emit(execution.Finished{Result: r.result(a.access.Name)})
}

// emit yields an event. After the consumer has stopped, everything ends.
func (r *run) emit(b execution.Body) {
	if r.over {
		return
	}
	defer r.box.Hold()() // the consumer's time is not the agent's silence
	if !r.yield(execution.Event{Body: b}, nil) {
		r.over = true
		r.cancel()
	}
}

// prepare reads the card, checks what the request needs, and returns its message. Nothing of the request was sent before.
func (r *run) prepare(ctx context.Context, a *Adapter) (a2a.ContentParts, *cliagent.Failure) {
	opened, missing := a.access.Open(service.Environment(r.req.Run, a.opts.Environ()))
	if missing != nil {
		return nil, &cliagent.Failure{Code: missing.Code, Message: missing.Message, Hint: missing.Hint}
	}
	r.c = dial(&a.access, opened, a.opts.Transport)
	var f *cliagent.Failure
	if r.card, f = r.c.card(ctx); f != nil {
		return nil, f
	}
	if r.agent, f = r.c.connect(ctx, r.card); f != nil {
		return nil, f
	}
	parts, err := cliagent.ConvertAttachments(a.access.Name, r.req.Message.Attachments, r.attachment)
	if err != nil {
		return nil, &cliagent.Failure{Code: execution.CodeValidation, Message: err.Error()}
	}
	replace, added := cliagent.Instructions(r.req)
	parts = append(parts, a2a.NewTextPart(strings.Join(service.NonEmpty(replace, added, string(r.req.Message.Text)), "\n\n")))
	if r.session = r.req.Run.SessionID; r.session != "" {
		r.findWaiting(ctx)
	}
	return parts, nil
}

// findWaiting finds the task of the session that waits for input: the next message answers it. An agent need not list its tasks; a
// continuation names it.
func (r *run) findWaiting(ctx context.Context) {
	if c := r.req.Continuation; c != nil && c.State["sessionId"] == r.session {
		if id, ok := c.State["taskId"].(string); ok {
			r.waiting = a2a.TaskID(id)
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cardWait)
	defer cancel()
	tasks, err := r.agent.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: r.session, Status: a2a.TaskStateInputRequired, PageSize: 1})
	if err == nil && len(tasks.Tasks) > 0 && tasks.Tasks[0].ContextID == r.session {
		r.waiting = tasks.Tasks[0].ID
	}
}

// attachment converts an attachment that the card accepts. Text can also be part of the message.
func (r *run) attachment(a execution.Attachment) (*a2a.Part, error) {
	at, err := cliagent.ReadAttachment(a)
	if err != nil {
		return nil, err
	}
	accepts := func(mode string) bool {
		kind, _, _ := strings.Cut(at.MediaType, "/")
		return mode == "*/*" || mode == at.MediaType || mode == kind+"/*" || mode == kind
	}
	switch {
	case slices.ContainsFunc(r.card.DefaultInputModes, accepts):
		p := a2a.NewRawPart(at.Data)
		p.Filename, p.MediaType = at.Title, at.MediaType
		return p, nil
	case at.Kind == cliagent.MediaText:
		return a2a.NewTextPart(cliagent.FileBlock(at.Title, string(at.Data))), nil
	}
	return nil, errors.New(r.c.access.Title + " accepts " + strings.Join(r.card.DefaultInputModes, ", ") + ", and not " + at.MediaType)
}

// begin reports the start of the session and of the turn, when the session is known.
func (r *run) begin(session string) {
	if !r.begun {
		if r.session = session; session == "" {
			r.session = cliagent.NewUUID() // the agent keeps none
		}
		r.begun = true
		r.emit(execution.SessionStart{SessionID: r.session, Cwd: r.req.Run.Cwd, Resumed: r.req.Run.SessionID != ""})
	}
	if !r.task.begun {
		r.task.begun = true
		r.emit(execution.TurnStart{TurnIndex: r.turns})
	}
}

// turn sends a message and reports the task until it ends or waits for what nobody gives.
func (r *run) turn(ctx context.Context, parts a2a.ContentParts) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.box.Begin(cancel)
	defer r.box.Begin(nil)
	r.task = &task{run: r, artifacts: map[a2a.ArtifactID]string{}}
	if r.begun || r.session != "" {
		r.begin(r.session)
	}
	o := r.exchange(ctx, parts)
	r.task.close()
	if o.Failure != nil && ctx.Err() == nil {
		r.emit(o.Failure.Event())
	}
	for _, b := range service.Notices(o.Failure) {
		r.emit(b)
	}
	if r.last = o; r.task.begun {
		r.emit(o.End(r.turns))
		r.turns++
	}
}

func (r *run) exchange(ctx context.Context, parts a2a.ContentParts) *cliagent.Outcome {
	t := r.task
	for {
		m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
		m.ContextID, m.TaskID = r.session, r.waiting
		t.id, t.state, r.waiting = r.waiting, a2a.TaskStateSubmitted, ""
		if !r.begun {
			m.ContextID = ""
		}
		f := r.follow(ctx, m)
		if ctx.Err() != nil && !t.settled() {
			t.withdraw(ctx)
			return r.stopped(ctx)
		}
		o := &cliagent.Outcome{Reason: execution.TurnFailed, Text: t.answer(), Failure: f}
		if f == nil {
			f = t.judge(o)
		}
		if o.Failure = f; t.state != a2a.TaskStateInputRequired || f != nil {
			return o
		}
		r.waiting = t.id
		r.asked++
		id := execution.QuestionID("q" + string(t.id) + "-" + time.Now().Format("150405.000000"))
		r.emit(execution.InputRequired{ID: id, Question: t.said(), Source: execution.InputFromAgent})
		d, answered := r.box.Answer(ctx, id)
		if !answered { // the task goes on waiting
			return r.stopped(ctx)
		}
		if !d.Approve { // and the next message answers it
			return &cliagent.Outcome{Reason: execution.TurnInterrupted, Text: o.Text}
		}
		parts = a2a.ContentParts{a2a.NewTextPart(d.Text)}
	}
}

// follow sends a message and takes what comes until the task settles. A stream that breaks off does not end the task: it is asked for.
func (r *run) follow(ctx context.Context, m *a2a.Message) *cliagent.Failure {
	t := r.task
	req := &a2a.SendMessageRequest{Message: m}
	var err error
	if r.card.Capabilities.Streaming {
		for event, failed := range r.agent.SendStreamingMessage(ctx, req) {
			if err = failed; err != nil || r.over {
				break
			}
			if t.take(event); t.settled() {
				return nil
			}
		}
	} else {
		req.Config = &a2a.SendMessageConfig{ReturnImmediately: true} // else an interrupt could not name the task
		var event a2a.SendMessageResult
		if event, err = r.agent.SendMessage(ctx, req); err == nil {
			t.take(event)
		}
	}
	switch {
	case t.settled():
		return nil
	case err != nil && t.id == "":
		return r.c.lost(err)
	case t.id == "":
		return &cliagent.Failure{Code: execution.CodeInvalidOutput, Message: r.c.access.Title + " answered with neither a message nor a task"}
	case err != nil && ctx.Err() == nil:
		r.retries++
		r.emit(execution.Debug{Level: execution.DebugWarn, Message: "the stream of the task broke off, and the task is asked for: " + r.c.lost(err).Message})
	}
	failures := 0
	for wait := firstPoll; !t.settled(); wait = min(wait*2, mostPoll) {
		if pause.For(ctx, wait) != nil {
			return nil
		}
		state, err := r.agent.GetTask(ctx, &a2a.GetTaskRequest{ID: t.id})
		if err != nil {
			f := r.c.lost(err)
			if failures++; failures >= pollErrors || f.Code != execution.CodeProvider {
				return f
			}
			continue
		}
		failures = 0
		t.take(state)
	}
	return nil
}

// stopped is the outcome of a turn whose context ended.
func (r *run) stopped(ctx context.Context) *cliagent.Outcome {
	reason, f := service.Ended(ctx, r.c.access.Title)
	return &cliagent.Outcome{Reason: reason, Failure: f}
}

// result is the run's result.
func (r *run) result(name string) execution.Result {
	res := execution.Result{SchemaVersion: execution.SchemaVersion, BackendID: name, SessionID: r.session, TurnCount: r.turns, Retries: r.retries,
		Metadata: map[string]any{}}
	r.last.Fill(&res)
	if r.waiting != "" && !r.req.Run.NoSession {
		res.Continuation = &execution.Continuation{Kind: execution.ContinuationClarification, State: map[string]any{"agent": name, "sessionId": r.session,
			"taskId": string(r.waiting), "question": r.task.said()}}
	}
	if t := r.task; t != nil {
		if t.id != "" {
			res.Metadata["taskId"], res.Metadata["taskState"] = string(t.id), t.state.String()
		}
		if len(t.files) > 0 {
			res.Metadata["files"] = t.files
		}
	}
	return res
}
