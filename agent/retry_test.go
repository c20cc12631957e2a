package agent_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// flaky fails its first n executions after saying something and spending a cent.
func flaky(n int, code execution.ErrorCode, before ...execution.Body) script {
	return func(c *at.Call) execution.Result {
		opened(c)
		c.Say("try ", string(rune('0'+c.Number)))
		cent := 0.01
		cost := execution.CostOf(execution.Usage{Input: 10, Output: 1}, &cent, execution.CostFromAgent)
		c.Emit(execution.TokenUsage{InputTokens: 10, OutputTokens: 1}, execution.CostEvent{Cost: cost})
		if c.Number <= n {
			c.Emit(before...)
			return at.Failed(code, "it broke")
		}
		ended(c)
		res := at.Completed()
		res.Cost, res.Usage = &cost, &execution.Usage{Input: 10, Output: 1, Total: 11} // of this attempt
		return res
	}
}

func retrying(policy execution.RetryPolicy) execution.Request {
	req := request("x")
	req.Run.RetryPolicy = &policy
	return req
}

func steady() execution.RetryPolicy {
	p := execution.DefaultRetryPolicy()
	p.JitterFactor = 0
	return p
}

func TestRetry(t *testing.T) {
	t.Parallel()
	for _, code := range []execution.ErrorCode{execution.CodeRateLimited, execution.CodeAgentCrash, execution.CodeTimeout, execution.CodeInactivityTimeout} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				res, events := run(t, backend(flaky(2, code)), retrying(steady()), agent.Options{})
				want(t, res, execution.StatusCompleted, "")
				if took := time.Since(begun); took != 3*time.Second { // 1 s, then 2 s
					t.Errorf("took %v", took)
				}
				if res.Text != "try 3" || res.Output.Text != "try 3" || res.Attempts != 3 || res.Retries != 0 {
					t.Errorf("got %q %+v, %d attempts, %d retries of the agent", res.Text, res.Output, res.Attempts, res.Retries)
				}
				if res.Usage.Input != 30 || *res.Cost.TotalUSD < 0.0299 {
					t.Errorf("what failed attempts cost is lost: %+v %v", res.Usage, *res.Cost.TotalUSD)
				}
				retries := bodies[execution.Retry](events)
				if len(retries) != 2 || retries[0].Attempt != 2 || retries[0].MaxAttempts != 3 || retries[0].DelayMs != 1000 || retries[1].DelayMs != 2000 || retries[0].Code != code {
					t.Errorf("got %+v", retries)
				}
			})
		})
	}
}

func TestNoRetry(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		script   script
		req      func(*execution.Request)
		attempts int
	}{
		{"no policy", flaky(9, execution.CodeAgentCrash), func(r *execution.Request) { r.Run.RetryPolicy = nil }, 1},
		{"attempts are used up", flaky(9, execution.CodeAgentCrash), func(*execution.Request) {}, 3},
		{"not in the policy", flaky(9, execution.CodeProvider), func(*execution.Request) {}, 1},
		{"never recoverable", flaky(9, execution.CodeAuth), func(r *execution.Request) {
			r.Run.RetryPolicy.RetryOn = []execution.ErrorCode{execution.CodeAuth}
		}, 1},
		{"the adapter says it is final", func(c *at.Call) execution.Result {
			res := at.Failed(execution.CodeAgentCrash, "broken for good")
			res.Error.Retryable, res.Error.Recoverable = false, false
			return res
		}, func(*execution.Request) {}, 1},
		{"a turn was completed", func(c *at.Call) execution.Result {
			opened(c)
			c.Say("done")
			ended(c)
			return at.Failed(execution.CodeAgentCrash, "late")
		}, func(*execution.Request) {}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				req := retrying(steady())
				tt.req(&req)
				b := backend(tt.script)
				res, _ := run(t, b, req, agent.Options{})
				if res.Status != execution.StatusFailed || res.Attempts != tt.attempts || b.Adapter.(*at.Fake).Starts() != tt.attempts {
					t.Errorf("got %s after %d attempts, want %d", res.Status, res.Attempts, tt.attempts)
				}
			})
		})
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		code  execution.ErrorCode
		says  execution.Body
		delay time.Duration
	}{
		{"longer than the backoff", execution.CodeRateLimited, execution.RateLimitError{RetryAfterMs: 7000}, 7 * time.Second},
		{"shorter than the backoff", execution.CodeRateLimited, execution.RateLimitError{RetryAfterMs: 300}, 300 * time.Millisecond},
		{"as a warning", execution.CodeRateLimited, execution.RateLimited{RetryAfterMs: 7000}, 7 * time.Second},
		{"of something else", execution.CodeAgentCrash, execution.RateLimited{RetryAfterMs: 7000}, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				res, events := run(t, backend(flaky(1, tt.code, tt.says)), retrying(steady()), agent.Options{})
				want(t, res, execution.StatusCompleted, "")
				if took := time.Since(begun); took != tt.delay {
					t.Errorf("waited %v, want %v: %+v", took, tt.delay, bodies[execution.Retry](events))
				}
			})
		})
	}
}

func TestCancelDuringTheWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(*agent.Run)
		code execution.FailureCode
	}{
		{"abort", func(r *agent.Run) { r.Abort(nil) }, execution.FailureCancelled},
		{"interrupt", func(r *agent.Run) { _ = r.Interrupt() }, execution.FailureCancelled},
		{"deadline", func(*agent.Run) {}, execution.FailureTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				policy := steady()
				policy.BaseDelayMs, policy.MaxDelayMs = 3_600_000, 3_600_000
				begun := time.Now()
				b := backend(flaky(9, execution.CodeRateLimited))
				r := start(t, b, retrying(policy), agent.Options{MaxElapsed: time.Minute})
				synctest.Wait()
				tt.end(r)
				res, _ := finish(t, r)
				want(t, res, execution.StatusFailed, tt.code)
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("took %v", took)
				}
				if n := b.Adapter.(*at.Fake).Starts(); n != 1 {
					t.Errorf("%d starts", n)
				}
			})
		})
	}
}

func TestShouldRetry(t *testing.T) {
	t.Parallel()
	p := steady()
	tests := []struct {
		failure execution.Body
		attempt int
		want    bool
	}{
		{execution.Crash{}, 0, true},
		{execution.Crash{}, 1, true},
		{execution.Crash{}, 2, false},
		{execution.Crash{}, -1, false},
		{execution.RateLimitError{}, 0, true},
		{execution.AuthError{}, 0, false},
		{execution.ContextExceeded{}, 0, false},
		{execution.Timeout{Kind: execution.TimeoutRun}, 0, true},
		{execution.Timeout{Kind: execution.TimeoutInactivity}, 0, true},
		{execution.ErrorEvent{Code: execution.CodeTimeout, Recoverable: true}, 0, true},
		{execution.ErrorEvent{Code: execution.CodeTimeout}, 0, false},
		{execution.ErrorEvent{Code: execution.CodeProvider, Recoverable: true}, 0, false},
		{execution.TextDelta{}, 0, false},
		{nil, 0, false},
	}
	for _, tt := range tests {
		if got := agent.ShouldRetry(tt.failure, tt.attempt, p); got != tt.want {
			t.Errorf("%T %+v, attempt %d: got %v, want %v", tt.failure, tt.failure, tt.attempt, got, tt.want)
		}
	}
}

// retrier decides itself.
type retrier struct {
	*at.Fake
	decide func(execution.Body, int) bool
}

func (r retrier) ShouldRetry(failure execution.Body, attempt int, _ execution.RetryPolicy) bool {
	return r.decide(failure, attempt)
}

func TestRetrier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []int
		a := retrier{&at.Fake{Script: flaky(1, execution.CodeAuth)}, func(f execution.Body, attempt int) bool {
			if _, ok := f.(execution.AuthError); !ok {
				t.Errorf("asked about %T", f)
			}
			asked = append(asked, attempt)
			return true
		}}
		res, _ := run(t, agent.Backend{Name: "fake", Adapter: newFaulty(a)}, retrying(steady()), agent.Options{})
		want(t, res, execution.StatusCompleted, "")
		if !slices.Equal(asked, []int{0}) {
			t.Errorf("asked %v", asked)
		}
		a = retrier{&at.Fake{Script: flaky(1, execution.CodeAgentCrash)}, func(execution.Body, int) bool { panic("no idea") }}
		res, _ = run(t, agent.Backend{Name: "fake", Adapter: a}, retrying(steady()), agent.Options{})
		want(t, res, execution.StatusFailed, execution.FailureBackendExecution)
	})
}

func named(name string, s script) agent.Backend {
	b := backend(s)
	b.Name = name
	return b
}

