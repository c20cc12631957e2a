package turnruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/secret"
)

// How an agent returns its result (Runtime.ResultMode).
const (
	resultStaged     = "staged"     // it writes the file
	resultStructured = "structured" // it answers with the result, and Drawbar writes the file
)

// sessionRole continues one conversation per role (Runtime.Session).
const sessionRole = "role"

// agentRuntime is an agent with an adapter.
type agentRuntime struct{ deps Deps }

// Check negotiates the turn. Nothing is started.
func (a *agentRuntime) Check(d Dispatch) error {
	_, err := a.prepare(context.Background(), d)
	return err
}

// Run runs the agent.
func (a *agentRuntime) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	order, err := a.prepare(ctx, d)
	if err != nil {
		return Outcome{}, err
	}
	if err := d.makeRoom(); err != nil {
		return Outcome{}, err
	}
	log, err := openTranscript(d, "events.jsonl", order.redact, a.deps.Now)
	if err != nil {
		return Outcome{}, err
	}
	log.json = true
	defer func() {
		if err := log.close(); err != nil {
			d.say("The events of turn %s are incomplete: %v", d.Turn.TurnID, err)
		}
	}()
	for _, n := range order.notes {
		d.say("%s", n)
	}
	j := a.deps.job(d, w, d.Runtime.Agent, govern.StageStarting)
	res, err := a.run(ctx, j, order, log)
	if err == nil && res.lost() {
		d.say("The session %s of role %s is gone; a new one starts.", order.req.Run.SessionID, d.RoleID)
		order.req.Run.SessionID = ""
		res, err = a.run(ctx, j, order, log)
	}
	if err != nil {
		return refused(err, order.redact), nil
	}
	o, err := a.outcome(ctx, j, order, res)
	o.Detail, o.Hint = order.redact.Text(o.Detail), order.redact.Text(o.Hint)
	return o, err
}

// refused is the outcome of a turn whose agent or model was not started.
func refused(err error, redact *secret.Redactor) Outcome {
	o := Outcome{Class: classOf(execution.CodeOf(err)), Detail: redact.Text(err.Error()), Hint: "drawbar govern doctor"}
	if e := (*execution.Error)(nil); errors.As(err, &e) && e.Hint != "" {
		o.Detail, o.Hint = redact.Text(e.Message), redact.Text(e.Hint)
	}
	return o
}

// order is a turn and its request.
type order struct {
	req        execution.Request
	structured bool
	notes      []string
	redact     *secret.Redactor
}

// prepare builds the request and negotiates it. If the agent lacks an option that has a fallback, the fallback is used.
func (a *agentRuntime) prepare(ctx context.Context, d Dispatch) (order, error) {
	at := "runtimes." + d.RuntimeID
	o := order{structured: d.Runtime.ResultMode == resultStructured, redact: secret.New(secret.Environ(d.Environ))}
	if d.Runtime.Agent == "" {
		return o, configError("%s.agent is missing", at).WithHint("choose one from: drawbar agents list; then: drawbar govern config set %s.agent claude", at)
	}
	if m := d.Runtime.ResultMode; m != "" && m != resultStaged && m != resultStructured {
		return o, configError("%s.result is %q", at, m).WithHint("use staged or structured")
	}
	if s := d.Runtime.Session; s != "" && s != sessionRole && s != "turn" {
		return o, configError("%s.session is %q", at, s).WithHint("use role (one conversation per role) or turn (a new one each time)")
	}
	mode := execution.ApprovalMode(d.Runtime.Permission())
	if !slices.Contains([]execution.ApprovalMode{execution.ApprovalYolo, execution.ApprovalDeny, execution.ApprovalPrompt}, mode) {
		return o, configError("%s.approve is %q", at, mode).WithHint("use prompt, yolo or deny")
	}
	o.req = a.request(d, mode, o.structured)
	own, err := d.variables(at, o.redact)
	if err != nil {
		return o, err
	}
	for name, value := range own.All() {
		if _, ours := o.req.Run.Env[name]; !ours {
			o.req.Run.Env[name] = value
		}
	}
	if b := d.Runtime.BudgetUSD; b != nil {
		o.req.Run.MaxBudgetUSD = b
	}
	if b := d.BudgetUSD; b != nil && (o.req.Run.MaxBudgetUSD == nil || *b < *o.req.Run.MaxBudgetUSD) {
		o.req.Run.MaxBudgetUSD = b
	}
	n, err := a.deps.Agents.Negotiate(ctx, o.req)
	if err != nil {
		return o, err
	}
	if !n.Supported {
		if n, err = a.secondWay(ctx, d, &o, n); err != nil {
			return o, err
		}
	}
	if !n.Supported {
		return o, unsupported(d, n)
	}
	for _, r := range n.Reasons {
		if r.Severity == execution.SeverityWarning {
			o.notes = append(o.notes, "Note: "+r.Message)
		}
	}
	return o, nil
}

