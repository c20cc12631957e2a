package acpagent

import (
	"time"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
	"github.com/drawbar/drawbar/transport/jsonscan"
)

// Spec describes the specifics of an agent that speaks the Agent Client Protocol. Name and Spawn are required; the
// defaults of the rest follow the protocol. The functions must be safe for concurrent runs and must not keep or
// change their arguments.
type Spec struct {
	Name  string                                              // the agent's registered name, for errors
	Spawn func(*cliagent.Launch) (cliagent.Invocation, error) // the command line of its ACP mode; the kit uses standard input

	// Startup is how long the agent may take from its start to its session; default 60s. CancelWait is how long it
	// may take from an interrupt to the end of the turn before it is stopped; default 15s.
	Startup, CancelWait time.Duration

	// LoginHint is what to type when the agent requires a login. Default: the names of its login methods.
	LoginHint string
	// Authenticate returns the id of the method to log in with when the agent requires a login; empty for none, which
	// ends the run with AUTH_ERROR. It is for non-interactive methods, such as a key in the environment.
	Authenticate func(req execution.Request, methods []AuthMethod) string

	// Modes are the ids of session modes by approval mode. If the agent does not offer a mode listed here, the run
	// ends with CAPABILITY_ERROR. An approval mode without one leaves the session unchanged, see Asking: package agent answers
	// the agent's questions by approval mode anyway.
	Modes map[execution.ApprovalMode]string
	// Asking are modes in which the agent asks, by the modes of it in which it does not. A session that begins in one of these is set to the
	// other, where Modes has none for the run's approval mode; with yolo only from ByModel.
	Asking map[string]string
	// ModelInArgs means that Spawn passes the model. Otherwise it is set in the session, and the agent must offer it.
	ModelInArgs bool
	// UsableModels means that the agent offers only models of providers with a login, so that none means no login.
	UsableModels bool
	// ModelName returns the usual name of a session's model, by which prices are found. Default: its id, or its name
	// if the id contains more.
	ModelName func(id, name string) string
	// EffortInArgs means that Spawn passes the thinking effort. Otherwise it is set as the session's thought level.
	EffortInArgs bool
	// InstructionsInArgs means that Spawn passes cliagent.Instructions. Otherwise they precede the first message.
	InstructionsInArgs bool

	// MCPInArgs means that Spawn passes the MCP servers. Otherwise they are the session's.
	MCPInArgs bool

	// InlineOnly is for an agent that drops images next to a resource: texts then become part of the message, and
	// other content is sent as an image of its own media type.
	InlineOnly bool
	// InlineTexts is for an agent that gives its model a resource's text without its name: texts become part of the message.
	InlineTexts bool
	// Blobs reports whether an agent that accepts embedded content gives content of this media type, which is not text,
	// to its model. Other content is refused. Default: it gives all of it.
	Blobs func(mediaType string) bool

	// ToolName returns the name of a call's tool. Default: DefaultToolName.
	ToolName func(*ToolCall) string
	// Kind returns the kind of a call whose kind the agent does not state, or states as other; empty for unknown.
	// Default: none is known.
	Kind func(*ToolCall) string
	// Input returns the input of a call that states none. Default: its title and its locations.
	Input func(*ToolCall) []byte
	// MCPTool recognizes a call of an MCP server's tool; servers are those of the request, with the caller's tools as
	// cliagent.CallerTools. Such a call has the mcp_tool_* events. Default: DefaultMCPTool, which guesses from common naming.
	// With an adapter's own function, which is exact, a request's tool that needs no approval is allowed without
	// asking.
	MCPTool func(c *ToolCall, servers []string) (server, tool string, ok bool)
	// AsksAgain means that the agent may ask several times about one call, such as for a folder and then for a file in it.
	// A person is asked once, about the whole call.
	AsksAgain bool
	// Overtakes means that a call announced with its input, and the question about it, may come before the rest of the
	// message that makes the call: they wait shortly for it.
	Overtakes bool
	// Shell reads a call that runs a command. Default: DefaultShell.
	Shell func(*ToolCall) (Shell, bool)
	// Subagent reads a call that starts a sub-agent. Such a call has subagent_* events in addition to those of a tool
	// call. Default: none is recognized.
	Subagent func(*ToolCall) (Subagent, bool)
	// Parent returns the call that started the sub-agent of an update, empty for the agent itself. A sub-agent's text
	// is not part of the answer. Default: every update belongs to the agent itself.
	Parent func(update jsonscan.Value) string

	// CallUsage reads the usage of one model call from an update. Default: DefaultCallUsage. PromptUsage reads the
	// usage of a turn from the reply to its prompt, for turns without such an update. Default: DefaultPromptUsage.
	CallUsage   func(update jsonscan.Value) (execution.Usage, bool)
	PromptUsage func(result jsonscan.Value) (execution.Usage, bool)
	// Steps means that CallUsage recognizes the end of every model call, with or without tokens. A turn then has
	// steps, and a turn limit can be enforced.
	Steps bool

	// TurnLimit means that an extension of the agent, loaded by Spawn, reports that a call was the last one of the request's turn
	// limit and then cancels the turn.
	TurnLimit bool

	// RunningTotal means that PromptUsage is the total of the process rather than the turn. LastCall means that it is the
	// turn's last model call alone: it is not counted, and the agent's session files have the tokens of the run.
	RunningTotal, LastCall bool

	// Report reads a line of standard error in which an extension of the agent, loaded by Spawn, states what became of a
	// model call. Default: none is a report.
	Report func(line []byte) (Report, bool)

	// Aside recognizes a chunk of the agent's message that comes from the program rather than the model; it is
	// excluded from the text. Default: none is recognized.
	Aside func(chunk string) (Aside, bool)

	// Notice recognizes the same by other members of a message's update, and is called first. Default: none is
	// recognized.
	Notice func(update jsonscan.Value) (Notice, bool)

	// Background recognizes an ended call whose command continues. For an agent that ends its turn only after such
	// commands, the run reports it when nothing follows its message. Default: there are none.
	Background func(c *ToolCall) bool

	// Classify returns the code of an agent's error, empty to leave it to the kit.
	Classify func(code int64, message string) execution.ErrorCode
	// FailedText recognizes a turn that ended successfully with an error as its text; spent is the turn's usage, zero if
	// the agent stated none. Default: none.
	FailedText func(text string, spent execution.Usage) (execution.ErrorCode, bool)
	// FailedCall returns why a call failed that the agent reports as completed, empty if it did not. Default: none did.
	FailedCall func(*ToolCall) string

	// Quiet lists the agent's own methods, notifications and requests, that a run ignores.
	Quiet []string
	// Stderr handles a line of standard error; it returns false for an unknown one, which is counted. Default: such
	// lines are the agent's log, shown in debug mode only.
	Stderr func(line []byte, s *cliagent.Sink) bool
}

