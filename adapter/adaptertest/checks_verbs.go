package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// verbChecks use the verbs of a running conversation.
func verbChecks() []Check {
	say := func(verb execution.Verb, fn func(*agent.Run, string) (execution.InputID, error)) Check {
		return Check{Name: "verb-" + string(verb), Spec: "declared: " + string(verb) + " reaches the conversation as another turn", Run: talk(verb, fn)}
	}
	return []Check{
		{Name: "interactive", Spec: "declared: a conversation, or else a refusal", Run: interactive},
		say(execution.VerbSend, func(r *agent.Run, text string) (execution.InputID, error) { return r.Send(text, "") }),
		say(execution.VerbQueue, func(r *agent.Run, text string) (execution.InputID, error) { return r.Queue(text, "") }),
		say(execution.VerbContinue, (*agent.Run).Continue),
		{Name: "verb-steer", Spec: "declared: steer reaches the running turn", Run: steer},
		{Name: "verb-interrupt", Spec: "declared: interrupt ends the turn and the conversation continues", Run: interrupt},
		{Name: "verb-pause", Spec: "declared: a paused run continues", Run: pause},
		{Name: "verbs-refused", Spec: "declared: an undeclared verb is refused", Needs: []Scenario{Simple}, Run: verbsRefused},
	}
}

func contains(r execution.Result, part string) bool {
	return strings.Contains(r.Text, part) || r.Output != nil && strings.Contains(r.Output.Text, part)
}

// converses reports whether conversations can be tested; err is the outcome otherwise.
func (s Subject) converses(verb execution.Verb, scenarios ...Scenario) error {
	caps := s.capabilities().Agent
	if !caps.Has(verb) {
		return Skip("%s is not declared; another check covers the refusal", verb)
	}
	if !caps.InteractiveMode {
		return fmt.Errorf("%s is declared, but conversations are not", verb)
	}
	return s.need(scenarios...)
}

func (s Subject) conversation(sc Scenario) *trial {
	t := s.trial(sc)
	t.req.Run.Interactive = true
	if sc == Steps && slices.Contains(s.capabilities().Agent.ApprovalModes, execution.ApprovalYolo) {
		t.req.Run.ApprovalMode = execution.ApprovalYolo // the tools between the steps are not the check's concern
	}
	return t
}

func interactive(ctx context.Context, s Subject) error {
	t := s.conversation(Talk)
	caps := s.capabilities().Agent
	if out, err := s.lacks(ctx, t, !caps.InteractiveMode, "interactive", Talk); out {
		return err
	}
	t.watch = func(r *agent.Run, e execution.Event) {
		if _, ok := e.Body.(execution.TurnEnd); ok && e.Parent == "" {
			r.CloseInput()
		}
	}
	o, err := t.run(ctx, s)
	return errors.Join(err, o.expect(execution.StatusCompleted))
}

// talk sends a message after the first turn and expects a second turn.
func talk(verb execution.Verb, say func(*agent.Run, string) (execution.InputID, error)) func(context.Context, Subject) error {
	return func(ctx context.Context, s Subject) error {
		if err := s.converses(verb, Talk); err != nil {
			return err
		}
		t := s.conversation(Talk)
		var id execution.InputID
		var refused error
		turns := 0
		t.watch = func(r *agent.Run, e execution.Event) {
			if _, ok := e.Body.(execution.TurnEnd); !ok || e.Parent != "" {
				return
			}
			if turns++; turns == 1 {
				id, refused = say(r, string(t.req.Message.Text))
			}
			if turns > 1 || refused != nil {
				r.CloseInput()
			}
		}
		o, err := t.run(ctx, s)
		if err := errors.Join(err, refused); err != nil {
			return err
		}
		if err := o.expect(execution.StatusCompleted); err != nil {
			return err
		}
		if turns < 2 || !has(o, func(b execution.InputTaken) bool { return b.ID == id }) {
			return fmt.Errorf("there were %d turns, and message %s was not taken", turns, id)
		}
		return nil
	}
}