func failingWith(code execution.ErrorCode) script {
	return func(c *at.Call) execution.Result {
		opened(c)
		c.Say("half an answer")
		return at.Failed(code, "it broke")
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	takesOver := map[execution.ErrorCode]bool{
		execution.CodeAgentNotInstalled: true, execution.CodeSpawn: true, execution.CodeAuth: true, execution.CodeRateLimited: true,
		execution.CodeProvider: true, execution.CodeAgentCrash: true, execution.CodeModelNotFound: true, execution.CodeCapability: true,
		execution.CodeInvalidOutput: true, execution.CodeContextExceeded: true,
	}
	for _, row := range execution.ErrorRows() {
		t.Run(string(row.Code), func(t *testing.T) {
			t.Parallel()
			second := named("second", func(c *at.Call) execution.Result {
				c.Emit(execution.SessionStart{SessionID: "s-2"}, execution.TurnStart{})
				c.Say("hi")
				ended(c)
				return at.Completed()
			})
			r := start(t, named("first", failingWith(row.Code)), request("x"), agent.Options{Fallback: []agent.Backend{second}})
			res, events := finish(t, r)
			if got := res.Status == execution.StatusCompleted; got != takesOver[row.Code] {
				t.Fatalf("got %s of %s", res.Status, res.BackendID)
			}
			if !takesOver[row.Code] {
				if res.BackendID != "first" || second.Adapter.(*at.Fake).Starts() != 0 {
					t.Errorf("got %s, the second was started %d times", res.BackendID, second.Adapter.(*at.Fake).Starts())
				}
				return
			}
			if res.BackendID != "second" || res.Agent != "second" || r.Agent() != "second" || res.Text != "hi" || res.SessionID != "s-2" {
				t.Errorf("got %s %s %q %s", res.BackendID, res.Agent, res.Text, res.SessionID)
			}
			if events[len(events)-1].Agent != "second" || events[0].Agent != "first" {
				t.Errorf("events of %s and %s", events[0].Agent, events[len(events)-1].Agent)
			}
			if b := bodies[execution.Retry](events); len(b) != 1 || b[0].Code != row.Code {
				t.Errorf("got %+v", b)
			}
		})
	}
}

// TestFallbackStream: the turn of the backend that failed ends as failed, and the next one has a session of its own.
func TestFallbackStream(t *testing.T) {
	t.Parallel()
	second := named("second", func(c *at.Call) execution.Result { c.Say("hi"); return at.Completed() })
	res, events := run(t, named("first", failingWith(execution.CodeAuth)), request("x"), agent.Options{Fallback: []agent.Backend{second}})
	const want = "session_start:s-1 turn_start message_start 'half an answer' message_stop turn_end:failed retry" +
		" session_start: turn_start message_start 'hi' message_stop turn_end:completed session_end finished"
	if got := sketch(events); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if res.SessionID != "" {
		t.Errorf("the result has the session %s of a backend that failed", res.SessionID)
	}
}

func TestFallbackChain(t *testing.T) {
	t.Parallel()
	lacking := named("lacking", answer)
	lacking.Adapter.(*at.Fake).Declared = at.Bare
	req := request("x")
	req.Requirements = &execution.Requirements{ToolUse: execution.ToolUseRequired}
	req.Run.Model = "only-first"
	var model string
	last := named("last", func(c *at.Call) execution.Result { model = c.Request.Run.Model; return answer(c) })
	opts := agent.Options{Fallback: []agent.Backend{named("broken", failingWith(execution.CodeAuth)), last, named("never", answer)}}
	r := start(t, lacking, req, opts)
	res, _ := finish(t, r)
	want(t, res, execution.StatusCompleted, "")
	if res.BackendID != "last" || model != "" || lacking.Adapter.(*at.Fake).Starts() != 0 {
		t.Errorf("got %s with model %q", res.BackendID, model)
	}

	none := agent.Options{Fallback: []agent.Backend{named("broken", failingWith(execution.CodeAuth))}}
	res, _ = run(t, lacking, req, none)
	want(t, res, execution.StatusFailed, execution.FailureBackendExecution)
	if res.BackendID != "broken" {
		t.Errorf("got %s", res.BackendID)
	}

	for name, change := range map[string]func(*execution.Request){
		"resumed": func(r *execution.Request) { r.Run.SessionID = "s" },
		"forked":  func(r *execution.Request) { r.Run.ForkSessionID = "s" },
		"continued": func(r *execution.Request) {
			r.Continuation = &execution.Continuation{State: map[string]any{"sessionId": "s"}}
		},
	} {
		req := request("x")
		change(&req)
		res, _ := run(t, named("first", failingWith(execution.CodeAuth)), req, agent.Options{Fallback: []agent.Backend{last}})
		if res.BackendID != "first" {
			t.Errorf("%s: a session run went to %s", name, res.BackendID)
		}
	}

	late := named("late", func(c *at.Call) execution.Result { answer(c); return at.Failed(execution.CodeAgentCrash, "late") })
	if res, _ := run(t, late, request("x"), agent.Options{Fallback: []agent.Backend{last}}); res.BackendID != "late" {
		t.Errorf("a run with an answer went to %s", res.BackendID)
	}

	ctx, cancel := context.WithCancel(t.Context())
	stopped := named("stopped", func(c *at.Call) execution.Result { cancel(); return at.Failed(execution.CodeAgentCrash, "x") })
	r, err := agent.New(stopped).Start(ctx, request("x"), agent.Options{Fallback: []agent.Backend{last}})
	if err != nil {
		t.Fatal(err)
	}
	if res, _ := finish(t, r); res.BackendID != "stopped" {
		t.Errorf("a cancelled run went to %s", res.BackendID)
	}
}