// Aside is a message of the program between those of the model. A failure without a later message of the model is the
// outcome of the turn, whatever the agent reports.
type Aside struct {
	Message string
	Failed  execution.ErrorCode // the turn failed
	Retry   execution.ErrorCode // a model call failed and is retried
}

// Notice is a message of the program between those of the model.
type Notice struct {
	Message string
	Failed  execution.ErrorCode // as in Aside
	Call    string              // a background sub-agent of this call ended; may be repeated
	End     Subagent            // outcome
}

// Join returns the spec of an agent that speaks ACP in the runs that twoWay selects, and follows base in the others.
// With a nil twoWay every run speaks ACP, and base needs no Spawn and no NewParser. Base's own Negotiate comes first;
// the kit adds its reasons for runs that speak ACP.
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

// Launch is Spec.Spawn plus what the protocol needs: standard input stays open. It reads the request's attachments,
// so that faults are found before anything starts.
func (a Spec) Launch(l *cliagent.Launch) (cliagent.Invocation, error) {
	if _, err := readAttachments(a.Name, l.Request.Message.Attachments); err != nil {
		return cliagent.Invocation{}, err
	}
	inv, err := a.Spawn(l)
	inv.KeepStdin = true
	return inv, err
}

// NewParser returns the parser of a run that speaks ACP.
func (a Spec) NewParser(req execution.Request) cliagent.Parser { return newParser(a, req) }

// Negotiate returns the protocol's limitations that are known before the agent is asked.
func (a Spec) Negotiate(req execution.Request) []execution.Reason {
	var reasons []execution.Reason
	if req.Run.MaxTurns > 0 && !a.Steps && !a.TurnLimit {
		reasons = append(reasons, execution.Reason{Code: execution.ReasonOther, Severity: execution.SeverityBlocking, Capability: "maxTurns",
			Message: a.Name + " shows no model calls over the Agent Client Protocol, so a turn limit cannot be enforced"})
	}
	return reasons
}

// Verbs are the commands of a conversation over ACP. The protocol has no steering: a message sent during a turn
// starts the next one.
func Verbs() []execution.Verb {
	return []execution.Verb{execution.VerbSend, execution.VerbQueue, execution.VerbContinue, execution.VerbApprove, execution.VerbDeny,
		execution.VerbInterrupt, execution.VerbAbort, execution.VerbPause, execution.VerbResume}
}