func steer(ctx context.Context, s Subject) error {
	if err := s.converses(execution.VerbSteer, Steps); err != nil {
		return err
	}
	t := s.conversation(Steps)
	var id execution.InputID
	var refused error
	t.watch = func(r *agent.Run, e execution.Event) {
		switch e.Body.(type) {
		case execution.ToolCallReady, execution.MCPToolCallStart:
			if id == "" && refused == nil && e.Parent == "" {
				id, refused = r.Steer("and be quick", execution.WhenAfterTool)
				r.CloseInput()
			}
		case execution.TurnEnd:
			r.CloseInput()
		}
	}
	o, err := t.run(ctx, s)
	if err := errors.Join(err, refused); err != nil {
		return err
	}
	if err := o.expect(execution.StatusCompleted); err != nil {
		return err
	}
	switch {
	case id == "":
		return errors.New("the scenario used no tool, so nothing could be steered")
	case !has(o, func(b execution.InputTaken) bool { return b.ID == id }):
		return fmt.Errorf("message %s was not taken", id)
	case !has(o, func(b execution.InputTaken) bool { return b.ID == id && b.Steered }):
		return Warn("the message became a separate turn instead of reaching the running one")
	}
	return nil
}

func interrupt(ctx context.Context, s Subject) error {
	if err := s.converses(execution.VerbInterrupt, Hang); err != nil {
		return err
	}
	again := s.Request(Talk).Message.Text
	t := s.conversation(Hang) // last, see Subject.Request
	_, cannot := s.Cannot[Talk]
	var refused error
	done := false
	turns := 0
	stop := func(r *agent.Run) {
		if !done {
			done = true
			refused = r.Interrupt()
		}
	}
	unseen := make(chan error, 1)
	quiet := !s.capabilities().Agent.TextStreaming // no event shows that it works
	t.watch = func(r *agent.Run, e execution.Event) {
		switch e.Body.(type) {
		case execution.TextDelta, execution.ToolCallReady, execution.ToolCallStart, execution.ShellStart, execution.MCPToolCallStart:
			stop(r)
		case execution.TurnStart:
			if quiet && !done {
				done = true
				time.AfterFunc(interruptAfter, func() { unseen <- r.Interrupt() })
			}
		case execution.TurnEnd:
			if e.Parent != "" {
				return
			}
			if turns++; turns == 1 && !cannot {
				_, err := r.Send(string(again), "")
				refused = errors.Join(refused, err)
			}
			if turns > 1 || cannot || refused != nil {
				r.CloseInput()
			}
		}
	}
	o, err := t.run(ctx, s)
	if quiet && done {
		refused = errors.Join(refused, <-unseen)
	}
	if err := errors.Join(err, refused); err != nil {
		return err
	}
	if !has(o, func(b execution.TurnEnd) bool { return b.Reason == execution.TurnInterrupted }) {
		return errors.New("no turn ended as interrupted")
	}
	if n := count[execution.Interrupted](o, nil); n == 0 {
		return errors.New("no interrupted event")
	}
	if cannot {
		return o.expect(execution.StatusFailed, execution.FailureCancelled)
	}
	if turns < 2 {
		return errors.New("the conversation did not continue after the interrupt")
	}
	return o.expect(execution.StatusCompleted)
}

// interruptAfter is how long a turn is left to an agent whose events do not show that it works.
const interruptAfter = 500 * time.Millisecond

// pauseFor is how long a run is paused.
const pauseFor = 50 * time.Millisecond

func pause(ctx context.Context, s Subject) (err error) {
	for range 3 { // an agent may have done all before it hears of the pause, on a slow machine more often
		if err = pauseOnce(ctx, s); !errors.Is(err, errOutran) {
			return err
		}
	}
	return err
}

var errOutran = errors.New("the paused run does not wait")

func pauseOnce(ctx context.Context, s Subject) error {
	if err := s.converses(execution.VerbPause, Steps); err != nil {
		return err
	}
	if !s.capabilities().Agent.Has(execution.VerbResume) {
		return errors.New("pause is declared without resume")
	}
	t := s.conversation(Steps)
	resumed := make(chan error, 1)
	var refused error
	done := false
	t.watch = func(r *agent.Run, e execution.Event) {
		switch e.Body.(type) {
		case execution.ToolCallReady, execution.MCPToolCallStart, execution.TextDelta:
			if done {
				return
			}
			done = true
			r.CloseInput()
			if refused = r.Pause(); refused != nil {
				resumed <- nil
				return
			}
			time.AfterFunc(pauseFor, func() {
				if state := r.State(); state != execution.StatePaused {
					resumed <- fmt.Errorf("%w: it is %s", errOutran, state)
					return
				}
				resumed <- r.Resume()
			})
		case execution.TurnEnd:
			r.CloseInput()
		}
	}
	o, err := t.run(ctx, s)
	if err == nil && done {
		err = <-resumed
	}
	if err := errors.Join(err, refused); err != nil {
		return err
	}
	if !has[execution.Paused](o, nil) || !has[execution.Resumed](o, nil) {
		return errors.New("the events do not contain paused and resumed")
	}
	return o.expect(execution.StatusCompleted)
}

