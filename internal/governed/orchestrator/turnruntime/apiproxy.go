package turnruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/govern"
	"github.com/drawbar/drawbar/govern/protocol"
	"github.com/drawbar/drawbar/internal/base/pause"
	"github.com/drawbar/drawbar/internal/base/secret"
	"github.com/drawbar/drawbar/internal/governed/chatapi"
	"github.com/drawbar/drawbar/internal/governed/governance/charter"
	"github.com/drawbar/drawbar/transport/httpcall"
)

// defaultRequest is the time limit of a request to a model API or an agent service that states none.
const defaultRequest = 120 * time.Second

// systemPrompt is what a model is told beside the bundle.
const systemPrompt = `You act as one agent of a governed software run.
The user message contains your task and its context.
Obey the rules and the write authority that it states. You have no tools and cannot write files.
Answer with exactly one JSON object: the turn result of the form that the task describes.
Do not put it in a fence, and write nothing before or after it.`

// apiProxy asks a model API for the turn's result, and stages it.
type apiProxy struct{ deps Deps }

// Check finds everything that keeps the request from being sent.
func (a *apiProxy) Check(d Dispatch) error {
	_, err := a.plan(d)
	return err
}

// apiPlan is a request that is ready to be sent.
type apiPlan struct {
	api      chatapi.API
	request  chatapi.Request
	schedule chatapi.Schedule
	redact   *secret.Redactor
	budget   *tokenBudget   // nil without preflight
	unfit    *chatapi.Fault // the prompt is too long to be sent
}

// plan prepares the request. It sends and writes nothing.
func (a *apiProxy) plan(d Dispatch) (p apiPlan, err error) {
	at, rt := "runtimes."+d.RuntimeID, d.Runtime
	p.redact = secret.New(secret.Environ(d.Environ))
	if w := d.Role.WriteAuthority; w != protocol.ReviewOnly && w != protocol.Proposed {
		return p, configError("role %s is %s, but a model API writes no files", d.RoleID, w).
			WithHint("make the role review_only or proposed, or give it a runtime of type local_cli, agent or mcp")
	}
	api, ok := chatapi.Of(rt.Provider)
	if !ok || rt.Provider == "custom" && rt.BaseURL == "" {
		return p, configError("%s.provider is %q", at, rt.Provider).WithHint("use one of %s; custom needs base_url", strings.Join(charter.Providers(), ", "))
	}
	if rt.Model == "" {
		return p, configError("%s.model is missing", at).WithHint("drawbar govern config set %s.model MODEL", at)
	}
	p.api = api
	p.request = chatapi.Request{Endpoint: rt.BaseURL, Model: rt.Model, System: systemPrompt, Prompt: d.text(), Temperature: rt.Temperature, Timeout: defaultRequest}
	if rt.AuthEnv != "" {
		p.request.Key = strings.TrimSpace(d.variable(rt.AuthEnv))
	}
	key := p.request.Key
	switch {
	case key == "" && !api.Keyless:
		what := fmt.Sprintf("%s needs a key: the variable %s is not set", at, rt.AuthEnv)
		if rt.AuthEnv == "" {
			what = at + ".auth_env is missing: " + api.Title + " needs a key"
		}
		return p, execution.Errorf(execution.CodeAuth, "%s", what).WithHint("export %s=..., then: drawbar govern step", cmp.Or(rt.AuthEnv, "VARIABLE"))
	case strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return p, execution.Errorf(execution.CodeAuth, "%s: the value of %s contains a character that no header can have", at, rt.AuthEnv).
			WithHint("set %s to the key alone, then: drawbar govern step", rt.AuthEnv)
	}
	p.redact.Add(key)
	p.redact.Add(secret.URL(rt.BaseURL)...)
	if rt.MaxOutputTokens != nil {
		p.request.MaxTokens = *rt.MaxOutputTokens
	}
	if s := rt.TimeoutSeconds; s != nil && *s > 0 {
		p.request.Timeout = time.Duration(*s * float64(time.Second))
	}
	if p.schedule = chatapi.NewPolicy(rt.RetryPolicy); d.Role.FirstEdition() {
		p.schedule = chatapi.NewFirstEdition(rt.MaxRetries)
	}
	if rt.Preflight != nil && rt.Preflight.Enabled {
		p.preflight(d)
	}
	return p, nil
}

