package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/drawbar/drawbar/execution"
)

// hookChecks compare the declared runtime hooks with the adapter's behaviour.
func hookChecks() []Check {
	return []Check{{Name: "tool-hook", Spec: "declared: a hook of one run is asked before each tool call, and a denied tool does not run", Run: toolHook},
		{Name: "rules-deny", Spec: "declared: a rule for what a tool does denies it, whatever the approval mode", Run: rulesDeny},
		{Name: "skills", Spec: "declared: skills of one run; an invalid folder is refused before anything starts", Run: skills}}
}

func skills(ctx context.Context, s Subject) error {
	t := s.trial(Simple)
	t.req.Run.Skills = []string{"/no/such/folder/of/a/skill"}
	if !s.capabilities().Agent.Skills {
		return s.refuses(ctx, t, "skills")
	}
	before := s.starts()
	o, err := t.run(ctx, s)
	switch {
	case err != nil:
		return err
	case o.result.Status != execution.StatusFailed || o.result.Error.ErrorCode() != execution.CodeValidation:
		return fmt.Errorf("a missing skill is not refused: %s %+v", o.result.Status, o.result.Error)
	case s.starts() != before && s.Starts != nil:
		return errors.New("the backend started although a skill is missing")
	}
	return nil
}

func toolHook(ctx context.Context, s Subject) error {
	hook := func(t *trial, d execution.HookDecision) *atomic.Int64 {
		asked := &atomic.Int64{}
		t.opts.Hooks.PreToolUse = func(_ context.Context, call execution.HookCall) (execution.HookResult, error) {
			if call.Data.ToolName != "" {
				asked.Add(1)
			}
			return execution.HookResult{Decision: d, Message: "excluded from this check"}, nil
		}
		return asked
	}
	agent := s.capabilities().Agent
	if agent.RuntimeHooks.PreToolUse != execution.HookBlocking {
		t := s.trial(Simple)
		hook(t, execution.HookDeny)
		return s.refuses(ctx, t, "runtimeHooks.preToolUse")
	}
	if err := s.need(Steps); err != nil {
		return err
	}
	play := func(d execution.HookDecision) (o seen, asked, ran, denied, failed int, err error) {
		t := s.trial(Steps)
		if t.req.Run.ApprovalMode == "" && slices.Contains(agent.ApprovalModes, execution.ApprovalYolo) {
			t.req.Run.ApprovalMode = execution.ApprovalYolo // the hook applies although nobody else is asked
		}
		n := hook(t, d)
		if o, err = t.run(ctx, s); err == nil {
			err = o.expect(execution.StatusCompleted)
		}
		ran = count[execution.ToolResultEvent](o, nil) + count[execution.MCPToolResult](o, nil) + count[execution.ShellExit](o, nil)
		for _, e := range o.events {
			_, own := e.Body.(execution.ToolError)
			_, foreign := e.Body.(execution.MCPToolError)
			switch {
			case !own && !foreign:
			case e.Origin == "hook":
				denied++
			default:
				failed++
			}
		}
		return o, int(n.Load()), ran, denied, failed, err
	}
	_, asked, ran, denied, _, err := play(execution.HookAllow)
	switch {
	case err != nil:
		return fmt.Errorf("with a hook that allows everything: %w", err)
	case ran == 0:
		return errors.New("no tool ran although the hook allowed it")
	case asked == 0:
		return errors.New("a tool ran without the hook")
	case denied > 0:
		return fmt.Errorf("%d tools were denied by a hook that allows everything", denied)
	}
	_, asked, ran, denied, failed, err := play(execution.HookDeny)
	switch {
	case err != nil:
		return fmt.Errorf("with a hook that denies everything: %w", err)
	case asked == 0:
		return errors.New("the hook was not called")
	case ran > 0:
		return fmt.Errorf("%d tools ran although the hook denied them", ran)
	case denied != asked || failed > 0:
		return fmt.Errorf("the hook denied %d calls: %d tool errors state it, %d do not", asked, denied, failed)
	}
	return nil
}

// everyKind are rules for all that a tool may do.
var everyKind = []string{"Read", "Edit", "Bash", "Fetch", "Agent", "Skill", "MCP"}

func rulesDeny(ctx context.Context, s Subject) error {
	agent, t := s.capabilities().Agent, s.trial(Steps)
	t.req.Run.DenyTools = everyKind
	if out, err := s.lacks(ctx, t, agent.RuntimeHooks.PreToolUse != execution.HookBlocking, "runtimeHooks.preToolUse", Steps); out {
		return err
	}
	if slices.Contains(agent.ApprovalModes, execution.ApprovalYolo) {
		t.req.Run.ApprovalMode = execution.ApprovalYolo
	}
	o, err := t.run(ctx, s)
	if err != nil {
		return err
	}
	if has[execution.ToolResultEvent](o, nil) || has[execution.MCPToolResult](o, nil) {
		return errors.New("a tool ran although a rule denied what it does: its hook call does not say what that is")
	}
	if !has[execution.ApprovalDenied](o, nil) {
		return errors.New("no event shows the denial")
	}
	return o.expect(execution.StatusCompleted)
}
