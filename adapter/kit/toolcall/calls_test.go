package toolcall

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

var table = &Table{
	Tools:        Tools{Shell: {"sh"}, Read: {"read"}, Write: {"write"}, Edit: {"edit"}, Agent: {"agent"}, Skill: {"skill"}},
	Input:        Input{Path: "path", OtherPath: "book", Command: "cmd", Agent: "who", Prompt: "what", Content: "text", Old: "old", Skill: "name"},
	DefaultAgent: "any", Deferred: "call", MCP: Naming{Prefix: "mcp__", Separator: "__"},
}

func newCalls(t *Table) *Calls {
	k := NewCalls(t, jsonscan.NewInterner(16))
	k.Cwd = "/w"
	k.Servers["a__b"] = ""
	return &k
}

func value(t *testing.T, text string) jsonscan.Value {
	t.Helper()
	v, err := jsonscan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// sketch is a line for each event: its parent, its type and its members.
func sketch(t *testing.T, s *cliagent.Sink) string {
	t.Helper()
	var lines []string
	for _, e := range s.Take() {
		b, err := json.Marshal(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.TrimSpace(e.Parent+" "+string(e.Body.Type())+" "+strings.NewReplacer(`"`, "", `,"inputAccumulated":""`, "").Replace(string(b))))
	}
	return strings.Join(lines, "\n")
}

// TestCall is what becomes of one call, by tool, input and end.
func TestCall(t *testing.T) {
	t.Parallel()
	begin := time.Unix(100, 0)
	for _, tt := range []struct {
		name, tool, input string
		end               End
		want              string
	}{
		{"a tool without events of its own", "web", `{"q":1}`, End{Output: json.RawMessage(`"x"`), At: begin.Add(time.Second)}, `
p tool_call_start {toolCallId:1,toolName:web}
p tool_call_ready {toolCallId:1,toolName:web,input:{q:1}}
p tool_result {toolCallId:1,toolName:web,output:x,durationMs:1000}`},
		{"a failure", "web", `null`, End{Failed: true, Error: "no"}, `
p tool_call_start {toolCallId:1,toolName:web}
p tool_call_ready {toolCallId:1,toolName:web,input:{}}
p tool_error {toolCallId:1,toolName:web,error:no}`},
		{"a command", "sh", `{"cmd":"ls"}`, End{Command: &Exit{Stdout: "o", Stderr: "e", Code: 3, Exited: true}, Failed: true, Error: "x"}, `
p tool_call_start {toolCallId:1,toolName:sh}
p tool_call_ready {toolCallId:1,toolName:sh,input:{cmd:ls}}
p shell_start {command:ls,cwd:/w,toolCallId:1}
p shell_stdout_delta {delta:o,toolCallId:1}
p shell_stderr_delta {delta:e,toolCallId:1}
p shell_exit {exitCode:3,durationMs:0,toolCallId:1}
p tool_error {toolCallId:1,toolName:sh,error:x}`},
		{"a skill", "skill", `{"name":"pdf"}`, End{}, `
p tool_call_start {toolCallId:1,toolName:skill}
p tool_call_ready {toolCallId:1,toolName:skill,input:{name:pdf}}
p tool_result {toolCallId:1,toolName:skill,output:null,durationMs:0}
p skill_invoked {skillName:pdf}`},
		{"a skill that was refused", "skill", `{"name":"pdf"}`, End{Failed: true, Error: "no"}, `
p tool_call_start {toolCallId:1,toolName:skill}
p tool_call_ready {toolCallId:1,toolName:skill,input:{name:pdf}}
p tool_error {toolCallId:1,toolName:skill,error:no}`},
		{"a command that never ran", "sh", `{"cmd":"ls"}`, End{Failed: true, Error: "denied"}, `
p tool_call_start {toolCallId:1,toolName:sh}
p tool_call_ready {toolCallId:1,toolName:sh,input:{cmd:ls}}
p tool_error {toolCallId:1,toolName:sh,error:denied}`},
		{"a file that is read", "read", `{"book":"/b"}`, End{}, `
p tool_call_start {toolCallId:1,toolName:read}
p tool_call_ready {toolCallId:1,toolName:read,input:{book:/b}}
p tool_result {toolCallId:1,toolName:read,output:null,durationMs:0}
p file_read {path:/b,toolCallId:1}`},
		{"a file without a path", "read", `{"other":"/b"}`, End{}, `
p tool_call_start {toolCallId:1,toolName:read}
p tool_call_ready {toolCallId:1,toolName:read,input:{other:/b}}
p tool_result {toolCallId:1,toolName:read,output:null,durationMs:0}`},
		{"a file that is written", "write", `{"path":"/f","text":"h\u00e9"}`, End{}, `
p tool_call_start {toolCallId:1,toolName:write}
p tool_call_ready {toolCallId:1,toolName:write,input:{path:/f,text:h\u00e9}}
p tool_result {toolCallId:1,toolName:write,output:null,durationMs:0}
p file_write {path:/f,byteCount:3,toolCallId:1}`},
		{"a new file", "write", `{"path":"/f","text":"x"}`, End{Created: true}, `
p tool_call_start {toolCallId:1,toolName:write}
p tool_call_ready {toolCallId:1,toolName:write,input:{path:/f,text:x}}
p tool_result {toolCallId:1,toolName:write,output:null,durationMs:0}
p file_create {path:/f,byteCount:1,toolCallId:1}`},
		{"a change", "edit", `{"path":"/f","old":"x"}`, End{Diff: "d"}, `
p tool_call_start {toolCallId:1,toolName:edit}
p tool_call_ready {toolCallId:1,toolName:edit,input:{path:/f,old:x}}
p tool_result {toolCallId:1,toolName:edit,output:null,durationMs:0}
p file_patch {path:/f,diff:d,toolCallId:1}`},
		{"a change of nothing", "edit", `{"path":"/f","old":""}`, End{}, `
p tool_call_start {toolCallId:1,toolName:edit}
p tool_call_ready {toolCallId:1,toolName:edit,input:{path:/f,old:}}
p tool_result {toolCallId:1,toolName:edit,output:null,durationMs:0}
p file_create {path:/f,byteCount:0,toolCallId:1}`},
		{"a change that failed", "edit", `{"path":"/f"}`, End{Failed: true}, `
p tool_call_start {toolCallId:1,toolName:edit}
p tool_call_ready {toolCallId:1,toolName:edit,input:{path:/f}}
p tool_error {toolCallId:1,toolName:edit,error:}`},
		{"a sub-agent", "agent", `{"what":"do"}`, End{Summary: "done"}, `
p tool_call_start {toolCallId:1,toolName:agent}
p tool_call_ready {toolCallId:1,toolName:agent,input:{what:do}}
p subagent_spawn {subagentId:1,agentName:any,prompt:do}
p subagent_result {subagentId:1,agentName:any,summary:done}
p tool_result {toolCallId:1,toolName:agent,output:null,durationMs:0}`},
		{"a sub-agent that failed", "agent", `{"who":"w"}`, End{Failed: true, Error: "no"}, `
p tool_call_start {toolCallId:1,toolName:agent}
p tool_call_ready {toolCallId:1,toolName:agent,input:{who:w}}
p subagent_spawn {subagentId:1,agentName:w,prompt:}
p subagent_error {subagentId:1,agentName:w,error:no}
p tool_error {toolCallId:1,toolName:agent,error:no}`},
		{"a server's tool", "mcp__a__b__c", `{"x":1}`, End{}, `
p mcp_tool_call_start {toolCallId:1,server:a__b,toolName:c,input:{x:1}}
p mcp_tool_result {toolCallId:1,server:a__b,toolName:c,output:null}`},
		{"a tool through another", "call", `{"name":"read","arguments":{"path":"/p"}}`, End{}, `
p tool_call_start {toolCallId:1,toolName:read}
p tool_call_ready {toolCallId:1,toolName:read,input:{path:/p}}
p tool_result {toolCallId:1,toolName:read,output:null,durationMs:0}
p file_read {path:/p,toolCallId:1}`},
		{"a server's tool through another", "call", `{"name":"mcp__s__t","arguments":{}}`, End{Failed: true, Error: "no"}, `
p mcp_tool_call_start {toolCallId:1,server:s,toolName:t,input:{}}
p mcp_tool_error {toolCallId:1,server:s,toolName:t,error:no}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k, s := newCalls(table), cliagent.NewSink(false)
			c := k.Start("1", tt.tool, "p", s)
			c.At = begin
			if k.Start("1", "other", "q", s) != c {
				t.Error("the call starts twice")
			}
			k.Called(c, value(t, tt.input), s)
			k.Called(c, value(t, `{}`), s)
			k.End(k.Expect("1", ""), tt.end, s)
			if got := sketch(t, s); got != strings.TrimSpace(tt.want) {
				t.Errorf("got\n%s\nwant%s", got, tt.want)
			}
			if k.Open("1") != nil {
				t.Error("the call is open behind its end")
			}
		})
	}
}

// TestAsync: a sub-agent that works on after its call returned outlives the turn and ends once.
func TestAsync(t *testing.T) {
	t.Parallel()
	k, s := newCalls(table), cliagent.NewSink(false)
	c := k.Start("1", "agent", "", s)
	k.Start("2", "web", "", s)
	k.Called(c, value(t, `{}`), s)
	k.End(c, End{Async: true, Summary: "began"}, s)
	k.EndTurn()
	if k.Open("1") != c || k.Open("2") != nil {
		t.Error("the sub-agent is gone, or another call is not")
	}
	s.Take()
	k.AgentEnd(c, true, "why", s)
	if got := sketch(t, s); got != "subagent_error {subagentId:1,agentName:any,error:why}" || k.Open("1") != nil {
		t.Errorf("the end is %s", got)
	}
}

// TestApart: an agent that tells of files and sub-agents in lines of their own has no events made from its calls.
func TestApart(t *testing.T) {
	t.Parallel()
	apart := &Table{Tools: table.Tools, Input: table.Input, DefaultAgent: table.DefaultAgent, Deferred: table.Deferred, MCP: table.MCP, Apart: true}
	for tool, want := range map[string]string{"agent": "tool_result", "read": "tool_result"} {
		k, s := newCalls(apart), cliagent.NewSink(false)
		c := k.Start("1", tool, "", s)
		k.Called(c, value(t, `{"path":"/p"}`), s)
		if k.Called(k.Start("2", "odd", "", s), value(t, `{"text":"abc"}`), s); k.Open("2").Bytes != 3 {
			t.Error("the bytes of a file that another tool writes are not counted")
		}
		s.Take()
		k.End(c, End{}, s)
		if got := sketch(t, s); strings.Count(got, "\n") != 0 || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// TestDeny: a refusal is reported once, and not at all where it is known.
func TestDeny(t *testing.T) {
	t.Parallel()
	k, s := newCalls(table), cliagent.NewSink(false)
	k.Add("1", "sh", "p")
	for range 2 {
		k.Deny(k.Expect("1", ""), "sh", "why", s)
	}
	k.Settled("2")
	k.Deny(k.Expect("2", ""), "sh", "", s)
	k.Deny(k.Expect("", ""), "sh", "", s)
	if got, want := sketch(t, s), "p approval_denied {interactionId:1,reason:why,toolName:sh}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOutput: what a command wrote as it ran is not repeated by its end.
func TestOutput(t *testing.T) {
	t.Parallel()
	k, s := newCalls(table), cliagent.NewSink(false)
	c := k.Start("1", "sh", "", s)
	k.Called(c, value(t, `{"cmd":"ls"}`), s)
	s.Take()
	k.Run(c, s)
	k.Run(c, s)
	c.Stdout("a", s)
	k.End(c, End{Command: &Exit{Stdout: "a", Exited: true}}, s)
	want := `shell_start {command:ls,cwd:/w,toolCallId:1}
shell_stdout_delta {delta:a,toolCallId:1}
shell_exit {exitCode:0,durationMs:0,toolCallId:1}
tool_result {toolCallId:1,toolName:sh,output:null,durationMs:0}`
	if got := sketch(t, s); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	other := k.Start("2", "web", "", s)
	s.Take()
	if k.Run(other, s); len(s.Take()) != 0 {
		t.Error("a tool that is no shell runs a command")
	}
}

// TestPiece: pieces of an input are shown of a call that began, and never of a server's tool.
func TestPiece(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{"web": "tool_input_delta {toolCallId:1,delta:x,inputAccumulated:ax}", "call": "", "mcp__s__t": ""} {
		k, s := newCalls(table), cliagent.NewSink(false)
		c := k.Start("1", tool, "", s)
		s.Take()
		c.Piece("x", "ax", s)
		c.Piece("", "ax", s)
		if got := sketch(t, s); got != want {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// TestBound: calls that never end take no memory without end.
func TestBound(t *testing.T) {
	t.Parallel()
	k, s := newCalls(table), cliagent.NewSink(false)
	for i := range 3 * maxCalls {
		k.Start(fmt.Sprint(i), "web", "", s)
		k.Settled(fmt.Sprint(i))
	}
	if len(k.open) > maxCalls || len(k.denied) > maxCalls {
		t.Errorf("%d calls are open, %d refusals known", len(k.open), len(k.denied))
	}
	if last := fmt.Sprint(3*maxCalls - 1); k.Open(last) == nil {
		t.Error("the last call is not open")
	}
}

// TestUnexpected: a result without its call has no name and derives nothing.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	k, s := newCalls(table), cliagent.NewSink(false)
	k.End(k.Expect("9", "p"), End{Summary: "x", Created: true, Diff: "d"}, s)
	if got, want := sketch(t, s), "p tool_result {toolCallId:9,toolName:,output:null,durationMs:0}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	servers := []string{"a__b", "a", "x_y"}
	dashes := Naming{Separator: "-", Known: true}
	single := Naming{Prefix: "mcp_", Separator: "_"}
	for _, tt := range []struct {
		naming             Naming
		name, server, tool string
	}{
		{table.MCP, "mcp__a__c", "a", "c"},
		{table.MCP, "mcp__a__b__c", "a__b", "c"},
		{table.MCP, "mcp__s__t__u", "s", "t__u"},
		{table.MCP, "mcp__s", "", ""},
		{table.MCP, "mcp__s__", "", ""},
		{table.MCP, "mcp____t", "", ""},
		{table.MCP, "Read", "", ""},
		{single, "mcp_x_y_z", "x_y", "z"},
		{single, "mcp_s_t_u", "s", "t_u"},
		{single, "mcp_echo", "", ""},
		{single, "mcp_", "", ""},
		{dashes, "a-tool", "a", "tool"},
		{dashes, "b-tool", "", ""},
		{Naming{}, "a__b", "", ""},
	} {
		if server, tool := tt.naming.Split(tt.name, slices.Values(servers)); server != tt.server || tool != tt.tool {
			t.Errorf("%s: server %q, tool %q", tt.name, server, tool)
		}
	}
}

// TestCalledOnce: a call by itself starts, is ready and runs once.
func TestCalledOnce(t *testing.T) {
	t.Parallel()
	c, s := &Call{ID: "1", Name: "sh"}, cliagent.NewSink(false)
	for range 2 {
		c.Start(s)
		c.Called(json.RawMessage("{}"), s)
		c.Run(s)
	}
	if n := len(s.Take()); n != 3 {
		t.Errorf("%d events", n)
	}
}

// TestFile: a file event belongs to its call, and there is none without a path.
func TestFile(t *testing.T) {
	t.Parallel()
	c, s := &Call{ID: "1", Parent: "p"}, cliagent.NewSink(false)
	for _, b := range []execution.Body{execution.FileRead{Path: "/f"}, execution.FileCreate{Path: "/f"}, execution.FileWrite{Path: "/f"},
		execution.FilePatch{Path: "/f"}, execution.FileDelete{Path: "/f"}} {
		c.File(b, s)
		if got, want := sketch(t, s), "p "+string(b.Type())+" {path:/f,"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "toolCallId:1}") {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, b := range []execution.Body{execution.FileRead{}, execution.FileCreate{}, execution.FileWrite{}, execution.FilePatch{}, execution.FileDelete{}} {
		if c.File(b, s); len(s.Take()) != 0 {
			t.Errorf("%s without a path", b.Type())
		}
	}
}
