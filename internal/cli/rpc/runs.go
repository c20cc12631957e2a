package rpc

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbar/drawbar"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/catalog"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/history"
	"github.com/drawbar/drawbar/internal/cli/run"
	"github.com/drawbar/drawbar/internal/control"
	"github.com/drawbar/drawbar/internal/runstore"
	"github.com/drawbar/drawbar/sessions"
)

// dirOf returns an absolute directory; a relative one is below that of the server.
func dirOf(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(abs); err == nil && !info.IsDir() {
			return "", execution.Errorf(execution.CodeValidation, "%s is not a directory", abs)
		}
	}
	if err != nil {
		return "", execution.Errorf(execution.CodeValidation, "%w", err)
	}
	return abs, nil
}

// Agent is an agent of agents.list.
type Agent struct {
	Name         string                 `json:"name"`
	DisplayName  string                 `json:"displayName"`
	Capabilities execution.Capabilities `json:"capabilities"`
}

// Agents is the result of agents.list.
type Agents struct {
	Agents []Agent `json:"agents"`
}

// Place is a directory whose configuration applies; empty is that of the server.
type Place struct {
	Cwd string `json:"cwd,omitempty"`
}

func (s *server) at(cwd string) (*home, error) {
	dir, err := dirOf(cwd)
	if err != nil {
		return nil, err
	}
	return s.home(dir)
}

func agentsList(_ context.Context, s *server, p Place) (Agents, error) {
	h, err := s.at(p.Cwd)
	if err != nil {
		return Agents{}, err
	}
	out := Agents{Agents: []Agent{}}
	for _, i := range h.client.Adapters().Listed() {
		e, err := h.client.Adapters().Get(i.Agent)
		if err != nil {
			return out, err
		}
		out.Agents = append(out.Agents, Agent{i.Agent, i.DisplayName, e.Capabilities().Stated()})
	}
	return out, nil
}

// AgentName names an agent.
type AgentName struct {
	Agent string `json:"agent"`
	Cwd   string `json:"cwd,omitempty"`
}

func agentsDetect(ctx context.Context, s *server, p AgentName) (*catalog.InstalledInfo, error) {
	h, err := s.at(p.Cwd)
	if err != nil {
		return nil, err
	}
	return h.client.Detect(ctx, p.Agent)
}

// Start is the parameters of run.start and negotiate.
type Start struct {
	Request  execution.Request `json:"request"`
	Fallback []string          `json:"fallback,omitempty"` // agents to try when the one before cannot
	// Answers says that the client answers questions of the run by run.control. Otherwise nobody can be asked.
	Answers bool `json:"answers,omitempty"`
}

// complete fills in what the client left out.
func (p *Start) complete() error {
	dir, err := dirOf(p.Request.Run.Cwd)
	p.Request.Run.Cwd = dir
	return err
}

func negotiate(_ context.Context, s *server, p Start) (execution.Negotiation, error) {
	if err := p.complete(); err != nil {
		return execution.Negotiation{}, err
	}
	h, err := s.home(p.Request.Run.Cwd)
	if err != nil {
		return execution.Negotiation{}, err
	}
	opts := drawbar.RunOptions{Fallback: p.Fallback}
	s.answer(&p, &opts)
	return h.client.Negotiate(p.Request, opts)
}

// answer has tools and questions of a run answered by the client.
func (s *server) answer(p *Start, opts *drawbar.RunOptions) {
	id := p.Request.Run.RunID
	if len(p.Request.Tools) > 0 {
		opts.Tools = func(ctx context.Context, call execution.ToolCall) (r execution.ToolResult, err error) {
			return r, s.ask(ctx, "tool.call", ToolCall{id, call}, &r)
		}
	}
	if p.Answers { // their contexts end when run.control has answered
		opts.OnApproval = func(ctx context.Context, _ execution.ApprovalRequired) execution.Decision {
			<-ctx.Done()
			return execution.Decision{Reason: "nobody answered"}
		}
		opts.OnInput = func(ctx context.Context, _ execution.InputRequired) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
	}
}

// Started is the result of run.start.
type Started struct {
	RunID execution.RunID `json:"runId"`
	Agent string          `json:"agent"`
}

func runStart(ctx context.Context, s *server, p Start) (Started, func(), error) {
	if err := p.complete(); err != nil {
		return Started{}, nil, err
	}
	h, err := s.home(p.Request.Run.Cwd)
	if err != nil {
		return Started{}, nil, err
	}
	if p.Request.Run.RunID == "" {
		p.Request.Run.RunID = agent.NewRunID()
	}
	opts := drawbar.RunOptions{Fallback: p.Fallback}
	s.answer(&p, &opts)
	wait, err := run.Hooked(ctx, h.app, h.client, p.Request, s.trust, &opts)
	if err != nil {
		return Started{}, nil, err
	}
	// Not ctx: the end of the client aborts the run, which then still has a result.
	r, err := h.client.Run(context.WithoutCancel(ctx), p.Request, opts)
	if err != nil {
		wait()
		return Started{}, nil, err
	}
	s.mu.Lock()
	s.runs[r.ID()] = r
	s.mu.Unlock()
	select {
	case <-s.gone: // the client went meanwhile
		r.Abort(errGone)
	default:
	}
	return Started{r.ID(), r.Agent()}, func() {
		defer s.over(r.ID())
		defer wait()
		for e, err := range r.EventsHeld(context.WithoutCancel(ctx), 0) {
			if err != nil {
				s.app.Warnf("run %s: %v", r.ID(), err)
				_, _ = r.Result(context.WithoutCancel(ctx)) // it is at hand until it has ended
				break
			}
			s.event(RunEvent{r.ID(), e})
		}
	}, nil
}

