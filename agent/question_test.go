package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	at "github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

func approvalOf(id string) execution.ApprovalRequired {
	return execution.ApprovalRequired{ID: execution.QuestionID(id), Action: "write " + id, Detail: "may I?", ToolName: "write", ToolCallID: "call-" + id, Risk: execution.RiskHigh}
}

func inputOf(id string) execution.InputRequired {
	return execution.InputRequired{ID: execution.QuestionID(id), Question: "which repo?", Source: execution.InputFromAgent}
}

// asker asks one question and says what the answer was.
func asker(q execution.Body) script {
	return func(c *at.Call) execution.Result {
		opened(c)
		d, err := c.Ask(q)
		if err != nil {
			return at.Failed(execution.CodeAborted, err.Error())
		}
		c.Say(fmt.Sprintf("approve=%v reason=%q text=%q", d.Approve, d.Reason, d.Text))
		ended(c)
		return at.Completed()
	}
}

func TestQuestionRoutes(t *testing.T) {
	t.Parallel()
	yes := func(context.Context, execution.ApprovalRequired) execution.Decision {
		return execution.Decision{Approve: true, Reason: "callback"}
	}
	text := func(context.Context, execution.InputRequired) (string, error) { return "drawbar", nil }
	preferred := func(r *execution.Request) {
		r.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportPreferred}
	}
	tests := []struct {
		name    string
		q       execution.Body
		req     func(*execution.Request)
		opts    agent.Options
		status  execution.Status
		text    string // of the answer
		pending bool   // it was pending at some time
	}{
		{"yolo", approvalOf("q"), func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, agent.Options{OnApproval: panicky}, "completed", `approve=true reason="approval mode yolo" text=""`, false},
		{"deny", approvalOf("q"), func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalDeny }, agent.Options{OnApproval: yes}, "completed", `approve=false reason="approval mode deny" text=""`, false},
		{"yolo, interactive", approvalOf("q"), func(r *execution.Request) { r.Run.ApprovalMode, r.Run.Interactive = execution.ApprovalYolo, true }, agent.Options{}, "completed", `approve=true reason="approval mode yolo" text=""`, false},
		{"callback", approvalOf("q"), nil, agent.Options{OnApproval: yes}, "completed", `approve=true reason="callback" text=""`, true},
		{"callback panics", approvalOf("q"), nil, agent.Options{OnApproval: panicky}, "completed", `approve=false reason="the callback failed" text=""`, true},
		{"nobody", approvalOf("q"), nil, agent.Options{}, "completed", `approve=false reason="nobody can approve it" text=""`, false},
		{"nobody, wants interrupts", approvalOf("q"), preferred, agent.Options{}, "awaiting_approval", "", false},
		{"callback, wants interrupts", approvalOf("q"), preferred, agent.Options{OnApproval: yes}, "completed", `approve=true reason="callback" text=""`, true},
		{"input", inputOf("q"), nil, agent.Options{OnInput: text}, "completed", `approve=true reason="" text="drawbar"`, true},
		{"input in yolo", inputOf("q"), func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalYolo }, agent.Options{OnInput: text}, "completed", `approve=true reason="" text="drawbar"`, true},
		{"input in deny", inputOf("q"), func(r *execution.Request) { r.Run.ApprovalMode = execution.ApprovalDeny }, agent.Options{OnInput: text}, "needs_clarification", "", false},
		{"input fails", inputOf("q"), nil, agent.Options{OnInput: func(context.Context, execution.InputRequired) (string, error) { return "", errors.New("no idea") }}, "completed", `approve=false reason="no idea" text=""`, true},
		{"input panics", inputOf("q"), nil, agent.Options{OnInput: func(context.Context, execution.InputRequired) (string, error) { panic("x") }}, "completed", `approve=false reason="the callback failed" text=""`, true},
		{"input, nobody", inputOf("q"), nil, agent.Options{}, "needs_clarification", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				req := request("x")
				if tt.req != nil {
					tt.req(&req)
				}
				seen := false
				r := begin(t, backend(asker(tt.q)), req, tt.opts, func(r **agent.Run, ready chan struct{}) []agent.Handler {
					return []agent.Handler{agent.OnAny(func(execution.Event) {
						<-ready
						seen = seen || len((*r).Pending()) > 0
					})}
				})
				r.CloseInput()
				res, events := finish(t, r)
				if res.Status != tt.status || res.Text != tt.text {
					t.Errorf("got %s %q, want %s %q", res.Status, res.Text, tt.status, tt.text)
				}
				if seen != tt.pending {
					t.Errorf("pending %v, want %v", seen, tt.pending)
				}
				asked := len(bodies[execution.ApprovalRequired](events)) + len(bodies[execution.InputRequired](events))
				answered := len(bodies[execution.ApprovalGranted](events)) + len(bodies[execution.ApprovalDenied](events))
				if wantAnswers := tt.status == "completed"; asked != 1 || (answered == 1) != wantAnswers {
					t.Errorf("%d questions and %d answers", asked, answered)
				}
				warned := slices.ContainsFunc(bodies[execution.Debug](events), func(d execution.Debug) bool { return d.Level == execution.DebugWarn })
				if tt.name == "nobody" && !warned {
					t.Error("there is no warning")
				}
				switch tt.status {
				case "awaiting_approval":
					if res.ApprovalRequest.ApprovalKey != "q" || res.Continuation.Kind != "approval" || res.Continuation.State["sessionId"] != "s-1" {
						t.Errorf("got %+v %+v", res.ApprovalRequest, res.Continuation)
					}
				case "needs_clarification":
					if res.Output.Text != "which repo?" || res.Continuation.Kind != "clarification" || res.Continuation.State["sessionId"] != "s-1" {
						t.Errorf("got %+v %+v", res.Output, res.Continuation)
					}
				}
				if len(r.Pending()) > 0 {
					t.Error("the finished run has pending questions")
				}
			})
		})
	}
}

