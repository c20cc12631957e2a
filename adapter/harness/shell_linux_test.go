package harness

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbar/drawbar/adapter/adaptertest"
	"github.com/drawbar/drawbar/adapter/kit/modelapi"
	"github.com/drawbar/drawbar/adapter/kit/modelapi/modelapitest"
	"github.com/drawbar/drawbar/agent"
	"github.com/drawbar/drawbar/execution"
)

// TestShellEnvironment: a command has the run's environment, without the keys of model APIs.
func TestShellEnvironment(t *testing.T) {
	t.Parallel()
	for mode, want := range map[execution.EnvironmentMode]string{execution.EnvironmentInherit: "SHOWN=yes\n", execution.EnvironmentMinimal: ""} {
		m := &model{replies: []reply{calls(`shell {"command":"env | sort | grep -E 'SHOWN|FAKE|OWN'; pwd"}`), says("done")}}
		req := request(t, "go")
		req.Run.ApprovalMode, req.Run.Environment, req.Run.Env = execution.ApprovalYolo, mode, map[string]string{"OWN": "1", "FAKE_KEY": plantedKey}
		res, events := modelapitest.Run(t, m.backend(Limits{}), req, agent.Options{})
		if res.Status != execution.StatusCompleted {
			t.Errorf("%s %+v", res.Status, res.Error)
		}
		got := m.said(t, 1)
		if last, expect := got[len(got)-1], "tool: OWN=1\n"+want+req.Run.Cwd+"\n"; last != expect {
			t.Errorf("%s: %q, want %q", mode, last, expect)
		}
		starts, exits := bodies[execution.ShellStart](events), bodies[execution.ShellExit](events)
		if len(starts) != 1 || len(exits) != 1 || starts[0].Cwd != req.Run.Cwd || exits[0].ExitCode != 0 {
			t.Errorf("%+v %+v", starts, exits)
		}
	}
}

const mark = "HARNESS_TEST"

// TestShellStops: an interrupt, the end of the run and a consumer that stops end a command with all it started.
func TestShellStops(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"interrupt", "abort", "consumer"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			m := &model{replies: []reply{calls(`shell {"command":"setsid sleep 60 & echo started; sleep 60"}`), says("done")}}
			req := request(t, "go")
			entry := fmt.Sprintf("%s=%s", mark, req.Run.Cwd)
			grace := int64(100)
			req.Run.ApprovalMode, req.Run.Env, req.Run.GracePeriodMs, req.Run.Interactive = execution.ApprovalYolo, map[string]string{mark: req.Run.Cwd}, &grace, true
			if how == "consumer" {
				in := &silent{}
				for e, err := range m.backend(Limits{}).Adapter.Execute(t.Context(), req, answering{in, make(chan execution.Command, 1)}) {
					if _, started := e.Body.(execution.ShellStdoutDelta); started || err != nil {
						break
					}
				}
			} else {
				run, err := agent.New(m.backend(Limits{})).Start(t.Context(), req, agent.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for e, err := range run.Events(t.Context(), 0) {
					if err != nil {
						t.Fatal(err)
					}
					if _, started := e.Body.(execution.ShellStdoutDelta); !started {
						continue
					}
					if how == "abort" {
						run.Abort(nil)
						continue
					}
					if err := run.Interrupt(); err != nil {
						t.Error(err)
					}
					if _, err := run.Send("go on", execution.WhenNextTurn); err != nil {
						t.Error(err)
					}
					run.CloseInput()
				}
				res, err := run.Result(t.Context())
				if err != nil || how == "interrupt" && (res.Status != execution.StatusCompleted || res.TurnCount != 2) || how == "abort" && res.Error.Code != execution.FailureCancelled {
					t.Errorf("%+v, %v", res, err)
				}
				if how == "interrupt" {
					got := strings.Join(m.said(t, 1)[1:], "\n")
					if got != "user: go\nassistant:  calls shell\ntool: started\n[stopped: the turn is over]\nuser: go on" {
						t.Errorf("the model got %s", got)
					}
				}
			}
			if err := adaptertest.MarkedProcesses(entry)(); err != nil {
				t.Error(err)
			}
		})
	}
}

// answering is an inbox that approves the first question.
type answering struct {
	*silent
	ready chan execution.Command
}

func (a answering) Receive(ctx context.Context) (execution.Command, error) {
	select {
	case a.ready <- nil:
		return execution.Answer{ID: "question-1", Decision: execution.Decision{Approve: true}}, nil
	default:
	}
	return a.silent.Receive(ctx)
}

// BenchmarkTurn is a turn of ten tool calls, five of which change a file, over a model in memory.
func BenchmarkTurn(b *testing.B) {
	var list []reply
	for i := range 5 {
		list = append(list, calls(fmt.Sprintf(`write {"path":"f%d","content":"x"}`, i)), calls(`search {"pattern":"content"}`))
	}
	m := &model{replies: append(list, says("done"))}
	be := m.backend(workLimits())
	req := benchRequest(b)
	b.ReportAllocs()
	for b.Loop() {
		m.bodies = nil
		run, err := agent.New(be).Start(b.Context(), req, agent.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if res, err := run.Result(b.Context()); err != nil || res.Status != execution.StatusCompleted || res.Trace.Summary.ToolCallCount != 10 {
			b.Fatal(res.Error, err)
		}
	}
}

// BenchmarkTools are the same ten calls without the harness.
func BenchmarkTools(b *testing.B) {
	w := &worker{harness: New(Options{}), req: benchRequest(b)}
	defer w.close()
	var a modelapi.Agent
	if err := w.open(b.Context(), &a); err != nil {
		b.Fatal(err)
	}
	call := func(name, input string) {
		for _, tool := range a.Tools {
			if tool.Name != name {
				continue
			}
			job, err := tool.Check([]byte(input))
			if err != nil {
				b.Fatal(err)
			}
			if res := job.Do(b.Context(), nil); res.Error != "" {
				b.Fatal(res.Error)
			}
		}
	}
	for b.Loop() {
		for i := range 5 {
			call("write", fmt.Sprintf(`{"path":"f%d","content":"x"}`, i))
			call("search", `{"pattern":"content"}`)
		}
	}
}

func benchRequest(b *testing.B) execution.Request {
	b.Helper()
	req := request(b, "go")
	req.Run.ApprovalMode = execution.ApprovalYolo
	return req
}
