package acpagent

import (
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Spec describes what is particular about an agent that speaks the Agent Client Protocol. Name and Spawn are required; everything
// else may be left out, and then is as the protocol says. The functions must be safe for concurrent runs and must not
// keep or change what they are given.
type Spec struct {
	Name  string                                              // the agent's registered name, for errors
	Spawn func(*cliagent.Launch) (cliagent.Invocation, error) // the command line of its ACP mode; standard input is the kit's

	// Startup is how long the agent may take from its start to its session; default 60s. CancelWait is how long it may take
	// from an interrupt to the end of the turn before it is stopped; default 15s.
	Startup, CancelWait time.Duration

	// LoginHint says what to type when the agent wants a login. Default: the names of its login methods.
	LoginHint string
	// Authenticate picks the method to log in with when the agent demands a login, by its id; empty for none of them, which
	// ends the run with AUTH_ERROR. It is for methods that ask nobody, such as a key in the environment.
	Authenticate func(req execution.Request, methods []AuthMethod) string

	// Modes are the session modes for the approval modes, by id. A mode that is named here and that the agent does not offer
	// ends the run with CAPABILITY_ERROR. An approval mode without one leaves the session as it is: package agent answers
	// the agent's questions by approval mode anyway.
	Modes map[execution.ApprovalMode]string
	// ModelInArgs says that Spawn passes on the model. Otherwise it is set in the session, and must be one that the agent offers.
	ModelInArgs bool
	// ModelName is what people call a model of the session, which prices go by. Default: its id, or its name where the id has
	// more in it.
	ModelName func(id, name string) string
	// EffortInArgs says that Spawn passes on the thinking effort. Otherwise it is set as the session's thought level.
	EffortInArgs bool
	// InstructionsInArgs says that Spawn passes on cliagent.Instructions. Otherwise they stand in front of the first message.
	InstructionsInArgs bool

	// MCPInArgs says that Spawn passes on the MCP servers. Otherwise they are the session's.
	MCPInArgs bool

	// InlineOnly is for an agent that drops images beside a resource: texts then stand in the message, and any other content is sent
	// as an image of its own media type.
	InlineOnly bool

	// ToolName names the tool of a call. Default: DefaultToolName.
	ToolName func(*ToolCall) string
	// Input is the input of a call that states none. Default: its title and its locations.
	Input func(*ToolCall) []byte
	// MCPTool recognizes the call of a tool of an MCP server; servers are those of the request, the caller's tools among them as
	// CallerTools. Such a call has the mcp_tool_* events. Default: DefaultMCPTool, which goes by the words that agents commonly use.
	// With a function of the adapter's own, which knows, a tool of the request that needs no approval is allowed unasked.
	MCPTool func(c *ToolCall, servers []string) (server, tool string, ok bool)
	// Shell reads the call of a command. Default: DefaultShell.
	Shell func(*ToolCall) (Shell, bool)
	// Subagent reads the call that starts a sub-agent. Such a call has subagent_* events besides those of a tool call. Default: none
	// is recognized.
	Subagent func(*ToolCall) (Subagent, bool)
	// Parent is the call that started the sub-agent an update is about, empty for the agent itself. What a sub-agent says is no part
	// of the answer. Default: every update is about the agent itself.
	Parent func(update jsonscan.Value) string

	// CallUsage reads what one model call used from an update. Default: DefaultCallUsage. PromptUsage reads what a turn used from
	// the answer to its prompt, and is asked for turns without any such update. Default: DefaultPromptUsage.
	CallUsage   func(update jsonscan.Value) (execution.Usage, bool)
	PromptUsage func(result jsonscan.Value) (execution.Usage, bool)
	// Steps says that CallUsage recognizes the end of every model call, with or without tokens. A turn then has steps, and a limit
	// of turns can be kept.
	Steps bool

	// RunningTotal says that PromptUsage is what the process has used so far, and not the turn.
	RunningTotal bool

	// Aside recognizes a chunk of the agent's message that is not the model's but the program's own: it is kept out of the
	// texts. Default: none is recognized.
	Aside func(chunk string) (Aside, bool)

	// Notice recognizes the same by what else the update of a message says, and is asked first. Default: none is recognized.
	Notice func(update jsonscan.Value) (Notice, bool)

	// Background recognizes a call that ended and whose command goes on. Of an agent that does not end its turn before such
	// commands do, the run says so when nothing follows its message. Default: there are none.
	Background func(c *ToolCall) bool

	// Classify is the word for an error of the agent, empty to leave it to the kit.
	Classify func(code int64, message string) execution.ErrorCode
	// FailedText recognizes a turn that ended well with an error as its text. Default: none.
	FailedText func(text string) (execution.ErrorCode, bool)

	// Quiet are methods of the agent's own, notifications and requests, that are known and say nothing to a run.
	Quiet []string
	// Stderr reads a line of standard error; false means that it is not known and is counted. Default: such lines are the agent's
	// log and are shown in debug mode only.
	Stderr func(line []byte, s *cliagent.Sink) bool
}

// CallerTools is the name of the MCP server with the caller's tools.
const CallerTools = "drawbar"

// Aside is what the program says between the words of its model. A failure that is not followed by anything else of the
// model is how the turn ended, whatever the agent calls it.
type Aside struct {
	Message string
	Failed  execution.ErrorCode // the turn failed
	Retry   execution.ErrorCode // a model call failed and is tried again
}

// Notice is what the program says between the words of its model.
type Notice struct {
	Message string
	Call    string   // a sub-agent that worked on behind this call has ended; it may be said more than once
	End     Subagent // how
}

// Join makes the spec of an agent that speaks ACP in the runs that twoWay picks, and in all others is what base says. With a
// nil twoWay every run speaks ACP, and base needs no Spawn and no NewParser. Base's own Negotiate comes first; the kit's
// reasons are added for runs that speak ACP.
func Join(base cliagent.Spec, acp Spec, twoWay func(execution.Request) bool) cliagent.Spec {
	spawn, newParser, negotiate := base.Spawn, base.NewParser, base.Negotiate
	if twoWay == nil {
		twoWay = func(execution.Request) bool { return true }
	}
	base.Spawn = func(l *cliagent.Launch) (cliagent.Invocation, error) {
		if twoWay(l.Request) {
			return acp.Launch(l)
		}
		return spawn(l)
	}
	base.NewParser = func(req execution.Request) cliagent.Parser {
		if twoWay(req) {
			return acp.NewParser(req)
		}
		return newParser(req)
	}
	base.Negotiate = func(req execution.Request) []execution.Reason {
		var reasons []execution.Reason
		if negotiate != nil {
			reasons = negotiate(req)
		}
		if twoWay(req) {
			reasons = append(reasons, acp.Negotiate(req)...)
		}
		return reasons
	}
	return base
}

// Launch is Spec.Spawn with what the protocol needs: standard input stays open. It reads the attachments of the request, so
// that what is wrong with them is found before anything starts.
func (a Spec) Launch(l *cliagent.Launch) (cliagent.Invocation, error) {
	if _, err := readAttachments(a.Name, l.Request.Message.Attachments); err != nil {
		return cliagent.Invocation{}, err
	}
	inv, err := a.Spawn(l)
	inv.KeepStdin = true
	return inv, err
}

// NewParser makes the parser of a run that speaks ACP.
func (a Spec) NewParser(req execution.Request) cliagent.Parser { return newParser(a, req) }

// Negotiate are the reasons that lie in the protocol, as far as they are known before the agent is asked.
func (a Spec) Negotiate(req execution.Request) []execution.Reason {
	var reasons []execution.Reason
	if req.Run.MaxTurns > 0 && !a.Steps {
		reasons = append(reasons, execution.Reason{Code: execution.ReasonOther, Severity: execution.SeverityBlocking, Capability: "maxTurns",
			Message: a.Name + " shows no model calls over the Agent Client Protocol, so a limit of turns cannot be kept"})
	}
	return reasons
}

// Verbs are what a conversation over ACP accepts. There is no steering: a message sent during a turn makes the next one.
func Verbs() []execution.Verb {
	return []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbContinue, execution.VerbApprove, execution.VerbDeny,
		execution.VerbInterrupt, execution.VerbAbort, execution.VerbPause, execution.VerbResume}
}
