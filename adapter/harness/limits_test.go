package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestOutcomes: how a turn ends, with the limits of the specification's harness. Time is virtual.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	read := calls(`read {"path":"a.txt"}`)
	list := calls(`list {}`)
	var different []reply // calls whose results differ
	for i := range 20 {
		different = append(different, calls(fmt.Sprintf(`write {"path":"f%d","content":"x"}`, i)))
	}
	nine := calls(strings.Fields(strings.Repeat(`list.{} `, 9))...)
	for i := range nine.calls {
		nine.calls[i] = fmt.Sprintf(`write {"path":"n%d","content":"x"}`, i)
	}
	wide := Limits{MaxIterations: -1, MaxToolCalls: -1, MaxElapsed: -1}
	for _, tt := range []struct {
		name    string
		replies []reply
		limits  Limits
		change  func(*execution.Request)
		status  execution.Status
		word    string
		code    execution.FailureCode
		models  int // calls of the model
		tools   int // calls that ran
		goesOn  bool
		took    time.Duration
	}{
		{"a final answer", []reply{says("hi")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 1, 0, false, 0},
		{"an empty one", []reply{says("")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 1, 0, false, 0},
		{"a call, then an answer", []reply{read, says("hi")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 2, 1, false, 0},
		{"a call that fails", []reply{calls(`read {"path":"none"}`), says("hi")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 2, 0, false, 0},
		{"six model calls", different, Limits{}, nil, execution.StatusDeferred, "max_iterations_reached", "", 6, 6, true, 0},
		{"two by the request", different, Limits{}, func(r *execution.Request) { r.Run.MaxTurns = 2 }, execution.StatusDeferred, "max_iterations_reached", "", 2, 2, true, 0},
		{"a request cannot widen it", different, Limits{}, func(r *execution.Request) { r.Run.MaxTurns = 9 }, execution.StatusDeferred, "max_iterations_reached", "", 6, 6, true, 0},
		{"eight tool calls", different, Limits{MaxIterations: 20}, nil, execution.StatusDeferred, "max_tool_calls_reached", "", 8, 8, true, 0},
		{"nine at once", []reply{nine}, Limits{}, nil, execution.StatusDeferred, "max_tool_calls_reached", "", 1, 0, true, 0},
		{"a model that hangs", []reply{{hang: true}}, Limits{}, nil, execution.StatusFailed, "timeout_reached", execution.FailureTimeout, 1, 0, true, 30 * time.Second},
		{"an answer after the time", []reply{{text: "late", after: 31 * time.Second}}, Limits{}, nil, execution.StatusFailed, "timeout_reached", execution.FailureTimeout, 1, 0, true, 30 * time.Second},
		{"an answer within it", []reply{{text: "just", after: 29 * time.Second}}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 1, 0, false, 29 * time.Second},
		{"another time", []reply{{hang: true}}, Limits{MaxElapsed: 2 * time.Minute}, nil, execution.StatusFailed, "timeout_reached", execution.FailureTimeout, 1, 0, true, 2 * time.Minute},
		{"the request's time", []reply{{hang: true}}, Limits{}, func(r *execution.Request) { r.Requirements = &execution.Requirements{MaxElapsedMs: 5000} },
			execution.StatusFailed, "timeout_reached", execution.FailureTimeout, 1, 0, true, 5 * time.Second},
		{"the same call three times", []reply{list}, Limits{}, nil, execution.StatusFailed, "redundant_tool_loop", execution.FailureOther, 3, 3, false, 0},
		{"within one answer", []reply{calls(`list {}`, `list {}`, `list {}`, `list {}`)}, Limits{}, nil, execution.StatusFailed, "redundant_tool_loop", execution.FailureOther, 1, 3, false, 0},
		{"a failure between", []reply{list, list, calls(`read {"path":"none"}`), list, list, says("hi")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 6, 4, false, 0},
		{"the same failure again and again", []reply{calls(`read {"path":"none"}`), calls(`read {"path":"none"}`), calls(`read {"path":"none"}`), says("hi")}, Limits{}, nil,
			execution.StatusCompleted, "answer_finalized", "", 4, 0, false, 0},
		{"the same empty result", []reply{calls(`say {}`), calls(`say {}`), calls(`say {}`), says("hi")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 4, 3, false, 0},
		{"another call between", []reply{list, list, read, list, list, says("hi")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 6, 5, false, 0},
		{"equal results of other calls", []reply{calls(`search {"pattern":"zz"}`), calls(`search {"pattern":"yy"}`), calls(`search {"pattern":"xx"}`), says("hi")}, Limits{}, nil,
			execution.StatusCompleted, "answer_finalized", "", 4, 3, false, 0},
		{"no such tool, twice", []reply{calls(`fly {}`, `write {"path":"w","content":"x"}`)}, Limits{}, nil, execution.StatusFailed, "tool_unavailable", execution.FailureToolBridge, 2, 0, false, 0},
		{"no such tool, once", []reply{calls(`fly {}`), read, calls(`fly {}`), says("hi")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 4, 1, false, 0},
		{"calls without calls", []reply{says("hm").ending("tool_calls")}, Limits{}, nil, execution.StatusFailed, "model_invalid_response", execution.FailureInvalidBackendOutput, 2, 0, false, 0},
		{"once without calls", []reply{says("hm").ending("tool_calls"), says("hi")}, Limits{}, nil, execution.StatusCompleted, "answer_finalized", "", 2, 0, false, 0},
		{"not the schema", []reply{says("no JSON")}, Limits{}, wantsJSON, execution.StatusFailed, "model_invalid_response", execution.FailureInvalidBackendOutput, 2, 0, false, 0},
		{"the schema at last", []reply{says("no JSON"), says(`{"a":1}`)}, Limits{}, wantsJSON, execution.StatusCompleted, "answer_finalized", "", 2, 0, false, 0},
		{"more patience", []reply{says("1 no"), says("2 no"), says("3 no"), says(`{}`)}, Limits{MaxConsecutiveInvalidOutputs: 5}, wantsJSON, execution.StatusCompleted, "answer_finalized", "", 4, 0, false, 0},
		{"a refusal", []reply{says("no").ending("content_filter")}, Limits{}, nil, execution.StatusFailed, "model_refused", execution.FailureBackendExecution, 1, 0, false, 0},
		{"an error of the service", []reply{{status: 400}}, Limits{}, nil, execution.StatusFailed, "runtime_error", execution.FailureBackendExecution, 1, 0, false, 0},
		{"the answer's tokens", []reply{says("half").ending("length")}, Limits{}, nil, execution.StatusDeferred, "max_output_tokens_reached", "", 1, 0, true, 0},
		{"no limits", append(different[:20:20], says("hi")), wide, nil, execution.StatusCompleted, "answer_finalized", "", 21, 20, false, 0},
		{"no budget", []reply{says("hi")}, wide, budget(0), execution.StatusFailed, "cancelled", execution.FailureBudgetExceeded, 0, 0, false, 0},
		{"a used up budget", different, wide, budget(0.003), execution.StatusFailed, "cancelled", execution.FailureBudgetExceeded, 3, 2, false, 0}, // a call costs 0.0011
		{"no continuation for a run without a session", different, Limits{}, func(r *execution.Request) { r.Run.NoSession = true }, execution.StatusDeferred, "max_iterations_reached", "", 6, 6, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request(t, "go")
			req.Run.ApprovalMode = execution.ApprovalYolo
			if tt.change != nil {
				tt.change(&req)
			}
			synctest.Test(t, func(t *testing.T) {
				m := &model{replies: tt.replies}
				begun := time.Now()
				req.Tools = []execution.Tool{{Name: "say"}}
				res, events := modelapitest.Run(t, m.backend(tt.limits), req, agent.Options{Tools: func(context.Context, execution.ToolCall) (execution.ToolResult, error) {
					return execution.ToolResult{Output: json.RawMessage(`{}`)}, nil
				}})
				if res.Status != tt.status || res.Metadata["stopReason"] != tt.word {
					t.Errorf("%s %v, %+v", res.Status, res.Metadata["stopReason"], res.Error)
				}
				if tt.code != "" && res.Error.Code != tt.code {
					t.Errorf("the error is %+v", res.Error)
				}
				if m.called() != tt.models {
					t.Errorf("the model was called %d times, want %d", m.called(), tt.models)
				}
				if ran := bodies[execution.ToolResultEvent](events); len(ran) != tt.tools {
					t.Errorf("%d calls ran, want %d", len(ran), tt.tools)
				}
				if (res.Continuation != nil) != tt.goesOn {
					t.Errorf("the continuation is %+v", res.Continuation)
				}
				if took := time.Since(begun); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if tt.word == "max_iterations_reached" && (res.ExitReason != execution.ExitTurnLimit || len(bodies[execution.TurnLimit](events)) != 1) {
					t.Errorf("the exit reason is %s, with %d events", res.ExitReason, len(bodies[execution.TurnLimit](events)))
				}
				if files, _ := filepath.Glob(filepath.Join(req.Run.Cwd, "[nw]*")); len(files) > 0 && tt.tools == 0 {
					t.Errorf("a call that was not to run wrote %v", files)
				}
			})
		})
	}
}

func wantsJSON(r *execution.Request) { r.Run.OutputSchema = []byte(`{"type":"object"}`) }

func budget(usd float64) func(*execution.Request) {
	return func(r *execution.Request) { r.Run.MaxBudgetUSD, r.Run.Model = &usd, "fake/model-1" }
}

// TestWhy: the model reads why its answer was not used, and nothing else of it.
func TestWhy(t *testing.T) {
	t.Parallel()
	m := &model{replies: []reply{calls(`fly {}`, `list {}`), says("no JSON"), says(`{}`)}}
	req := request(t, "go")
	wantsJSON(&req)
	modelapitest.Run(t, m.backend(Limits{MaxConsecutiveInvalidOutputs: 3}), req, agent.Options{})
	got := strings.Join(m.said(t, 2)[1:], "\n")
	want := `user: go
assistant:  calls fly calls list
tool: not called: there is no tool fly
tool: not called: there is no tool fly
assistant: no JSON
user: Your last answer cannot be used: model-1 answered without the JSON that the schema asks for. Answer again.`
	if got != want {
		t.Errorf("the model got\n%s\nwant\n%s", got, want)
	}
}

// TestLimitsOfAgent: the registered agent has room for work, and the options that bound it are the user's.
func TestLimitsOfAgent(t *testing.T) {
	t.Parallel()
	l := workLimits().kit()
	if l.ModelCalls < 100 || l.ToolCalls < 500 || l.Elapsed > 0 || l.Same <= 3 {
		t.Errorf("%+v", l)
	}
	if l := (Limits{MaxSubIterations: -1}).sub(execution.RunOptions{MaxTurns: 3}); l.ModelCalls != 3 {
		t.Errorf("a sub-agent has %+v", l)
	}
	if l := (Limits{}).kit(); l.ModelCalls != 6 || l.ToolCalls != 8 || l.Elapsed != 30*time.Second || l.Invalid != 2 || l.Same != 3 {
		t.Errorf("the defaults are %+v", l)
	}
}

// TestTurnsOfAConversation: each turn has the limits anew, the request's number of model calls is that of all turns, and calls that a
// turn's end left out are not made by the next one.
func TestTurnsOfAConversation(t *testing.T) {
	t.Parallel()
	req := request(t, "first")
	req.Run.Interactive, req.Run.ApprovalMode, req.Tools = true, execution.ApprovalYolo, []execution.Tool{{Name: "wait"}}
	for _, most := range []int{0, 2} {
		req.Run.MaxTurns = most
		synctest.Test(t, func(t *testing.T) {
			m := &model{replies: []reply{calls(`wait {}`, `write {"path":"late.txt","content":"x"}`), says("second"), says("third")}}
			run, err := agent.New(m.backend(Limits{MaxIterations: 1})).Start(t.Context(), req, agent.Options{Tools: func(ctx context.Context, _ execution.ToolCall) (execution.ToolResult, error) {
				<-ctx.Done() // until the time for the turn is over
				return execution.ToolResult{Error: "cut"}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"go on", "and on"} {
				if _, err := run.Send(text, execution.WhenNextTurn); err != nil {
					t.Fatal(err)
				}
			}
			run.CloseInput()
			var ends []execution.TurnEndReason
			for e, err := range run.Events(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(execution.TurnEnd); ok {
					ends = append(ends, b.Reason)
				}
			}
			res, err := run.Result(t.Context())
			want, status := []execution.TurnEndReason{execution.TurnFailed, execution.TurnCompleted, execution.TurnCompleted}, execution.StatusCompleted
			if most > 0 {
				want[2], status = execution.TurnLimitReached, execution.StatusDeferred
			}
			if err != nil || res.Status != status || !slices.Equal(ends, want) || exists(req.Run.Cwd, "late.txt") {
				t.Errorf("%d: %s %+v, turns %v, late: %v", most, res.Status, res.Error, ends, exists(req.Run.Cwd, "late.txt"))
			}
			got := strings.Join(m.said(t, 1)[1:], "\n")
			if got != "user: first\nassistant:  calls wait calls write\ntool: cut\ntool: not called: the turn is over\nuser: go on" {
				t.Errorf("the model got %s", got)
			}
		})
	}
}
