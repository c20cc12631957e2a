package cliagent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/internal/base/testenv"
	"github.com/drawbar/drawbar/transport/process"
)

// lineParser understands the fakes: one word and an argument per line.
type lineParser struct {
	res      execution.Result
	oneShot  bool
	commands []execution.Command
	panicIn  string
}

func (p *lineParser) panicHere(where string) {
	if p.panicIn == where {
		panic("test panic in " + where)
	}
}

func (p *lineParser) Open(*Sink) { p.panicHere("open") }

func (p *lineParser) Line(_ process.Stream, line []byte, s *Sink) {
	word, arg, _ := strings.Cut(string(line), " ")
	n, _ := strconv.Atoi(arg)
	if s.Assembler().InBlock() || word == "begin" {
		if word == "begin" {
			s.Assembler().StartBlock(func(line, _ string) bool { return line == "finish" })
			return
		}
		if unit, ok := s.Assembler().Feed(string(line)); ok {
			s.Emit(execution.TextDelta{Delta: unit})
		}
		return
	}
	if bytes.IndexByte(line, '\n') >= 0 { // a block that the end of the run cut off
		s.Emit(execution.TextDelta{Delta: string(line)})
		return
	}
	switch word {
	case "session":
		s.Emit(execution.SessionStart{SessionID: arg})
	case "turn":
		s.Emit(execution.TurnStart{TurnIndex: n})
	case "text":
		s.Emit(execution.TextDelta{Delta: arg})
	case "tool":
		s.Emit(execution.ToolCallReady{ToolCallID: arg})
	case "toolend":
		s.Emit(execution.ToolResultEvent{ToolCallID: arg})
	case "ask":
		risk := execution.RiskMedium
		if arg == "low" {
			risk = execution.RiskLow
		}
		s.Emit(execution.ApprovalRequired{ID: execution.QuestionID(arg), Risk: risk})
	case "end":
		s.Emit(execution.TurnEnd{TurnIndex: n})
	case "result":
		p.res.Status = execution.Status(arg)
		if arg == "failed" {
			p.res.Error = execution.NewResultError(execution.CodeAuth, "the agent said so")
		}
	case "done":
		s.Done()
	case "refuse":
		s.Fail(execution.Errorf(execution.CodeAuth, "refused by the agent"))
	case "write":
		s.Write([]byte(arg + "\n"))
	case "panic":
		panic("test panic in line")
	default:
		s.Unknown(process.Stdout, line)
	}
}

func (p *lineParser) Command(cmd execution.Command, s *Sink) error {
	p.panicHere("command")
	p.commands = append(p.commands, cmd)
	switch c := cmd.(type) {
	case execution.Say:
		if c.Text == "no" {
			return execution.Errorf(execution.CodeInvalidStateTransition, "not now")
		}
		s.Write([]byte(c.Text + "\n"))
		s.Emit(execution.InputTaken{ID: c.ID})
	case execution.Answer:
		s.Write(fmt.Appendf(nil, "answer %s %v\n", c.ID, c.Decision.Approve))
	case execution.Interrupt:
		return execution.Errorf(execution.CodeCapability, "no interrupt here")
	case execution.EndInput:
		if !p.oneShot {
			s.CloseInput()
		}
	}
	return nil
}

func (p *lineParser) Exit(process.Exit, *Sink) execution.Result {
	p.panicHere("exit")
	return p.res
}

// fakeSpec starts a fake.
func fakeSpec(t *testing.T, name string) Spec {
	t.Helper()
	played.Store(name, true)
	if name == "family" {
		played.Store("sleeper", true) // its child
	}
	exe, err := testenv.Self()
	if err != nil {
		t.Fatal(err)
	}
	pids := filepath.Join(t.TempDir(), "pids")
	t.Cleanup(func() { noSurvivors(t, pids) })
	return Spec{
		Name: "fake", Command: exe, InstallHint: "npm install -g fake",
		Capabilities: func() execution.Capabilities {
			return execution.Capabilities{Agent: execution.AgentCapabilities{MCP: true}}
		},
		Spawn: func(l *Launch) (Invocation, error) {
			return Invocation{Env: map[string]string{fakeVar: name, pidsVar: pids, "GORACE": "atexit_sleep_ms=0"}}, nil
		},
		NewParser: func(execution.Request) Parser { return &lineParser{oneShot: true} },
		Grace:     200 * time.Millisecond,
		Linger:    100 * time.Millisecond,
		Drain:     200 * time.Millisecond,
	}
}