func verbsRefused(ctx context.Context, s Subject) error {
	caps := s.capabilities().Agent
	tries := map[execution.Verb]func(*agent.Run) error{
		execution.VerbSend:     func(r *agent.Run) error { _, err := r.Send("x", ""); return err },
		execution.VerbQueue:    func(r *agent.Run) error { _, err := r.Queue("x", ""); return err },
		execution.VerbSteer:    func(r *agent.Run) error { _, err := r.Steer("x", ""); return err },
		execution.VerbContinue: func(r *agent.Run) error { _, err := r.Continue("x"); return err },
		execution.VerbPause:    (*agent.Run).Pause,
		execution.VerbResume:   (*agent.Run).Resume,
	}
	faults := map[execution.Verb]error{}
	t := s.trial(Simple)
	tried := false
	t.watch = func(r *agent.Run, _ execution.Event) {
		if tried {
			return
		}
		tried = true
		for verb, try := range tries {
			if !caps.Has(verb) {
				faults[verb] = try(r)
			}
		}
	}
	if _, err := t.run(ctx, s); err != nil {
		return err
	}
	for verb, err := range faults {
		if execution.CodeOf(err) != execution.CodeCapability {
			return fmt.Errorf("%s is not declared, but not refused as such: %v", verb, err)
		}
	}
	talks := slices.ContainsFunc([]execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbSteer, execution.VerbContinue}, caps.Has)
	if caps.InteractiveMode != talks {
		return fmt.Errorf("conversations are declared as %v, with the verbs %v", caps.InteractiveMode, caps.Verbs)
	}
	return nil
}

// approving returns the scenario with a question in an approval mode.
func (s Subject) approving(mode execution.ApprovalMode) (t *trial, declared bool) {
	t = s.trial(Approval)
	t.req.Run.ApprovalMode = mode
	t.opts.OnApproval = nil
	return t, slices.Contains(s.capabilities().Agent.ApprovalModes, mode)
}

// unasked runs a scenario and fails if a question becomes pending.
func (t *trial) unasked(ctx context.Context, s Subject) (seen, error) {
	pending := 0
	t.watch = func(r *agent.Run, _ execution.Event) { pending += len(r.Pending()) }
	o, err := t.run(ctx, s)
	if pending > 0 {
		err = errors.Join(err, errors.New("a question was asked"))
	}
	return o, err
}

func approvalYolo(ctx context.Context, s Subject) error {
	t, declared := s.approving(execution.ApprovalYolo)
	if out, err := s.lacks(ctx, t, !declared, "approvalMode", Approval); out {
		return err
	}
	o, err := t.unasked(ctx, s)
	if err != nil {
		return err
	}
	if has[execution.ApprovalDenied](o, nil) {
		return errors.New("something was denied")
	}
	if asked := count[execution.ApprovalRequired](o, nil); asked != count[execution.ApprovalGranted](o, nil) {
		return fmt.Errorf("not all of %d questions were approved", asked)
	}
	if !has[execution.ToolResultEvent](o, nil) && !has[execution.MCPToolResult](o, nil) {
		return errors.New("the tool was not used")
	}
	return o.expect(execution.StatusCompleted)
}

