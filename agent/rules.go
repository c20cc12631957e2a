package agent

import (
	"context"
	"fmt"
	"os"

	"github.com/drawbar/drawbar/agent/toolrule"
	"github.com/drawbar/drawbar/execution"
)

// rules are the parsed rules of a run's tool calls.
type rules struct{ allow, deny toolrule.Rules }

// rulesOf parses the rules of a request.
func rulesOf(run execution.RunOptions) (r rules, err error) {
	for _, of := range []struct {
		field string
		texts []string
		list  *toolrule.Rules
	}{{"allowTools", run.AllowTools, &r.allow}, {"denyTools", run.DenyTools, &r.deny}} {
		if *of.list, err = toolrule.ParseAll(of.texts); err != nil {
			return rules{}, execution.Errorf(execution.CodeValidation, "run.%s: %w", of.field, err)
		}
	}
	return r, nil
}

// wouldUse returns a question as the rules see it.
func (r *Run) wouldUse(q execution.ApprovalRequired) toolrule.Use {
	return toolrule.Use{ToolUse: q.Use, Name: q.ToolName, Dir: r.dir()}
}

// dir returns the directory that the agent works in, where relative patterns begin.
func (r *Run) dir() string {
	if cwd := r.req.Run.Cwd; cwd != "" {
		return cwd
	}
	here, _ := os.Getwd() // without one, the agent does not start either
	return here
}

// settled returns the decision about a question that needs nobody: that of a rule or of the approval mode.
func (r *Run) settled(q execution.ApprovalRequired) (d execution.Decision, ok bool) {
	use, mode := r.wouldUse(q), r.req.Run.ApprovalMode
	if rule, denied := r.rules.deny.Deny(use); denied {
		return execution.Decision{Reason: deniedBy(rule)}, true
	}
	if d, ok := r.calls.decision(q.ID); ok {
		return d, true
	}
	if mode == execution.ApprovalYolo {
		return execution.Decision{Approve: true, Reason: "approval mode yolo"}, true
	}
	r.mu.Lock() // an answer may add one
	allow := r.rules.allow
	r.mu.Unlock()
	if rule, allowed := allow.Allow(use); allowed {
		return execution.Decision{Approve: true, Reason: fmt.Sprintf("by the rule %s", rule)}, true
	}
	switch {
	case mode == execution.ApprovalReads && q.Use.Kind == execution.ToolRead && use.Inside():
		return execution.Decision{Approve: true, Reason: "approval mode reads"}, true
	case mode == execution.ApprovalDeny:
		return execution.Decision{Reason: "approval mode deny"}, true
	}
	return execution.Decision{}, false
}

func deniedBy(rule toolrule.Rule) string { return fmt.Sprintf("denied by the rule %s", rule) }

// obeying adds the rules that deny to the caller's hooks.
func (r *Run) obeying(h Hooks) Hooks {
	if len(r.rules.deny) == 0 {
		return h
	}
	next := h.PreToolUse
	h.PreToolUse = func(ctx context.Context, call execution.HookCall) (execution.HookResult, error) {
		use := toolrule.Use{ToolUse: call.Use, Name: call.Data.ToolName, Dir: r.dir()}
		if rule, denied := r.rules.deny.Deny(use); denied {
			return execution.HookResult{Decision: execution.HookDeny, Message: deniedBy(rule)}, nil
		}
		if next == nil {
			return execution.HookResult{Decision: execution.HookAllow}, nil
		}
		res, err := next(ctx, call)
		if err == nil && res.Decision == execution.HookModify {
			return execution.HookResult{Decision: execution.HookDeny, Message: "a hook changed the input, to which the rules of this run were not applied"}, nil
		}
		return res, err
	}
	return h
}

// asking returns the request as the agent gets it: it knows neither rules nor the mode reads, and must ask.
func asking(req execution.Request) execution.Request {
	run := &req.Run
	if run.ApprovalMode == execution.ApprovalReads || len(run.AllowTools) > 0 && run.ApprovalMode != execution.ApprovalYolo {
		run.ApprovalMode = execution.ApprovalPrompt
	}
	return req
}