// secondWay removes options that the request can do without: a schema that the prompt also states, and the run's
// budget, which is also checked after each turn. The runtime's own budget stays, because it was configured explicitly.
func (a *agentRuntime) secondWay(ctx context.Context, d Dispatch, o *order, n execution.Negotiation) (execution.Negotiation, error) {
	blocked := func(capability string) bool {
		return slices.ContainsFunc(n.Reasons, func(r execution.Reason) bool {
			return r.Severity == execution.SeverityBlocking && r.Capability == capability
		})
	}
	changed := false
	if blocked("structuredOutput") && len(o.req.Run.OutputSchema) > 0 {
		o.req.Run.OutputSchema, changed = nil, true
		o.notes = append(o.notes, fmt.Sprintf("Note: %s has no structured output; its last message is read as the result.", d.Runtime.Agent))
	}
	if blocked("budget") && d.Runtime.BudgetUSD == nil && o.req.Run.MaxBudgetUSD != nil {
		o.notes = append(o.notes, fmt.Sprintf("Note: %s cannot enforce a budget of $%.2f while it runs; the cost is counted when the turn ends.", d.Runtime.Agent, *o.req.Run.MaxBudgetUSD))
		o.req.Run.MaxBudgetUSD, changed = nil, true
	}
	if !changed {
		return n, nil
	}
	return a.deps.Agents.Negotiate(ctx, o.req)
}

// unsupported names what the agent cannot do, and how to find one that can.
func unsupported(d Dispatch, n execution.Negotiation) error {
	var why []string
	capability := ""
	for _, r := range n.Reasons {
		if r.Severity == execution.SeverityBlocking {
			why = append(why, r.Message)
			capability = cmp.Or(capability, r.Capability)
		}
	}
	e := execution.Errorf(execution.CodeCapability, "runtimes.%s: %s cannot run the turn of role %s: %s",
		d.RuntimeID, d.Runtime.Agent, d.RoleID, strings.Join(why, "; "))
	e.Agent, e.Capability = d.Runtime.Agent, capability
	if capability == "approvalMode" {
		return e.WithHint("choose how its permission requests are answered: drawbar govern config set runtimes.%s.approve yolo (it acts without asking), prompt or deny", d.RuntimeID)
	}
	if capability == "budget" {
		return e.WithHint("choose a model whose price is known: drawbar govern config set runtimes.%s.model MODEL; or remove budget_usd", d.RuntimeID)
	}
	return e.WithHint("see which agent can: drawbar agents list; then: drawbar govern config set runtimes.%s.agent NAME", d.RuntimeID)
}

// request translates the turn to an execution request.
func (a *agentRuntime) request(d Dispatch, mode execution.ApprovalMode, structured bool) execution.Request {
	grace := int64(max(0, d.grace()) / time.Millisecond)
	text := d.text() + "\n\n## Where the result goes\n\n"
	if structured {
		text += "Your last message is the turn result: one JSON object of the form described above, and nothing else. Drawbar writes the file; do not write it yourself.\n"
	} else {
		text += "Write the turn result to this file, as one JSON object: " + d.StagedPath + "\nThe turn has no result until that file exists.\n"
	}
	req := d.request(a.deps.Now(), text, execution.RunOptions{Agent: d.Runtime.Agent, Model: d.Runtime.Model, ApprovalMode: mode,
		ThinkingEffort: execution.ThinkingEffort(d.Runtime.Thinking), Sandbox: execution.SandboxMode(d.Runtime.Sandbox),
		InactivityTimeoutMs: setting(defaultStale, d.Runtime.IdleTimeoutMS, d.Loop.StaleTurnThresholdMS).Milliseconds(),
		GracePeriodMs:       &grace,
		Env:                 map[string]string{protocol.TurnVariable: d.Turn.TurnID, "AGENTXCHAIN_DISPATCH_DIR": d.BundleDir, "AGENTXCHAIN_STAGING_PATH": d.StagedPath}})
	if d.Runtime.Session == sessionRole {
		req.Run.SessionID = d.Session
	}
	if structured {
		req.Run.OutputSchema = ResultSchema(d.Role.WriteAuthority)
	}
	if mode == execution.ApprovalPrompt && d.Approve == nil {
		// There is no person to ask: the first question ends the attempt, and the report shows it.
		req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportPreferred}
	}
	return req
}

// request is a request of the turn.
func (d Dispatch) request(now time.Time, text string, o execution.RunOptions) execution.Request {
	o.Cwd, o.Tags = d.workDir(), []string{"govern", "role:" + d.RoleID, "phase:" + d.Phase, govern.TurnTag(d.Turn.TurnID)}
	return execution.Request{SchemaVersion: execution.SchemaVersion, AssistantID: "drawbar", TurnID: d.Turn.TurnID, SessionID: d.Run, Run: o,
		Message: execution.Message{ID: fmt.Sprintf("%s-%d", d.Turn.TurnID, max(1, d.Turn.Attempt)), Text: execution.Prompt(text), ReceivedAt: now.UTC()}}
}

// run drives one run of the agent.
func (a *agentRuntime) run(ctx context.Context, j *job, o order, log *transcript) (ran, error) {
	var res ran
	req := o.req.Clone()
	req.Run.TimeoutMs = max(1, j.limit.Sub(a.deps.Now()).Milliseconds())
	run, err := a.deps.Agents.Run(ctx, req, agent.Options{OnApproval: j.d.Approve, OnInput: j.d.Answer})
	if err != nil {
		return res, err
	}
	j.attached(0)
	startup := setting(defaultStartup, j.d.Runtime.StartupWatchdogMS, j.d.Loop.StartupWatchdogMS)
	stop := j.beat(startup, log, func() { run.Abort(errSilent) })
	for e, err := range run.Events(context.WithoutCancel(ctx), 0) {
		if err != nil {
			break // events end early only when their context does, which this one does not
		}
		res.note(e, a.deps.Now())
		a.note(j, e, log)
	}
	stop()
	res.Result, err = run.Result(context.WithoutCancel(ctx))
	res.silent = errors.Is(j.aborted(), errSilent)
	return res, err
}

var errSilent = errors.New("no sign of life")