func rulesAllow(ctx context.Context, s Subject) error {
	_, declared := s.approving(execution.ApprovalPrompt)
	t, _ := s.approving("")
	t.req.Run.AllowTools = everyKind
	if out, err := s.lacks(ctx, t, !declared, "approvalMode", Approval); out {
		return err
	}
	o, err := t.unasked(ctx, s)
	if err != nil {
		return err
	}
	var vague error
	for _, e := range o.events { // a tool of no kind that rules know is allowed by its own name
		if q, ok := e.Body.(execution.ApprovalRequired); ok && q.Use.Kind == "" && q.ToolName != "" {
			t.req.Run.AllowTools = append(slices.Clip(t.req.Run.AllowTools), q.ToolName)
			vague = Warn("the question about %s does not say what the tool does: only rules with its own name apply to it", q.ToolName)
		}
	}
	if vague != nil {
		if o, err = t.unasked(ctx, s); err != nil {
			return err
		}
	}
	if asked := count[execution.ApprovalRequired](o, nil); asked == 0 || asked != count[execution.ApprovalGranted](o, nil) {
		return fmt.Errorf("%d questions were asked and not all were approved: a question says neither what the tool does nor its name", asked)
	}
	if !has[execution.ToolResultEvent](o, nil) && !has[execution.MCPToolResult](o, nil) {
		return errors.New("the tool was not used")
	}
	if err := o.expect(execution.StatusCompleted); err != nil {
		return err
	}
	return vague
}

func approvalDeny(ctx context.Context, s Subject) error {
	t, declared := s.approving(execution.ApprovalDeny)
	if out, err := s.lacks(ctx, t, !declared, "approvalMode", Approval); out {
		return err
	}
	o, err := t.unasked(ctx, s)
	if err != nil {
		return err
	}
	return s.refusedTool(o)
}

// refusedTool checks a run whose permission was denied.
func (s Subject) refusedTool(o seen) error {
	if has[execution.ApprovalGranted](o, nil) {
		return errors.New("something was approved")
	}
	if has[execution.ToolResultEvent](o, nil) || has[execution.FileWrite](o, nil) || has[execution.FileCreate](o, nil) {
		return errors.New("the tool ran although it was denied")
	}
	if !has[execution.ApprovalDenied](o, nil) && !has[execution.ToolError](o, nil) && !has[execution.MCPToolError](o, nil) {
		return errors.New("no event shows the denial")
	}
	if s.capabilities().Agent.DenialEndsTurn {
		if !has(o, func(b execution.TurnEnd) bool { return b.Reason == execution.TurnInterrupted }) {
			return errors.New("a denial is declared to end the turn, and the turn goes on")
		}
		return o.expect(execution.StatusFailed, execution.FailureCancelled)
	}
	return o.expect(execution.StatusCompleted, "")
}

func approvalPrompt(ctx context.Context, s Subject) error {
	t, declared := s.approving(execution.ApprovalPrompt)
	if out, err := s.lacks(ctx, t, !declared, "approvalMode", Approval); out {
		return err
	}
	for _, approve := range []bool{true, false} {
		var asked atomic.Int64
		t.opts.OnApproval = func(context.Context, execution.ApprovalRequired) execution.Decision {
			asked.Add(1)
			return execution.Decision{Approve: approve, Reason: "said the suite"}
		}
		o, err := t.run(ctx, s)
		if err != nil {
			return err
		}
		if asked.Load() == 0 {
			return errors.New("no question was asked")
		}
		if !approve {
			return s.refusedTool(o)
		}
		if !has[execution.ToolResultEvent](o, nil) && !has[execution.MCPToolResult](o, nil) {
			return errors.New("the approved tool was not used")
		}
		if err := o.expect(execution.StatusCompleted); err != nil {
			return err
		}
	}
	return nil
}

func nobodyThere(ctx context.Context, s Subject) error {
	t, declared := s.approving(execution.ApprovalPrompt)
	if !declared {
		return Skip("the mode prompt is not declared; another check covers the refusal")
	}
	if err := s.need(Approval); err != nil {
		return err
	}
	t.req.Requirements = nil
	o, err := t.unasked(ctx, s)
	if err != nil {
		return err
	}
	warned := has(o, func(b execution.Debug) bool { return b.Level == execution.DebugWarn })
	// A denial by the backend's own rules shows what it denied, and nothing waited.
	waited := slices.ContainsFunc(o.result.Trace.Events, func(e execution.TraceEvent) bool { return e.Type == execution.TraceApprovalWait })
	if waited && !warned {
		return errors.New("no warning")
	}
	if (waited || has[execution.ApprovalDenied](o, nil)) && o.result.DeniedCalls == 0 {
		return errors.New("the result counts no denied call")
	}
	return s.refusedTool(o)
}
