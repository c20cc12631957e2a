package cliagent

import (
	"testing"

	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/process"
)

func TestSinkKnowsTheRun(t *testing.T) {
	t.Parallel()
	s := NewSink(false)
	check := func(when, session string, turn, tools int, count uint64, last execution.EventType) {
		t.Helper()
		if s.SessionID() != session || s.TurnIndex() != turn || s.ToolsRunning() != tools || s.EventCount() != count || s.LastEventType() != last {
			t.Errorf("%s: session %q, turn %d, %d tools, %d events, last %q", when, s.SessionID(), s.TurnIndex(), s.ToolsRunning(), s.EventCount(), s.LastEventType())
		}
	}
	check("at first", "", -1, 0, 0, "")
	s.Emit(execution.SessionStart{SessionID: "s"})
	s.Emit(execution.TurnStart{TurnIndex: 0})
	s.Emit(execution.ToolCallReady{ToolCallID: "a"})
	s.Emit(execution.MCPToolCallStart{ToolCallID: "b"})
	check("with tools", "s", 0, 2, 4, "mcp_tool_call_start")
	s.EmitFrom("a", execution.SessionStart{SessionID: "other"})
	s.EmitFrom("a", execution.TurnStart{TurnIndex: 7})
	s.EmitFrom("a", execution.ToolCallReady{ToolCallID: "c"})
	s.EmitFrom("a", execution.TurnEnd{TurnIndex: 7})
	check("a sub-agent's turn", "s", 0, 3, 8, "turn_end")
	s.EmitFrom("a", execution.ToolError{ToolCallID: "c"})
	s.Emit(execution.ToolResultEvent{ToolCallID: "a"})
	s.Emit(execution.MCPToolError{ToolCallID: "b"})
	check("tools done", "s", 0, 0, 11, "mcp_tool_error")
	s.Emit(execution.ToolCallReady{ToolCallID: "d"})
	s.Emit(execution.TurnEnd{})
	check("what a turn leaves", "s", 0, 0, 13, "turn_end")
	if events := s.Take(); len(events) != 13 || events[4].Parent != "a" || events[0].Parent != "" {
		t.Errorf("took %d events", len(events))
	}
	if len(s.Take()) != 0 {
		t.Error("took events twice")
	}
}

func TestSinkQuestions(t *testing.T) {
	t.Parallel()
	s := NewSink(false)
	for i, b := range []execution.Body{execution.ApprovalRequired{ID: "1"}, execution.ApprovalRequired{ID: "2"}, execution.ApprovalRequired{ID: "3"},
		execution.InputRequired{ID: "4"}} {
		s.Emit(b)
		if len(s.questions) != i+1 {
			t.Errorf("%d questions after %d", len(s.questions), i+1)
		}
	}
	s.Emit(execution.ApprovalGranted{ID: "1"})
	s.Emit(execution.ApprovalDenied{ID: "2"})
	s.Emit(execution.QuestionWithdrawn{ID: "3"})
	s.answered("4")
	if len(s.questions) != 0 {
		t.Errorf("open: %v", s.questions)
	}
}

func TestSinkWrites(t *testing.T) {
	t.Parallel()
	s := NewSink(true)
	s.Write([]byte("a"))
	s.Write([]byte("b"))
	if w := s.TakeWrites(); len(w) != 2 || string(w[1]) != "b" || s.TakeWrites() != nil {
		t.Errorf("took %q", w)
	}
	s.Unknown(process.Stderr, []byte("\xff"))
	if l, ok := s.Take()[0].Body.(execution.Log); !ok || l.Source != execution.LogStderr || l.Line != "\uFFFD" || !s.Debug() {
		t.Errorf("log %+v", l)
	}
}