// RunRef names a run; the beginning of its id is enough for one on record.
type RunRef struct {
	RunID string `json:"runId"`
}

func runControl(ctx context.Context, s *server, p Control) (control.Reply, error) {
	var r control.Reply
	if own, ok := s.take(p.RunID); ok {
		r = control.Apply(own, p.Call)
	} else {
		live, err := s.app.LiveRun(string(p.RunID), "list live runs: runs.list with live")
		if err != nil {
			return r, err
		}
		if r, err = control.Do(ctx, live.ControlPath(), p.Call); err != nil {
			return r, err
		}
	}
	if r.Error != nil {
		return r, r.Error
	}
	return r, nil
}

func runResult(ctx context.Context, s *server, p RunRef) (execution.Result, error) {
	if own, ok := s.take(execution.RunID(p.RunID)); ok {
		return own.Result(ctx)
	}
	store, err := s.app.Store()
	if err != nil {
		return execution.Result{}, err
	}
	defer func() { _ = store.Close() }()
	return store.Wait(ctx, p.RunID)
}

// RunsQuery selects runs.
type RunsQuery struct {
	Agent string    `json:"agent,omitempty"`
	Live  bool      `json:"live,omitempty"` // only these
	Since time.Time `json:"since,omitzero"`
	Limit int       `json:"limit,omitempty"` // 0 is 100
}

// Runs is the result of runs.list.
type Runs struct {
	Runs []runstore.Run `json:"runs"`
}

// usualRuns is the number of runs without a limit.
const usualRuns = 100

func runsList(_ context.Context, s *server, q RunsQuery) (Runs, error) {
	out := Runs{Runs: []runstore.Run{}}
	if q.Limit <= 0 {
		q.Limit = usualRuns
	}
	store, err := s.app.Store()
	if err != nil {
		return out, err
	}
	defer func() { _ = store.Close() }()
	list, err := store.List(runstore.Filter{Agent: q.Agent, Live: q.Live, Since: q.Since, Limit: q.Limit})
	if len(list) > 0 {
		out.Runs = list
	}
	return out, err
}

// EventsQuery selects events of a run.
type EventsQuery struct {
	RunID string `json:"runId"`
	After uint64 `json:"after,omitempty"` // seq of the last one known
	Limit int    `json:"limit,omitempty"` // 0 is 1000
}

// Events is the result of runs.events.
type Events struct {
	Events []execution.Event `json:"events"`
	More   bool              `json:"more"` // ask again with after
}

// usualEvents is the number of events without a limit.
const usualEvents = 1000

func runsEvents(ctx context.Context, s *server, q EventsQuery) (Events, error) {
	out := Events{Events: []execution.Event{}}
	if q.Limit <= 0 {
		q.Limit = usualEvents
	}
	store, err := s.app.Store()
	if err != nil {
		return out, err
	}
	defer func() { _ = store.Close() }()
	for e, err := range store.Events(ctx, q.RunID, q.After, false) {
		if err != nil {
			return out, err
		}
		if len(out.Events) == q.Limit {
			out.More = true
			break
		}
		out.Events = append(out.Events, e)
	}
	return out, nil
}

func runsWaiting(_ context.Context, s *server, p RunRef) (req execution.Request, err error) {
	if _, err = s.at(""); err != nil {
		return req, err
	}
	s.mu.Lock()
	homes := slices.Collect(maps.Values(s.homes))
	s.mu.Unlock()
	for _, h := range homes { // the client of a run that has just ended waits for its record
		if req, _, err = h.client.Waiting(p.RunID); err == nil {
			break
		}
	}
	return req, err
}

// SessionsQuery selects sessions.
type SessionsQuery struct {
	Agent string    `json:"agent,omitempty"`
	Cwd   string    `json:"cwd,omitempty"` // in this directory or below it
	Since time.Time `json:"since,omitzero"`
	Limit int       `json:"limit,omitempty"` // 0 is 100
}

func sessionsList(ctx context.Context, s *server, q SessionsQuery) (sessions.Listing, error) {
	var none sessions.Listing
	if q.Limit <= 0 {
		q.Limit = usualRuns
	}
	h, err := s.at("")
	if err != nil {
		return none, err
	}
	store, err := h.client.Sessions()
	if err != nil {
		return none, err
	}
	return store.List(ctx, sessions.Query{Agent: q.Agent, Cwd: q.Cwd, Since: q.Since, Limit: q.Limit})
}

// SessionID names a session: AGENT:ID, or the beginning of an id.
type SessionID struct {
	ID string `json:"id"`
}

func sessionsGet(ctx context.Context, s *server, p SessionID) (history.Session, error) {
	h, err := s.at("")
	if err != nil {
		return history.Session{}, err
	}
	store, err := h.client.Sessions()
	if err != nil {
		return history.Session{}, err
	}
	return store.Get(ctx, p.ID)
}

// event sends an event as cheaply as it is encoded.
func (s *server) event(e RunEvent) {
	b, err := json.Marshal(e)
	if err != nil {
		s.app.Warnf("run %s: %v", e.RunID, err)
		return
	}
	s.notify("run.event", json.RawMessage(b))
}