// variable is a variable of the caller's environment.
func (d Dispatch) variable(name string) string {
	if d.Getenv != nil {
		if v := d.Getenv(name); v != "" {
			return v
		}
	}
	for _, e := range slices.Backward(d.Environ) {
		if k, v, ok := strings.Cut(e, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// Run sends the request, repeats it as the schedule says, and stages the result.
func (a *apiProxy) Run(ctx context.Context, d Dispatch, w Watch) (Outcome, error) {
	p, err := a.plan(d)
	if err != nil {
		return Outcome{}, err
	}
	if err := d.makeRoom(); err != nil {
		return Outcome{}, err
	}
	if err := d.clearAudit(); err != nil {
		return Outcome{}, err
	}
	if err := p.writeRequest(d); err != nil {
		return Outcome{}, err
	}
	limit, spent, err := a.spend(d, p)
	if err != nil {
		return refused(err, p.redact), nil
	}
	d.Runtime.TimeoutMS = nil // timeout_seconds bounds a request, and timeouts the turn
	c := &conversation{job: a.deps.job(d, w, d.Runtime.Provider+"/"+d.Runtime.Model, govern.StageStarting), plan: p, client: httpcall.New(a.deps.HTTP), most: limit}
	if a.deps.HTTP == nil {
		defer c.client.Close()
	}
	ctx, cancel := context.WithDeadlineCause(ctx, c.limit, errTurnLimit)
	defer cancel()
	c.attached(0)
	defer c.beat(defaultStartup, nil, nil)()
	fault := p.unfit
	if fault == nil {
		fault = c.ask(ctx)
	}
	o := c.outcome(ctx, fault)
	if err := spent(c.record(o)); err != nil {
		d.say("The record of turn %s is incomplete: %v", d.Turn.TurnID, err)
	}
	return o, c.writeAudit(o, fault)
}

// spend begins the record of what the turn costs, and returns its limit, nil for none. The error says which budget has too little left.
func (a *apiProxy) spend(d Dispatch, p apiPlan) (limit *float64, ended func(execution.Result) error, err error) {
	s, ok := a.deps.Agents.(govern.Spender)
	if !ok {
		return d.BudgetUSD, func(execution.Result) error { return nil }, nil
	}
	req := d.request(a.deps.Now(), d.text(), execution.RunOptions{Agent: d.Runtime.Provider, Model: d.Runtime.Model, MaxBudgetUSD: d.BudgetUSD})
	usd := d.price(d.Runtime.Model, p.api.Keyless, 1e6, 1e6)
	ended, err = s.Spend(&req, usd != nil && *usd > 0)
	return req.Run.MaxBudgetUSD, ended, err
}

// record is what the turn cost, and how it ended.
func (c *conversation) record(o Outcome) execution.Result {
	r := o.record(c.begun, c.now())
	r.Text, r.Attempts = string(c.result), len(c.attempts)
	if u := (execution.Usage{Input: c.usage.InputTokens, Output: c.usage.OutputTokens, Total: c.usage.InputTokens + c.usage.OutputTokens}); u.Total > 0 {
		r.Usage, r.Cost = &u, new(execution.CostOf(u, c.price(), execution.CostFromTable))
	}
	return r
}

// price is what the turn has cost, nil if that is unknown.
func (c *conversation) price() *float64 {
	return c.d.price(c.d.Runtime.Model, c.plan.api.Keyless, c.usage.InputTokens, c.usage.OutputTokens)
}

// errTurnLimit is why a request ends when the turn's own time limit expires.
var errTurnLimit = errors.New("the time limit of the turn expired")

// conversation is the requests of one turn.
type conversation struct {
	*job
	plan   apiPlan
	client *httpcall.Client
	most   *float64 // what the turn may cost; nil for no limit

	attempts []apiAttempt
	failed   []*chatapi.Fault
	raw      []byte // the last response that was read
	result   []byte
	usage    protocol.Cost
}

// ask sends requests until one of them has a result, or the schedule ends. It returns the last fault.
func (c *conversation) ask(ctx context.Context) *chatapi.Fault {
	var delay, waited time.Duration
	for {
		at := c.now()
		t := apiAttempt{Attempt: len(c.attempts) + 1, StartedAt: protocol.At(at), ScheduledDelayMS: delay.Milliseconds(), ActualDelayMS: waited.Milliseconds()}
		c.sign("request", at)
		answer, fault := c.plan.api.Call(ctx, c.client, c.plan.request)
		if len(answer.Raw) > 0 {
			c.raw = answer.Raw
		}
		if fault == nil {
			c.result, fault = c.read(answer)
		}
		t.end(c.now(), answer, fault)
		c.attempts = append(c.attempts, t)
		c.usage.InputTokens += answer.Input
		c.usage.OutputTokens += answer.Output
		c.change(func(p *govern.Progress) { p.Tokens = c.usage.InputTokens + c.usage.OutputTokens })
		c.tellChange()
		if fault == nil || ctx.Err() != nil {
			return fault
		}
		if usd := c.price(); c.most != nil && usd != nil && *usd >= *c.most {
			fault.Message += fmt.Sprintf("; it is not asked again, because the turn has cost %.4f of %.4f USD", *usd, *c.most)
			return fault
		}
		own, again := c.plan.schedule.Next(fault, c.failed)
		if delay = max(own, fault.After()); !again || delay > longestPause || c.now().Add(delay).After(c.limit) {
			return fault
		}
		c.failed = append(c.failed, fault)
		c.d.say("%s; attempt %d of at most %d in %s", c.plan.redact.Text(fault.Message), t.Attempt+1, c.plan.schedule.Most(), govern.Took(delay))
		from := c.now()
		if pause.For(ctx, delay) != nil {
			return fault
		}
		waited = c.now().Sub(from)
	}
}

// read finds the result in an answer.
func (c *conversation) read(a chatapi.Answer) ([]byte, *chatapi.Fault) {
	data, err := resultIn(a.Texts...)
	if err == nil {
		return data, nil
	}
	message := fmt.Sprintf("the answer of %s is not a turn result: %v", c.d.Runtime.Model, err)
	if a.Halted != "" {
		message = fmt.Sprintf("%s gave no turn result, because it stopped with %s (%v)", c.d.Runtime.Model, a.Halted, err)
	}
	f := chatapi.NewFault(execution.ClassExtractionFailure, message)
	if len(a.Texts) > 0 {
		f.RawDetail = head(c.plan.redact.Text(a.Texts[len(a.Texts)-1]), 500)
	}
	return nil, f
}

func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// outcome judges the requests.
func (c *conversation) outcome(ctx context.Context, fault *chatapi.Fault) Outcome {
	o := Outcome{Meta: c.meta(), Cost: &c.usage}
	if c.usage == (protocol.Cost{}) {
		o.Cost = nil
	}
	if fault == nil {
		o.Staged = true
		return o
	}
	resume := "; then: drawbar govern step --resume"
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTurnLimit) && fault != c.plan.unfit:
		*fault = *chatapi.NewFault(execution.ClassTimeout, fmt.Sprintf("the time limit of the turn expired after %d requests; the last one: %s", len(c.attempts), fault.Message))
		o.Class, o.Detail = ClassTimeout, fault.Message
		o.Hint = "give it more time: drawbar govern step --resume --timeout 40m"
	case cause != nil:
		return Outcome{Meta: o.Meta, Cost: o.Cost, Cancelled: true, Detail: "the caller stopped the turn", Hint: "drawbar govern step"}
	default:
		o.Class, o.Detail, o.Hint, o.RetryAfter = string(fault.Class), fault.Message, fault.Recovery+resume, fault.After()
		if n := len(c.attempts); n > 1 {
			o.Detail += fmt.Sprintf(" (%d requests)", n)
		}
		if o.RetryAfter > 0 && fault.Retryable {
			o.Hint = "the limit ends at " + c.now().Add(o.RetryAfter).UTC().Format(time.RFC3339) + resume
		}
	}
	o.Detail, o.Hint = c.plan.redact.Text(o.Detail), c.plan.redact.Text(o.Hint)
	return o
}

// meta is the adapter_meta of the turn, with the cost by budget.cost_rates or by the provider's published price.
func (c *conversation) meta() *protocol.AdapterMeta {
	in, out, retries := c.usage.InputTokens, c.usage.OutputTokens, len(c.attempts)-1
	total := in + out
	m := &protocol.AdapterMeta{Model: c.d.Runtime.Model, Provider: c.d.Runtime.Provider, Retries: &retries}
	if total > 0 {
		if usd := c.price(); usd != nil {
			c.usage.USD = *usd
		}
		m.InputTokens, m.OutputTokens, m.TotalTokens, m.CostUSD = &in, &out, &total, new(c.usage.USD)
	}
	return c.latency(m)
}
