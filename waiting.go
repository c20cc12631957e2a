package drawbar

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/runstore"
)

// Waiting returns the request that continues a recorded run which could not end, here or on another machine with a copy of its record. The caller
// adds what the run waits for: Continuation.Decision for awaiting_approval, the answer as Message.Text for needs_clarification, the next instruction as
// Message.Text for deferred. id may be the beginning of the run's id. Variables of the environment that hold secrets are not recorded: those of this process
// apply.
func (c *Client) Waiting(id string) (execution.Request, execution.Result, error) {
	s, err := c.openStore()
	if err != nil || s == nil {
		return execution.Request{}, execution.Result{}, errors.Join(err, noRecord(s))
	}
	c.settle()
	r, err := s.Get(id)
	if err != nil {
		return execution.Request{}, execution.Result{}, err
	}
	if r.Live {
		return execution.Request{}, execution.Result{}, execution.Errorf(execution.CodeInvalidStateTransition, "run %s is live", r.ID).WithHint("drawbar attach %s", r.ID)
	}
	res, err := r.Result()
	if err != nil {
		return execution.Request{}, res, err
	}
	if !waits(res.Status) {
		return execution.Request{}, res, execution.Errorf(execution.CodeNoPendingInteraction, "run %s waits for nothing: it has ended, %s", r.ID, res.Status)
	}
	if res.Continuation == nil {
		return execution.Request{}, res, execution.Errorf(execution.CodeInvalidStateTransition, "run %s cannot be continued: it left no session", r.ID)
	}
	req, err := r.Request()
	if errors.Is(err, fs.ErrNotExist) { // of an earlier version of Drawbar, or of a foreign record
		req, err = execution.Request{Run: execution.RunOptions{Agent: r.Agent, Model: r.Model, Cwd: r.Cwd, Tags: r.Tags, ApprovalMode: r.ApprovalMode}}, nil
	}
	if err != nil {
		return req, res, err
	}
	for key, value := range req.Run.Env {
		if strings.Contains(value, secret.Mark) {
			delete(req.Run.Env, key)
		}
	}
	if text, err := json.Marshal(req.Run); err != nil || strings.Contains(string(text), secret.Mark) {
		return req, res, execution.Errorf(execution.CodeInvalidStateTransition, "run %s was started with secrets that are not recorded, such as a header of an MCP server", r.ID).
			WithHint("go on with its session: drawbar run %s --session %s, with the same options", r.Agent, res.SessionID)
	}
	return goOn(req, res), res, nil
}

// WaitingResult is Waiting for a result that was saved where the record is not, such as the output of a run on another machine. The run goes on in
// the directory, with the defaults of this client.
func WaitingResult(res execution.Result, cwd string) (execution.Request, error) {
	switch {
	case !waits(res.Status):
		return execution.Request{}, execution.Errorf(execution.CodeNoPendingInteraction, "the result waits for nothing: its status is %.40q", res.Status)
	case res.Continuation == nil:
		return execution.Request{}, execution.Errorf(execution.CodeInvalidStateTransition, "the result has no continuation")
	}
	return goOn(execution.Request{Run: execution.RunOptions{Agent: cmp.Or(res.Agent, res.BackendID), Model: res.Model, Cwd: cwd, Tags: res.Tags}}, res), nil
}

// goOn adds what the turn before left. A continuation that names the model has that of the turn before.
func goOn(req execution.Request, res execution.Result) execution.Request {
	req.Continuation = res.Continuation
	if res.Continuation.State["model"] != nil {
		req.Run.Model = ""
	}
	return req
}

// waits reports whether a turn with this status can be continued.
func waits(s execution.Status) bool {
	return s == execution.StatusAwaitingApproval || s == execution.StatusNeedsClarification || s == execution.StatusDeferred
}

func noRecord(s *runstore.Store) error {
	if s == nil {
		return execution.Errorf(execution.CodeValidation, "this client keeps no record of its runs")
	}
	return nil
}

// continuable is what is kept of the request of a run that waits, without what belongs to its turn.
func continuable(req execution.Request, secrets []string) execution.Request {
	req = req.Clone()
	req.Message, req.Continuation, req.SessionUsage, req.TurnID = execution.Message{}, nil, nil, ""
	o := &req.Run
	o.RunID, o.SessionID, o.ForkSessionID = "", "", ""
	return secret.Deep(secret.New(secrets), req)
}

// decide takes note of the decision that a request carries, so that no other run uses it, in any process. undo is for a
// run that does not start.
func (c *Client) decide(req execution.Request) (undo func(), err error) {
	if req.Continuation == nil || req.Continuation.Decision == nil {
		return func() {}, nil
	}
	s, err := c.openStore()
	if err != nil || s == nil {
		return func() {}, err
	}
	of, _ := req.Continuation.State["runId"].(string)
	if of == "" { // of an agent or a version that names no run: the state itself tells the turn
		state, err := json.Marshal(req.Continuation.State)
		if err != nil {
			return nil, execution.Errorf(execution.CodeValidation, "continuation.state: %w", err)
		}
		of = string(state)
	}
	if undo, err = s.Decide(of, req.Continuation.Decision.ApprovalID, req.Run.RunID); err != nil {
		var before *runstore.DecidedError
		if errors.As(err, &before) {
			return nil, execution.Errorf(execution.CodeInteractionNotFound, "the approval %s of run %.100s cannot be decided again: %w", req.Continuation.Decision.ApprovalID, of, err).
				WithHint("drawbar logs %s", before.By)
		}
		return nil, execution.Errorf(execution.CodeConfig, "take note of the decision, so that it is used once: %w", err)
	}
	return undo, nil
}