// twoWay makes a conversation of a spec.
func twoWay(s Spec) Spec {
	spawn := s.Spawn
	s.Spawn = func(l *Launch) (Invocation, error) {
		inv, err := spawn(l)
		inv.KeepStdin = true
		return inv, err
	}
	s.NewParser = func(execution.Request) Parser { return &lineParser{} }
	return s
}

// noSurvivors fails for every noted process that still lives. A zombie does not live.
func noSurvivors(t *testing.T, pids string) {
	t.Helper()
	data, err := os.ReadFile(pids)
	if err != nil {
		return // nothing was started
	}
	for pid := range strings.FieldsSeq(string(data)) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue
		}
		if i := bytes.LastIndexByte(stat, ')'); i >= 0 && !bytes.HasPrefix(stat[i:], []byte(") Z")) {
			t.Errorf("process %s of the fake is still there: %s", pid, stat)
		}
	}
}

// inbox is an adapter.Inbox for tests.
type inbox struct{ commands chan execution.Command }

func newInbox() *inbox { return &inbox{make(chan execution.Command, 16)} }

func closedInbox() *inbox {
	in := newInbox()
	close(in.commands)
	return in
}

func (in *inbox) Receive(ctx context.Context) (execution.Command, error) {
	select {
	case c, ok := <-in.commands:
		if !ok {
			return nil, io.EOF
		}
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// outcome is what one execution gave.
type outcome struct {
	events []execution.Event
	result execution.Result
}

func (o outcome) types() []string {
	var ts []string
	for _, e := range o.events {
		ts = append(ts, string(e.Body.Type()))
	}
	return ts
}

func (o outcome) text() string {
	var b strings.Builder
	for _, e := range o.events {
		if d, ok := e.Body.(execution.TextDelta); ok {
			b.WriteString(d.Delta + "|")
		}
	}
	return b.String()
}

func (o outcome) errors() []execution.ErrorEvent {
	var list []execution.ErrorEvent
	for _, e := range o.events {
		if b, ok := e.Body.(execution.ErrorEvent); ok {
			list = append(list, b)
		}
	}
	return list
}

func (o outcome) has(typ execution.EventType) bool { return slices.Contains(o.types(), string(typ)) }

func request() execution.Request {
	return execution.Request{Message: execution.Message{Text: "hi"}}
}

// execute runs a request to its end and checks what holds for every run.
func execute(t *testing.T, ctx context.Context, a adapter.Adapter, req execution.Request, in adapter.Inbox, each func(execution.Event)) outcome {
	t.Helper()
	var o outcome
	finished := 0
	for e, err := range a.Execute(ctx, req, in) {
		if err != nil {
			t.Fatalf("the sequence yielded an error: %v", err)
		}
		if e.Seq != 0 || !e.Time.IsZero() || e.RunID != "" {
			t.Errorf("an adapter set more than the body: %+v", e)
		}
		if finished > 0 {
			t.Errorf("%s after finished", e.Body.Type())
		}
		if f, ok := e.Body.(execution.Finished); ok {
			finished++
			o.result = f.Result
		} else {
			o.events = append(o.events, e)
		}
		if each != nil {
			each(e)
		}
	}
	if finished != 1 {
		t.Errorf("%d finished events, want 1", finished)
	}
	if o.result.SchemaVersion != execution.SchemaVersion || o.result.BackendID == "" {
		t.Errorf("result without version or backend: %+v", o.result)
	}
	return o
}

func runFake(t *testing.T, name string) outcome {
	t.Helper()
	return execute(t, t.Context(), New(fakeSpec(t, name), Options{}), request(), closedInbox(), nil)
}