func panicky(context.Context, execution.ApprovalRequired) execution.Decision { panic("no decision") }

// TestContinuationGoesOn takes the continuation of a result into the next request.
func TestContinuationGoesOn(t *testing.T) {
	t.Parallel()
	var resumed string
	b := backend(func(c *at.Call) execution.Result {
		resumed = c.Request.Run.SessionID
		return asker(inputOf("q"))(c)
	})
	first, _ := run(t, b, request("x"), agent.Options{})
	second := request("drawbar")
	second.Continuation = first.Continuation
	if n := agent.New(b).Negotiate(second, agent.Options{}); !n.Supported {
		t.Fatalf("refused: %v", n.Reasons)
	}
	run(t, b, second, agent.Options{})
	if resumed != "s-1" {
		t.Errorf("resumed %q, want s-1", resumed)
	}
	c := declaring(answer, func(c *execution.Capabilities) { c.Agent.CanResume = false })
	if n := agent.New(c).Negotiate(second, agent.Options{}); n.Supported {
		t.Error("a backend that cannot resume goes on with a session")
	}
}

// concurrentAsker asks n questions at once and counts the answers.
func concurrentAsker(n int) script {
	return func(c *at.Call) execution.Result {
		opened(c)
		for i := range n {
			c.Emit(approvalOf(fmt.Sprint("q", i)))
		}
		yes := 0
		for i := range n {
			d, err := c.Answer(execution.QuestionID(fmt.Sprint("q", n-1-i)))
			if err != nil {
				return at.Failed(execution.CodeAborted, err.Error())
			}
			if d.Approve {
				yes++
			}
		}
		c.Say(fmt.Sprint(yes, " yes"))
		ended(c)
		return at.Completed()
	}
}

func TestConcurrentQuestions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer func(*testing.T, *agent.Run)
		text   string
	}{
		{"by id, any order", func(t *testing.T, r *agent.Run) {
			for _, id := range []execution.QuestionID{"q2", "q0", "q1"} {
				if err := r.Answer(id, execution.Decision{Approve: id != "q1"}); err != nil {
					t.Error(err)
				}
			}
		}, "2 yes"},
		{"oldest first", func(t *testing.T, r *agent.Run) {
			if err := errors.Join(r.Approve("fine"), r.Deny("no"), r.Approve("")); err != nil {
				t.Error(err)
			}
		}, "2 yes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t, backend(concurrentAsker(3)), conversation(), agent.Options{})
				r.CloseInput() // questions can still be answered
				synctest.Wait()
				pending := r.Pending()
				if len(pending) != 3 || pending[0].ID != "q0" || pending[2].ID != "q2" || pending[0].CreatedAt != time.Now().UnixMilli() {
					t.Fatalf("pending: %+v", pending)
				}
				tt.answer(t, r)
				if n := len(r.Pending()); n != 0 {
					t.Errorf("%d are pending after their answers", n)
				}
				if err := r.Approve(""); execution.CodeOf(err) != execution.CodeNoPendingInteraction && execution.CodeOf(err) != execution.CodeRunNotActive {
					t.Errorf("nothing pending: %v", err)
				}
				res, _ := finish(t, r)
				if res.Text != tt.text {
					t.Errorf("got %q, want %q", res.Text, tt.text)
				}
			})
		})
	}
}

func TestAnswerErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(asker(approvalOf("q"))), conversation(), agent.Options{})
		if err := r.Deny(""); execution.CodeOf(err) != execution.CodeNoPendingInteraction {
			t.Errorf("too early: %v", err)
		}
		synctest.Wait()
		if err := r.Answer("unknown", execution.Decision{}); execution.CodeOf(err) != execution.CodeInteractionNotFound {
			t.Errorf("unknown: %v", err)
		}
		if err := r.Answer("q", execution.Decision{Approve: true}); err != nil {
			t.Errorf("first: %v", err)
		}
		if err := r.Answer("q", execution.Decision{Approve: true}); execution.CodeOf(err) != execution.CodeInteractionNotFound {
			t.Errorf("twice: %v", err)
		}
		r.CloseInput()
		finish(t, r)
		for _, err := range []error{r.Answer("q", execution.Decision{}), r.Approve(""), r.Deny("")} {
			if execution.CodeOf(err) != execution.CodeRunNotActive {
				t.Errorf("after the end: %v", err)
			}
		}
	})
}

// TestAnswerFromReader answers as soon as the question can be read: it must be pending by then.
func TestAnswerFromReader(t *testing.T) {
	t.Parallel()
	for range 200 {
		r := start(t, backend(asker(approvalOf("q"))), conversation(), agent.Options{})
		r.CloseInput()
		for e, err := range r.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if q, ok := e.Body.(execution.ApprovalRequired); ok {
				if err := r.Answer(q.ID, execution.Decision{Approve: true}); err != nil {
					t.Fatal(err)
				}
			}
		}
		finish(t, r)
	}
}

func TestWithdrawnQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan struct{})
		b := backend(func(c *at.Call) execution.Result {
			opened(c)
			c.Emit(approvalOf("q"))
			_ = c.Sleep(time.Second)
			c.Emit(execution.QuestionWithdrawn{ID: "q", Reason: "another client answered"})
			_ = c.Sleep(time.Second)
			c.Say("done")
			ended(c)
			return at.Completed()
		})
		r := start(t, b, request("x"), agent.Options{OnApproval: func(ctx context.Context, _ execution.ApprovalRequired) execution.Decision {
			<-ctx.Done()
			close(cancelled)
			return execution.Decision{Approve: true}
		}})
		time.Sleep(1500 * time.Millisecond)
		<-cancelled
		if err := r.Answer("q", execution.Decision{}); execution.CodeOf(err) != execution.CodeInteractionNotFound {
			t.Errorf("a withdrawn question: %v", err)
		}
		res, events := finish(t, r)
		want(t, res, execution.StatusCompleted, "")
		if n := len(bodies[execution.ApprovalGranted](events)); n != 0 {
			t.Errorf("a withdrawn question was granted %d times", n)
		}
	})
}

// TestDenialBehindTheTurn: a question may outlive its turn, and a denial of it begins no other, which nobody would end.
func TestDenialBehindTheTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(func(c *at.Call) execution.Result {
			opened(c)
			c.Emit(approvalOf("q"))
			ended(c)
			return chat(c)
		}), conversation(), agent.Options{})
		synctest.Wait()
		if err := r.Deny("too late"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := r.Send("more", ""); err != nil {
			t.Fatal(err)
		}
		r.CloseInput()
		res, events := finish(t, r)
		want(t, res, execution.StatusCompleted, "")
		if starts, ends := len(bodies[execution.TurnStart](events)), len(bodies[execution.TurnEnd](events)); starts != 3 || ends != 3 {
			t.Errorf("%d turns began and %d ended, want 3: %s", starts, ends, sketch(events))
		}
	})
}

// TestCallbackAgainstCaller: whoever answers first counts, the other's answer is dropped.
func TestCallbackAgainstCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t, backend(asker(approvalOf("q"))), conversation(), agent.Options{OnApproval: func(ctx context.Context, _ execution.ApprovalRequired) execution.Decision {
			time.Sleep(time.Hour) // slow, and deaf
			return execution.Decision{Approve: true, Reason: "late"}
		}})
		r.CloseInput()
		time.Sleep(time.Minute)
		if err := r.Deny("at once"); err != nil {
			t.Error(err)
		}
		begun := time.Now()
		res, events := finish(t, r)
		if res.Text != `approve=false reason="at once" text=""` {
			t.Errorf("got %q", res.Text)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("a deaf callback held the result up for %v", took)
		}
		if n := len(bodies[execution.ApprovalDenied](events)); n != 1 {
			t.Errorf("%d denials", n)
		}
		time.Sleep(2 * time.Hour) // the callback returns into nothing
	})
}

