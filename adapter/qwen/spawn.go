package qwen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbar/drawbar/adapter/kit/cliagent"
	"github.com/drawbar/drawbar/execution"
)

const (
	// maxPrompt is how much Qwen reads from standard input; it drops the rest with a warning.
	maxPrompt = 8 << 20
)

// twoWay reports whether the run needs the Agent Client Protocol. In one-shot mode Qwen asks nothing: calls that need
// a permission are refused, or allowed with yolo. It accepts only text and no thinking effort.
func twoWay(req execution.Request) bool {
	return req.Run.Interactive || cliagent.Asks(req) || req.Run.ThinkingEffort != "" ||
		slices.ContainsFunc(req.Message.Attachments, func(a execution.Attachment) bool { return !isText(a) })
}

// isText reports whether an attachment can be part of the prompt.
func isText(a execution.Attachment) bool {
	return cliagent.MediaOf(a.MediaType()) == cliagent.MediaText
}

// noSession refuses an invalid session id: Qwen treats other strings as a session's title.
func noSession(id string) *execution.Error {
	return execution.Errorf(execution.CodeSessionNotFound, "%q is not a session of qwen: its sessions are named by UUIDs", id)
}

// modes are Qwen's approval modes. In one-shot mode prompt and deny are the same, because nobody can answer.
var modes = map[execution.ApprovalMode]string{execution.ApprovalYolo: "yolo", execution.ApprovalPrompt: "default", execution.ApprovalDeny: "default", "": "default"}

// spawn returns the command line of a one-shot run. The prompt goes through standard input, MCP servers with their
// keys and the schema through private files.
func spawn(l *cliagent.Launch) (cliagent.Invocation, error) {
	req, run := l.Request, l.Request.Run
	args := []string{"--output-format=stream-json"}
	if run.Stream != execution.StreamOff {
		args = append(args, "--include-partial-messages")
	}
	if run.MaxTurns > 0 {
		args = append(args, "--max-session-turns="+strconv.Itoa(run.MaxTurns))
	}
	session, fork := cliagent.SessionOf(req)
	if session != "" {
		if !cliagent.IsUUID(session) {
			return cliagent.Invocation{}, noSession(session)
		}
		args = append(args, "--resume="+session)
	}
	if fork {
		args = append(args, "--fork-session")
	}
	if len(run.MCPServers) > 0 {
		args = append(args, "--mcp-config="+l.File("mcp.json", mcpConfig(run.MCPServers)))
	}
	if len(run.OutputSchema) > 0 {
		args = append(args, "--json-schema=@"+l.File("output-schema.json", run.OutputSchema))
	}
	prompt, err := promptOf(req)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	over, err := overEnv(l)
	if err != nil {
		return cliagent.Invocation{}, err
	}
	env := environment(run)
	// Scheduled tasks would keep the process alive after its turn and run in it.
	env["QWEN_CODE_DISABLE_CRON"] = "1"
	return cliagent.Invocation{Args: append(args, commonArgs(req)...), Env: env, EnvOver: over, Stdin: []byte(prompt)}, nil
}

// commonArgs returns the arguments of both modes. Every value is joined to its flag, so that it is never read as a
// flag.
func commonArgs(req execution.Request) []string {
	run := req.Run
	// Always state the mode: by default a model decides, and the user's settings could name any.
	args := []string{"--approval-mode=" + modes[run.ApprovalMode]}
	if allowed := cliagent.AllowedTools(req); allowed != "" {
		args = append(args, "--allowed-tools="+allowed)
	}
	if run.Model != "" {
		args = append(args, modelFlag+"="+run.Model)
	}
	if run.NoSession {
		args = append(args, "--chat-recording=false")
	}
	replace, added := cliagent.Instructions(req)
	if replace != "" {
		args = append(args, "--system-prompt="+replace)
	}
	if added != "" {
		args = append(args, "--append-system-prompt="+added)
	}
	return args
}

// environment returns the settings that Qwen takes from variables only. It must not restart itself, which is also how
// it updates itself.
func environment(run execution.RunOptions) map[string]string {
	env := map[string]string{"QWEN_CODE_NO_RELAUNCH": "true", "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1"}
	if limit := cliagent.OutputLimit(run); limit > 0 {
		env["QWEN_CODE_MAX_OUTPUT_TOKENS"] = strconv.Itoa(limit)
	}
	return env
}

// promptOf returns the message followed by the attached texts.
func promptOf(req execution.Request) (string, error) {
	texts, err := cliagent.ConvertAttachments(name, req.Message.Attachments, func(a execution.Attachment) (string, error) {
		data, err := cliagent.AttachmentContent(a)
		if err != nil {
			return "", err
		}
		title := cliagent.AttachmentName(a)
		if cliagent.MediaOf(cliagent.SniffMedia(data)) != cliagent.MediaText {
			return "", fmt.Errorf("%s is not UTF-8 text", title)
		}
		return cliagent.FileBlock(title, string(data)), nil
	})
	if err != nil {
		return "", err
	}
	prompt := strings.Join(append([]string{string(req.Message.Text)}, texts...), "\n\n")
	if len(prompt) > maxPrompt {
		return "", execution.Errorf(execution.CodeValidation, "the message has %d bytes with the texts attached, qwen accepts at most %d", len(prompt), maxPrompt).
			WithHint("put the text into a file and name it in the message")
	}
	return prompt, nil
}

// mcpConfig returns the file that adds servers to the user's.
func mcpConfig(servers []execution.MCPServer) []byte {
	return cliagent.MCPFile(servers, func(e *cliagent.MCPEntry) {
		if e.Type == "http" {
			e.HTTPURL, e.URL = e.URL, ""
		}
		e.Type = ""
	})
}