// TestLateCallback: an answer to a question that was withdrawn is none to the next one of the same id.
func TestLateCallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backend(func(c *at.Call) execution.Result {
			opened(c)
			c.Emit(approvalOf("q"))
			_ = c.Sleep(time.Second)
			c.Emit(execution.QuestionWithdrawn{ID: "q"})
			d, _ := c.Ask(approvalOf("q"))
			c.Say(d.Reason)
			ended(c)
			return at.Completed()
		})
		var calls atomic.Int64
		res, _ := run(t, b, request("x"), agent.Options{OnApproval: func(context.Context, execution.ApprovalRequired) execution.Decision {
			if calls.Add(1) == 1 {
				time.Sleep(2 * time.Second)
				return execution.Decision{Approve: true, Reason: "to the first"}
			}
			time.Sleep(time.Minute)
			return execution.Decision{Reason: "to the second"}
		}})
		if res.Text != "to the second" {
			t.Errorf("got %q", res.Text)
		}
	})
}

// TestTwoQuestionsNobody asks for text and for permission at once, of nobody.
func TestTwoQuestionsNobody(t *testing.T) {
	t.Parallel()
	for _, order := range [][]execution.Body{{approvalOf("a"), inputOf("b")}, {inputOf("b"), approvalOf("a")}} {
		req := request("x")
		req.Requirements = &execution.Requirements{ApprovalInterrupts: execution.SupportRequired}
		res, _ := run(t, backend(func(c *at.Call) execution.Result {
			opened(c)
			c.Emit(order...)
			<-c.Ctx.Done()
			return at.Failed(execution.CodeAborted, "stopped")
		}), req, agent.Options{})
		if first := order[0].Type() == "approval_request"; (res.Status == execution.StatusAwaitingApproval) != first || (res.Status == execution.StatusNeedsClarification) == first {
			t.Errorf("%s first: got %s", order[0].Type(), res.Status)
		}
	}
}

// TestQuestionsOfAFailedAttempt are withdrawn before the next one.
func TestQuestionsOfAFailedAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backend(func(c *at.Call) execution.Result {
			opened(c)
			c.Emit(approvalOf("q"))
			if c.Number == 1 {
				return at.Failed(execution.CodeAgentCrash, "gone")
			}
			_, err := c.Answer("q")
			if err != nil {
				return at.Failed(execution.CodeAborted, err.Error())
			}
			c.Say("ok")
			ended(c)
			return at.Completed()
		})
		req := conversation()
		policy := execution.DefaultRetryPolicy()
		req.Run.RetryPolicy = &policy
		r := start(t, b, req, agent.Options{})
		r.CloseInput()
		synctest.Wait()
		if n := len(r.Pending()); n != 0 {
			t.Errorf("%d questions are pending while nobody asks", n)
		}
		time.Sleep(time.Minute)
		if err := r.Approve(""); err != nil {
			t.Error(err)
		}
		res, events := finish(t, r)
		want(t, res, execution.StatusCompleted, "")
		if n := len(bodies[execution.QuestionWithdrawn](events)); n != 1 {
			t.Errorf("%d withdrawn", n)
		}
	})
}

// TestQuestionsEndWithTheRun leaves nothing pending and tells callbacks.
func TestQuestionsEndWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := false
		r := start(t, backend(asker(approvalOf("q"))), request("x"), agent.Options{OnApproval: func(ctx context.Context, _ execution.ApprovalRequired) execution.Decision {
			<-ctx.Done()
			told = true
			return execution.Decision{Approve: true}
		}})
		synctest.Wait()
		r.Abort(nil)
		res, events := finish(t, r)
		want(t, res, execution.StatusFailed, execution.FailureCancelled)
		if !told {
			t.Error("the callback was not told, or not waited for")
		}
		if n := len(bodies[execution.QuestionWithdrawn](events)); n != 1 || len(r.Pending()) != 0 {
			t.Errorf("%d withdrawn, %d pending", n, len(r.Pending()))
		}
	})
}
